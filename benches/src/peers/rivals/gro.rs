//! Joining: `Gro` beside librte_gro, light and heavy.
//!
//! Timed in the light mode, burst by burst: `Gro::process` of a burst of described packets, to the end of which everything
//! leaves; `rte_gro_reassemble_burst` of the same. Timed in the heavy mode, for a whole window: all its bursts, and then
//! the flush of all that is held. With software verification both sides also check every IPv4 and TCP checksum. Not timed
//! on either side: copying packets into buffers, describing them, sending them home.

use super::oracle::{joined_rightly, verdict};
use super::rig::{Checked, Rig, bytes_of};
use super::traffic::{Traffic, lengths};
use super::{Bench, Case};
use crate::peers::measure::{Side, watched};
use corelane_runtime::packet::Burst;
use corelane_stages::config::Nanoseconds;
use corelane_stages::gro::{Gro, GroConfig};
use dpdk_sys::clock::Clock;
use dpdk_sys::gro::{Heavy, burst as light_burst, joins};
use dpdk_sys::{Error, Kind, Packets, sums};

const BURST: usize = 32;
/// Bursts of a light window.
const BURSTS: usize = 128;
/// Different bursts among them: as many as it takes for every flow to have its turn, or so many.
const BURSTS_MADE: usize = 64;
/// The heavy mode's table, as large as librte_gro's users make it.
const FLOWS: u16 = 1024;
const ITEMS: u16 = 32;
/// Of flow tables and hashes.
pub(super) const SEED: u64 = 0xc0ffee;

pub(super) fn run(bench: &mut Bench) -> Result<(), Error> {
    light(bench)?;
    heavy(bench)
}

const fn of(kind: Kind, flows: usize, run: usize) -> Traffic {
    Traffic { kind, flows, run }
}

fn name(traffic: Traffic) -> String {
    let Traffic { kind, flows, run } = traffic;
    let kind = match kind {
        Kind::Tcp4 => "tcp4",
        Kind::Tcp6 => "tcp6",
        Kind::VxlanTcp4 => "vxlan-tcp4",
    };
    if flows == 1 { format!("{kind} 1 flow") } else { format!("{kind} {flows} flows, run {run}") }
}

fn light(bench: &mut Bench) -> Result<(), Error> {
    let traffic = [
        of(Kind::Tcp4, 1, 1),
        of(Kind::Tcp4, 16, 1),
        of(Kind::Tcp4, 16, 8),
        of(Kind::Tcp4, 128, 1),
        of(Kind::Tcp4, 128, 8),
        of(Kind::Tcp4, 1024, 1),
        of(Kind::Tcp4, 1024, 8),
        of(Kind::Tcp6, 1, 1),
        of(Kind::VxlanTcp4, 1, 1),
        of(Kind::VxlanTcp4, 16, 1),
        of(Kind::VxlanTcp4, 128, 8),
    ];
    for traffic in traffic {
        light_case(bench, traffic, Checked::Before)?;
    }
    for traffic in [of(Kind::Tcp4, 1, 1), of(Kind::Tcp4, 128, 8), of(Kind::VxlanTcp4, 1, 1)] {
        light_case(bench, traffic, Checked::No)?;
    }
    Ok(())
}

fn checked_name(checked: Checked) -> &'static str {
    if checked == Checked::Before { "sums known" } else { "verified in software" }
}

fn light_case(bench: &mut Bench, traffic: Traffic, checked: Checked) -> Result<(), Error> {
    let case = format!("{}, {}", name(traffic), checked_name(checked));
    if !bench.wants("gro light", &case) {
        return Ok(());
    }
    let kind = traffic.kind;
    let period = (traffic.flows * traffic.run).div_ceil(BURST).clamp(1, BURSTS_MADE);
    let frames = traffic.frames(period * BURST);
    let mut ours = Light::new(&frames, checked);
    let right = ours.judge(kind, &case);
    let mut rival = RivalLight::new(bench, &frames, kind, checked);
    let does = joins(kind);
    let rival_right = if does { Some(rival.judge(&case)?) } else { None };
    let clock = bench.clock;
    let ours: Side<'_> = Box::new(move || watched(|| ours.window(clock)));
    let rival: Option<Side<'_>> =
        does.then(|| Box::new(move || watched(|| rival.window(clock))) as Side<'_>);
    let row = bench.measure(Case {
        bench: "gro light",
        case,
        unit: "ns/packet",
        rival_name: if does { "rte_gro_reassemble_burst" } else { "librte_gro (joins no TCP6)" },
        packaged: true,
        ours,
        rival,
        correct: [Some(right), rival_right],
    });
    bench.add(row);
    Ok(())
}

/// corelane in the light mode.
struct Light<'a> {
    rig: Rig,
    stage: Gro,
    frames: &'a [Vec<u8>],
    checked: Checked,
    burst: Box<Burst>,
}

impl<'a> Light<'a> {
    fn new(frames: &'a [Vec<u8>], checked: Checked) -> Light<'a> {
        let stage = Gro::new(GroConfig::default(), SEED);
        Light { rig: Rig::new(0, 512, 0), stage, frames, checked, burst: Box::new(Burst::new()) }
    }

    fn judge(&mut self, kind: Kind, case: &str) -> bool {
        let mut result = Ok(());
        for frames in self.frames.chunks(BURST) {
            self.rig.receive(frames, self.checked, &mut self.burst);
            self.rig.process(&mut self.stage, &mut self.burst);
            let out: Vec<_> = self.rig.sent().iter().map(bytes_of).collect();
            self.rig.release_sent();
            result = result.and(joined_rightly(kind, frames, &out));
        }
        self.rig.assert_home();
        verdict("ours", case, result)
    }

    fn window(&mut self, clock: Clock) -> f64 {
        let mut total = 0;
        for frames in self.frames.chunks(BURST).cycle().take(BURSTS) {
            self.rig.receive(frames, self.checked, &mut self.burst);
            let work = || self.rig.process(&mut self.stage, &mut self.burst);
            total += clock.ticks(work).0;
            self.rig.release_sent();
        }
        clock.ns(total) / (BURSTS * BURST) as f64
    }
}

/// librte_gro in the light mode.
struct RivalLight<'a> {
    packets: Packets,
    frames: &'a [Vec<u8>],
    kind: Kind,
    checked: Checked,
}

impl<'a> RivalLight<'a> {
    fn new(bench: &Bench, frames: &'a [Vec<u8>], kind: Kind, checked: Checked) -> RivalLight<'a> {
        let packets = Packets::new(&[&bench.pools.frames], BURST);
        RivalLight { packets, frames, kind, checked }
    }

    fn judge(&mut self, case: &str) -> Result<bool, Error> {
        let mut result = Ok(());
        for frames in self.frames.chunks(BURST) {
            receive(&mut self.packets, frames, self.kind)?;
            if self.checked == Checked::No {
                assert_eq!(sums::verify(&mut self.packets, self.kind), frames.len());
            }
            light_burst(&mut self.packets, self.kind);
            result = result.and(joined_rightly(self.kind, frames, &self.packets.frames()));
            self.packets.free();
        }
        Ok(verdict("librte_gro", case, result))
    }

    fn window(&mut self, clock: Clock) -> f64 {
        let mut total = 0;
        for frames in self.frames.chunks(BURST).cycle().take(BURSTS) {
            receive(&mut self.packets, frames, self.kind).expect("a buffer for each frame");
            let (packets, kind) = (&mut self.packets, self.kind);
            let verifies = self.checked == Checked::No;
            let work = || {
                if verifies {
                    std::hint::black_box(sums::verify(packets, kind));
                }
                light_burst(packets, kind);
            };
            total += clock.ticks(work).0;
            self.packets.free();
        }
        clock.ns(total) / (BURSTS * BURST) as f64
    }
}

/// Packets as a driver and a parser leave them: the counterpart of [`Rig::receive`].
fn receive(packets: &mut Packets, frames: &[Vec<u8>], kind: Kind) -> Result<(), Error> {
    for frame in frames {
        packets.receive(frame)?;
    }
    packets.describe(kind, &lengths(kind));
    Ok(())
}

fn heavy(bench: &mut Bench) -> Result<(), Error> {
    for kind in [Kind::Tcp4, Kind::VxlanTcp4] {
        for (flows, window) in
            [(1, 256), (1, 4096), (128, 256), (128, 4096), (1024, 256), (1024, 4096)]
        {
            heavy_case(bench, of(kind, flows, 1), window)?;
        }
    }
    Ok(())
}

fn heavy_case(bench: &mut Bench, traffic: Traffic, window: usize) -> Result<(), Error> {
    let case = format!("{}, window {window}, sums known", name(traffic));
    if !bench.wants("gro heavy", &case) {
        return Ok(());
    }
    let kind = traffic.kind;
    let frames = traffic.frames(window);
    let mut ours = Timed::new(&frames);
    let right = ours.judge(kind, &case);
    let mut rival = RivalTimed::new(bench, &frames, kind)?;
    let rival_right = rival.judge(&case)?;
    let clock = bench.clock;
    let row = bench.measure(Case {
        bench: "gro heavy",
        case,
        unit: "ns/packet",
        rival_name: "rte_gro_reassemble + timeout_flush",
        packaged: true,
        ours: Box::new(move || watched(|| ours.window(clock))),
        rival: Some(Box::new(move || watched(|| rival.window(clock)))),
        correct: [Some(right), Some(rival_right)],
    });
    bench.add(row);
    Ok(())
}

/// corelane with a hold time.
struct Timed<'a> {
    rig: Rig,
    stage: Gro,
    frames: &'a [Vec<u8>],
    bursts: Vec<Burst>,
    out: Vec<corelane_runtime::packet::Packet>,
}

impl<'a> Timed<'a> {
    const HOLD: u64 = 1_000_000;

    fn new(frames: &'a [Vec<u8>]) -> Timed<'a> {
        let config = GroConfig {
            hold: Some(Nanoseconds(Timed::HOLD)),
            flows: FLOWS,
            max_held: Some(2 * frames.len() as u32 + 1024),
            ..GroConfig::default()
        };
        let bursts = frames.chunks(BURST).map(|_| Burst::new()).collect();
        let rig = Rig::new(0, 2 * frames.len() as u32 + 256, 0);
        let out = Vec::with_capacity(frames.len());
        Timed { rig, stage: Gro::new(config, SEED), frames, bursts, out }
    }

    fn receive(&mut self) {
        for (frames, burst) in self.frames.chunks(BURST).zip(&mut self.bursts) {
            self.rig.receive(frames, Checked::Before, burst);
        }
    }

    /// All bursts, then the flush.
    fn work(&mut self) {
        for burst in &mut self.bursts {
            self.rig.process(&mut self.stage, burst);
            self.out.extend(self.rig.sent().drain());
        }
        self.rig.now += 2 * Timed::HOLD;
        loop {
            self.rig.tick(&mut self.stage);
            let before = self.out.len();
            self.out.extend(self.rig.sent().drain());
            if self.out.len() == before {
                break;
            }
        }
    }

    fn release(&mut self) {
        for packet in self.out.drain(..) {
            self.rig.buffers.release(packet);
        }
    }

    fn judge(&mut self, kind: Kind, case: &str) -> bool {
        self.receive();
        self.work();
        let out: Vec<_> = self.out.iter().map(bytes_of).collect();
        self.release();
        self.rig.assert_home();
        verdict("ours", case, joined_rightly(kind, self.frames, &out))
    }

    fn window(&mut self, clock: Clock) -> f64 {
        self.receive();
        let (ticks, ()) = clock.ticks(|| self.work());
        self.release();
        clock.ns(ticks) / self.frames.len() as f64
    }
}

/// librte_gro with a table.
struct RivalTimed<'a> {
    table: Heavy,
    packets: Packets,
    out: Packets,
    frames: &'a [Vec<u8>],
    kind: Kind,
}

impl<'a> RivalTimed<'a> {
    fn new(bench: &Bench, frames: &'a [Vec<u8>], kind: Kind) -> Result<RivalTimed<'a>, Error> {
        let packets = || Packets::new(&[&bench.pools.frames], frames.len());
        let table = Heavy::new(bench.eal, kind, FLOWS, ITEMS)?;
        Ok(RivalTimed { table, packets: packets(), out: packets(), frames, kind })
    }

    fn judge(&mut self, case: &str) -> Result<bool, Error> {
        receive(&mut self.packets, self.frames, self.kind)?;
        self.table.window(&mut self.packets, BURST as u32, &mut self.out);
        let result = joined_rightly(self.kind, self.frames, &self.out.frames());
        self.out.free();
        Ok(verdict("librte_gro", case, result))
    }

    fn window(&mut self, clock: Clock) -> f64 {
        receive(&mut self.packets, self.frames, self.kind).expect("a buffer for each frame");
        let (table, packets, out) = (&mut self.table, &mut self.packets, &mut self.out);
        let (ticks, ()) = clock.ticks(|| table.window(packets, BURST as u32, out));
        self.out.free();
        clock.ns(ticks) / self.frames.len() as f64
    }
}
