//! Homes, frames and stages that misbehave in exactly one way.

use corelane_runtime::Time;
use corelane_runtime::actor::{Actor, ActorBuilder, NodeBody, NodeConfig, OnPanic};
use corelane_runtime::counters::ActorReport;
use corelane_runtime::packet::{Buffers, Burst, HomeConfig, Packet, Units};
use corelane_runtime::stage::{Outputs, Progress, Source, Stage, StageContext, Target};

pub(crate) fn home(shells: u32, small: u32, large: u32) -> Buffers {
    let name = "home".to_owned();
    Buffers::new(&HomeConfig { name, shells, small, large, node: None }).expect("a home")
}

pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

pub(crate) fn bytes_of(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

/// A frame of `header` + `payload` bytes, its payload told to the books.
pub(crate) fn frame(buffers: &mut Buffers, header: usize, payload: usize, seed: u8) -> Packet {
    let mut packet = buffers.receive(&pattern(header + payload, seed)).expect("room");
    packet.set_layers(Default::default(), payload as u32);
    packet
}

/// What a closure stage does, call by call; anything not set is a stage that passes packets on.
#[derive(Default)]
pub(crate) struct Toy {
    pub(crate) process: Option<Process>,
    pub(crate) tick: Option<Call>,
    pub(crate) drain: Option<Call>,
    pub(crate) deadline: Option<Time>,
    pub(crate) held: Option<Box<dyn Fn() -> Units + Send>>,
}

pub(crate) type Process =
    Box<dyn FnMut(&mut Burst, &mut Outputs<'_>, &mut StageContext<'_>) + Send>;
pub(crate) type Call = Box<dyn FnMut(&mut Outputs<'_>, &mut StageContext<'_>) -> Progress + Send>;

impl Stage for Toy {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        match &mut self.process {
            Some(process) => process(burst, out, ctx),
            None => burst.drain().for_each(|packet| out.next(packet)),
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        match &mut self.tick {
            Some(tick) => tick(out, ctx),
            None => Progress::Idle(None),
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        match &mut self.drain {
            Some(drain) => drain(out, ctx),
            None => Progress::Done,
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn held(&self) -> Units {
        self.held.as_ref().map_or(Units::default(), |held| held())
    }
}

/// A stage that does only this with its bursts.
pub(crate) fn processes(
    process: impl FnMut(&mut Burst, &mut Outputs<'_>, &mut StageContext<'_>) + Send + 'static,
) -> Toy {
    Toy { process: Some(Box::new(process)), ..Toy::default() }
}

/// A stage that ends what comes.
pub(crate) fn sink() -> Toy {
    processes(|burst, _, ctx| {
        for packet in burst.drain() {
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    })
}

/// A source that makes `count` packets of eight bytes, `at_once` a poll, and then ends.
pub(crate) struct Count {
    pub(crate) left: usize,
    pub(crate) at_once: usize,
}

impl Source for Count {
    fn poll(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let mut made = 0;
        while made < budget.min(self.at_once) && self.left > 0 {
            let Some(mut packet) = ctx.buffers.receive(&self.left.to_be_bytes()) else {
                return if made > 0 { Progress::Worked(made) } else { Progress::Starved };
            };
            packet.set_layers(Default::default(), 8);
            ctx.received(&packet);
            out.next(packet);
            self.left -= 1;
            made += 1;
        }
        if made == 0 && self.left == 0 { Progress::Done } else { Progress::Worked(made) }
    }

    fn stop(&mut self) {
        self.left = 0;
    }
}

pub(crate) fn node(body: NodeBody, targets: &[Target]) -> NodeConfig {
    NodeConfig {
        stage: 0,
        name: "toy".to_owned(),
        body,
        targets: targets.to_vec(),
        reasons: 1,
        counters: 0,
        mirrors: false,
        multiplies: false,
        on_panic: OnPanic::Drop,
    }
}

pub(crate) fn stage(stage: impl Stage + 'static, targets: &[Target]) -> NodeConfig {
    node(NodeBody::Stage(Box::new(stage), None), targets)
}

pub(crate) fn source(source: impl Source + 'static, targets: &[Target]) -> NodeConfig {
    node(NodeBody::Source(Box::new(source)), targets)
}

/// An actor of these nodes in a row, without rings.
pub(crate) fn row(nodes: Vec<NodeConfig>, buffers: Buffers) -> Actor {
    let mut builder = ActorBuilder::new("row", std::sync::Arc::default());
    for config in nodes {
        builder.node(config);
    }
    builder.build(buffers).0
}

/// The books of a run without rings, after what was left has been discarded.
pub(crate) fn books(actor: &mut Actor) -> ActorReport {
    actor.abandon();
    actor.discard_rest();
    let report = actor.report();
    let mut known = Units::default();
    for (index, stage) in report.stages.iter().enumerate() {
        assert!(stage.is_balanced(), "stage {index}: {stage:?}");
        known += stage.lost.stage_panicked + stage.lost.stopped;
    }
    assert_eq!(report.home.outstanding, [0; 3], "buffers are out");
    assert_eq!(report.home.implicit, known, "what fell out of scope is not what was booked");
    report
}

/// Keeps panics made on purpose out of the output.
pub(crate) fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied());
            if !text.is_some_and(|text| text.contains("on purpose")) {
                usual(info);
            }
        }));
    });
}
