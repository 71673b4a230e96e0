//! A level put in front of a packet's levels, or taken off: what is known moves along.
//!
//! It promises that every offset in meta still names the byte it named, that the state of each checksum stays with
//! its level, and that nothing is claimed that the move made untrue. It touches no byte: whoever pushes and pulls
//! headers calls it.
//!
//! Of more than two levels the innermost two are tracked. What goes in front of two is therefore not: its
//! checksums must be complete when it is put there.

use super::meta::{Csum, Layers, Level, Meta, MetaFlags, Partial, Tunnel};
use super::{Packet, Taken};

impl Packet {
    /// After `n` bytes were pushed: `outer` is in them and carries what the packet was, the frame's trailer
    /// included, in such a tunnel. Its checksums are Unknown; the payload stays what it was.
    pub fn push_level(&mut self, n: u16, outer: Level, tunnel: Tunnel) {
        let meta = self.meta_mut();
        let trailing = meta.trailer > 0;
        meta.move_by(n, true);
        meta.orig_len += u32::from(n);
        meta.trailer = 0;
        if trailing {
            // A sum up to the end of the datagram is none up to the end of this one.
            meta.forget_known();
        }
        match meta.layers.count {
            // There are more levels than are tracked already, so the outermost is none of them.
            _ if meta.flags.contains(MetaFlags::DEEPER) => {}
            0 => {
                meta.layers = Layers { levels: [outer, Level::default()], count: 1, tunnel };
                (meta.l3, meta.l4) = Default::default();
            }
            1 => {
                meta.layers.levels = [outer, meta.layers.levels[0]];
                (meta.layers.count, meta.layers.tunnel) = (2, tunnel);
                meta.l3 = [Csum::Unknown, meta.l3[0]];
                meta.l4 = [Csum::Unknown, meta.l4[0]];
                if meta.l4[1] == Csum::Partial {
                    let partial = meta.partial[0];
                    meta.request(1, partial);
                }
            }
            _ => meta.flags.insert(MetaFlags::DEEPER),
        }
    }

    /// Before the first `n` bytes, the outer of two levels, are pulled: the inner one becomes the only one. The
    /// frame inside has `trailer` bytes behind its datagram. False, and nothing done, where the packet has not
    /// exactly two levels: only a look at its headers can say what is inside.
    pub fn pop_level(&mut self, n: u16, trailer: u16, taken: Taken) -> bool {
        let meta = self.meta_mut();
        let inner = meta.layers.levels[1];
        if meta.layers.count != 2 || meta.flags.contains(MetaFlags::DEEPER) || inner.l2 < n {
            return false;
        }
        if meta.trailer != trailer {
            meta.forget_known();
        }
        let known = meta.known().filter(|known| known.from >= n);
        meta.forget_known();
        meta.layers = Layers { levels: [inner, Level::default()], count: 1, tunnel: Tunnel::None };
        meta.l3 = [meta.l3[1], Csum::Unknown];
        meta.l4 = [meta.l4[1], Csum::Unknown];
        meta.partial[0] = meta.partial[1];
        if let Some(known) = known {
            meta.set_known(known);
        }
        meta.move_by(n, false);
        meta.orig_len = meta.orig_len.saturating_sub(u32::from(n));
        (meta.trailer, meta.taken) = (trailer, taken);
        true
    }

    /// After `n` bytes were pushed into, or before they are pulled out of, the link header in front of the
    /// outermost level, which stays where it began: a VLAN tag.
    pub fn widen_link(&mut self, n: u16, pushed: bool) {
        let meta = self.meta_mut();
        // Of more than two levels the outermost is not tracked, and all that are begin behind the tag.
        let start = meta.layers.levels[0].l2;
        let tracked = !meta.flags.contains(MetaFlags::DEEPER);
        meta.move_by(n, pushed);
        if tracked {
            meta.layers.levels[0].l2 = start;
        }
        let whole = meta.orig_len;
        meta.orig_len =
            if pushed { whole + u32::from(n) } else { whole.saturating_sub(u32::from(n)) };
    }
}

impl Meta {
    /// Moves every offset by `n`, inwards or outwards.
    fn move_by(&mut self, n: u16, inwards: bool) {
        let moved = |at: u16| if inwards { at.saturating_add(n) } else { at.saturating_sub(n) };
        let count = usize::from(self.layers.count.min(2));
        for level in &mut self.layers.levels[..count] {
            for at in [&mut level.l2, &mut level.l3] {
                *at = moved(*at);
            }
            // 0: there is none, and nothing to be moved.
            for at in [&mut level.l4, &mut level.payload].into_iter().filter(|at| **at > 0) {
                *at = moved(*at);
            }
        }
        for (partial, state) in self.partial.iter_mut().zip(self.l4) {
            if state == Csum::Partial {
                let Partial { start, field } = *partial;
                *partial = Partial { start: moved(start), field: moved(field) };
            }
        }
        if let Some(mut known) = self.known() {
            known.from = moved(known.from);
            self.set_known(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::{
        Buffers, Csum, HomeConfig, Known, L3, L4, Layers, Level, MetaFlags, Packet, Partial, Taken,
        Tunnel,
    };

    const PLAIN: Level =
        Level { l2: 0, l3: 14, l4: 34, payload: 54, l3_kind: L3::V4, l4_kind: L4::Tcp };
    const OUTER: Level =
        Level { l2: 0, l3: 14, l4: 34, payload: 42, l3_kind: L3::V4, l4_kind: L4::Udp };

    fn packet(buffers: &mut Buffers) -> Packet {
        let mut packet = buffers.receive(&[0; 100]).expect("a buffer");
        let levels = [PLAIN, Level::default()];
        packet.set_layers(Layers { levels, count: 1, tunnel: Tunnel::None }, 46);
        packet.meta_mut().orig_len = 100;
        packet
    }

    fn buffers() -> Buffers {
        let config = HomeConfig { name: "t".into(), shells: 0, small: 4, large: 0, node: None };
        Buffers::new(&config).expect("a home")
    }

    #[test]
    fn what_is_pushed_and_popped_leaves_all_as_it_was() {
        let mut buffers = buffers();
        for (state, known) in
            [(Csum::Partial, None), (Csum::Good, Some(Known { from: 14, sum: 7 }))]
        {
            let mut packet = packet(&mut buffers);
            let meta = packet.meta_mut();
            (meta.l3[0], meta.l4[0]) = (Csum::Good, state);
            meta.partial[0] = Partial { start: 34, field: 50 };
            known.into_iter().for_each(|known| meta.set_known(known));
            let before = *packet.meta();
            packet.push_level(50, OUTER, Tunnel::Vxlan);
            let meta = packet.meta();
            assert_eq!((meta.layers.count, meta.layers.tunnel), (2, Tunnel::Vxlan));
            assert_eq!(meta.layers.levels[0], OUTER);
            assert_eq!((meta.layers.levels[1].l2, meta.layers.levels[1].payload), (50, 104));
            assert_eq!((meta.l3, meta.l4), ([Csum::Unknown, Csum::Good], [Csum::Unknown, state]));
            assert_eq!(meta.known(), known.map(|known| Known { from: 64, ..known }));
            if state == Csum::Partial {
                assert_eq!(meta.partial[1], Partial { start: 84, field: 100 });
            }
            assert_eq!((meta.orig_len, packet.payload_len()), (150, 46));
            assert!(packet.pop_level(50, 0, Taken::tunnel(42)));
            let meta = packet.meta();
            assert_eq!(meta.taken.tunnel_id(), Some(42));
            assert_eq!((meta.l3, meta.l4), (before.l3, before.l4));
            assert_eq!((meta.layers, meta.orig_len), (before.layers, 100));
            assert_eq!(meta.known(), known);
            if state == Csum::Partial {
                assert_eq!(meta.partial[0], before.partial[0]);
            }
            buffers.release(packet);
        }
    }

    #[test]
    fn of_three_levels_the_inner_two_are_tracked_and_none_is_popped() {
        let mut buffers = buffers();
        let mut packet = packet(&mut buffers);
        packet.push_level(50, OUTER, Tunnel::Vxlan);
        packet.push_level(50, OUTER, Tunnel::Gre);
        let meta = packet.meta();
        assert!(meta.flags.contains(MetaFlags::DEEPER));
        assert_eq!((meta.layers.tunnel, meta.layers.levels[0].l3), (Tunnel::Vxlan, 64));
        assert_eq!(meta.layers.levels[1].l2, 100);
        assert!(!packet.pop_level(50, 0, Taken::NOTHING));
        buffers.release(packet);
    }

    #[test]
    fn a_sum_that_ends_elsewhere_is_forgotten() {
        let mut buffers = buffers();
        let mut padded = packet(&mut buffers);
        padded.meta_mut().trailer = 6;
        padded.meta_mut().set_known(Known { from: 14, sum: 7 });
        padded.push_level(50, OUTER, Tunnel::Vxlan);
        assert_eq!((padded.meta().known(), padded.meta().trailer), (None, 0));
        let mut tunnelled = packet(&mut buffers);
        tunnelled.push_level(50, OUTER, Tunnel::Vxlan);
        tunnelled.meta_mut().set_known(Known { from: 14, sum: 7 });
        assert!(tunnelled.pop_level(50, 0, Taken::NOTHING));
        assert_eq!(tunnelled.meta().known(), None, "it began in what was taken off");
        buffers.release(padded);
        buffers.release(tunnelled);
    }

    #[test]
    fn a_tag_moves_all_but_the_start() {
        let mut buffers = buffers();
        let mut packet = packet(&mut buffers);
        packet.widen_link(4, true);
        let level = packet.meta().layers.levels[0];
        assert_eq!((level.l2, level.l3, level.payload), (0, 18, 58));
        packet.widen_link(4, false);
        assert_eq!(packet.meta().layers.levels[0], PLAIN);
        assert_eq!(packet.meta().orig_len, 100);
        buffers.release(packet);
    }

    #[test]
    fn what_was_taken_is_a_tag_or_an_identifier() {
        assert_eq!(Taken::vlan(0xe00a).tci(), Some(0xe00a));
        assert_eq!(Taken::vlan(0xe00a).tunnel_id(), None);
        assert_eq!(Taken::tunnel(0x00ff_ffff).tunnel_id(), Some(0x00ff_ffff));
        assert_eq!((Taken::NOTHING.tci(), Taken::NOTHING.tunnel_id()), (None, None));
    }
}
