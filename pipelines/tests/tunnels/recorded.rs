//! VXLAN of the Linux kernel, recorded with what was inside: decapsulation gives exactly the frames that the kernel's
//! own VXLAN device saw, through joining and cutting, and there and back again.

use crate::support::{HOP, Lane, VXLAN, assert_same, corpus, frames_of, inside, recorded};
use corelane_device::emulated::Frame;
use corelane_runtime::offload::{Caps, UdpPorts};

/// The recordings, each with its VNI.
const RECORDED: [(&str, u32); 2] = [("vxlan-bulk-v4", 42), ("vxlan-bulk-v6", 43)];

fn pair(name: &str) -> (Vec<Frame>, Vec<Frame>) {
    (recorded(&format!("{name}.pcap")), recorded(&format!("{name}-inner.pcap")))
}

/// Frames of one end, in their order.
fn sent_by(frames: &[Frame], station: &[u8]) -> Vec<Vec<u8>> {
    let own = frames.iter().filter(|frame| frame.data.get(6..12) == Some(station));
    own.map(|frame| frame.data.clone()).collect()
}

/// Both ends' frames, each end's in order, byte for byte. Which end's came first, two captures may see differently.
#[track_caller]
fn assert_each_way(left: &[Frame], came: &[Frame], context: &str) {
    let mut stations: Vec<&[u8]> = came.iter().map(|frame| &frame.data[6..12]).collect();
    stations.sort_unstable();
    stations.dedup();
    assert_eq!(stations.len(), 2, "{context}: two ends");
    for station in stations {
        let (left, came) = (sent_by(left, station), sent_by(came, station));
        assert!(came.len() > 20, "{context}");
        corelane_wire::testing::assert_same_frames(&left, &came);
    }
    assert_eq!(left.len(), came.len(), "{context}");
}

#[test]
fn decapsulation_gives_the_frames_the_kernel_saw_inside() {
    for (name, vni) in RECORDED {
        let (outer, inner) = pair(name);
        for (rx, summed) in
            [(Caps::empty(), true), (Caps::asked(), false), (Caps::RX_COMPLETE, false)]
        {
            let rx = rx - Caps::RX_HW_GRO;
            let stages = format!("ChecksumValidate(on_bad: Drop), Decap(Vxlan(vni: {vni})),");
            let ran = Lane { rx, ..Lane::new(&stages, outer.clone()) }.simulate();
            ran.assert_lossless(name);
            assert_each_way(&ran.frames, &inner, name);
            let checked = ran.counter("ChecksumValidate", "inner.tcp.good");
            assert!(checked > 100, "{name}: {checked}");
            let totals = &ran.report.totals;
            assert!(totals.payload_bytes > 100_000, "{name}");
            if summed {
                assert!(totals.payload_bytes_summed <= totals.payload_bytes, "{name}");
                assert!(totals.payload_bytes_summed > 100_000, "{name}");
            } else {
                // ARP and neighbour discovery are in no device's power.
                assert!(
                    totals.payload_bytes_summed < 300,
                    "{name}: {}",
                    totals.payload_bytes_summed
                );
            }
        }
    }
}

/// Where in the chain segments are joined makes no difference to what leaves.
#[test]
fn joining_before_or_behind_decapsulation_changes_nothing() {
    for (name, vni) in RECORDED {
        let (outer, inner) = pair(name);
        let decap = format!("Decap(Vxlan(vni: {vni}))");
        for stages in [
            format!("ChecksumValidate, {decap}, Gro, Gso,"),
            format!("ChecksumValidate, Gro, {decap}, Gso,"),
            format!("ChecksumValidate, Gro, {decap}, Gro, Ring(\"cut\"), Gso, ChecksumFill,"),
            format!("{decap}, ChecksumValidate, Gro,"),
            format!("{decap}, Gro,"),
        ] {
            for (rx, tx) in [
                (Caps::empty(), Caps::empty()),
                (Caps::empty(), Caps::asked()),
                (Caps::asked() - Caps::RX_HW_GRO, Caps::MULTI_PART),
            ] {
                let ran = Lane { rx, tx, ..Lane::new(&stages, outer.clone()) }.simulate();
                ran.assert_lossless(&stages);
                assert_each_way(&ran.frames, &inner, &stages);
                let joined = ran.counter("Gro", "merged");
                assert!(joined > 40, "{name}: {stages}: {joined} joined");
                let (cut, left) = (ran.counter("Gso", "cut"), ran.counter("Gso", "left"));
                let at_the_port = tx.contains(Caps::TSO4);
                assert_eq!((cut == 0, left == 0), (at_the_port, !at_the_port), "{stages}");
            }
        }
    }
}

#[test]
fn joining_inside_the_tunnel_gives_the_recording_back() {
    for (name, _) in RECORDED {
        let (outer, _) = pair(name);
        for tx in [Caps::empty(), Caps::MULTI_PART, Caps::asked()] {
            let lane = Lane { tx, ..Lane::new("ChecksumValidate, Gro,", outer.clone()) };
            let ran = lane.simulate();
            ran.assert_lossless(name);
            assert_same(&ran.bytes(), &bytes(&outer), name);
            assert!(ran.counter("Gro", "merged") > 40, "{name}");
        }
    }
}

fn bytes(frames: &[Frame]) -> Vec<&[u8]> {
    frames.iter().map(|frame| &frame.data[..]).collect()
}

/// Out of the kernel's tunnel, into one of ours, and out of that.
#[test]
fn what_is_put_into_a_tunnel_again_comes_out_of_it_again() {
    for (name, vni) in RECORDED {
        let (outer, inner) = pair(name);
        for (ends, sums) in [
            ("local: \"192.0.2.1\", remote: \"192.0.2.9\"", ["Off", "On"]),
            ("local: \"2001:db8::1\", remote: \"2001:db8::9\"", ["Auto", "On"]),
        ] {
            for sum in sums {
                let tunnel = format!("Vxlan(vni: 77, {ends}, udp_checksum: {sum}, {HOP})");
                let stages = format!(
                    "ChecksumValidate, Gro, Decap(Vxlan(vni: {vni})), Gro, Encap({tunnel}),"
                );
                for tx in [Caps::MULTI_PART, Caps::asked()] {
                    let again = Lane { tx, ..Lane::new(&stages, outer.clone()) }.simulate();
                    again.assert_lossless(&tunnel);
                    for frame in &again.frames {
                        corelane_wire::testing::assert_sound(&frame.data);
                        assert_eq!(frame.data[..12], [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1]);
                    }
                    let stages = "ChecksumValidate(on_bad: Drop), Gro, Decap(Vxlan(vni: 77)),";
                    let back = Lane::new(stages, again.frames).simulate();
                    back.assert_lossless(&tunnel);
                    assert_each_way(&back.frames, &inner, &tunnel);
                }
            }
        }
    }
}

/// Captures of others: what comes out is what plain indices find in the datagrams; the rest goes elsewhere as it
/// came.
#[test]
fn the_tunnels_of_the_corpus_give_what_is_in_them() {
    let Some(folder) = corpus("the_tunnels_of_the_corpus_give_what_is_in_them") else { return };
    for (file, least) in [
        ("vxlan-zero-outer.pcap", 100),
        ("vxlan-vlan-outer-partial.pcap", 127),
        ("vxlan-http-overmtu.pcap", 13),
        ("malformed-l3-l4.pcap", 0),
        ("vxlan-gpe-nsh.pcap", 0),
    ] {
        let frames = frames_of(&folder.join(file));
        let whole = |frame: &&Frame| !frame.is_cut();
        let ports = [VXLAN, 8472];
        let found = frames.iter().filter(whole).filter_map(|frame| inside(&frame.data, &ports));
        let found: Vec<Vec<u8>> = found.collect();
        assert!(found.len() >= least, "{file}: {}", found.len());
        for stages in [
            "ChecksumValidate, DECAP, Gro,",
            "ChecksumValidate, Gro, DECAP,",
            "ChecksumValidate, Gro, DECAP, Gro, Gso,",
        ] {
            let decap = "Decap(tunnel: Vxlan(port: [4789, 8472]), otherwise: \"rest\")";
            let stages = stages.replace("DECAP", decap);
            let lane = Lane {
                chains: "\"rest\": [Drop(\"rest\")],".to_owned(),
                known: UdpPorts::of(&ports).expect("two ports"),
                ..Lane::new(&stages, frames.clone())
            };
            for rx in [Caps::empty(), Caps::asked() - Caps::RX_HW_GRO] {
                let ran = Lane { rx, ..lane.clone() }.simulate();
                ran.assert_clean(file);
                let dropped: u64 = ran.drops().values().sum();
                let lost = frames.len() - ran.frames.len();
                assert_eq!(dropped as usize, lost, "{file}: {stages} {rx:?}: {:?}", ran.drops());
                if least > 0 {
                    assert_same(&ran.bytes(), &found, &format!("{file}: {stages}"));
                }
            }
        }
    }
}
