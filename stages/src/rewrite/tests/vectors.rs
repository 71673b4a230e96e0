//! What becomes of known frames when an address or a port is set, whatever a device says of their checksums.
//!
//! Frames and results are those of Open vSwitch's tests, its faults corrected. A wrong checksum is never mended
//! here, not even where a device calls it good.

use super::{Status, finished, stage, through, with_status};
use crate::rewrite::Rewrite;
use corelane_wire::testing::{assert_same_frames, slow_sum};

/// A frame, what is set, and what leaves.
struct Vector {
    name: &'static str,
    arguments: &'static str,
    status: &'static [Status],
    /// In hex; `{P64}` stands for the bytes 0 to 63.
    frame: &'static str,
    leaves: &'static str,
}

/// Whatever a device says, the field whole or still to be finished.
const ALL: &[Status] = &[Status::Unknown, Status::Good, Status::Bad, Status::Partial];
/// Whatever a device says of a whole field.
const TOLD: &[Status] = &[Status::Unknown, Status::Good, Status::Bad];

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    Vector {
        name: "B01",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01d47814510000000000000000501000006b720000{P64}",
        leaves: "0a8f394fe0738abf7e2f0584080045000068000000000006bd3cc0a87b02c0a80101d4781451000000000000000050100000e5720000{P64}",
    },
    Vector {
        name: "B01 bad",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f0584080045000068000000000006423cc0a87b02c0a87b01d47814510000000000000000501000006b720000{P64}",
        leaves: "0a8f394fe0738abf7e2f0584080045000068000000000006bc3cc0a87b02c0a80101d4781451000000000000000050100000e5720000{P64}",
    },
    Vector {
        name: "B02",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01d47814510000000000000000501000006b720000{P64}",
        leaves: "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01d47808ae00000000000000005010000077150000{P64}",
    },
    Vector {
        name: "B02 bad",
        arguments: r#"(dport: 2222)"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01d4781451000000000000000050100000dead0000{P64}",
        leaves: "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01d47808ae000000000000000050100000ea500000{P64}",
    },
    Vector {
        name: "B03",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d47814510048bb3b{P64}",
        leaves: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d47808ae0048c6de{P64}",
    },
    Vector {
        name: "B03 bad",
        arguments: r#"(dport: 2222)"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d47814510048dead{P64}",
        leaves: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d47808ae0048ea50{P64}",
    },
    Vector {
        name: "B04",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d478145100480000{P64}",
        leaves: "0a8f394fe0738abf7e2f058408004500005c000000000011433dc0a87b02c0a87b01d47808ae00480000{P64}",
    },
    Vector {
        name: "B05",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000540640fe800000000000000000000000000002fe800000000000000000000000000001d4781451000000000000000050100000e5c20000{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000540640fe800000000000000000000000000002fe800000000000000000000000000001d47808ae000000000000000050100000f1650000{P64}",
    },
    Vector {
        name: "B05 bad",
        arguments: r#"(dport: 2222)"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000540640fe800000000000000000000000000002fe800000000000000000000000000001d4781451000000000000000050100000dead0000{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000540640fe800000000000000000000000000002fe800000000000000000000000000001d47808ae000000000000000050100000ea500000{P64}",
    },
    Vector {
        name: "B06",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d47814510048358c{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d47808ae0048412f{P64}",
    },
    Vector {
        name: "B06 bad",
        arguments: r#"(dport: 2222)"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d47814510048dead{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d47808ae0048ea50{P64}",
    },
    Vector {
        name: "B07",
        arguments: r#"(dport: 2222)"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d478145100480000{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000481140fe800000000000000000000000000002fe800000000000000000000000000001d47808ae00480000{P64}",
    },
    Vector {
        name: "B10",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "aaaaaaaaaaaabbbbbbbbbbbb08004f000044abab00004001eeee0a0000010a000002",
        leaves: "aaaaaaaaaaaabbbbbbbbbbbb08004f000044abab00004001eeee0a0000010a000002",
    },
    Vector {
        name: "B11",
        arguments: r#"(src: "10.1.1.1")"#,
        status: ALL,
        frame: "3e55b59e3afb474286081750080045000068000000004006ad33e5a7245a82a140bad4781451000000000000000050100000156a0000{P64}",
        leaves: "3e55b59e3afb474286081750080045000068000000004006ac330a01010182a140bad4781451000000000000000050100000146a0000{P64}",
    },
    Vector {
        name: "B12",
        arguments: r#"(src: "fc00::100")"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058486dd600051ac0054068e2f8a2076392609e72d474bc909c717f3728710dd2fb941d53eb22c7a11b062584fb550b600000000000000005010000029260000{P64}",
        leaves: "0a8f394fe0738abf7e2f058486dd600051ac0054068efc000000000000000000000000000100728710dd2fb941d53eb22c7a11b062584fb550b600000000000000005010000059fd0000{P64}",
    },
    Vector {
        name: "B14",
        arguments: r#"(src: "11.1.1.1")"#,
        status: TOLD,
        frame: "36b1ee7c010236b1ee7c010308004500002600012000401144c20a0101010a0101020bc408840026e9640102030405060708090a",
        leaves: "36b1ee7c010236b1ee7c010308004500002600012000401143c20b0101010a0101020bc408840026e8640102030405060708090a",
    },
    Vector {
        name: "B15",
        arguments: r#"(src: "fc00::100")"#,
        status: TOLD,
        frame: "36b1ee7c010236b1ee7c010386dd6000000000182c40fc000000000000000000000000000001fc000000000000000000000000000002110000012316ab360bc40884002607650102030405060708",
        leaves: "36b1ee7c010236b1ee7c010386dd6000000000182c40fc000000000000000000000000000100fc000000000000000000000000000002110000012316ab360bc40884002606660102030405060708",
    },
    Vector {
        name: "B16",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f0584080045000024000040004011c374c0a87b02c0a87b0110002000001085ff8e8668656c6c6f21",
        leaves: "0a8f394fe0738abf7e2f05840800450000240000400040113d75c0a87b02c0a80101100020000010ffff8e8668656c6c6f21",
    },
    Vector {
        name: "B17",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058408004500002b000040004006c378c0a87b02c0a87b011000200000000001000000005010006443b50000616263deadbeef",
        leaves: "0a8f394fe0738abf7e2f058408004500002b0000400040063d79c0a87b02c0a8010110002000000000010000000050100064bdb50000616263deadbeef",
    },
    Vector {
        name: "H04",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f05840800450000140000400040fdc298c0a87b02c0a87b01",
        leaves: "0a8f394fe0738abf7e2f05840800450000140000400040fd3c99c0a87b02c0a80101",
    },
    Vector {
        name: "H05",
        arguments: r#"(dst: "fc00::100")"#,
        status: ALL,
        frame: "0a8f394fe0738abf7e2f058486dd6000000000200040fe800000000000000000000000000002fe800000000000000000000000000001060001040000000010002000000000010000000050100064bda0000061626364",
        leaves: "0a8f394fe0738abf7e2f058486dd6000000000200040fe800000000000000000000000000002fc000000000000000000000000000100060001040000000010002000000000010000000050100064bf21000061626364",
    },
    Vector {
        name: "H06",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f0584080045000026000020004011e372c0a87b02c0a87b010bc408840026e9640102030405060708090a",
        leaves: "0a8f394fe0738abf7e2f05840800450000260000200040115d73c0a87b02c0a801010bc40884002663650102030405060708090a",
    },
    Vector {
        name: "H07",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f058408004500002c0000000340060375c0a87b02c0a87b01616263646566676861626364656667686162636465666768",
        leaves: "0a8f394fe0738abf7e2f058408004500002c0000000340067d75c0a87b02c0a80101616263646566676861626364656667686162636465666768",
    },
    Vector {
        name: "H08",
        arguments: r#"(dst: "192.168.1.1")"#,
        status: TOLD,
        frame: "0a8f394fe0738abf7e2f058408004500002c000000034011036ac0a87b02c0a87b01616263646566676861626364656667686162636465666768",
        leaves: "0a8f394fe0738abf7e2f058408004500002c0000000340117d6ac0a87b02c0a80101616263646566676861626364656667686162636465666768",
    },
];

fn bytes(hex: &str) -> Vec<u8> {
    let counted: String = (0..64).map(|byte| format!("{byte:02x}")).collect();
    let hex = hex.replace("{P64}", &counted);
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn rewritten(frame: &[u8], arguments: &str, status: Status) -> Vec<u8> {
    let mut harness = stage::<Rewrite>(arguments);
    let packet = with_status(&mut harness, frame, status);
    let packet = through(&mut harness, packet);
    finished(packet)
}

#[test]
fn every_vector_comes_out_in_every_state() {
    for Vector { name, arguments, status, frame, leaves } in VECTORS {
        for status in *status {
            let found = rewritten(&bytes(frame), arguments, *status);
            println!("{name} {status:?}");
            assert_same_frames(&[found], &[bytes(leaves)]);
        }
    }
}

/// B08: where a field is what it is to be nothing changes, and only what is to be finished is.
#[test]
fn b08_a_wrong_checksum_passes_and_only_an_unfinished_one_is_made() {
    let frame = bytes(
        "0a8f394fe0738abf7e2f0584080045000068000000000006433cc0a87b02c0a87b01\
         d4781451000000000000000050100000dead0000{P64}",
    );
    for status in TOLD {
        assert_same_frames(&[rewritten(&frame, "(dscp: 0)", *status)], &[&frame]);
    }
    let mut made = frame.clone();
    made[50..52].copy_from_slice(&[0x6b, 0x72]);
    assert_same_frames(&[rewritten(&frame, "(dscp: 0)", Status::Partial)], &[made]);
}

/// B09: the header checksum covers options, and ICMP has none over addresses.
#[test]
fn b09_options_are_under_the_header_checksum_and_icmp_is_not_touched() {
    let mut frame = bytes(
        "aaaaaaaaaaaabbbbbbbbbbbb08004f000044abab000040010000\
         0a0000010a00000207270c010203040a000003000000000000000000000000000000000000000000000000000000000008003e2fb6d00000",
    );
    let right = !slow_sum(&[&frame[14..74]]);
    frame[24..26].copy_from_slice(&right.to_be_bytes());
    let mut expected = frame.clone();
    expected[30..34].copy_from_slice(&[192, 168, 1, 1]);
    expected[24..26].copy_from_slice(&[0xdd, 0x2e]);
    for status in TOLD {
        let found = rewritten(&frame, "(dst: \"192.168.1.1\")", *status);
        assert_same_frames(&[found], &[&expected]);
    }
}
