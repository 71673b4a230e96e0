//! Checksums: corelane-sum beside librte_net's inline functions, and beside what reading and copying alone cost.
//!
//! Timed: so many sums of buffers in turn that lie in the nearest cache (64 KiB: in the second). Each starts two bytes
//! behind a line, as an IP header behind an Ethernet header does.

use super::oracle::verdict;
use super::{Bench, Case};
use crate::peers::measure::{Side, watched};
use corelane_sum::{Sum, copy_and_sum};
use corelane_wire::testing::slow_sum;
use dpdk_sys::Error;
use dpdk_sys::clock::Clock;
use dpdk_sys::sums::{Row as Buffers, copy, load, raw_cksum, udptcp_cksum};
use std::hint::black_box;

/// Bytes read in a window.
const BYTES: usize = 4 << 20;
/// Most calls of a window.
const CALLS: usize = 40_000;
/// Where buffers start behind a line.
const START: usize = 2;

pub(super) fn run(bench: &mut Bench) -> Result<(), Error> {
    for len in [64, 1460, 65_535] {
        let memory = Memory::new(len);
        raw(bench, &memory);
        transport(bench, &memory);
        loading(bench, &memory);
        copying(bench, &memory);
    }
    Ok(())
}

/// Buffers of one length, each a plain IPv4 packet of TCP.
struct Memory {
    row: Buffers,
    bytes: Vec<u8>,
    times: usize,
}

impl Memory {
    fn new(len: usize) -> Memory {
        let count = (12_288 / len).clamp(1, 64);
        let stride = (len + START).next_multiple_of(64);
        let mut bytes: Vec<u8> = super::traffic::payload(stride * count + 64, 0, len);
        for at in (0..count).map(|index| START + index * stride) {
            bytes[at] = 0x45;
            bytes[at + 2..at + 4].copy_from_slice(&(len as u16).to_be_bytes());
            bytes[at + 9] = 6;
        }
        Memory { row: Buffers { len, stride, count }, bytes, times: (BYTES / len).clamp(1, CALLS) }
    }

    fn all(&self) -> &[u8] {
        &self.bytes[START..]
    }

    fn buffer(&self, index: usize) -> &[u8] {
        &self.all()[index * self.row.stride..][..self.row.len]
    }

    /// `times` calls over the buffers in turn, as the loops of the shim go.
    #[inline]
    fn each(&self, mut call: impl FnMut(&[u8]) -> u64) -> u64 {
        let (mut total, mut index) = (0_u64, 0);
        for _ in 0..self.times {
            total = total.wrapping_add(call(self.buffer(index)));
            index = if index + 1 < self.row.count { index + 1 } else { 0 };
        }
        total
    }

    fn side<'a>(&'a self, clock: Clock, mut work: impl FnMut() -> u64 + 'a) -> Side<'a> {
        Box::new(move || {
            watched(|| {
                let (ticks, sum) = clock.ticks(&mut work);
                black_box(sum);
                clock.ns(ticks) / self.times as f64
            })
        })
    }
}

fn case<'a>(
    name: &str,
    memory: &Memory,
    rival_name: &'static str,
    sides: [Side<'a>; 2],
    correct: [Option<bool>; 2],
) -> Case<'a> {
    let [ours, rival] = sides;
    let case = format!("{name}, {} B", memory.row.len);
    let rival = Some(rival);
    Case { bench: "sum", case, unit: "ns/call", rival_name, packaged: false, ours, rival, correct }
}

/// Whether a side's result for the first buffer is the one expected.
fn told(who: &str, name: &str, got: u16, right: u16) -> Option<bool> {
    let result = if got == right { Ok(()) } else { Err(format!("{got:04x}, not {right:04x}")) };
    Some(verdict(who, name, result))
}

fn raw(bench: &mut Bench, memory: &Memory) {
    let right = slow_sum(&[memory.buffer(0)]);
    let ours = Sum::of(memory.buffer(0)).canonical();
    let theirs = u16::from_be(raw_cksum(memory.all(), memory.row, 1) as u16);
    let correct = [told("ours", "raw", ours, right), told("rte_raw_cksum", "raw", theirs, right)];
    let clock = bench.clock;
    let sides = [
        memory.side(clock, || memory.each(|bytes| u64::from(Sum::of(bytes).fold()))),
        memory.side(clock, || raw_cksum(memory.all(), memory.row, memory.times)),
    ];
    let row = bench.measure(case("raw", memory, "rte_raw_cksum", sides, correct));
    bench.add(row);
}

/// The TCP checksum of an IPv4 packet.
#[inline]
fn tcp_checksum(packet: &[u8]) -> u16 {
    let (Some(addresses), Some(segment)) = (packet.get(12..20), packet.get(20..)) else { return 0 };
    let length = Sum::from_u16(segment.len() as u16) + Sum::from_u16(u16::from(packet[9]));
    (Sum::of(addresses) + length + Sum::of(segment)).checksum()
}

fn transport(bench: &mut Bench, memory: &Memory) {
    let packet = memory.buffer(0);
    let pseudo = [0, 6, 0, 0];
    let mut pseudo: [u8; 4] = pseudo;
    pseudo[2..].copy_from_slice(&((packet.len() - 20) as u16).to_be_bytes());
    let right = !slow_sum(&[&packet[12..20], &pseudo, &packet[20..]]);
    let theirs = u16::from_be(udptcp_cksum(memory.all(), memory.row, 1) as u16);
    let name = "tcp over ipv4";
    let correct = [
        told("ours", name, tcp_checksum(packet), right),
        told("rte_ipv4_udptcp_cksum", name, theirs, right),
    ];
    let clock = bench.clock;
    let sides = [
        memory.side(clock, || memory.each(|bytes| u64::from(tcp_checksum(bytes)))),
        memory.side(clock, || udptcp_cksum(memory.all(), memory.row, memory.times)),
    ];
    let row = bench.measure(case(name, memory, "rte_ipv4_udptcp_cksum", sides, correct));
    bench.add(row);
}

/// A sum cannot be faster than reading.
fn loading(bench: &mut Bench, memory: &Memory) {
    let clock = bench.clock;
    let sides = [
        memory.side(clock, || memory.each(|bytes| u64::from(Sum::of(bytes).fold()))),
        memory.side(clock, || load(memory.all(), memory.row, memory.times)),
    ];
    let case = Case { bench: "ceiling", ..case("raw", memory, "load loop", sides, [None; 2]) };
    let row = bench.measure(case);
    bench.add(row.map(super::Row::into_ceiling));
}

/// Copying and summing cannot be faster than copying.
fn copying(bench: &mut Bench, memory: &Memory) {
    let clock = bench.clock;
    let (mut to, mut to_too) = (memory.bytes.clone(), memory.bytes.clone());
    let Buffers { len, stride, .. } = memory.row;
    let ours = move || {
        let mut at = START;
        memory.each(|bytes| {
            at = if bytes.as_ptr() == memory.all().as_ptr() { START } else { at + stride };
            u64::from(copy_and_sum(bytes, &mut to[at..at + len]).fold())
        })
    };
    let rival = move || {
        copy(memory.all(), &mut to_too[START..], memory.row, memory.times);
        0
    };
    let sides = [memory.side(clock, ours), memory.side(clock, rival)];
    let case = case("copy and sum", memory, "copy loop", sides, [None; 2]);
    let row = bench.measure(Case { bench: "ceiling", ..case });
    bench.add(row.map(super::Row::into_ceiling));
}
