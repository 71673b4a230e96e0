//! Random streams through both: loss, flags, options, IDs, wrong sums, padding, fragments; IPv4 and IPv6, TCP and UDP.
//!
//! Wherever a frame is joined by one side and not by the other, a listed reason must hold; after that the two are
//! compared again from the next place where both began a packet.

use crate::groups::{Group, Groups, kernel, ours};
use crate::reasons::{Parting, REASONS, Reason, passes};
use crate::segment::{Segment, Sent, d, p};
use crate::veth::Wire;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, Extension, Tcp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Streams tried. Each takes the kernel some 15 ms, most of which is waiting for its timer.
const STREAMS: u32 = 96;
/// The kernel keeps so many flows apart that have no hash from a device.
const FLOWS: usize = 6;

/// What a flow is like.
#[derive(Clone, Debug)]
struct Flow {
    v6: bool,
    udp: bool,
    extended: bool,
    timestamps: bool,
    cwr: bool,
    /// Step of IPv4 IDs.
    step: u16,
    id: u16,
    dont_fragment: bool,
    size: usize,
}

/// What happens to a segment.
#[derive(Clone, Debug)]
enum Event {
    Usual,
    Short(usize),
    Long,
    Flags(TcpFlags),
    Lost,
    Ack,
    Window,
    Stamp,
    Ttl,
    Tos,
    Id(u16),
    Wrong,
    Unfinished,
    NoChecksum,
    Padded,
    Fragment,
    Urgent,
}

fn flow() -> impl Strategy<Value = Flow> {
    let kind = (any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.1));
    let more = (any::<bool>(), prop::bool::weighted(0.1));
    let step = prop_oneof![3 => Just(1_u16), 2 => Just(0), 1 => Just(2)];
    let id = prop_oneof![1 => any::<u16>(), 1 => 65_530..=65_535_u16];
    (kind, more, step, id, any::<bool>(), 10..400_usize).prop_map(
        |((v6, udp, extended), (timestamps, cwr), step, id, dont_fragment, size)| Flow {
            v6,
            udp,
            extended,
            timestamps,
            cwr,
            step,
            id,
            dont_fragment,
            size,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let one = |flag| Just(Event::Flags(flag));
    let flags = prop_oneof![
        3 => one(TcpFlags::PSH), 1 => one(TcpFlags::FIN), 1 => one(TcpFlags::RST), 1 => one(TcpFlags::SYN),
        1 => one(TcpFlags::URG), 1 => one(TcpFlags::ECE), 1 => one(TcpFlags::CWR)
    ];
    prop_oneof![
        40 => Just(Event::Usual),
        4 => (1..400_usize).prop_map(Event::Short),
        1 => Just(Event::Long),
        6 => flags,
        2 => Just(Event::Lost),
        2 => Just(Event::Ack),
        1 => Just(Event::Window),
        1 => Just(Event::Stamp),
        1 => Just(Event::Ttl),
        1 => Just(Event::Tos),
        1 => any::<u16>().prop_map(Event::Id),
        1 => Just(Event::Wrong),
        1 => Just(Event::Unfinished),
        1 => Just(Event::NoChecksum),
        2 => Just(Event::Padded),
        1 => Just(Event::Fragment),
        1 => Just(Event::Urgent),
    ]
}

type Plan = (Vec<Flow>, Vec<(prop::sample::Index, Event)>);

fn plan() -> impl Strategy<Value = Plan> {
    (vec(flow(), 1..=FLOWS), vec((any::<prop::sample::Index>(), event()), 1..120))
}

/// The segments of a stream.
fn segments((flows, events): &Plan) -> Vec<Segment> {
    let mut next: Vec<Segment> = flows.iter().zip(0..).map(first).collect();
    let mut segments = Vec::new();
    for (index, event) in events {
        let number = index.index(flows.len());
        segments.extend(send(&mut next[number], &flows[number], event));
    }
    segments
}

/// What a flow begins with.
fn first((flow, number): (&Flow, u16)) -> Segment {
    let base = if flow.udp { d(flow.v6, flow.size) } else { p(flow.v6, 0, flow.size) };
    let base = base.id(flow.id).datagram(|udp| udp.src_port = 2000 + number);
    base.edit(|s| {
        s.flow = number;
        s.tcp.src_port = 2000 + number;
        // Fragments have no ports; flows between other addresses stay apart all the same.
        s.ip4.src[3] = number as u8;
        s.ip6.src[15] = number as u8;
        s.ip4.dont_fragment = flow.dont_fragment;
        if flow.timestamps {
            s.tcp.options = Tcp::timestamps(1, 2);
        }
        if flow.cwr {
            s.tcp.flags = s.tcp.flags | TcpFlags::CWR;
        }
        if flow.extended {
            s.ip4.options = vec![7, 4, 4, 0];
            s.ip6.extensions = vec![Extension::Destination(vec![1, 4, 0, 0, 0, 0])];
        }
    })
}

/// The segment of an event, if one is sent, and the flow moves on.
fn send(next: &mut Segment, flow: &Flow, event: &Event) -> Option<Segment> {
    match event {
        // These stay changed.
        Event::Ack => next.tcp.ack += 1,
        Event::Window => next.tcp.window ^= 1,
        Event::Stamp if flow.timestamps => next.tcp.options = Tcp::timestamps(next.tcp.seq, 2),
        Event::Id(id) => next.ip4.id = *id,
        _ => {}
    }
    let sent = next.clone().edit(|s| apply(s, event));
    next.tcp.seq = next.tcp.seq.wrapping_add(sent.len as u32);
    next.ip4.id = next.ip4.id.wrapping_add(flow.step);
    (!matches!(event, Event::Lost)).then_some(sent)
}

fn apply(s: &mut Segment, event: &Event) {
    let checksum = match event {
        Event::Wrong => Checksum::Wrong,
        Event::Unfinished => Checksum::Partial,
        Event::NoChecksum if s.udp.is_some() => Checksum::Value(0),
        _ => Checksum::Right,
    };
    s.tcp.checksum = checksum;
    s.udp.iter_mut().for_each(|udp| udp.checksum = checksum);
    match event {
        Event::Short(len) => s.len = s.len.min(*len),
        Event::Long => s.len += 1,
        Event::Flags(flags) => s.tcp.flags = s.tcp.flags | *flags,
        Event::Ttl => (s.ip4.ttl, s.ip6.hop_limit) = (9, 9),
        Event::Tos => (s.ip4.tos, s.ip6.traffic_class) = (3, 3),
        Event::Padded => (s.len, s.padded) = (s.len.min(5), true),
        Event::Urgent => s.tcp.urgent = 5,
        Event::Fragment => {
            s.ip4.more_fragments = true;
            s.ip6.extensions.push(Extension::Fragment { offset: 0, more: true, id: 1 });
        }
        _ => {}
    }
}

/// Why `groups` of one flow part, place by place; or the place for which there is no reason.
fn compare(
    segments: &[Segment],
    flow: &[usize],
    [here, there]: [&[&Group]; 2],
) -> Result<BTreeSet<&'static str>, usize> {
    let joined = |groups: &[&Group]| -> BTreeSet<usize> {
        groups.iter().flat_map(|group| group.frames[1..].iter().copied()).collect()
    };
    let (here, there) = (joined(here), joined(there));
    let (mut found, mut together) = (BTreeSet::new(), true);
    for (place, frame) in flow.iter().enumerate() {
        match (here.contains(frame), there.contains(frame)) {
            (false, false) => together = true,
            (joined_here, joined_there) if joined_here != joined_there && together => {
                let numbered = |at: &usize| (&segments[*at], *at);
                let earlier: Vec<_> = flow[..place].iter().map(numbered).collect();
                let parting = Parting { earlier: &earlier, frame: numbered(frame), joined_here };
                let reason =
                    REASONS.iter().find(|reason| (reason.holds)(&parting)).ok_or(*frame)?;
                found.insert(reason.name);
                together = false;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether the order in which frames left is the order in which they came, but for those that overtake.
fn in_order(segments: &[Segment], groups: &[&Group]) -> bool {
    let all = groups.iter().flat_map(|group| group.frames.iter());
    all.filter(|at| !passes(&segments[**at])).is_sorted()
}

fn judge(
    segments: &[Segment],
    here: &Groups,
    there: &Groups,
) -> Result<BTreeSet<&'static str>, String> {
    let mut found = BTreeSet::new();
    for number in 0..FLOWS as u16 {
        let flow: Vec<usize> =
            (0..segments.len()).filter(|at| segments[*at].flow == number).collect();
        let of = |groups: &'_ Groups| -> Vec<Group> {
            groups.0.iter().filter(|group| group.flow == number).cloned().collect()
        };
        let (here, there) = (of(here), of(there));
        let (ours, theirs): (Vec<&Group>, Vec<&Group>) =
            (here.iter().collect(), there.iter().collect());
        let reasons = compare(segments, &flow, [&ours, &theirs])
            .map_err(|at| format!("no reason at {at}: {:?}", segments[at]))?;
        found.extend(reasons);
        let all: Vec<usize> = ours.iter().flat_map(|group| group.frames.clone()).collect();
        if !all.is_sorted() {
            return Err(format!("Gro changed the order of flow {number}: {all:?}"));
        }
        if !in_order(segments, &theirs) {
            return Err(format!("the kernel changed the order of flow {number}"));
        }
        for group in &here {
            let same = there.iter().find(|other| other.frames == group.frames);
            if same.is_some_and(|same| same != group) {
                return Err(format!("other bytes of {:?}", group.frames));
            }
        }
    }
    Ok(found)
}

/// What was seen over all streams, so that a comparison of nothing with nothing does not pass.
#[derive(Default)]
struct Seen {
    reasons: BTreeSet<&'static str>,
    /// Superpackets that both made of the same frames.
    agreed: usize,
}

#[test]
fn random_streams_are_joined_as_the_kernel_joins_them() {
    let name = "kernel_gro_random_streams_are_joined_as_the_kernel_joins_them";
    let Some(wire) = Wire::new(name) else { return };
    let (wire, seen) = (RefCell::new(wire), RefCell::new(Seen::default()));
    let config = Config {
        cases: STREAMS,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6ea7),
        max_shrink_iters: 300,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&plan(), |plan| {
        let segments = segments(&plan);
        let sent: Vec<Sent> = segments.iter().enumerate().map(|(at, s)| s.build(at)).collect();
        let here = ours(&sent);
        let explained = |there: &Groups| judge(&segments, &here, there).is_ok();
        let there = kernel(&mut wire.borrow_mut(), &sent, explained);
        let reasons = judge(&segments, &here, &there).map_err(|error| {
            let shown = format!("Gro    {}\nkernel {}", here.shown(), there.shown());
            TestCaseError::fail(format!("{error}\n{shown}"))
        })?;
        let mut seen = seen.borrow_mut();
        seen.reasons.extend(reasons);
        let joined = |group: &&Group| group.frames.len() > 1 && there.0.contains(group);
        seen.agreed += here.0.iter().filter(joined).count();
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let seen = seen.into_inner();
    assert!(seen.agreed > 300, "only {} superpackets were the same", seen.agreed);
    let unused = |reason: &&Reason| reason.everywhere && !seen.reasons.contains(reason.name);
    let unused: Vec<_> = REASONS.iter().filter(unused).map(|reason| reason.name).collect();
    assert!(unused.is_empty(), "never needed, so no reasons: {unused:?}");
}
