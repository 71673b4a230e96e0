//! Results alone: what each side makes of packets that must not be joined, or not so.
//!
//! Nothing is timed. Each case is a few packets and what must come of them, whoever handles them; the packets are said
//! to have right checksums, but where a case says otherwise. The rival is used as its documentation says.

use super::gro::SEED;
use super::oracle::{finish, verdict};
use super::rig::{Checked, Rig, bytes_of};
use super::traffic::{FRAME, lengths, payload, whole};
use super::{Bench, Row};
use corelane_runtime::packet::{Burst, Csum, L4, Packet};
use corelane_stages::gro::{Gro, GroConfig};
use corelane_stages::gso::Gso;
use corelane_sum::Sum;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{FrameBuilder, Ipv4, Tcp, Udp, Vxlan, problems, slow_sum};
use dpdk_sys::gro::burst as light_burst;
use dpdk_sys::gso::Cutter;
use dpdk_sys::sums::raw_cksum_chain;
use dpdk_sys::{Error, Kind, Lengths, Packets};

/// What must come out, in the order in which it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    /// Every packet as it was.
    StayAlone,
    /// One packet.
    JoinAll,
    /// Every payload in its place: sequence numbers that only grow.
    KeepOrder,
    /// One packet, every checksum right or asked for.
    HaveTrueSums,
}

/// A frame, and where its headers end.
struct Given {
    frame: Vec<u8>,
    lengths: Lengths,
    /// The device found its checksum wrong.
    bad: bool,
}

/// Payload bytes of a segment here.
const PAYLOAD: usize = 100;

pub(super) fn run(bench: &mut Bench) -> Result<(), Error> {
    joining(bench, "one VLAN, then another", Kind::Tcp4, &vlans(), Must::StayAlone)?;
    joining(bench, "untagged, then tagged", Kind::Tcp4, &tagged(), Must::StayAlone)?;
    joining(bench, "no IP options, then some", Kind::Tcp4, &options(), Must::StayAlone)?;
    joining(bench, "TTL 64, then TTL 10 and CE", Kind::Tcp4, &marked(), Must::StayAlone)?;
    joining(bench, "a right checksum, then a wrong one", Kind::Tcp4, &wrong(), Must::StayAlone)?;
    joining(bench, "ID 65535, then 0", Kind::Tcp4, &wrapped(), Must::JoinAll)?;
    joining(bench, "PSH in the middle", Kind::Tcp4, &pushed(), Must::KeepOrder)?;
    joining(bench, "checksums after joining", Kind::Tcp4, &plain(3), Must::HaveTrueSums)?;
    let outer = outer_sums();
    joining(
        bench,
        "outer UDP checksum after joining",
        Kind::VxlanTcp4,
        &outer,
        Must::HaveTrueSums,
    )?;
    cwr(bench)?;
    odd_chain(bench)
}

fn tcp(number: usize, flags: TcpFlags) -> Tcp {
    Tcp { seq: 1 + (number * PAYLOAD) as u32, flags, ..Tcp::default() }
}

fn ipv4(number: usize) -> Ipv4 {
    Ipv4 { id: number as u16, ..Ipv4::default() }
}

/// Headers without TCP options.
const PLAIN: Lengths = Lengths { outer_l2: 0, outer_l3: 0, l2: 14, l3: 20, l4: 20 };

fn given(start: FrameBuilder, ip: Ipv4, number: usize, flags: TcpFlags, lengths: Lengths) -> Given {
    let bytes = payload(PAYLOAD, 0, number);
    let frame = start.ipv4(ip).tcp(tcp(number, flags)).payload(&bytes).build();
    Given { frame, lengths, bad: false }
}

fn plain(n: usize) -> Vec<Given> {
    let one = |number| given(FrameBuilder::new(), ipv4(number), number, TcpFlags::ACK, PLAIN);
    (0..n).map(one).collect()
}

fn vlans() -> Vec<Given> {
    let lengths = Lengths { l2: 18, ..PLAIN };
    let one = |number, tci| {
        given(FrameBuilder::new().vlan(tci), ipv4(number), number, TcpFlags::ACK, lengths)
    };
    vec![one(0, 10), one(1, 20)]
}

fn tagged() -> Vec<Given> {
    let lengths = Lengths { l2: 18, ..PLAIN };
    let tagged = given(FrameBuilder::new().vlan(10), ipv4(1), 1, TcpFlags::ACK, lengths);
    plain(1).into_iter().chain([tagged]).collect()
}

fn options() -> Vec<Given> {
    let ip = Ipv4 { options: vec![1, 1, 1, 1], ..ipv4(1) };
    let lengths = Lengths { l3: 24, ..PLAIN };
    let with = given(FrameBuilder::new(), ip, 1, TcpFlags::ACK, lengths);
    plain(1).into_iter().chain([with]).collect()
}

fn marked() -> Vec<Given> {
    let ip = Ipv4 { ttl: 10, tos: 3, ..ipv4(1) };
    let marked = given(FrameBuilder::new(), ip, 1, TcpFlags::ACK, PLAIN);
    plain(1).into_iter().chain([marked]).collect()
}

fn wrong() -> Vec<Given> {
    let mut both = plain(2);
    both[1].frame[80] ^= 1;
    both[1].bad = true;
    both
}

fn wrapped() -> Vec<Given> {
    let one = |number: usize, id| {
        let ip = Ipv4 { id, dont_fragment: false, ..Ipv4::default() };
        given(FrameBuilder::new(), ip, number, TcpFlags::ACK, PLAIN)
    };
    vec![one(0, u16::MAX), one(1, 0)]
}

fn pushed() -> Vec<Given> {
    let psh = TcpFlags::ACK.with(TcpFlags::PSH);
    let one = |number, flags| given(FrameBuilder::new(), ipv4(number), number, flags, PLAIN);
    vec![one(0, TcpFlags::ACK), one(1, psh), one(2, TcpFlags::ACK)]
}

/// Two segments in VXLAN with right outer checksums.
fn outer_sums() -> Vec<Given> {
    let one = |number: usize| {
        let bytes = payload(PAYLOAD, 0, number);
        let inner = FrameBuilder::new().ipv4(ipv4(number)).tcp(tcp(number, TcpFlags::ACK));
        let udp = Udp { checksum: Default::default(), ..Udp::vxlan() };
        let start = FrameBuilder::new().ipv4(ipv4(number)).udp(udp).vxlan(Vxlan::default());
        let frame = start.inside(inner.payload(&bytes)).build();
        let lengths = Lengths { outer_l2: 14, outer_l3: 20, l2: 30, ..PLAIN };
        Given { frame, lengths, bad: false }
    };
    vec![one(0), one(1)]
}

fn joining(
    bench: &mut Bench,
    case: &str,
    kind: Kind,
    given: &[Given],
    must: Must,
) -> Result<(), Error> {
    if !bench.wants("defects", case) {
        return Ok(());
    }
    let ours = verdict("ours", case, judge(must, given, &ours(given)));
    let theirs = verdict("librte_gro", case, judge(must, given, &theirs(bench, kind, given)?));
    add(bench, case, "rte_gro_reassemble_burst", [ours, theirs]);
    Ok(())
}

fn add(bench: &mut Bench, case: &str, rival_name: &str, right: [bool; 2]) {
    let title = bench.title("defects", case.to_owned(), "", rival_name, true);
    let row = Row::new(title).judged(Some(right[0]), Some(right[1]));
    bench.add(Some(row));
}

/// Packets after `Gro`; checksums that are asked for are finished, slowly, as a device would.
fn ours(given: &[Given]) -> Vec<Vec<u8>> {
    let mut rig = Rig::new(0, 64, 0);
    let (mut stage, mut burst) = (Gro::new(GroConfig::default(), SEED), Burst::new());
    for Given { frame, bad, .. } in given {
        rig.receive(std::slice::from_ref(frame), Checked::No, &mut burst);
        let Some(packet) = burst.iter_mut().last() else { continue };
        super::rig::vouch(packet);
        if *bad {
            packet.meta_mut().l4[0] = Csum::Bad;
        }
    }
    rig.process(&mut stage, &mut burst);
    let out = rig.sent().iter().map(finished).collect();
    rig.release_sent();
    rig.assert_home();
    out
}

/// The bytes of a packet, with what is still to be done to its checksums done.
fn finished(packet: &Packet) -> Vec<u8> {
    let mut bytes = bytes_of(packet);
    let meta = packet.meta();
    // The inner one first: the outer one covers it.
    for level in [1, 0] {
        if meta.l4[level] == Csum::Partial {
            let partial = meta.partial[level];
            let udp = meta.layers.levels[level].l4_kind == L4::Udp;
            finish(&mut bytes, partial.start.into(), partial.field.into(), udp);
        }
    }
    bytes
}

fn theirs(bench: &Bench, kind: Kind, given: &[Given]) -> Result<Vec<Vec<u8>>, Error> {
    let mut packets = Packets::new(&[&bench.pools.frames], given.len());
    for (index, Given { frame, lengths, bad }) in given.iter().enumerate() {
        packets.receive(frame)?;
        packets.describe_one(index, kind, lengths);
        if *bad {
            packets.mark_bad(index);
        }
    }
    light_burst(&mut packets, kind);
    Ok(packets.frames())
}

fn judge(must: Must, given: &[Given], out: &[Vec<u8>]) -> Result<(), String> {
    let count = |n: usize| {
        let text = format!("{} packets came out in the place of {n}", out.len());
        if out.len() == n { Ok(()) } else { Err(text) }
    };
    match must {
        Must::StayAlone => {
            count(given.len())?;
            let same = given.iter().zip(out).all(|(given, out)| given.frame == *out);
            if same { Ok(()) } else { Err("a packet was changed".to_owned()) }
        }
        Must::JoinAll => count(1),
        Must::KeepOrder => {
            let seq = |frame: &Vec<u8>| frame[38..42].to_vec();
            let in_order = out.iter().map(seq).is_sorted();
            if in_order { Ok(()) } else { Err("a later segment came out earlier".to_owned()) }
        }
        Must::HaveTrueSums => {
            count(1)?;
            let problems: Vec<String> = out.iter().flat_map(|frame| problems(frame)).collect();
            if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
        }
    }
}

/// CWR belongs on the first segment only (RFC 3168, as devices and Linux do it).
fn cwr(bench: &mut Bench) -> Result<(), Error> {
    const CASE: &str = "CWR after cutting";
    if !bench.wants("defects", CASE) {
        return Ok(());
    }
    let kind = Kind::Tcp4;
    let bytes = payload(3 * super::traffic::payload_len(kind), 0, 0);
    let frame = whole(kind, 0, 0, TcpFlags::ACK.with(TcpFlags::CWR), &bytes);
    let judged = |who, segments: &[Vec<u8>]| {
        let with: Vec<bool> = segments.iter().map(|frame| frame[47] & 0x80 != 0).collect();
        let right = with == [true, false, false];
        verdict(who, CASE, if right { Ok(()) } else { Err(format!("on segments {with:?}")) })
    };
    let ours = judged("ours", &cut_ours(&frame));
    let pools = &bench.pools;
    let mut packets = Packets::new(&[&pools.large], 1);
    packets.receive(&frame)?;
    packets.describe(kind, &lengths(kind));
    let mut segments = Packets::new(&[&pools.headers, &pools.indirect, &pools.large], 8);
    Cutter::new(&pools.headers, &pools.indirect, kind, FRAME as u16)
        .cut(&packets, &mut segments)?;
    let theirs = judged("librte_gso", &segments.frames());
    add(bench, CASE, "rte_gso_segment", [ours, theirs]);
    Ok(())
}

fn cut_ours(frame: &[u8]) -> Vec<Vec<u8>> {
    let mut rig = Rig::new(16, 16, 2);
    let mut burst = Burst::new();
    super::gso::read(&mut rig, frame, Kind::Tcp4, 3, &mut burst);
    rig.process(&mut Gso::new(None), &mut burst);
    let out = rig.sent().iter().map(bytes_of).collect();
    rig.release_sent();
    out
}

/// The sum of a chain whose first piece has an odd number of bytes.
fn odd_chain(bench: &mut Bench) -> Result<(), Error> {
    const CASE: &str = "sum of a chain, odd first piece";
    if !bench.wants("defects", CASE) {
        return Ok(());
    }
    let bytes = payload(600, 0, 0);
    let (front, back) = bytes.split_at(101);
    let right = slow_sum(&[&bytes]);
    let ours = Sum::of(front).then(front.len(), Sum::of(back)).canonical();
    let mut packets = Packets::new(&[&bench.pools.frames], 1);
    packets.receive_chain([front, back])?;
    let theirs = raw_cksum_chain(&packets, 0, 600).map(u16::from_be);
    let told = |who, got: Option<u16>| {
        let wrong = || format!("{got:04x?}, not {right:04x}");
        verdict(who, CASE, if got == Some(right) { Ok(()) } else { Err(wrong()) })
    };
    let right = [told("ours", Some(ours)), told("rte_raw_cksum_mbuf", theirs)];
    add(bench, CASE, "rte_raw_cksum_mbuf", right);
    Ok(())
}
