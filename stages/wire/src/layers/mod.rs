//! One walk over the headers of a frame, and what it leaves behind: offsets and facts, 16 bits
//! each.
//!
//! It promises, for any bytes: no panic, at most [`HEADERS_MAX`] headers looked at, no byte beyond
//! the contiguous prefix read, and no offset that lies outside of it. It follows VXLAN, Geneve, GRE
//! and IP in IP to the level inside, and where it meets what it does not know (MPLS, PPPoE, GTP,
//! ESP) it stops and says how far it came: it never guesses. It reads headers only, so it verifies
//! no checksum and knows no flow.
//!
//! `level` has the answer's types, `walk` the walk over the layers of a level, `ipv6` the chain of
//! extension headers, `tunnel` the way from one level to the next.

mod ipv6;
mod level;
mod tunnel;
mod walk;

pub use level::{Coverage, Fragment, L3, L4, Level};
pub use tunnel::{Tunnel, is_tunnel_port};
pub use walk::HEADERS_MAX;

/// What the walk found. Plain data; meaningful only with the frame it was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layers {
    /// The levels found, outer first: `levels[..count]`. A level is a frame's Ethernet header and
    /// what it carries; inside of a tunnel for IP it is the IP header and what that carries.
    pub levels: [Level; 2],
    /// Levels in use, 0..=2. 0: not even an Ethernet header fits.
    pub count: u8,
    /// More than two levels were found; the innermost two are kept, and `levels[0]` does not start
    /// at byte 0.
    pub deeper: bool,
    /// VLAN tags after the outermost Ethernet header (of any depth; levels below have their own,
    /// not counted here).
    pub vlans: u8,
    /// What carries the innermost level, where there is one inside another.
    pub tunnel: Tunnel,
}

impl Layers {
    /// The levels found, outer first.
    #[inline]
    pub fn levels(&self) -> &[Level] {
        &self.levels[..usize::from(self.count.min(2))]
    }

    /// The innermost level.
    #[inline]
    pub fn innermost(&self) -> Option<&Level> {
        self.levels().last()
    }

    /// The outer level, where there is a tunnel.
    #[inline]
    pub fn outer(&self) -> Option<&Level> {
        if self.count == 2 { Some(&self.levels[0]) } else { None }
    }
}

/// Walks the headers of a frame once.
///
/// `frame` is the contiguous start of it and may be shorter than the packet; `frame_len` is the
/// length in bytes of the whole packet, over all its parts, as captured or received. Where a header
/// goes on beyond `frame` although the packet has it, the level is [`Level::incomplete`]: make more
/// bytes contiguous and walk again, or treat it as opaque.
pub fn layers(frame: &[u8], frame_len: u32) -> Layers {
    let mut found = Layers::default();
    walk::Walk::new(frame, frame_len).run(&mut found);
    found
}

/// Walks the headers of a frame once and shows every level found, outer first, however many.
pub fn each_level(frame: &[u8], frame_len: u32, visit: impl FnMut(&Level)) {
    walk::Walk::new(frame, frame_len).visit(visit);
}

#[cfg(test)]
mod tests;
