//! A payload byte is summed at most once: the counters say so, and payload changed behind the API's back
//! proves that nobody looks at it again.

use crate::own::{self, Own};
use crate::support::Lane;
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::Frame;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Built, Outputs, Stage, StageContext, StageInfo};
use std::path::Path;

/// Flips the last payload byte of every TCP packet and tells nobody.
struct Poke;

static POKE: StageInfo = own::info("Poke", &[]);

impl Stage for Poke {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            if packet.payload_len() > 0 {
                let end = packet.len() - u32::from(packet.meta().trailer);
                assert!(packet.poke_payload(end - 1));
            }
            out.next(packet);
        }
    }
}

pub(crate) fn recorded() -> Vec<Frame> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/captures");
    let mut frames = Vec::new();
    for name in ["tcp-bulk-v4.pcap", "tcp-bulk-v6.pcap"] {
        let mut file = CaptureFile::open(folder.join(name)).expect("a committed capture");
        let mut records = file.records();
        while let Some(record) = records.next_record() {
            let record = record.expect("a whole capture");
            frames.push(Frame::new(record.time_ns, record.data.to_vec()));
        }
    }
    frames
}

fn ratio(lane: &Lane) -> (u64, u64) {
    let ran = lane.run();
    ran.assert_clean("sums");
    let joined = ran.absorbed("Gro") + ran.counter("Gso", "left");
    assert!(joined > 50, "something was joined, by Gro or by the device");
    let totals = &ran.report.totals;
    (totals.payload_bytes_summed, totals.payload_bytes)
}

#[test]
fn all_in_software_every_payload_byte_is_summed_exactly_once() {
    let (summed, payload) = ratio(&Lane::new(recorded()));
    assert!(payload > 500_000);
    assert_eq!(summed, payload);
}

#[test]
fn with_a_device_that_reports_and_cuts_no_payload_byte_is_summed() {
    let (summed, payload) =
        ratio(&Lane { rx: Caps::all(), tx: Caps::all(), ..Lane::new(recorded()) });
    assert!(payload > 500_000);
    assert_eq!(summed, 0);
    let reports_only = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP;
    let lane = Lane { rx: reports_only, ..Lane::new(recorded()) };
    assert_eq!(ratio(&lane).0, 0, "cutting in software costs headers only");
    let lane = Lane { rx: Caps::RX_COMPLETE, ..Lane::new(recorded()) };
    assert_eq!(ratio(&lane).0, 0, "a complete sum is as good as a verdict");
}

/// After validation the payload is changed; every checksum that is computed later must still be that of the
/// payload as it was received.
#[test]
fn later_checksums_are_those_of_the_payload_as_received() {
    let frames = recorded();
    for rx in [Caps::empty(), Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP] {
        let stages = "ChecksumValidate, Poke, Gro, Ring(name: \"cut\"), Gso, ChecksumFill";
        let poke = Own { info: &POKE, make: || Built::restartable(|| Poke) };
        let registry = corelane::standard().with_spec(poke);
        let lane = Lane { stages: stages.to_owned(), rx, registry, ..Lane::new(frames.clone()) };
        let ran = lane.run();
        ran.assert_clean("poked");
        assert!(ran.absorbed("Gro") > 100 && ran.counter("Gso", "cut") > 0);
        let mut poked = frames.clone();
        for frame in &mut poked {
            let ip = &frame.data[14..];
            let (len, l4) = match ip[0] >> 4 {
                4 => (usize::from(u16::from_be_bytes([ip[2], ip[3]])), usize::from(ip[0] & 15) * 4),
                _ => (40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])), 40),
            };
            if len > l4 + usize::from(ip[l4 + 12] >> 4) * 4 {
                frame.data[14 + len - 1] ^= 0xff;
            }
        }
        crate::support::assert_same(&ran.frames, &poked, "only the poked byte differs");
    }
}
