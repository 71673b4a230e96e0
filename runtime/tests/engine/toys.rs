//! Small stages that between them do everything an engine must cope with: make, hold, multiply, stall, panic.

use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet, Units};
use corelane_runtime::stage::{Outputs, Progress, Reason, Source, Stage, StageContext};

/// Makes `count` packets whose bytes are their numbers, as fast as it is asked or one every `gap` ns.
pub(crate) struct Numbers {
    pub(crate) next: u64,
    pub(crate) count: u64,
    pub(crate) gap: Time,
    pub(crate) stopped: bool,
}

impl Source for Numbers {
    fn poll(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let mut made = 0;
        while made < budget && self.next < self.count && !self.stopped {
            let due = self.next * self.gap;
            if due > ctx.now {
                return if made > 0 { Progress::Worked(made) } else { Progress::Idle(Some(due)) };
            }
            let Some(mut packet) = ctx.buffers.receive(&self.next.to_be_bytes()) else {
                return if made > 0 { Progress::Worked(made) } else { Progress::Starved };
            };
            packet.set_layers(Default::default(), 8);
            ctx.received(&packet);
            out.next(packet);
            self.next += 1;
            made += 1;
        }
        let ended = self.stopped || self.next == self.count;
        if made == 0 && ended { Progress::Done } else { Progress::Worked(made) }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}

pub(crate) fn number(packet: &Packet) -> u64 {
    u64::from_be_bytes(packet.data()[..8].try_into().expect("eight bytes"))
}

/// Sends every packet on `times` times; the copies are new packets. Pauses wherever room or buffers end.
pub(crate) struct Repeat {
    pub(crate) times: usize,
    pub(crate) current: Option<(Packet, usize)>,
}

impl Stage for Repeat {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        loop {
            if self.current.is_none() {
                self.current = burst.pop().map(|packet| (packet, 1));
            }
            let Some((packet, sent)) = &mut self.current else { return };
            while *sent < self.times {
                if out.room() == 0 {
                    return;
                }
                let Some(mut copy) = ctx.buffers.receive(packet.data()) else { return };
                copy.set_layers(Default::default(), 8);
                ctx.create(&copy);
                out.next(copy);
                *sent += 1;
            }
            if out.room() == 0 {
                return;
            }
            let (packet, _) = self.current.take().expect("just looked at");
            out.next(packet);
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let mut nothing = Burst::new();
        self.process(&mut nothing, out, ctx);
        if self.current.is_none() { Progress::Done } else { Progress::Starved }
    }

    fn held(&self) -> Units {
        self.current.as_ref().map_or(Units::default(), |(packet, _)| packet.units())
    }
}

/// Holds packets, up to `most`, until `patience` ns have passed.
pub(crate) struct Hold {
    pub(crate) most: usize,
    pub(crate) patience: Time,
    pub(crate) kept: Burst,
    pub(crate) deadline: Option<Time>,
}

impl Stage for Hold {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            if self.kept.len() >= self.most
                && let Some(oldest) = self.kept.pop()
            {
                out.next(oldest);
            }
            self.kept.push(packet).expect("bounded");
        }
        self.deadline = Some(ctx.now + self.patience);
    }

    fn tick(&mut self, out: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        let mut moved = 0;
        while out.room() > 0 {
            let Some(packet) = self.kept.pop() else { break };
            out.next(packet);
            moved += 1;
        }
        if self.kept.is_empty() {
            self.deadline = None;
        }
        Progress::Worked(moved)
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        match self.tick(out, ctx) {
            Progress::Worked(0) if self.kept.is_empty() => Progress::Done,
            other => other,
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn held(&self) -> Units {
        self.kept.iter().fold(Units::default(), |sum, packet| sum + packet.units())
    }
}

/// Panics at packet number `at`, after having passed on or dropped what came before it.
pub(crate) struct Panic {
    pub(crate) at: u64,
}

impl Stage for Panic {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            let number = number(&packet);
            assert_ne!(number, self.at, "the toy panics as it was told");
            if number % 7 == 3 { ctx.drop(packet, Reason(0)) } else { out.next(packet) }
        }
    }
}

/// Ends packets, `at_once` a call at most, and notes their numbers.
pub(crate) struct Sink {
    pub(crate) seen: std::sync::Arc<std::sync::Mutex<Vec<u64>>>,
    pub(crate) at_once: usize,
    pub(crate) stalled_until: Time,
    pub(crate) deadline: Option<Time>,
}

impl Stage for Sink {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        self.deadline = (ctx.now < self.stalled_until).then_some(self.stalled_until);
        if self.deadline.is_some() {
            return;
        }
        let mut seen = self.seen.lock().expect("not poisoned");
        for packet in burst.drain().take(self.at_once) {
            seen.push(number(&packet));
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }
}
