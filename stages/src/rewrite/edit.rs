//! Header fields are written, and every sum over them follows.
//!
//! It promises that the IPv4 header checksum and the one above IP are afterwards what they were: right, wrong by
//! the same difference, absent, or still to be finished (RFC 1624); none is repaired. A change that adds up to nothing leaves a
//! checksum as it is. What a device said of the sum of the datagram stays true. Payload is not
//! touched, and what is known of its sum stays.

use super::outer::{Holds, Outer};
use crate::rx::CONTIGUOUS;
use corelane_runtime::packet::{Buffers, Known, L4, MetaFlags, NoBuffer, Packet, SMALL_ROOM};
use corelane_sum::{Sum, update, update_udp};
use corelane_wire::ipv4::Ipv4Header;

/// Makes the headers contiguous and nobody else's, `needed` bytes at least, which the packet has.
pub(crate) fn own_headers(
    packet: &mut Packet,
    needed: u32,
    buffers: &mut Buffers,
) -> Result<(), NoBuffer> {
    if packet.is_unshared() && packet.data().len() as u64 >= u64::from(needed) {
        return Ok(());
    }
    let innermost = packet.meta().layers.innermost();
    let headers = match innermost {
        // Not a byte of payload: where its pieces begin stays where parts begin.
        Some(level) if matches!(level.l4_kind, L4::Tcp | L4::Udp) => u32::from(level.payload),
        Some(level) => u32::from(level.payload).max(CONTIGUOUS),
        None => CONTIGUOUS,
    };
    let n = headers.max(needed).min(packet.len()).min(SMALL_ROOM);
    packet.make_header_unique(n, buffers)
}

/// What a change takes out of a sum and puts into it.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    old: Sum,
    new: Sum,
}

impl Change {
    fn add(&mut self, old: Sum, new: Sum) {
        self.old += old;
        self.new += new;
    }

    fn is_nothing(&self) -> bool {
        self.old.same_as(self.new)
    }
}

/// Writing into the headers of one packet.
pub(crate) struct Edit<'a> {
    data: &'a mut [u8],
    outer: Option<Outer>,
    /// The sum a device knows, if it covers headers.
    known: Option<Known>,
    known_change: Change,
    /// In the IP header.
    network: Change,
    /// In the pseudo header.
    pseudo: Change,
    /// Behind the IP header, under the checksum above it.
    transport: Change,
    changed: bool,
}

impl<'a> Edit<'a> {
    /// Begins to write into `data`, the headers of a packet with that outermost IP header.
    fn new(data: &'a mut [u8], outer: Option<Outer>, known: Option<Known>) -> Edit<'a> {
        let (network, pseudo, transport) = Default::default();
        let known_change = Change::default();
        Edit { data, outer, known, known_change, network, pseudo, transport, changed: false }
    }

    /// The bytes as they are now.
    pub(crate) fn data(&self) -> &[u8] {
        self.data
    }

    /// Writes bytes that no checksum of the packet covers.
    pub(crate) fn link(&mut self, at: usize, bytes: &[u8]) {
        self.put(at, bytes);
    }

    /// Writes into the IP header, but for its addresses; `at` counts from its start.
    pub(crate) fn network(&mut self, at: usize, bytes: &[u8]) {
        let Some(l3) = self.outer.map(|outer| outer.l3) else { return };
        let (old, new) = self.put(l3 + at, bytes);
        self.network.add(old.shifted(at), new.shifted(at));
    }

    /// Writes an address, source (0) or destination (1), of the family that the header has.
    pub(crate) fn address(&mut self, which: usize, bytes: &[u8]) {
        let Some(outer) = self.outer else { return };
        let at = outer.addresses() + which * outer.address_len();
        let (old, new) = self.put(at, bytes);
        self.network.add(old, new);
        if outer.above.is_some_and(|above| above.covers[which]) {
            self.pseudo.add(old, new);
        }
    }

    /// Writes a port, source (0) or destination (1), where there are ports.
    pub(crate) fn port(&mut self, which: usize, port: u16) {
        let Some(ports) = self.outer.and_then(|outer| outer.ports) else { return };
        let (old, new) = self.put(ports + 2 * which, &port.to_be_bytes());
        self.transport.add(old, new);
    }

    /// Writes bytes, and returns the sums of what was there and what is there now, as at an even offset.
    fn put(&mut self, at: usize, bytes: &[u8]) -> (Sum, Sum) {
        let Some(place) = self.data.get_mut(at..at + bytes.len()).filter(|place| *place != bytes)
        else {
            return (Sum::ZERO, Sum::ZERO);
        };
        let (old, new) = (Sum::of(place), Sum::of(bytes));
        place.copy_from_slice(bytes);
        self.changed = true;
        if let Some(from) = self.known.map(|known| usize::from(known.from)) {
            match at.checked_sub(from) {
                Some(offset) => self.known_change.add(old.shifted(offset), new.shifted(offset)),
                None if at + bytes.len() <= from => {}
                None => self.known = None,
            }
        }
        (old, new)
    }

    /// Lets the checksums follow. Returns whether a byte changed, and what is known now.
    fn finish(mut self) -> (bool, Option<Known>) {
        if let Some(outer) = self.outer {
            self.finish_network(&outer);
            self.finish_above(&outer);
        }
        let Change { old, new } = self.known_change;
        let known = self.known.map(|Known { from, sum }| Known {
            from,
            sum: (Sum::from_u16(sum) - old + new).fold(),
        });
        (self.changed, known)
    }

    fn finish_network(&mut self, outer: &Outer) {
        let change = self.network;
        if outer.v6 || outer.unfinished || change.is_nothing() {
            return;
        }
        let at = outer.l3 + Ipv4Header::CHECKSUM_AT;
        if let Some(field) = self.word(at) {
            self.put(at, &update(field, change.old, change.new).to_be_bytes());
        }
    }

    fn finish_above(&mut self, outer: &Outer) {
        let Some(above) = outer.above else { return };
        let mut change = self.pseudo;
        if above.holds == Holds::Checksum {
            // A seed says nothing of what stands behind the pseudo header.
            let shift = outer.ports.map_or(0, |ports| ports - above.from);
            let Change { old, new } = self.transport;
            change.add(old.shifted(shift), new.shifted(shift));
        }
        let Some(field) = self.word(above.at).filter(|_| !change.is_nothing()) else { return };
        let Change { old, new } = change;
        let field = match above.holds {
            Holds::Seed => (Sum::from_u16(field) - old + new).canonical(),
            Holds::Checksum if above.optional => update_udp(field, old, new),
            Holds::Checksum => update(field, old, new),
        };
        self.put(above.at, &field.to_be_bytes());
    }

    fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.data.get(at..at + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

/// Writes into the headers of a packet whose outermost IP header is `outer`. Returns whether a byte changed.
///
/// # Errors
/// [`NoBuffer`] where the headers are not the packet's own and there is no buffer for a copy; nothing is changed
/// then.
pub(crate) fn edit(
    packet: &mut Packet,
    outer: Option<Outer>,
    buffers: &mut Buffers,
    write: impl FnOnce(&mut Edit<'_>),
) -> Result<bool, NoBuffer> {
    let needed = outer.map_or(0, |outer| outer.end()).max(LINK) as u32;
    own_headers(packet, needed.min(packet.len()), buffers)?;
    let known = packet.meta().known();
    let Some(data) = packet.data_mut() else { return Ok(false) };
    let mut edit = Edit::new(data, outer, known);
    write(&mut edit);
    let (changed, now) = edit.finish();
    match now.filter(|_| known != now) {
        Some(now) => packet.meta_mut().set_known(now),
        None if known.is_some() && now.is_none() => packet.meta_mut().forget_known(),
        None => {}
    }
    Ok(changed)
}

/// Bytes of an Ethernet header with one VLAN tag.
const LINK: usize = 18;

/// Whether the packet begins with an Ethernet header.
pub(crate) fn has_link(packet: &Packet) -> bool {
    let meta = packet.meta();
    let level = meta.layers.levels[0];
    // A level that came out of a tunnel without a link header begins with its IP header.
    let tracked = meta.layers.count > 0 && !meta.flags.contains(MetaFlags::DEEPER);
    let bare = tracked && level.l2 == level.l3;
    packet.data().len() >= 14 && !bare
}
