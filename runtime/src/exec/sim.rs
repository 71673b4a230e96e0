//! The simulator: the same actors on one thread, in an order drawn from a seed, with a clock of its own.
//!
//! It models sleep and wake: an actor that has nothing to do goes through the same protocol as on a thread,
//! in separate turns, and once asleep is not stepped until somebody rings its bell or its time comes. So a
//! missing wake-up shows as a run that is stuck. Faults are drawn from the seed too: actors that stall, and
//! buffers withheld for a while. The same seed gives the same run, byte for byte.

use crate::Time;
use crate::actor::{Actor, Step};
use crate::exec::Reasons;

/// Turns between two looks at whether to go on.
const TURNS_TO_LOOK: u64 = 64;

/// What the simulator draws from.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// Decides everything.
    pub seed: u64,
    /// Turns after which a run counts as stuck.
    pub max_turns: u64,
    /// Chance in 1024 that an actor about to be stepped stalls instead.
    pub stall: u32,
    /// Chance in 1024 that an actor about to be stepped loses its free buffers for a while.
    pub withhold: u32,
    /// Longest stall or withholding, ns of virtual time.
    pub fault_ns: Time,
}

impl SimConfig {
    /// A seed, without faults.
    pub fn new(seed: u64) -> SimConfig {
        SimConfig { seed, max_turns: 2_000_000, stall: 0, withhold: 0, fault_ns: 50_000 }
    }
}

/// How a simulated run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimOutcome {
    /// Every actor finished.
    pub finished: bool,
    /// Turns taken.
    pub turns: u64,
    /// Virtual time at the end, ns.
    pub time: Time,
    /// Stalls begun.
    pub stalls: u64,
    /// Times buffers were withheld.
    pub withheld: u64,
    /// Times an actor was blocked by a full ring.
    pub ring_full: u64,
    /// Times an actor was blocked for want of a buffer.
    pub pool_empty: u64,
    /// Hash of every turn's actor and result.
    pub trace: u64,
}

/// Where an actor is between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awake,
    /// Has announced that it sleeps, and must look once more.
    Preparing(Option<Time>),
    Asleep(Option<Time>),
    Stalled(Time),
    Done,
}

struct Sim {
    config: SimConfig,
    actors: Vec<Actor>,
    states: Vec<State>,
    withheld_until: Vec<Time>,
    now: Time,
    random: Random,
    outcome: SimOutcome,
}

/// Runs the actors to their end, or until they are stuck.
pub fn run(actors: Vec<Actor>, config: &SimConfig) -> (Vec<Actor>, SimOutcome) {
    run_while(actors, config, &mut |_| Some(Time::MAX))
}

/// As [`run`], until `go_on` says `None`. It is asked every few turns and told the virtual time; otherwise it
/// says at which time it is to be asked again at the latest, [`Time::MAX`] for no such time. What it says and
/// what messages it sends are part of the run, so only one that goes by that time leaves it repeatable.
pub fn run_while(
    actors: Vec<Actor>,
    config: &SimConfig,
    go_on: &mut dyn FnMut(Time) -> Option<Time>,
) -> (Vec<Actor>, SimOutcome) {
    let outcome = SimOutcome {
        finished: false,
        turns: 0,
        time: 0,
        stalls: 0,
        withheld: 0,
        ring_full: 0,
        pool_empty: 0,
        trace: 0xcbf2_9ce4_8422_2325,
    };
    let mut sim = Sim {
        config: *config,
        states: vec![State::Awake; actors.len()],
        withheld_until: vec![0; actors.len()],
        actors,
        now: 0,
        random: Random(config.seed),
        outcome,
    };
    sim.run(go_on);
    sim.outcome.time = sim.now;
    sim.actors.iter_mut().for_each(|actor| actor.abandon());
    sim.actors.iter_mut().for_each(Actor::discard_rest);
    (sim.actors, sim.outcome)
}

impl Sim {
    fn run(&mut self, go_on: &mut dyn FnMut(Time) -> Option<Time>) {
        let (mut look_turn, mut look_time) = (0, Time::MAX);
        while self.outcome.turns < self.config.max_turns {
            if self.states.iter().all(|state| *state == State::Done) {
                self.outcome.finished = true;
                return;
            }
            if self.outcome.turns >= look_turn || self.now >= look_time {
                look_turn = self.outcome.turns + TURNS_TO_LOOK;
                let Some(time) = go_on(self.now) else { return };
                look_time = if time > self.now { time } else { Time::MAX };
            }
            self.end_withholding();
            let ready: Vec<usize> = (0..self.actors.len()).filter(|&i| self.is_ready(i)).collect();
            if ready.is_empty() {
                match self.next_time() {
                    None if look_time == Time::MAX => return,
                    time => self.now = time.unwrap_or(look_time).min(look_time),
                }
                continue;
            }
            let index = ready[self.random.below(ready.len() as u64) as usize];
            let result = self.turn(index);
            self.outcome.turns += 1;
            self.note(index as u64);
            self.note(result);
            self.now += 20 + self.random.below(200);
        }
    }

    /// Whether an actor takes part in the draw: it is awake, half asleep, or has been woken.
    fn is_ready(&self, index: usize) -> bool {
        match self.states[index] {
            State::Awake | State::Preparing(_) => true,
            State::Asleep(until) => {
                let woken = !self.actors[index].waker().is_sleeping();
                woken || until.is_some_and(|time| time <= self.now)
            }
            State::Stalled(until) => until <= self.now,
            State::Done => false,
        }
    }

    /// The earliest time at which something happens by itself.
    fn next_time(&self) -> Option<Time> {
        let sleeping = self.states.iter().filter_map(|state| match *state {
            State::Asleep(until) => until,
            State::Stalled(until) => Some(until),
            State::Awake | State::Preparing(_) | State::Done => None,
        });
        let withheld = self.withheld_until.iter().copied().filter(|&time| time > self.now);
        sleeping.chain(withheld).min().map(|time| time.max(self.now + 1))
    }

    fn turn(&mut self, index: usize) -> u64 {
        match self.states[index] {
            State::Preparing(until) => {
                let actor = &self.actors[index];
                if actor.must_wake(self.now) {
                    actor.waker().cancel();
                    self.states[index] = State::Awake;
                    return 1;
                }
                self.states[index] = State::Asleep(until);
                return 2;
            }
            State::Asleep(_) => self.actors[index].waker().cancel(),
            State::Awake | State::Stalled(_) | State::Done => {}
        }
        if self.random.chance(self.config.stall) {
            self.outcome.stalls += 1;
            self.states[index] = State::Stalled(self.now + 1 + self.fault_time());
            return 3;
        }
        if self.random.chance(self.config.withhold) {
            self.outcome.withheld += 1;
            self.withheld_until[index] = self.now + 1 + self.fault_time();
            self.actors[index].buffers_mut().withhold([u32::MAX / 4; 3]);
        }
        self.step(index)
    }

    fn step(&mut self, index: usize) -> u64 {
        let actor = &mut self.actors[index];
        let step = actor.step(self.now);
        let (state, result) = match step {
            Step::Worked(n) => (State::Awake, 16 + n as u64),
            Step::Done => (State::Done, 4),
            Step::Idle(until) => (State::Preparing(until), 5),
            Step::Blocked(on, until) => {
                let home = on == crate::actor::On::Home;
                self.outcome.pool_empty += u64::from(home);
                self.outcome.ring_full += u64::from(!home);
                (State::Preparing(until), 6 + u64::from(home))
            }
        };
        if matches!(state, State::Preparing(_)) {
            actor.waker().prepare_for(actor.wants());
        }
        self.states[index] = state;
        result
    }

    /// Buffers come back by themselves, as from a device: their owner is woken.
    fn end_withholding(&mut self) {
        for (index, until) in self.withheld_until.iter_mut().enumerate() {
            if *until != 0 && *until <= self.now {
                *until = 0;
                self.actors[index].buffers_mut().withhold([0; 3]);
                self.actors[index].waker().wake_for(Reasons::HOME);
            }
        }
    }

    fn fault_time(&mut self) -> Time {
        self.random.below(self.config.fault_ns.max(1))
    }

    fn note(&mut self, value: u64) {
        // FNV-1a: any hash that keeps traces apart will do.
        self.outcome.trace = (self.outcome.trace ^ value).wrapping_mul(0x0100_0000_01b3);
    }
}

/// SplitMix64: small, seedable, and good enough to draw schedules.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next_u64() % n
    }

    /// True with a chance of `of_1024` in 1024.
    pub fn chance(&mut self, of_1024: u32) -> bool {
        of_1024 > 0 && self.below(1024) < u64::from(of_1024)
    }
}
