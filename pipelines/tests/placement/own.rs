//! Stages of the test's own: one that keeps one state for all, one that splits its state by flow.

use corelane::Registry;
use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{Role, Sharing, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Outputs, Stage, StageConfig,
    StageContext, StageInfo, StageSpec,
};

const fn info(name: &'static str, counters: &'static [&'static str]) -> StageInfo {
    StageInfo {
        name,
        summary: "A stage of the tests.",
        role: Role::Middle,
        subject: None,
        keys: &[],
        drop_reasons: &[],
        counters,
    }
}

/// Numbers all packets: two instances would give numbers twice.
static POLICE: StageInfo = info("Police", &["highest"]);
/// Has a state for each flow.
static TRACK: StageInfo = info("Track", &[]);

/// Has two named outputs and no next one: it ends its chain by its role, so they count from 0.
static SORT: StageInfo = StageInfo { role: Role::Sink, ..info("Sort", &[]) };
/// The same, by what it says of itself: they count from 1, as if there were a next one.
static DEAL: StageInfo = info("Deal", &[]);

#[derive(Clone)]
struct Sort(&'static StageInfo);

impl Sort {
    fn ends(&self) -> bool {
        self.0.role != Role::Sink
    }
}

impl StageSpec for Sort {
    fn info(&self) -> &'static StageInfo {
        self.0
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(self.clone()))
    }
}

impl StageConfig for Sort {
    fn traits(&self) -> Traits {
        let outputs = ["even", "odd"].map(|name| (name.to_owned(), name.to_owned()));
        Traits { outputs: outputs.to_vec(), ends: self.ends(), ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        let first = usize::from(self.ends());
        Ok(Built::restartable(move || Sorting { first, seen: 0 }))
    }
}

struct Sorting {
    first: usize,
    seen: usize,
}

impl Stage for Sorting {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            // Every fourth packet is odd.
            out.send(OutputId(self.first + usize::from(self.seen % 4 == 3)), packet);
            self.seen += 1;
        }
    }
}

#[derive(Clone)]
struct Kind(&'static StageInfo, Sharing);

impl StageSpec for Kind {
    fn info(&self) -> &'static StageInfo {
        self.0
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(self.clone()))
    }
}

impl StageConfig for Kind {
    fn traits(&self) -> Traits {
        Traits { sharing: self.1, ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Passing))
    }
}

struct Passing;

impl Stage for Passing {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        ctx.count(CounterId(0), burst.len() as u64);
        burst.drain().for_each(|packet| out.next(packet));
    }
}

/// The standard stages, `Police` (exclusive), `Track` (by flow), `Sort` and `Deal` (named outputs only).
pub(crate) fn registry() -> Registry {
    let police = Kind(&POLICE, Sharing::Exclusive);
    let own = corelane::standard().with_spec(police).with_spec(Kind(&TRACK, Sharing::ByFlow));
    own.with_spec(Sort(&SORT)).with_spec(Sort(&DEAL))
}
