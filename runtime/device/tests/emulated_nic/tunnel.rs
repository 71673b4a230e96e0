//! Frames inside tunnels, made by hand: an outer level around the bytes of an inner frame.
//!
//! As for [`Recipe`], sums are plain numbers: nothing here is shared with the device.

use crate::support::*;
use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, Segmentation};

/// What carries the inner frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Vxlan,
    /// With so many words of options; the inner frame has its Ethernet header or not.
    Geneve {
        options: u8,
        ethernet: bool,
    },
    Gre {
        key: bool,
        sequence: bool,
        ethernet: bool,
    },
    Ip,
}

/// The outer checksum, that of UDP or GRE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// None: 0, or no field.
    Absent,
    /// The sum of the pseudo header.
    Seed,
    /// Finished over the bytes as they are.
    Right,
}

/// An outer level.
#[derive(Clone, Debug)]
pub(crate) struct Wrap {
    pub(crate) carrier: Carrier,
    pub(crate) port: u16,
    pub(crate) v6: bool,
    pub(crate) tags: usize,
    pub(crate) id: u16,
    pub(crate) df: bool,
    pub(crate) sum: Sum,
}

impl Wrap {
    pub(crate) fn of(carrier: Carrier) -> Wrap {
        let port = if carrier == Carrier::Vxlan { 4789 } else { 6081 };
        Wrap { carrier, port, v6: false, tags: 0, id: 100, df: true, sum: Sum::Absent }
    }

    pub(crate) fn vxlan() -> Wrap {
        Wrap::of(Carrier::Vxlan)
    }

    pub(crate) fn l3(&self) -> usize {
        14 + 4 * self.tags
    }

    pub(crate) fn l4(&self) -> usize {
        self.l3() + if self.v6 { 40 } else { 20 }
    }

    fn is_udp(&self) -> bool {
        matches!(self.carrier, Carrier::Vxlan | Carrier::Geneve { .. })
    }

    fn has_ethernet(&self) -> bool {
        match self.carrier {
            Carrier::Vxlan => true,
            Carrier::Geneve { ethernet, .. } | Carrier::Gre { ethernet, .. } => ethernet,
            Carrier::Ip => false,
        }
    }

    /// Where the outer checksum is in the frame.
    pub(crate) fn field(&self) -> usize {
        self.l4() + if self.is_udp() { 6 } else { 4 }
    }

    /// The headers between the outer IP header and the inner frame, with zero in length and checksum.
    fn between(&self, inner_v6: bool) -> Vec<u8> {
        let inner_type: [u8; 2] = match (self.has_ethernet(), inner_v6) {
            (true, _) => [0x65, 0x58],
            (_, false) => [0x08, 0x00],
            (_, true) => [0x86, 0xdd],
        };
        let udp = [&49_153_u16.to_be_bytes()[..], &self.port.to_be_bytes(), &[0; 4]].concat();
        match self.carrier {
            Carrier::Vxlan => [&udp[..], &[8, 0, 0, 0, 0, 0, 42, 0]].concat(),
            Carrier::Geneve { options, .. } => {
                let fixed = [options, 0, inner_type[0], inner_type[1], 0, 0, 42, 0];
                let options = (0..4 * options).map(|n| n.wrapping_mul(29)).collect::<Vec<u8>>();
                [&udp[..], &fixed, &options].concat()
            }
            Carrier::Gre { key, sequence, .. } => {
                let checksum = self.sum != Sum::Absent;
                let flags = u8::from(checksum) << 7 | u8::from(key) << 5 | u8::from(sequence) << 4;
                let mut header = vec![flags, 0, inner_type[0], inner_type[1]];
                let words = [checksum, key, sequence];
                for (number, _) in words.iter().enumerate().filter(|(_, there)| **there) {
                    header.extend(if number == 0 { [0; 4] } else { [7, 7, 7, number as u8] });
                }
                header
            }
            Carrier::Ip => Vec::new(),
        }
    }

    /// How much further from the start of the frame everything of `inner` is than in its own frame.
    pub(crate) fn shift(&self, inner: &Recipe) -> usize {
        let skipped = if self.has_ethernet() { 0 } else { inner.l3() };
        self.l4() + self.between(inner.v6).len() - skipped
    }

    /// The outer level around `frame`, which is that of `inner` in whatever state.
    pub(crate) fn around(&self, inner: &Recipe, frame: &[u8]) -> Vec<u8> {
        let skipped = if self.has_ethernet() { 0 } else { inner.l3() };
        let mut l4 = self.between(inner.v6);
        l4.extend(&frame[skipped..]);
        let len = l4.len() as u64;
        let mut pseudo = len + u64::from(self.protocol(inner));
        let ip = self.ip(0, 0);
        pseudo += word_sum(if self.v6 { &ip[8..40] } else { &ip[12..20] });
        if self.is_udp() {
            l4[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        } else {
            pseudo = 0;
        }
        let field = self.field() - self.l4();
        let value = match self.sum {
            Sum::Absent => None,
            Sum::Seed => Some(if pseudo == 0 { 0 } else { (pseudo - 1) % 65_535 + 1 }),
            Sum::Right => {
                let rest = (word_sum(&l4) + pseudo) % 65_535;
                Some(if rest == 0 && !self.is_udp() { 0 } else { 65_535 - rest })
            }
        };
        if let Some(value) = value {
            l4[field..field + 2].copy_from_slice(&(value as u16).to_be_bytes());
        }
        let mut out = vec![2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 3];
        (0..self.tags).for_each(|tag| out.extend([0x88, 0xa8, 0, 9 + tag as u8]));
        out.extend(if self.v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        out.extend(self.ip(l4.len(), self.protocol(inner)));
        out.extend(l4);
        out
    }

    fn protocol(&self, inner: &Recipe) -> u8 {
        match self.carrier {
            Carrier::Vxlan | Carrier::Geneve { .. } => 17,
            Carrier::Gre { .. } => 47,
            Carrier::Ip if inner.v6 => 41,
            Carrier::Ip => 4,
        }
    }

    fn ip(&self, l4_len: usize, protocol: u8) -> Vec<u8> {
        if self.v6 {
            let [high, low] = (l4_len as u16).to_be_bytes();
            let mut ip = vec![0x60, 0x10, 0, 0, high, low, protocol, 64];
            ip.extend((0..32).map(|n: u8| n.wrapping_mul(91)));
            return ip;
        }
        let [high, low] = (20 + l4_len as u16).to_be_bytes();
        let [id_high, id_low] = self.id.to_be_bytes();
        let df = if self.df { 0x40 } else { 0 };
        let mut ip = vec![0x45, 4, high, low, id_high, id_low, df, 0, 63, protocol, 0, 0];
        ip.extend([198, 51, 100, 1, 198, 51, 100, 2]);
        let rest = word_sum(&ip) % 65_535;
        ip[10..12].copy_from_slice(&((65_535 - rest) as u16).to_be_bytes());
        ip
    }

    /// Marks a packet as one whose checksums are unfinished: that of `inner`, and the outer one where it is a seed.
    pub(crate) fn mark_partial(&self, inner: &Recipe, packet: &mut Packet) {
        let shift = self.shift(inner);
        let (start, field) = ((inner.l4() + shift) as u16, (inner.field() + shift) as u16);
        packet.meta_mut().request(1, Partial { start, field });
        if self.sum == Sum::Seed {
            self.mark_outer(packet);
        }
    }

    /// Marks the outer checksum as unfinished.
    pub(crate) fn mark_outer(&self, packet: &mut Packet) {
        let partial = Partial { start: self.l4() as u16, field: self.field() as u16 };
        packet.meta_mut().request(0, partial);
    }

    /// Asks for the packet to be cut.
    pub(crate) fn mark_super(
        &self,
        inner: &Recipe,
        packet: &mut Packet,
        gso: u16,
        flags: SegFlags,
    ) {
        self.mark_partial(inner, packet);
        packet.meta_mut().l3[0] = Csum::Good;
        let payload = packet.len() as usize - inner.header_len() - self.shift(inner);
        let count = payload.div_ceil(usize::from(gso.max(1))) as u16;
        packet.set_segmentation(Segmentation { kind: inner.kind(), gso_size: gso, count, flags });
    }

    /// The superpacket: unfinished inside, and outside where that has a checksum.
    pub(crate) fn superpacket(&self, inner: &Recipe) -> Vec<u8> {
        self.around(inner, &inner.partial())
    }

    /// The frames that the superpacket must become, each made on its own.
    pub(crate) fn segments(&self, inner: &Recipe, gso: usize, flags: SegFlags) -> Vec<Vec<u8>> {
        let pieces = inner.payload.chunks(gso).collect::<Vec<_>>();
        let count = pieces.len();
        let step = |fixed: SegFlags, number: usize| {
            if flags.contains(fixed) { 0 } else { number as u16 }
        };
        let piece = |(number, payload): (usize, &&[u8])| {
            let mut tcp = inner.flags;
            if number + 1 < count {
                tcp &= !0x09;
            }
            if number > 0 && !flags.contains(SegFlags::CWR_ALL) {
                tcp &= !0x80;
            }
            let inner = Recipe {
                payload: payload.to_vec(),
                seq: inner.seq.wrapping_add((number * gso) as u32),
                id: inner.id.wrapping_add(step(SegFlags::FIXED_ID, number)),
                flags: tcp,
                ..inner.clone()
            };
            let id = self.id.wrapping_add(step(SegFlags::OUTER_FIXED_ID, number));
            let sum = if self.sum == Sum::Seed { Sum::Right } else { self.sum };
            Wrap { id, sum, ..self.clone() }.around(&inner, &inner.frame())
        };
        pieces.iter().enumerate().map(piece).collect()
    }
}

/// Every kind of tunnel, over both families.
pub(crate) fn wraps() -> Vec<Wrap> {
    let carriers = [
        Carrier::Vxlan,
        Carrier::Geneve { options: 0, ethernet: true },
        Carrier::Geneve { options: 3, ethernet: false },
        Carrier::Gre { key: false, sequence: false, ethernet: false },
        Carrier::Gre { key: true, sequence: false, ethernet: true },
        Carrier::Ip,
    ];
    let both = carriers.into_iter().flat_map(|carrier| {
        [false, true].map(|v6| Wrap { v6, tags: usize::from(v6), ..Wrap::of(carrier) })
    });
    both.collect()
}
