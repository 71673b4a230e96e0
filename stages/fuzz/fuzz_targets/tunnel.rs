//! `decap(encap(x)) == x`: the property of `stages/tests/tunnel`, for frames and tunnels that the fuzzer picks, and
//! `Decap` with frames that are nothing but its bytes.
#![no_main]

#[path = "../../tests/tunnel/property.rs"]
#[allow(dead_code, unused_imports, reason = "what its proptest cases alone need")]
mod property;
#[path = "../../tests/tunnel/rig.rs"]
#[allow(dead_code, reason = "the tests of this rig ask more of it")]
mod rig;

use corelane_runtime::packet::Csum;
use libfuzzer_sys::fuzz_target;
use property::{CHECKSUMS, PORTS, Way, taken_or_refused, there_and_back};

fuzz_target!(|data: &[u8]| {
    let Some((&[pick, cut], data)) = data.split_first_chunk() else { return };
    if pick & 1 == 0 {
        let frames: Vec<Vec<u8>> = data.chunks(120).take(40).map(<[u8]>::to_vec).collect();
        taken_or_refused(&frames);
        return;
    }
    let mut frame = data.to_vec();
    frame.resize(frame.len().clamp(14, 2000), 0);
    there_and_back(&Way {
        orig_len: frame.len() as u32 + u32::from(cut),
        frame,
        v6: pick & 2 != 0,
        checksum: CHECKSUMS[usize::from(pick >> 2) % CHECKSUMS.len()],
        l4: [Csum::Unknown, Csum::Good, Csum::Bad][usize::from(pick >> 4) % 3],
        port: if pick & 0x40 == 0 { PORTS } else { "port: 1111" },
        wire: pick & 0x80 != 0,
    });
});
