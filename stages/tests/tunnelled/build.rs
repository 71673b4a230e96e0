//! Frames in tunnels, byte by byte: a stream of TCP or UDP inside VXLAN, Geneve, GRE or IP, as single segments with
//! right checksums, and as the superpacket that they are segments of.
//!
//! Slow and obvious: every length and checksum is computed from the finished bytes of that frame alone. It shares
//! nothing with the code under test but the types of a packet's meta.

use corelane_runtime::packet::{
    Csum, L3, L4, Layers, Level, Packet, Partial, SegFlags, SegKind, Segmentation, Tunnel,
};
use corelane_runtime::stage::{StageContext, Tally};
use corelane_runtime::testing::Harness;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// A stream inside a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) tunnel: Tunnel,
    /// Outer UDP destination port.
    pub(crate) port: u16,
    pub(crate) outer_v6: bool,
    /// The outer UDP checksum, or that of GRE, is in use.
    pub(crate) sum: bool,
    pub(crate) outer_id: u16,
    pub(crate) outer_df: bool,
    /// Bytes of Geneve options, or whether there is a GRE key.
    pub(crate) options: usize,
    /// An Ethernet header is inside; without it IP is.
    pub(crate) ethernet: bool,
    pub(crate) inner_v6: bool,
    pub(crate) udp: bool,
    pub(crate) inner_id: u16,
    pub(crate) seq: u32,
    pub(crate) tcp_flags: u8,
    pub(crate) tcp_options: usize,
    pub(crate) gso_size: usize,
    pub(crate) payload: Vec<u8>,
    pub(crate) flags: SegFlags,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream {
            tunnel: Tunnel::Vxlan,
            port: 4789,
            outer_v6: false,
            sum: false,
            outer_id: 0,
            outer_df: true,
            options: 0,
            ethernet: true,
            inner_v6: false,
            udp: false,
            inner_id: 7,
            seq: 0xffff_ff00,
            tcp_flags: 0x10,
            tcp_options: 0,
            gso_size: 500,
            payload: payload(1700),
            flags: SegFlags::OUTER_FIXED_ID,
        }
    }
}

/// Bytes that are no two alike in a row.
pub(crate) fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// What a frame holds of the stream.
struct Piece {
    from: usize,
    to: usize,
    /// Segments before it.
    number: usize,
    /// The whole superpacket: checksums hold their seeds.
    seeded: bool,
}

/// Sum of 16-bit words, folded; the slow way.
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let mut total = 0_u64;
    for pair in bytes.chunks(2) {
        total += u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from);
    }
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

fn put(frame: &mut [u8], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

impl Stream {
    pub(crate) fn kind(&self) -> SegKind {
        match (self.udp, self.inner_v6) {
            (false, false) => SegKind::Tcp4,
            (false, true) => SegKind::Tcp6,
            (true, false) => SegKind::Udp4,
            (true, true) => SegKind::Udp6,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.payload.len().div_ceil(self.gso_size)
    }

    /// Where the levels of each of its frames are.
    pub(crate) fn layers(&self) -> Layers {
        let family = |v6| if v6 { (L3::V6, 40) } else { (L3::V4, 20) };
        let ((outer, outer_len), (inner, inner_len)) =
            (family(self.outer_v6), family(self.inner_v6));
        let l4 = 14 + outer_len;
        let (header, l4_kind) = match self.tunnel {
            Tunnel::Vxlan | Tunnel::Geneve => (8, L4::Udp),
            Tunnel::Gre => (self.gre_len(), L4::Other),
            _ => (0, L4::Other),
        };
        let carried = l4
            + match self.tunnel {
                Tunnel::Vxlan => 16,
                Tunnel::Geneve => 16 + self.options as u16,
                _ => header,
            };
        let ethernet = if self.has_ethernet() { 14 } else { 0 };
        let (l3, kind) = (carried + ethernet, if self.udp { L4::Udp } else { L4::Tcp });
        let transport = if self.udp { 8 } else { 20 + self.tcp_options as u16 };
        let payload = l3 + inner_len + transport;
        let inner_l4 = l3 + inner_len;
        let levels = [
            Level { l2: 0, l3: 14, l4, payload: l4 + header, l3_kind: outer, l4_kind },
            Level { l2: carried, l3, l4: inner_l4, payload, l3_kind: inner, l4_kind: kind },
        ];
        Layers { levels, count: 2, tunnel: self.tunnel }
    }

    fn has_ethernet(&self) -> bool {
        match self.tunnel {
            Tunnel::Vxlan | Tunnel::Geneve => true,
            Tunnel::Gre => self.ethernet,
            _ => false,
        }
    }

    fn gre_len(&self) -> u16 {
        4 + if self.sum { 4 } else { 0 } + if self.options > 0 { 4 } else { 0 }
    }

    /// The frames that go on the wire.
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        let frame = |number: usize| {
            let from = number * self.gso_size;
            let to = (from + self.gso_size).min(self.payload.len());
            self.frame(Piece { from, to, number, seeded: false })
        };
        (0..self.count()).map(frame).collect()
    }

    /// The superpacket: lengths of the whole, 0 where a field cannot hold them; seeds in its checksums.
    pub(crate) fn whole(&self) -> Vec<u8> {
        self.frame(Piece { from: 0, to: self.payload.len(), number: 0, seeded: true })
    }

    fn frame(&self, piece: Piece) -> Vec<u8> {
        let mut frame = vec![0xaa, 0xbb, 0xcc, 0, 0, 1, 0xaa, 0x55, 0xaa, 0x55, 0, 3];
        let ethertype = |v6: bool| if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        frame.extend(ethertype(self.outer_v6));
        let step =
            |fixed: SegFlags| if self.flags.contains(fixed) { 0 } else { piece.number as u16 };
        let id = self.outer_id.wrapping_add(step(SegFlags::OUTER_FIXED_ID));
        let protocol = match self.tunnel {
            Tunnel::Vxlan | Tunnel::Geneve => 17,
            Tunnel::Gre => 47,
            _ if self.inner_v6 => 41,
            _ => 4,
        };
        push_ip(&mut frame, self.outer_v6, protocol, id, self.outer_df, 1);
        self.push_tunnel(&mut frame, ethertype(self.inner_v6));
        if self.has_ethernet() {
            frame.extend([0x0a, 0x8f, 0x39, 0x4f, 0xe0, 0x73, 0x8a, 0xbf, 0x7e, 0x2f, 0x05, 0x84]);
            frame.extend(ethertype(self.inner_v6));
        }
        let id = self.inner_id.wrapping_add(step(SegFlags::FIXED_ID));
        push_ip(&mut frame, self.inner_v6, if self.udp { 17 } else { 6 }, id, true, 2);
        self.push_transport(&mut frame, &piece);
        frame.extend(&self.payload[piece.from..piece.to]);
        self.complete(&mut frame, piece.seeded);
        frame
    }

    /// Writes the lengths and checksums of a frame that ends where it ends, or the seeds of a superpacket.
    pub(crate) fn complete(&self, frame: &mut [u8], seeded: bool) {
        let [outer, inner] = self.layers().levels;
        let place = usize::from(inner.l4) + if self.udp { 6 } else { 16 };
        finish_ip(frame, &inner);
        finish_transport(frame, &inner, self.udp, Some(place), seeded);
        finish_ip(frame, &outer);
        match self.tunnel {
            Tunnel::Vxlan | Tunnel::Geneve => {
                let field = self.sum.then_some(usize::from(outer.l4) + 6);
                finish_transport(frame, &outer, true, field, seeded);
            }
            Tunnel::Gre if self.sum => {
                let at = usize::from(outer.l4);
                let checksum = if seeded { 0x1234 } else { !sum(&frame[at..]) };
                put(frame, at + 4, checksum);
            }
            _ => {}
        }
    }

    fn push_tunnel(&self, frame: &mut Vec<u8>, inner: [u8; 2]) {
        let start = frame.len();
        if matches!(self.tunnel, Tunnel::Vxlan | Tunnel::Geneve) {
            frame.extend([0xe0, 0x13]);
            frame.extend(self.port.to_be_bytes());
            frame.extend([0; 4]);
        }
        match self.tunnel {
            Tunnel::Vxlan => frame.extend([8, 0, 0, 0, 0, 0, 0x7b, 0]),
            Tunnel::Geneve => {
                frame.extend([(self.options / 4) as u8, 0, 0x65, 0x58, 0, 0, 0x7b, 0]);
                frame.extend((0..self.options).map(|at| at as u8));
            }
            Tunnel::Gre => {
                let key = self.options > 0;
                let flags = if self.sum { 0x80 } else { 0 } | if key { 0x20 } else { 0 };
                frame.extend([flags, 0]);
                frame.extend(if self.ethernet { [0x65, 0x58] } else { inner });
                frame.extend(if self.sum { &[0; 4][..] } else { &[] });
                frame.extend(if key { &[0, 0, 0, 0x7b][..] } else { &[] });
            }
            _ => assert_eq!(frame.len(), start),
        }
    }

    fn push_transport(&self, frame: &mut Vec<u8>, piece: &Piece) {
        frame.extend([0xd4, 0x78, 0x14, 0x51]);
        if self.udp {
            frame.extend([0; 4]);
            return;
        }
        frame.extend(self.seq.wrapping_add(piece.from as u32).to_be_bytes());
        frame.extend([0, 0, 0, 9]);
        let mut flags = self.tcp_flags;
        if piece.to < self.payload.len() {
            flags &= !FIN_PSH;
        }
        if piece.number > 0 && !self.flags.contains(SegFlags::CWR_ALL) {
            flags &= !CWR;
        }
        frame.extend([((20 + self.tcp_options) / 4 * 16) as u8, flags, 0x20, 0, 0, 0, 0, 0]);
        frame.extend((0..self.tcp_options).map(|_| 1));
    }

    /// The superpacket, as another stage hands it over: in one part, or joined from segments whose sums are known.
    pub(crate) fn packet(&self, harness: &mut Harness, joined: bool) -> Packet {
        self.packet_of(&self.whole(), harness, joined)
    }

    /// The same, of these bytes.
    pub(crate) fn packet_of(&self, whole: &[u8], harness: &mut Harness, joined: bool) -> Packet {
        let layers = self.layers();
        let headers = usize::from(layers.levels[1].payload);
        let mut packet = match joined {
            false => harness.packet(whole),
            true => {
                let mut pieces = self.payload.chunks(self.gso_size);
                let first = pieces.next().expect("a payload");
                let mut head = harness.packet(&[&whole[..headers], first].concat());
                head.set_layers(layers, first.len() as u32);
                head.set_payload_sum(sum(first));
                for piece in pieces {
                    absorb(harness, &mut head, piece);
                }
                head
            }
        };
        packet.set_layers(layers, self.payload.len() as u32);
        let mut flags = self.flags;
        flags.set(SegFlags::BY_PARTS, joined);
        packet.set_segmentation(Segmentation {
            kind: self.kind(),
            gso_size: self.gso_size as u16,
            count: self.count() as u16,
            flags,
        });
        packet.set_time(99);
        self.describe(&mut packet);
        packet
    }

    /// What is known of its checksums.
    pub(crate) fn describe(&self, packet: &mut Packet) {
        let [outer, inner] = self.layers().levels;
        let len = packet.len();
        let meta = packet.meta_mut();
        meta.orig_len = len;
        let sound = |v6: bool| if v6 { Csum::Unknown } else { Csum::Good };
        meta.l3 = [sound(self.outer_v6), sound(self.inner_v6)];
        let field = inner.l4 + if self.udp { 6 } else { 16 };
        meta.request(1, Partial { start: inner.l4, field });
        match self.tunnel {
            Tunnel::Vxlan | Tunnel::Geneve if self.sum => {
                meta.request(0, Partial { start: outer.l4, field: outer.l4 + 6 });
            }
            Tunnel::Gre if self.sum => meta.l4[0] = Csum::Good,
            _ => {}
        }
    }
}

fn absorb(harness: &mut Harness, head: &mut Packet, piece: &[u8]) {
    let mut more = harness.packet(piece);
    more.set_layers(Layers::default(), piece.len() as u32);
    more.set_payload_sum(sum(piece));
    let mut tally = Tally::new(0, 0);
    let mut ctx = StageContext::new(0, &mut harness.buffers, &mut tally);
    ctx.absorb(head, more, piece.len() as u32);
}

fn push_ip(frame: &mut Vec<u8>, v6: bool, protocol: u8, id: u16, df: bool, level: u8) {
    if v6 {
        frame.extend([0x60, 1, 2, 3, 0, 0, protocol, 64]);
        for host in [1, 2] {
            frame.extend([0x20, 0x01, 0xca, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, level, host]);
        }
        return;
    }
    let [high, low] = id.to_be_bytes();
    let df = if df { 0x40 } else { 0 };
    frame.extend([0x45, 0, 0, 0, high, low, df, 0, 64, protocol, 0, 0]);
    frame.extend([10, level, 0, 1, 10, level, 0, 2]);
}

/// Length and header sum of an IP header, all behind it being its payload.
fn finish_ip(frame: &mut [u8], level: &Level) {
    let l3 = usize::from(level.l3);
    let len = frame.len() - l3;
    if level.l3_kind == L3::V6 {
        put(frame, l3 + 4, u16::try_from(len - 40).unwrap_or(0));
        return;
    }
    put(frame, l3 + 2, u16::try_from(len).unwrap_or(0));
    put(frame, l3 + 10, 0);
    let checksum = !sum(&frame[l3..l3 + 20]);
    put(frame, l3 + 10, checksum);
}

/// Length and checksum of the transport header of a level, which goes to the end; or the seed.
fn finish_transport(
    frame: &mut [u8],
    level: &Level,
    udp: bool,
    field: Option<usize>,
    seeded: bool,
) {
    let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
    let len = frame.len() - l4;
    if udp {
        put(frame, l4 + 4, u16::try_from(len).unwrap_or(0));
    }
    let Some(field) = field else { return };
    let (from, to) = if level.l3_kind == L3::V6 { (8, 40) } else { (12, 20) };
    let mut pseudo = frame[l3 + from..l3 + to].to_vec();
    pseudo.extend((len as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, if udp { 17 } else { 6 }]);
    put(frame, field, 0);
    let checksum = match seeded {
        true => sum(&pseudo),
        false => match !sum(&[&pseudo, &frame[l4..]].concat()) {
            0 if udp => 0xffff,
            checksum => checksum,
        },
    };
    put(frame, field, checksum);
}
