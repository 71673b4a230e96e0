//! One stage in a harness, with a port around it, and the frames that go through.

use corelane_runtime::Error;
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::Packet;
use corelane_runtime::port::{RxQueue, TxQueue};
use corelane_runtime::stage::{Args, BuildContext, OutputId, PortInfo, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_stages::neighbour::{INFO, NeighbourSpec};
use corelane_stages::rx::describe;
use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The port itself.
pub(crate) const ME: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const ME_HEX: &str = "020000000001";
pub(crate) const EVERYBODY: &str = "ffffffffffff";
/// The number of the port.
pub(crate) const PORT: u16 = 3;
/// The output that leads to the next stage, and the one for answers.
pub(crate) const NEXT: usize = 0;
pub(crate) const ANSWERS: usize = 1;

/// What the plan would know.
#[derive(Default)]
pub(crate) struct Context {
    shared: BTreeMap<String, Arc<dyn Any + Send + Sync>>,
    /// Whether the port can send.
    pub(crate) mute: bool,
}

impl BuildContext for Context {
    fn open_rx(&mut self, _: &str) -> Result<Box<dyn RxQueue>, Error> {
        unreachable!("it stands on no queue")
    }

    fn open_tx(&mut self, _: &str) -> Result<Box<dyn TxQueue>, Error> {
        unreachable!("it stands on no queue")
    }

    fn port_caps(&self, _: &str) -> Option<Arc<PortCaps>> {
        None
    }

    fn exit_caps(&self) -> Option<Arc<PortCaps>> {
        None
    }

    fn port_number(&self, _: &str) -> u16 {
        PORT
    }

    fn hash_key(&self) -> u64 {
        7
    }

    fn port_info(&self, port: &str) -> Option<PortInfo> {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let addresses =
            vec![(ip("192.0.2.1"), 24), (ip("198.51.100.1"), 31), (ip("2001:db8::1"), 64)];
        (port == "wan").then(|| PortInfo {
            name: "wan".to_owned(),
            number: PORT,
            mac: Some(ME),
            mtu: Some(1500),
            addresses,
            gateways: vec![ip("192.0.2.254"), ip("fe80::fe")],
        })
    }

    fn answer(&self, port: u16) -> Option<OutputId> {
        (port == PORT && !self.mute).then_some(OutputId(ANSWERS))
    }

    fn shared(
        &mut self,
        name: &str,
        make: &mut dyn FnMut() -> Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.shared.entry(name.to_owned()).or_insert_with(make))
    }
}

/// The stage with these arguments beside its port.
pub(crate) fn stage(context: &mut Context, arguments: &str) -> Harness {
    let text = format!("(port: \"wan\", {arguments})");
    let config = NeighbourSpec.configure(Args { text: &text }).expect("sound arguments");
    Harness::built(config.build(context).expect("a stage"), &INFO).outputs(2).multiplies()
}

/// One that does both halves.
pub(crate) fn both(arguments: &str) -> Harness {
    stage(&mut Context::default(), &format!("side: Both, {arguments}"))
}

/// Bytes of hex digits, between which there may be spaces.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A packet that came in by the port.
pub(crate) fn packet(harness: &mut Harness, frame: &[u8]) -> Packet {
    let mut packet = harness.packet(frame);
    describe(&mut packet, 7, &mut harness.buffers).expect("a buffer");
    packet.meta_mut().port = PORT;
    packet
}

/// Lets frames through and returns what comes out: to the next stage, and as answers.
pub(crate) fn through(harness: &mut Harness, frames: &[Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
    let packets: Vec<Packet> = frames.iter().map(|frame| packet(harness, frame)).collect();
    harness.feed(packets, &[7]);
    out(harness)
}

/// What came out since.
pub(crate) fn out(harness: &mut Harness) -> [Vec<Vec<u8>>; 2] {
    harness.assert_balanced();
    [NEXT, ANSWERS].map(|output| {
        let packets = harness.take_from(output);
        packets.into_iter().map(|packet| harness.unpack(packet)).collect()
    })
}

/// An IPv4 packet with a payload, for `dst`, without link addresses.
pub(crate) fn to_v4(dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((20 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 253, 0, 0, 10, 0, 0, 1]);
    frame.extend(dst);
    frame.extend(payload);
    frame
}

/// The same over IPv6.
pub(crate) fn to_v6(dst: &str, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend((payload.len() as u16).to_be_bytes());
    frame.extend([253, 64]);
    frame.extend([0; 16]);
    frame.extend(dst.parse::<std::net::Ipv6Addr>().expect("an address").octets());
    frame.extend(payload);
    frame
}

/// An ARP packet from `mac` at `ip`.
pub(crate) fn arp(operation: u8, mac: [u8; 6], ip: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut frame = if operation == 1 { vec![0xff; 6] } else { ME.to_vec() };
    frame.extend(mac);
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, operation]);
    frame.extend(mac);
    frame.extend(ip);
    frame.extend(if operation == 1 { [0; 6] } else { ME });
    frame.extend(target);
    frame
}

/// A neighbour message of an IPv6 packet with its checksum filled in, summed byte pair by byte pair.
pub(crate) fn nd(ethernet: &str, src: &str, dst: &str, hop_limit: u8, message: &str) -> Vec<u8> {
    let address = |text: &str| text.parse::<std::net::Ipv6Addr>().expect("an address").octets();
    let mut message = hex(message);
    let mut frame = hex(ethernet);
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, message.len() as u8, 58, hop_limit]);
    frame.extend(address(src));
    frame.extend(address(dst));
    let sum = icmp6_sum(&[&frame[22..54], &message].concat(), message.len());
    message[2..4].copy_from_slice(&(!sum).to_be_bytes());
    frame.extend(message);
    frame
}

/// The one's-complement sum of addresses, message and the rest of the pseudo header.
pub(crate) fn icmp6_sum(bytes: &[u8], len: usize) -> u16 {
    let pairs = bytes.chunks(2);
    let words = pairs.map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + len as u32 + 58;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}
