//! Header-changing stages over every Ethernet capture of the corpus (`CORELANE_CORPUS`): what was sound is sound
//! afterwards, what was not loses nothing, and reports from the field that name a capture.

use corelane_device::capture::CaptureFile;
use corelane_runtime::packet::Packet;
use corelane_runtime::stage::{Args, Nowhere};
use corelane_runtime::testing::{Harness, skip};
use corelane_stages::rx::describe;
use corelane_stages::{checksum_fill, standard};
use corelane_wire::testing::{assert_same_frames, describe as shown, problems};
use std::path::{Path, PathBuf};

fn corpus(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CORELANE_CORPUS");
    if folder.is_none() {
        skip(test, "CORELANE_CORPUS is unset");
    }
    folder.map(PathBuf::from)
}

/// The frames of a capture that were kept whole; none of one that is not Ethernet.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let Ok(mut file) = CaptureFile::open(path) else { return Vec::new() };
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(Ok(record)) = records.next_record() {
        if record.orig_len as usize == record.data.len() {
            frames.push(record.data.to_vec());
        }
    }
    frames
}

/// Every capture that has such frames, by name.
fn captures(folder: &Path) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut captures = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".pcap") || name.ends_with(".pcapng") {
            captures.push((name, frames(&path)));
        }
    }
    captures.retain(|(_, frames)| !frames.is_empty());
    captures.sort();
    assert!(captures.len() > 30, "only {} captures", captures.len());
    captures
}

/// A stage alone.
fn stage(name: &str, arguments: &str) -> Harness {
    let registry = standard();
    let spec = registry.get(name).expect("a stage of that name");
    let config = spec.configure(Args { text: arguments }).expect("sound arguments");
    let built = config.build(&mut Nowhere).expect("it is built");
    Harness::built(built, spec.info())
}

fn arrive(harness: &mut Harness, frame: &[u8]) -> Packet {
    let mut packet = harness.packet(frame);
    describe(&mut packet, 1, &mut harness.buffers).expect("a buffer");
    packet
}

/// The frames through a chain of stages, one by one; `None` where one was dropped.
fn through(stages: &[(&str, &str)], frames: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let mut chain: Vec<Harness> = stages.iter().map(|(name, args)| stage(name, args)).collect();
    chain.push(Harness::new(checksum_fill::ChecksumFill::new(None), &checksum_fill::INFO));
    let one = |frame: &Vec<u8>| {
        let packet = arrive(&mut chain[0], frame);
        let mut packet = Some(packet);
        for harness in &mut chain {
            if let Some(packet) = packet.take() {
                harness.push(packet);
                harness.run();
            }
            packet = harness.take().pop();
        }
        packet.map(|packet| chain[0].unpack(packet))
    };
    let left = frames.iter().map(one).collect();
    chain.into_iter().rev().for_each(Harness::finish);
    left
}

/// Asserts that sound frames are sound afterwards, and that no frame is lost or changes its length by other than
/// `grows`.
fn assert_kept_sound(folder: &Path, stages: &[(&str, &str)], grows: usize) {
    let (mut sound, mut changed) = (0, 0);
    for (name, frames) in captures(folder) {
        for (at, (before, after)) in frames.iter().zip(through(stages, &frames)).enumerate() {
            let after = after.unwrap_or_else(|| panic!("{name} {at}: dropped by {stages:?}"));
            assert_eq!(after.len(), before.len() + grows, "{name} {at}");
            changed += usize::from(after != *before);
            if problems(before).is_empty() {
                sound += 1;
                let found = problems(&after);
                assert!(
                    found.is_empty(),
                    "{name} {at} after {stages:?}: {found:?}\n{}\nwas\n{}",
                    shown(&after),
                    shown(before)
                );
            }
        }
    }
    assert!(sound > 3000 && changed > 3000, "{sound} sound, {changed} changed");
}

#[test]
fn what_was_sound_is_sound_after_rewrite() {
    let Some(folder) = corpus("what_was_sound_is_sound_after_rewrite") else { return };
    let v4 = "(src: \"203.0.113.77\", dst: \"198.51.100.9\", ttl: 9, dscp: 46)";
    let v6 = "(src: \"2001:db8::77\", dst: \"2001:db8:ffff::1:0:1\", ecn: 1)";
    let ports = "(sport: 4242, eth_dst: \"02:00:00:00:00:99\", vlan: 77)";
    assert_kept_sound(&folder, &[("Rewrite", v4), ("Rewrite", v6)], 0);
    assert_kept_sound(&folder, &[("Rewrite", ports)], 0);
}

#[test]
fn what_was_sound_is_sound_behind_a_tag() {
    let Some(folder) = corpus("what_was_sound_is_sound_behind_a_tag") else { return };
    assert_kept_sound(&folder, &[("VlanPush", "(vid: 9)"), ("Rewrite", "(ttl: 3)")], 4);
}

#[test]
fn a_tag_put_on_and_taken_off_leaves_no_trace() {
    let Some(folder) = corpus("a_tag_put_on_and_taken_off_leaves_no_trace") else { return };
    let stages = [("VlanPush", "(vid: 4094, pcp: 7)"), ("VlanPop", "()")];
    for (_, frames) in captures(&folder) {
        let left: Vec<Vec<u8>> = through(&stages, &frames).into_iter().flatten().collect();
        assert_same_frames(&left, &frames);
    }
}

#[test]
fn turned_round_twice_every_frame_is_what_it_was() {
    let Some(folder) = corpus("turned_round_twice_every_frame_is_what_it_was") else { return };
    for (_, frames) in captures(&folder) {
        let once = through(&[("Reflect", "()")], &frames);
        let twice = through(&[("Reflect", "()"), ("Reflect", "()")], &frames);
        for ((frame, once), twice) in frames.iter().zip(once).zip(twice) {
            // What is for a group, or came from one, does not come back.
            if let (Some(once), Some(twice)) = (once, twice) {
                assert_same_frames(&[&twice], &[frame]);
                assert_eq!(once.len(), frame.len());
            }
        }
    }
}

/// Report E1: short TCP packets with padding behind them, which is not payload.
#[test]
fn e1_ethernet_padding_summed_as_payload() {
    let Some(folder) = corpus("e1_ethernet_padding_summed_as_payload") else { return };
    let frames = frames(&folder.join("tcp-loss-sack-asym-vlan.pcap"));
    for stages in [[("Rewrite", "(ttl: 33)")], [("Ttl", "()")]] {
        for (before, after) in frames.iter().zip(through(&stages, &frames)) {
            let after = after.expect("no TTL has come to its end");
            assert_eq!(problems(&after), problems(before));
            let same = before.iter().zip(&after).filter(|(before, after)| before == after).count();
            assert!(before.len() == after.len() && before.len() - same <= 3);
        }
    }
    assert!(frames.len() > 100, "{} frames", frames.len());
}

/// Report E4: behind tags of any number only the bytes that are meant change.
#[test]
fn e4_fix_up_writes_into_the_wrong_bytes_behind_a_vlan_tag() {
    let Some(folder) = corpus("e4_fix_up_writes_into_the_wrong_bytes_behind_a_vlan_tag") else {
        return;
    };
    for name in ["l2-qinqinq.pcap", "l2-pppoe-qinq-tcp.pcap", "l2-vlan-mpls-mixed.pcap"] {
        let frames = frames(&folder.join(name));
        assert!(!frames.is_empty(), "{name}");
        for (before, after) in frames.iter().zip(through(&[("Ttl", "()")], &frames)) {
            let after = after.expect("no TTL has come to its end");
            assert_eq!(problems(&after), problems(before), "{name}\n{}", shown(&after));
            let differ: Vec<usize> =
                (0..before.len()).filter(|&at| before[at] != after[at]).collect();
            if let Some(&ttl) = differ.first() {
                assert_eq!(after[ttl] + 1, before[ttl], "{name}: the TTL");
                // Its header's checksum stands two bytes behind; IPv6 has none.
                let near = differ[1..].iter().all(|&at| at == ttl + 2 || at == ttl + 3);
                assert!(near, "{name}: {differ:?}\n{}", shown(before));
            }
        }
    }
}
