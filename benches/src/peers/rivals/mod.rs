//! The cases: corelane's stages and DPDK's libraries on the same packets.
//!
//! A tour: [`traffic`] makes frames; [`rig`] drives corelane's stages, as an actor would; [`oracle`] looks slowly at what
//! comes out of either side; [`ring`], [`gro`], [`gso`], [`sums`] are the benches, [`defects`] asks for results alone.
//! [`Bench`] runs what they name.
//!
//! What is timed is said at each of them. Packets are always made anew, outside of what is timed, on both sides alike.

mod defects;
mod gro;
mod gso;
mod oracle;
mod rig;
mod ring;
mod run;
mod sums;
mod traffic;

pub use run::run;

use super::measure::{Pairs, Side, pairs};
use super::row::{Row, Title};
use dpdk_sys::clock::Clock;
use dpdk_sys::{Eal, Pool};

/// MiB that DPDK is given.
const MEMORY: u32 = 512;
/// Bytes of a buffer for a frame, headroom included.
const ROOM: u16 = 2048 + 128;

/// All that cases share.
pub struct Bench {
    eal: Eal,
    clock: Clock,
    /// Buffers for frames; for superpackets; for headers of segments; for parts that point elsewhere.
    pools: Pools,
    rounds: usize,
    /// Only rows whose names contain this.
    only: String,
    /// How corelane was compiled.
    flags: String,
    rows: Vec<Row>,
    repeated: usize,
    disturbed: usize,
}

struct Pools {
    frames: Pool,
    large: Pool,
    headers: Pool,
    indirect: Pool,
}

/// A case to run: names, both sides, what is known of their results.
struct Case<'a> {
    bench: &'static str,
    case: String,
    unit: &'static str,
    rival_name: &'static str,
    /// Where the rival's code was compiled: in the shim, or in the library as it was packaged.
    packaged: bool,
    ours: Side<'a>,
    rival: Option<Side<'a>>,
    correct: [Option<bool>; 2],
}

impl Bench {
    /// Starts DPDK on that core.
    ///
    /// # Errors
    /// What DPDK says.
    pub fn new(core: usize, rounds: usize, only: &str) -> Result<Bench, dpdk_sys::Error> {
        let eal = Eal::without_devices(core, MEMORY)?;
        let pools = Pools {
            frames: Pool::new(eal, "frames", 16_383, 512, ROOM)?,
            large: Pool::new(eal, "large", 15, 0, u16::MAX)?,
            headers: Pool::new(eal, "headers", 4095, 512, 512)?,
            indirect: Pool::new(eal, "indirect", 4095, 512, 0)?,
        };
        Ok(Bench {
            eal,
            clock: Clock::new(eal),
            pools,
            rounds,
            only: only.to_owned(),
            flags: own_flags(),
            rows: Vec::new(),
            repeated: 0,
            disturbed: 0,
        })
    }

    /// Every case. Each row is shown as soon as it is there.
    ///
    /// # Errors
    /// What DPDK says where it refuses something.
    pub fn run(&mut self) -> Result<(), dpdk_sys::Error> {
        ring::run(self)?;
        gro::run(self)?;
        gso::run(self)?;
        sums::run(self)?;
        defects::run(self)
    }

    /// What was found out.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Windows that were repeated because the core was taken away, and those that were kept all the same.
    pub fn repeated_and_disturbed(&self) -> (usize, usize) {
        (self.repeated, self.disturbed)
    }

    fn wants(&self, bench: &str, case: &str) -> bool {
        format!("{bench} {case}").contains(&self.only)
    }

    fn measure(&mut self, case: Case<'_>) -> Option<Row> {
        let Case { bench, case, unit, rival_name, packaged, mut ours, mut rival, correct } = case;
        if !self.wants(bench, &case) {
            return None;
        }
        let Pairs { ours, rival, repeated, disturbed, .. } =
            pairs(self.rounds, &mut ours, rival.as_mut());
        self.repeated += repeated;
        self.disturbed += disturbed;
        let title = self.title(bench, case, unit, rival_name, packaged);
        Some(Row::new(title).measured(&ours, &rival).judged(correct[0], correct[1]))
    }

    fn title(
        &self,
        bench: &str,
        case: String,
        unit: &str,
        rival_name: &str,
        packaged: bool,
    ) -> Title {
        let library = if packaged { "library as packaged; inline code: " } else { "" };
        Title {
            bench: bench.to_owned(),
            case,
            unit: unit.to_owned(),
            rival_name: rival_name.to_owned(),
            flags: format!("rival: {library}{}; ours: {}", dpdk_sys::SHIM_FLAGS, self.flags),
        }
    }

    fn add(&mut self, row: Option<Row>) {
        if let Some(row) = row {
            println!("{}", row.text());
            self.rows.push(row);
        }
    }
}

/// How this was compiled, as far as it can know.
fn own_flags() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let wide = match (cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
        (true, _) => "built for avx512f",
        (_, true) => "built for avx2",
        _ => "built for any x86-64",
    };
    format!("rustc {profile}, {wide}")
}
