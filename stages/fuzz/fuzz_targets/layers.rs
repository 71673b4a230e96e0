//! Any bytes have layers that lie within them, through tunnels too: the walk never panics, never loops, never points
//! outside.
#![no_main]

use corelane_wire::layers::each_level;
use corelane_wire::{L3, L4, Level, layers, pseudo};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let frame_len = data.len() as u32;
    for prefix in [data.len(), data.len().min(256), data.len() / 2] {
        let found = layers(&data[..prefix], frame_len);
        assert!(found.count <= 2);
        for level in found.levels() {
            let inside = |at: u16| usize::from(at) <= prefix;
            assert!(inside(level.l2) && inside(level.l3) && inside(level.l4));
            assert!(inside(level.payload));
            assert!(level.limit <= frame_len);
            assert!(level.l4_kind == L4::None || level.l3_kind != L3::None);
            let _ = (level.coverage(), pseudo::addresses(&data[..prefix], level));
        }
        // Through tunnels: each level lies inside the one before, and those kept are among all there are.
        let mut all: Vec<Level> = Vec::new();
        each_level(&data[..prefix], frame_len, |level| all.push(*level));
        let nested = |pair: &[Level]| pair[0].l2 < pair[1].l2 && pair[1].limit <= pair[0].limit;
        assert!(all.windows(2).all(nested), "{all:?}");
        assert!(found.levels().iter().all(|kept| all.iter().any(|level| level.l3 == kept.l3)));
    }
});
