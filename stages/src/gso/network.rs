//! The IP header of one level of the segments: length, ID and header sum, written from numbers taken once.
//!
//! It promises that a header sum which was wrong or cannot be known good stays wrong by the same difference. It
//! reads no byte behind the header.

use super::shape::network_is_sound;
use corelane_runtime::packet::{L3, Packet};
use corelane_sum::{Sum, update};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::{view, view_mut};

/// How the IPv4 header sum of a segment is made.
#[derive(Clone, Copy, Debug)]
enum HeaderSum {
    /// There is none: IPv6.
    Absent,
    /// Anew, from the sum of what all segments share.
    Computed(Sum),
    /// From the superpacket's, which is wrong or unknown, by the difference: nothing is repaired.
    Updated { checksum: u16, old: Sum },
}

/// What the IP headers of all segments share, and the ID they count on from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    l3: u16,
    id: u16,
    /// All segments carry the same ID.
    fixed: bool,
    sum: HeaderSum,
    /// Sum of both addresses, for a pseudo header.
    pub(super) addresses: Sum,
}

impl Network {
    /// Reads the header of a level, which is contiguous; `None` if it is not what the layers say.
    pub(super) fn read(packet: &Packet, index: usize, fixed: bool) -> Option<Network> {
        let level = &packet.meta().layers.levels[index];
        let data = packet.data();
        let l3 = usize::from(level.l3);
        if level.l3_kind == L3::V6 {
            let addresses = data.get(l3 + Ipv6Header::SRC_AT..l3 + Ipv6Header::LEN)?;
            let (addresses, sum) = (Sum::of(addresses), HeaderSum::Absent);
            return Some(Network { l3: level.l3, id: 0, fixed, sum, addresses });
        }
        let ip = view::<Ipv4Header>(data, l3)?;
        let addresses = Sum::of(data.get(l3 + Ipv4Header::LEN - 8..l3 + Ipv4Header::LEN)?);
        let whole = Sum::of(data.get(l3..l3 + ip.header_len())?);
        let old = Sum::from_u16(ip.total_length.get()) + Sum::from_u16(ip.id.get());
        let checksum = ip.checksum.get();
        let sum = if network_is_sound(packet, index) {
            HeaderSum::Computed(whole - old - Sum::from_u16(checksum))
        } else {
            HeaderSum::Updated { checksum, old }
        };
        Some(Network { l3: level.l3, id: ip.id.get(), fixed, sum, addresses })
    }

    /// Whether there is a header sum that is right once it is written.
    pub(super) fn is_computed(&self) -> bool {
        matches!(self.sum, HeaderSum::Computed(_))
    }

    /// Bytes from the start of the IP header to `end`.
    pub(super) fn datagram(&self, end: u32) -> u32 {
        end - u32::from(self.l3)
    }

    /// Sum of the fields that differ between segments, as they stand in the header now.
    pub(super) fn varying(&self, data: &[u8]) -> Sum {
        let l3 = usize::from(self.l3);
        if matches!(self.sum, HeaderSum::Absent) {
            let header = view::<Ipv6Header>(data, l3);
            return header.map_or(Sum::ZERO, |header| Sum::from_u16(header.payload_length.get()));
        }
        let fields = view::<Ipv4Header>(data, l3).map(|header| {
            let lengths = Sum::from_u16(header.total_length.get()) + Sum::from_u16(header.id.get());
            lengths + Sum::from_u16(header.checksum.get())
        });
        fields.unwrap_or(Sum::ZERO)
    }

    /// Writes the header of a packet that has `before` wire segments in front of it and whose IP datagram is
    /// `datagram` bytes long; a length that its field cannot hold is written as 0.
    #[inline(always)] // a call costs more than one level of every segment
    pub(super) fn write(&self, data: &mut [u8], datagram: u32, before: u16) {
        let l3 = usize::from(self.l3);
        if matches!(self.sum, HeaderSum::Absent) {
            if let Some(header) = view_mut::<Ipv6Header>(data, l3) {
                let length = datagram - Ipv6Header::LEN as u32;
                header.payload_length.set(u16::try_from(length).unwrap_or(0));
            }
            return;
        }
        let Some(header) = view_mut::<Ipv4Header>(data, l3) else { return };
        let step = if self.fixed { 0 } else { before };
        let (id, length) = (self.id.wrapping_add(step), u16::try_from(datagram).unwrap_or(0));
        let new = Sum::from_u16(length) + Sum::from_u16(id);
        header.id.set(id);
        header.total_length.set(length);
        match self.sum {
            HeaderSum::Absent => {}
            HeaderSum::Computed(shared) => header.checksum.set((shared + new).checksum()),
            HeaderSum::Updated { checksum, old } => header.checksum.set(update(checksum, old, new)),
        }
    }
}
