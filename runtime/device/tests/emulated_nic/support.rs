//! A bench for queues without an actor, a frame builder, and an oracle for checksums.
//!
//! The oracle knows nothing of one's-complement tricks: words are numbers, a checksum is right where the sum of
//! all words is a multiple of 65,535.

use corelane_device::emulated::{
    Collector, Emulated, EmulatedConfig, Frame, Refusals, Sink, Traffic,
};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{
    Buffers, Burst, Csum, HomeConfig, Packet, Partial, SegFlags, SegKind, Segmentation,
};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use corelane_runtime::stage::{Progress, StageContext, Tally};
use std::sync::Arc;

/// Buffers and books.
pub(crate) struct Bench {
    pub(crate) buffers: Buffers,
    pub(crate) tally: Tally,
    pub(crate) now: u64,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(64, 512, 64)
    }

    pub(crate) fn with(shells: u32, small: u32, large: u32) -> Bench {
        let config = HomeConfig { name: "bench".into(), shells, small, large, node: None };
        let buffers = Buffers::new(&config).unwrap();
        Bench { buffers, tally: Tally::new(1, 0), now: 0 }
    }

    pub(crate) fn poll(
        &mut self,
        rx: &mut dyn RxQueue,
        burst: &mut Burst,
        budget: usize,
    ) -> Progress {
        let mut ctx = StageContext::new(self.now, &mut self.buffers, &mut self.tally);
        rx.rx(burst, budget, &mut ctx)
    }

    pub(crate) fn transmit(&mut self, tx: &mut dyn TxQueue, burst: &mut Burst) {
        let mut ctx = StageContext::new(self.now, &mut self.buffers, &mut self.tally);
        tx.tx(burst, &mut ctx);
    }

    /// Polls until the queue is at its end.
    pub(crate) fn receive_all(&mut self, rx: &mut dyn RxQueue) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut burst = Burst::new();
        loop {
            match self.poll(rx, &mut burst, 32) {
                Progress::Worked(n) => assert_eq!(n, burst.len()),
                Progress::Done => return packets,
                Progress::Idle(Some(_)) => {}
                other => panic!("{other:?} from a queue with frames and buffers"),
            }
            packets.extend(burst.drain());
        }
    }

    pub(crate) fn release(&mut self, packets: Vec<Packet>) {
        packets.into_iter().for_each(|packet| self.buffers.release(packet));
    }

    /// Sends packets through a queue that does not stall.
    pub(crate) fn send_all(&mut self, tx: &mut dyn TxQueue, packets: Vec<Packet>) {
        let mut burst = Burst::new();
        for packet in packets {
            burst.push(packet).unwrap();
            if burst.room() == 0 {
                self.transmit(tx, &mut burst);
            }
        }
        self.transmit(tx, &mut burst);
        assert!(burst.is_empty());
        tx.finish();
    }

    pub(crate) fn packet(&mut self, bytes: &[u8]) -> Packet {
        self.buffers.receive(bytes).unwrap()
    }

    /// A packet of several parts, split before the given offsets; part `n` was received at time `100 * n`.
    pub(crate) fn packet_in_parts(&mut self, bytes: &[u8], splits: &[usize]) -> Packet {
        let mut from = 0;
        let mut packet: Option<Packet> = None;
        for (number, to) in splits.iter().copied().chain([bytes.len()]).enumerate() {
            let mut part = self.buffers.receive(&bytes[from..to]).unwrap();
            part.set_time(100 * number as u64);
            from = to;
            match &mut packet {
                None => packet = Some(part),
                Some(head) => {
                    let mut ctx = StageContext::new(0, &mut self.buffers, &mut self.tally);
                    ctx.absorb(head, part, 0);
                }
            }
        }
        packet.unwrap()
    }

    /// Everything is back at home.
    pub(crate) fn assert_nothing_out(&mut self) {
        assert_eq!(self.buffers.outstanding(), [0; 3]);
    }
}

/// A NIC with one queue each way that keeps what it sends.
pub(crate) struct Nic {
    pub(crate) rx: Box<dyn RxQueue>,
    pub(crate) tx: Box<dyn TxQueue>,
    pub(crate) wire: Collector,
    pub(crate) refusals: Arc<Refusals>,
}

pub(crate) fn nic(caps: Caps, frames: &[Frame]) -> Nic {
    nic_of(EmulatedConfig {
        caps,
        // 65,535 bytes of IP behind an Ethernet header and tags.
        limits: Limits { tso_bytes: 65_600, ..Limits::default() },
        rx: Traffic::Frames { frames: frames.to_vec(), repeat: false },
        ..EmulatedConfig::new("nic")
    })
}

pub(crate) fn nic_of(config: EmulatedConfig) -> Nic {
    let wire = Collector::new();
    let config = EmulatedConfig { tx: Sink::Collect(wire.clone()), ..config };
    let mut port = Emulated::open(config).unwrap();
    let (rx, tx) = (port.open_rx().unwrap(), port.open_tx().unwrap());
    Nic { rx, tx, wire, refusals: port.refusals() }
}

/// What a test frame looks like.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) tags: usize,
    pub(crate) v6: bool,
    pub(crate) udp: bool,
    pub(crate) id: u16,
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) trailer: Vec<u8>,
}

pub(crate) const ACK: u8 = 0x10;

impl Recipe {
    pub(crate) fn tcp(payload: impl Into<Vec<u8>>) -> Recipe {
        Recipe {
            tags: 0,
            v6: false,
            udp: false,
            id: 0,
            ports: (1500, 8000),
            seq: 100,
            flags: ACK,
            window: 65_535,
            options: Vec::new(),
            payload: payload.into(),
            trailer: Vec::new(),
        }
    }

    pub(crate) fn udp(payload: impl Into<Vec<u8>>) -> Recipe {
        Recipe { udp: true, ..Recipe::tcp(payload) }
    }

    pub(crate) fn l3(&self) -> usize {
        14 + 4 * self.tags
    }

    pub(crate) fn l4(&self) -> usize {
        self.l3() + if self.v6 { 40 } else { 20 }
    }

    pub(crate) fn header_len(&self) -> usize {
        self.l4() + if self.udp { 8 } else { 20 + self.options.len() }
    }

    /// Where the transport checksum is in the frame.
    pub(crate) fn field(&self) -> usize {
        self.l4() + if self.udp { 6 } else { 16 }
    }

    /// The frame with both checksums right.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame = self.bare();
        let field = self.field();
        let len = frame.len() - self.l4();
        let rest = (word_sum(&frame[self.l4()..]) + self.pseudo(len)) % 65_535;
        // What is missing to a multiple of 65,535; UDP cannot send it as 0.
        let checksum = match 65_535 - rest {
            65_535 if self.udp => 65_535,
            65_535 => 0,
            checksum => checksum,
        };
        frame[field..field + 2].copy_from_slice(&(checksum as u16).to_be_bytes());
        frame.extend_from_slice(&self.trailer);
        frame
    }

    /// The frame with the sum of the pseudo header in its transport checksum field.
    pub(crate) fn partial(&self) -> Vec<u8> {
        let mut frame = self.bare();
        let field = self.field();
        let seed = self.pseudo(frame.len() - self.l4()) % 65_535;
        // A pseudo header is never zero, so a multiple of 65,535 is 65,535.
        let seed = if seed == 0 { 65_535 } else { seed };
        frame[field..field + 2].copy_from_slice(&(seed as u16).to_be_bytes());
        frame.extend_from_slice(&self.trailer);
        frame
    }

    fn pseudo(&self, len: usize) -> u64 {
        let addresses = if self.v6 { &self.ip(0)[8..40] } else { &self.ip(0)[12..20] };
        let len = len as u64;
        word_sum(addresses) + u64::from(self.protocol()) + (len >> 16) + (len & 0xffff)
    }

    fn protocol(&self) -> u8 {
        if self.udp { 17 } else { 6 }
    }

    fn ip(&self, l4_len: usize) -> Vec<u8> {
        if self.v6 {
            let [high, low] = (l4_len as u16).to_be_bytes();
            let mut ip = vec![0x60, 0, 0, 0, high, low, self.protocol(), 64];
            ip.extend((0..32).map(|n: u8| n.wrapping_mul(37)));
            return ip;
        }
        let [high, low] = (20 + l4_len as u16).to_be_bytes();
        let [id_high, id_low] = self.id.to_be_bytes();
        let mut ip = vec![0x45, 0, high, low, id_high, id_low, 0x40, 0, 64, self.protocol(), 0, 0];
        ip.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        let checksum = 65_535 - word_sum(&ip) % 65_535;
        let checksum = if checksum == 65_535 { 0 } else { checksum };
        ip[10..12].copy_from_slice(&(checksum as u16).to_be_bytes());
        ip
    }

    /// The frame with a transport checksum of 0 and no trailer.
    fn bare(&self) -> Vec<u8> {
        let mut l4 = [self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes()].concat();
        if self.udp {
            l4.extend((8 + self.payload.len() as u16).to_be_bytes());
            l4.extend([0, 0]);
        } else {
            l4.extend(self.seq.to_be_bytes());
            l4.extend([0, 0, 0, 100, (20 + self.options.len() as u8) << 2, self.flags]);
            l4.extend(self.window.to_be_bytes());
            l4.extend([0; 4]);
            l4.extend(&self.options);
        }
        l4.extend(&self.payload);
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        (0..self.tags).for_each(|tag| frame.extend([0x81, 0, 0, 1 + tag as u8]));
        frame.extend(if self.v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        frame.extend(self.ip(l4.len()));
        frame.extend(l4);
        frame
    }

    pub(crate) fn kind(&self) -> SegKind {
        match (self.udp, self.v6) {
            (false, false) => SegKind::Tcp4,
            (false, true) => SegKind::Tcp6,
            (true, false) => SegKind::Udp4,
            (true, true) => SegKind::Udp6,
        }
    }

    /// Marks a packet made of [`Recipe::partial`] as such.
    pub(crate) fn mark_partial(&self, packet: &mut Packet) {
        let (start, field) = (self.l4() as u16, self.field() as u16);
        packet.meta_mut().l4[0] = Csum::Partial;
        packet.meta_mut().partial[0] = Partial { start, field };
    }

    /// Asks for the packet to be cut.
    pub(crate) fn mark_super(&self, packet: &mut Packet, gso_size: u16, flags: SegFlags) {
        self.mark_partial(packet);
        let payload = packet.len() as usize - self.header_len();
        let count = payload.div_ceil(usize::from(gso_size.max(1))) as u16;
        packet.set_segmentation(Segmentation { kind: self.kind(), gso_size, count, flags });
    }
}

/// The sum of all 16-bit words as a plain number.
pub(crate) fn word_sum(bytes: &[u8]) -> u64 {
    let words =
        bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| b.into()));
    words.sum()
}

/// Fails unless all checksums of a frame made after `recipe`, and its lengths, are right.
pub(crate) fn assert_sound(frame: &[u8], recipe: &Recipe) {
    let (l3, l4) = (recipe.l3(), recipe.l4());
    let field = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let end = if recipe.v6 {
        l4 + usize::from(field(l3 + 4))
    } else {
        assert_eq!(word_sum(&frame[l3..l4]) % 65_535, 0, "header checksum");
        l3 + usize::from(field(l3 + 2))
    };
    assert!(end == frame.len() || frame.len() == 60, "the IP length is that of the frame");
    if recipe.udp {
        assert_eq!(usize::from(field(l4 + 4)), end - l4, "UDP length");
        assert_ne!(field(l4 + 6), 0, "a UDP checksum of 0 says that there is none");
    }
    let total = word_sum(&frame[l4..end]) + recipe.pseudo(end - l4);
    assert_eq!(total % 65_535, 0, "transport checksum");
}

pub(crate) fn bytes_of(packet: &Packet) -> Vec<u8> {
    packet.parts().collect::<Vec<_>>().concat()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

pub(crate) fn data_of(frames: &[Frame]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| frame.data.clone()).collect()
}
