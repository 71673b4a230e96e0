//! Frames with requests in their meta, written out byte by byte, and a slow look at what came of them.

use corelane_runtime::packet::{
    L3, L4, Layers, Level, Packet, Partial, SegFlags, SegKind, Segmentation, Tunnel,
};

/// Hardware address that frames of a test come from, which tells them from what the kernel says.
pub(crate) const FROM: [u8; 6] = [2, 0, 0, 0, 0x77, 1];
const TO: [u8; 6] = [2, 0, 0, 0, 0x77, 2];

/// What is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) v6: bool,
    pub(crate) udp: bool,
    /// CWR.
    pub(crate) cwr: bool,
    pub(crate) payload: usize,
    /// Around it VXLAN, over IPv6 or not, with or without a checksum.
    pub(crate) around: Option<(bool, bool)>,
}

fn ethernet(v6: bool) -> Vec<u8> {
    let kind: u16 = if v6 { 0x86dd } else { 0x0800 };
    [&TO[..], &FROM, &kind.to_be_bytes()].concat()
}

fn ip(v6: bool, protocol: u8, len: usize) -> Vec<u8> {
    if v6 {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
        header[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        for host in [1, 2] {
            header.extend([0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
        return header;
    }
    let mut header =
        vec![0x45, 0, 0, 0, 0, 100, 0x40, 0, 64, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    header[2..4].copy_from_slice(&((len + 20) as u16).to_be_bytes());
    let checksum = !sum(&header, 0);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// The pseudo header's sum, length included.
fn pseudo(ip: &[u8], protocol: u8, len: usize) -> u16 {
    let addresses = if ip[0] >> 4 == 6 { &ip[8..40] } else { &ip[12..20] };
    sum(addresses, u32::from(protocol) + len as u32)
}

fn sum(bytes: &[u8], start: u32) -> u16 {
    let mut total = start;
    for pair in bytes.chunks(2) {
        total += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        total = (total & 0xffff) + (total >> 16);
    }
    ((total & 0xffff) + (total >> 16)) as u16
}

/// Payload byte `at`.
pub(crate) fn byte(at: usize) -> u8 {
    (at * 7 + at / 251) as u8
}

impl Shape {
    pub(crate) const TCP4: Shape =
        Shape { v6: false, udp: false, cwr: false, payload: 3000, around: None };

    fn transport(&self) -> usize {
        if self.udp { 8 } else { 20 }
    }

    /// The frame, each checksum to be finished holding its seed.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let (len, protocol) = (self.transport() + self.payload, if self.udp { 17 } else { 6 });
        let header = ip(self.v6, protocol, len);
        let seed = pseudo(&header, protocol, len).to_be_bytes();
        let mut transport = vec![0; self.transport()];
        transport[..4].copy_from_slice(&[0x30, 0x39, 0x1f, 0x90]);
        if self.udp {
            transport[4..6].copy_from_slice(&(len as u16).to_be_bytes());
            transport[6..8].copy_from_slice(&seed);
        } else {
            transport[4..8].copy_from_slice(&1000_u32.to_be_bytes());
            (transport[12], transport[13]) = (0x50, if self.cwr { 0x98 } else { 0x18 });
            transport[16..18].copy_from_slice(&seed);
        }
        let payload: Vec<u8> = (0..self.payload).map(byte).collect();
        let inner = [&ethernet(self.v6)[..], &header, &transport, &payload].concat();
        let Some((outer6, summed)) = self.around else { return inner };
        let len = 16 + inner.len();
        let header = ip(outer6, 17, len);
        let mut udp = [0x30, 0x39, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0];
        udp[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        if summed {
            udp[6..8].copy_from_slice(&pseudo(&header, 17, len).to_be_bytes());
        }
        [&ethernet(outer6)[..], &header, &udp, &inner].concat()
    }

    pub(crate) fn layers(&self) -> Layers {
        let own = if self.udp { L4::Udp } else { L4::Tcp };
        let level = |l2: u16, v6: bool, l4_kind, transport: u16| {
            let (l3_kind, len) = if v6 { (L3::V6, 40) } else { (L3::V4, 20) };
            let (l3, l4) = (l2 + 14, l2 + 14 + len);
            Level { l2, l3, l4, payload: l4 + transport, l3_kind, l4_kind }
        };
        let transport = self.transport() as u16;
        let Some((outer6, _)) = self.around else {
            let levels = [level(0, self.v6, own, transport), Level::default()];
            return Layers { levels, count: 1, tunnel: Tunnel::None };
        };
        let outer = level(0, outer6, L4::Udp, 8);
        let inner = level(outer.l4 + 16, self.v6, own, transport);
        Layers { levels: [outer, inner], count: 2, tunnel: Tunnel::Vxlan }
    }

    /// Asks in the meta of the packet of this frame for its checksums, and to be cut into segments of `size` bytes.
    pub(crate) fn ask(&self, packet: &mut Packet, size: Option<usize>) {
        let layers = self.layers();
        packet.set_layers(layers, self.payload as u32);
        let level = layers.innermost().expect("a level");
        let own = Partial { start: level.l4, field: level.l4 + if self.udp { 6 } else { 16 } };
        let index = usize::from(layers.count) - 1;
        packet.meta_mut().request(index, own);
        if self.around.is_some_and(|(_, summed)| summed) {
            let l4 = layers.levels[0].l4;
            packet.meta_mut().request(0, Partial { start: l4, field: l4 + 6 });
        }
        let Some(size) = size else { return };
        let kind = match (self.udp, self.v6) {
            (false, false) => SegKind::Tcp4,
            (false, true) => SegKind::Tcp6,
            (true, false) => SegKind::Udp4,
            (true, true) => SegKind::Udp6,
        };
        let count = self.payload.div_ceil(size) as u16;
        let flags = SegFlags::empty();
        packet.set_segmentation(Segmentation { kind, gso_size: size as u16, count, flags });
    }

    /// A frame of the wire must be this one, finished.
    pub(crate) fn check_single(&self, frame: &[u8]) {
        self.check(std::slice::from_ref(&frame.to_vec()), self.payload.max(1));
    }

    /// Frames of the wire must be what this one was cut into: in order, right in every checksum and length, CWR on the
    /// first alone, and the payload that of the whole.
    pub(crate) fn check(&self, frames: &[Vec<u8>], size: usize) {
        assert_eq!(frames.len(), self.payload.div_ceil(size).max(1), "{self:?}");
        let layers = self.layers();
        let mut at = 0;
        for (number, frame) in frames.iter().enumerate() {
            for level in &layers.levels[..usize::from(layers.count)] {
                check_level(frame, level, self.around.is_none_or(|(_, summed)| summed));
            }
            let level = layers.innermost().expect("a level");
            if !self.udp {
                let tcp = &frame[usize::from(level.l4)..];
                let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
                assert_eq!(sequence as usize, 1000 + at, "{self:?}");
                assert_eq!(
                    tcp[13] & 0x80 != 0,
                    self.cwr && number == 0,
                    "{self:?}: CWR of {number}"
                );
            }
            if level.l3_kind == L3::V4 {
                let l3 = usize::from(level.l3);
                let id = u16::from_be_bytes([frame[l3 + 4], frame[l3 + 5]]);
                assert_eq!(usize::from(id), 100 + number, "{self:?}: the ID of {number}");
            }
            let payload = &frame[usize::from(level.payload)..];
            assert_eq!(payload.len(), size.min(self.payload - at), "{self:?}");
            assert!(
                payload.iter().enumerate().all(|(i, &b)| b == byte(at + i)),
                "{self:?}: payload"
            );
            at += payload.len();
        }
    }
}

/// Lengths and checksums of one level of a frame, which ends where the frame does.
fn check_level(frame: &[u8], level: &Level, summed: bool) {
    let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
    let ip = &frame[l3..];
    let len =
        u16::from_be_bytes(if level.l3_kind == L3::V4 { [ip[2], ip[3]] } else { [ip[4], ip[5]] });
    let header = if level.l3_kind == L3::V4 { 0 } else { 40 };
    assert_eq!(usize::from(len) + header, ip.len(), "length of IP");
    if level.l3_kind == L3::V4 {
        assert_eq!(sum(&ip[..20], 0), 0xffff, "checksum of IPv4");
    }
    let datagram = &frame[l4..];
    let udp = level.l4_kind == L4::Udp;
    if udp {
        let len = u16::from_be_bytes([datagram[4], datagram[5]]);
        assert_eq!(usize::from(len), datagram.len(), "length of UDP");
    }
    let inside = datagram.len() > 16 && datagram[2..4] == [0x12, 0xb5];
    if udp && inside && !summed {
        return assert_eq!(datagram[6..8], [0, 0], "no outer checksum");
    }
    let protocol = if udp { 17 } else { 6 };
    let total = sum(datagram, u32::from(pseudo(ip, protocol, datagram.len())));
    assert_eq!(total, 0xffff, "checksum of protocol {protocol} at {l4}");
}
