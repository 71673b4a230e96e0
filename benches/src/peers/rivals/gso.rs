//! Cutting: `Gso` beside librte_gso, a superpacket of 44 segments at a time.
//!
//! Timed on both sides: cutting, checksums where the row says so, and sending all segments and the superpacket home.
//! `segments only`: corelane finishes IPv4 header sums and leaves TCP checksums partial, librte_gso touches none.
//! `with sums`: every checksum is right on either side; by `ChecksumFill` behind `Gso`, by `rte_ipv4_cksum` and
//! `rte_ipv4_udptcp_cksum_mbuf`. `sums kept`: the superpacket was joined by `Gro`, which keeps the payload sum of each
//! segment; librte_gro keeps none, so its side reads every byte. Not timed: making the superpacket, payload copied in.

use super::gro::SEED;
use super::oracle::{cut_rightly, verdict};
use super::rig::{Checked, Rig, bytes_of};
use super::traffic::{FRAME, frame, header_len, lengths, payload_len, whole};
use super::{Bench, Case};
use crate::peers::measure::watched;
use corelane_runtime::packet::{Burst, Csum, Partial, SegFlags, SegKind, Segmentation};
use corelane_stages::checksum_fill::ChecksumFill;
use corelane_stages::gro::{Gro, GroConfig};
use corelane_stages::gso::Gso;
use corelane_stages::rx::describe;
use corelane_wire::tcp::TcpFlags;
use dpdk_sys::clock::Clock;
use dpdk_sys::gso::Cutter;
use dpdk_sys::{Error, Kind, Packets};

/// Segments of a superpacket.
const SEGMENTS: usize = 44;
/// Superpackets of a window.
const SUPERS: usize = 32;

/// How the superpacket lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One buffer a segment.
    Chain,
    /// One buffer.
    One,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Segments,
    /// Checksums too, of payloads that nobody has summed.
    Sums,
    /// Checksums too; corelane has kept the sums.
    Kept,
}

pub(super) fn run(bench: &mut Bench) -> Result<(), Error> {
    for kind in [Kind::Tcp4, Kind::VxlanTcp4] {
        for (form, work) in [
            (Form::Chain, Work::Segments),
            (Form::One, Work::Segments),
            (Form::Chain, Work::Kept),
            (Form::Chain, Work::Sums),
            (Form::One, Work::Sums),
        ] {
            case(bench, kind, form, work)?;
        }
    }
    case(bench, Kind::Tcp6, Form::Chain, Work::Kept)
}

fn name(kind: Kind, form: Form, work: Work) -> String {
    let kind = match kind {
        Kind::Tcp4 => "tcp4",
        Kind::Tcp6 => "tcp6",
        Kind::VxlanTcp4 => "vxlan-tcp4",
    };
    let form = if form == Form::Chain { "chain" } else { "one buffer" };
    let work = match work {
        Work::Segments => "segments only",
        Work::Sums => "with sums",
        Work::Kept => "with sums, sums kept",
    };
    format!("{kind} {form}, {work}")
}

fn case(bench: &mut Bench, kind: Kind, form: Form, work: Work) -> Result<(), Error> {
    let case = name(kind, form, work);
    if !bench.wants("gso", &case) {
        return Ok(());
    }
    let frames: Vec<_> = (0..SEGMENTS).map(|number| frame(kind, 0, number)).collect();
    let mut ours = Ours::new(kind, form, work, &frames);
    let right = verdict("ours", &case, ours.judge());
    let mut rival = Rival::new(bench, kind, form, work, &frames);
    let made = rival.make_and_cut()?;
    rival.free();
    let rival_right = match made {
        0 => None,
        _ => Some(verdict("librte_gso", &case, rival.judge()?)),
    };
    let clock = bench.clock;
    let does = made > 0;
    let row = bench.measure(Case {
        bench: "gso",
        case,
        unit: "ns/segment",
        rival_name: match (does, work) {
            (false, _) => "librte_gso (cuts no TCP6)",
            (_, Work::Segments) => "rte_gso_segment",
            (_, Work::Sums | Work::Kept) => "rte_gso_segment + software sums",
        },
        packaged: true,
        ours: Box::new(move || watched(|| ours.window(clock))),
        rival: if does { Some(Box::new(move || watched(|| rival.window(clock)))) } else { None },
        correct: [Some(right), rival_right],
    });
    bench.add(row);
    Ok(())
}

/// All payloads in a row behind the headers of the first frame, lengths and checksums those of the whole.
fn superframe(kind: Kind, frames: &[Vec<u8>]) -> Vec<u8> {
    let payload: Vec<u8> =
        frames.iter().flat_map(|frame| &frame[header_len(kind)..]).copied().collect();
    whole(kind, 0, 0, TcpFlags::ACK, &payload)
}

struct Ours<'a> {
    rig: Rig,
    gro: Gro,
    gso: Gso,
    fill: ChecksumFill,
    burst: Box<Burst>,
    kind: Kind,
    form: Form,
    work: Work,
    frames: &'a [Vec<u8>],
    whole: Vec<u8>,
}

impl<'a> Ours<'a> {
    fn new(kind: Kind, form: Form, work: Work, frames: &'a [Vec<u8>]) -> Ours<'a> {
        Ours {
            rig: Rig::new(256, 512, 4),
            gro: Gro::new(GroConfig::default(), SEED),
            gso: Gso::new(None),
            fill: ChecksumFill::new(None),
            burst: Box::new(Burst::new()),
            kind,
            form,
            work,
            frames,
            whole: superframe(kind, frames),
        }
    }

    /// Puts a superpacket into the input of `Gso`.
    fn make(&mut self) {
        match self.form {
            Form::Chain => self.join(),
            Form::One => read(&mut self.rig, &self.whole, self.kind, SEGMENTS, &mut self.burst),
        }
        assert_eq!(self.burst.iter().map(|packet| packet.segments()).sum::<u16>(), 44);
        if self.work == Work::Sums {
            self.burst.iter_mut().for_each(|packet| packet.forget_payload_sums());
        }
    }

    /// As `Gro` leaves it.
    fn join(&mut self) {
        self.rig.receive(self.frames, Checked::Before, &mut self.burst);
        self.rig.process(&mut self.gro, &mut self.burst);
        for packet in self.rig.sent().drain() {
            assert!(self.burst.push(packet).is_ok(), "there is room");
        }
    }

    #[inline]
    fn cut(&mut self) {
        self.rig.process(&mut self.gso, &mut self.burst);
        if self.work != Work::Segments {
            self.rig.process_sent(&mut self.fill);
        }
    }

    fn judge(&mut self) -> Result<(), String> {
        self.make();
        self.cut();
        let segments: Vec<_> = self.rig.sent().iter().map(bytes_of).collect();
        self.rig.release_sent();
        self.rig.assert_home();
        cut_rightly(self.kind, self.frames, &segments, self.work != Work::Segments)
    }

    fn window(&mut self, clock: Clock) -> f64 {
        let mut total = 0;
        for _ in 0..SUPERS {
            self.make();
            let work = || {
                self.cut();
                self.rig.release_sent();
            };
            total += clock.ticks(work).0;
        }
        clock.ns(total) / (SUPERS * SEGMENTS) as f64
    }
}

/// A superpacket as it comes from a sender on this host: in one piece, checksums of the whole to be finished.
pub(super) fn read(rig: &mut Rig, whole: &[u8], kind: Kind, segments: usize, burst: &mut Burst) {
    let mut packet = rig.buffers.receive(whole).expect("a large buffer");
    packet.meta_mut().orig_len = packet.len();
    packet.set_segmentation(Segmentation {
        kind: if kind == Kind::Tcp6 { SegKind::Tcp6 } else { SegKind::Tcp4 },
        gso_size: payload_len(kind) as u16,
        count: segments as u16,
        flags: SegFlags::empty(),
    });
    describe(&mut packet, SEED, &mut rig.buffers).expect("headers are contiguous");
    let meta = packet.meta_mut();
    let count = usize::from(meta.layers.count);
    meta.l3[..count].fill(Csum::Good);
    let start = meta.layers.levels[count - 1].l4;
    meta.request(count - 1, Partial { start, field: start + 16 });
    assert!(burst.push(packet).is_ok(), "there is room");
}

struct Rival<'a> {
    packets: Packets,
    segments: Packets,
    cutter: Cutter,
    kind: Kind,
    form: Form,
    work: Work,
    frames: &'a [Vec<u8>],
    whole: Vec<u8>,
}

impl<'a> Rival<'a> {
    fn new(bench: &Bench, kind: Kind, form: Form, work: Work, frames: &'a [Vec<u8>]) -> Rival<'a> {
        let pools = &bench.pools;
        let from = if form == Form::Chain { &pools.frames } else { &pools.large };
        let cutter = Cutter::new(&pools.headers, &pools.indirect, kind, FRAME as u16);
        let segments = Packets::new(&[&pools.headers, &pools.indirect, from], 2 * SEGMENTS);
        let packets = Packets::new(&[from], 1);
        let whole = superframe(kind, frames);
        Rival { packets, segments, cutter, kind, form, work, frames, whole }
    }

    fn make(&mut self) -> Result<(), Error> {
        match self.form {
            Form::One => self.packets.receive(&self.whole)?,
            Form::Chain => {
                let (first, rest) = self.whole.split_at(FRAME);
                let pieces = std::iter::once(first).chain(rest.chunks(payload_len(self.kind)));
                self.packets.receive_chain(pieces)?;
            }
        }
        self.packets.describe(self.kind, &lengths(self.kind));
        Ok(())
    }

    #[inline]
    fn cut(&mut self) -> Result<usize, Error> {
        let made = self.cutter.cut(&self.packets, &mut self.segments)?;
        if self.work != Work::Segments {
            self.cutter.fill(&mut self.segments);
        }
        Ok(made)
    }

    fn make_and_cut(&mut self) -> Result<usize, Error> {
        self.make()?;
        self.cut()
    }

    #[inline]
    fn free(&mut self) {
        self.segments.free();
        self.packets.free();
    }

    fn judge(&mut self) -> Result<Result<(), String>, Error> {
        self.make_and_cut()?;
        let segments = self.segments.frames();
        self.free();
        Ok(cut_rightly(self.kind, self.frames, &segments, self.work != Work::Segments))
    }

    fn window(&mut self, clock: Clock) -> f64 {
        let mut total = 0;
        for _ in 0..SUPERS {
            self.make().expect("buffers for a superpacket");
            let work = || {
                self.cut().expect("buffers for its segments");
                self.free();
            };
            total += clock.ticks(work).0;
        }
        clock.ns(total) / (SUPERS * SEGMENTS) as f64
    }
}
