//! Where the time of a window went: to each stage, to the devices behind them, to nothing, to others.
//!
//! Promises that the parts add up to the time of the cores, to the nanosecond, since what is left over is a part of
//! its own. What a stage's part is, is an estimate: the time of its timed calls, scaled up to all the time in which
//! its actor did work. Time in which the thread was runnable but had no CPU is taken off before.

use corelane_runtime::Time;
use corelane_runtime::actor::Profile;
use corelane_runtime::counters::ActorReport;

/// The time of one actor in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActorTime {
    /// Its thread, by the system's number: actors of one thread share its time.
    pub(crate) thread: u32,
    /// The window as its thread saw it, ns.
    pub(crate) wall: Time,
    /// Steps that did work.
    pub(crate) worked: Time,
    /// Asleep.
    pub(crate) asleep: Time,
    /// Processor time of its thread.
    pub(crate) cpu: Time,
    /// What was timed, in the window.
    pub(crate) sample: Profile,
    /// Its stages, in the order of the nodes: index in the plan.
    pub(crate) stages: Vec<usize>,
}

impl ActorTime {
    /// What lies between two readings of an actor's books.
    pub(crate) fn between(before: &ActorReport, after: &ActorReport) -> ActorTime {
        let [worked, looked, asleep] =
            std::array::from_fn(|kind| after.times[kind].saturating_sub(before.times[kind]));
        let sample = sample(before.profile.as_ref(), after.profile.as_ref());
        ActorTime {
            thread: sample.thread,
            wall: worked + looked + asleep,
            worked,
            asleep,
            cpu: sample.cpu,
            sample,
            stages: after.stages.iter().map(|stage| stage.stage).collect(),
        }
    }
}

/// What was timed between two readings.
fn sample(before: Option<&Profile>, after: Option<&Profile>) -> Profile {
    let empty = Profile::default();
    let (before, after) = (before.unwrap_or(&empty), after.unwrap_or(&empty));
    let mut nodes = after.nodes.clone();
    for (node, old) in nodes.iter_mut().zip(&before.nodes) {
        node.calls -= old.calls;
        node.time -= old.time;
        node.device -= old.device;
    }
    Profile {
        steps: after.steps - before.steps,
        time: after.time - before.time,
        nodes,
        interrupted: after.interrupted - before.interrupted,
        overhead: after.overhead - before.overhead,
        cpu: after.cpu.saturating_sub(before.cpu),
        thread: after.thread,
    }
}

/// Where the time of all cores went, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    /// By index of the stage in the plan: its own time, and that of the device behind it.
    pub(crate) stages: Vec<(usize, Time, Time)>,
    /// Looking for work, and asleep.
    pub(crate) idle: Time,
    /// Runnable, but without a CPU.
    pub(crate) waiting: Time,
    /// Everything else: what lies between the stages.
    pub(crate) other: Time,
    /// The time of all cores together: exactly the sum of all parts.
    pub(crate) total: Time,
}

/// `time` x `part` / `whole`, rounded down.
fn share(time: Time, part: Time, whole: Time) -> Time {
    match whole {
        0 => 0,
        whole => {
            let share = u128::from(time) * u128::from(part) / u128::from(whole);
            Time::try_from(share).unwrap_or(Time::MAX)
        }
    }
}

impl Split {
    /// Splits the time of the threads of these actors.
    pub(crate) fn of(actors: &[ActorTime]) -> Split {
        let mut split = Split::default();
        let mut threads: Vec<u32> = Vec::new();
        for (number, actor) in actors.iter().enumerate() {
            // A thread that nobody numbered is the actor's own.
            if actor.thread != 0 && threads.contains(&actor.thread) {
                continue;
            }
            threads.push(actor.thread);
            let together = |(at, other): &(usize, &ActorTime)| {
                *at == number || actor.thread != 0 && other.thread == actor.thread
            };
            let crew: Vec<&ActorTime> =
                actors.iter().enumerate().filter(together).map(|(_, actor)| actor).collect();
            split.add_thread(&crew);
        }
        split.stages.sort_unstable_by_key(|(stage, ..)| *stage);
        split
    }

    /// Adds the actors of one thread. All saw the same time pass; each worked in its own part of it.
    fn add_thread(&mut self, crew: &[&ActorTime]) {
        let most =
            |of: fn(&ActorTime) -> Time| crew.iter().map(|actor| of(actor)).max().unwrap_or(0);
        let wall = most(|actor| actor.wall);
        let awake = wall.saturating_sub(most(|actor| actor.asleep));
        let all: Time = crew.iter().map(|actor| actor.worked).sum();
        let (worked, looked) = (all.min(awake), awake.saturating_sub(all));
        // Where no processor time is known, nothing is known of waiting.
        let cpu = most(|actor| actor.cpu);
        let waiting = if cpu == 0 { 0 } else { awake.saturating_sub(cpu) };
        // Who looks for work loses the same part of its time as who works.
        let waited = |time: Time| share(time, waiting, awake);
        let busy = worked - waited(worked);
        let mut told = 0;
        for actor in crew {
            told += self.add_stages(actor, share(busy, actor.worked, all));
        }
        self.idle += wall - awake + looked - waited(looked);
        self.waiting += waited(worked) + waited(looked);
        self.other += busy - told;
        self.total += wall;
    }

    /// Adds the stages of an actor that was busy so long; how much of that they were.
    fn add_stages(&mut self, actor: &ActorTime, busy: Time) -> Time {
        let mut told = 0;
        for (&stage, node) in actor.stages.iter().zip(&actor.sample.nodes) {
            let device = share(busy, node.device, actor.sample.time);
            let time = share(busy, node.time, actor.sample.time);
            told += time;
            let own = time - device;
            match self.stages.iter_mut().find(|(known, ..)| *known == stage) {
                Some((_, all, devices)) => (*all, *devices) = (*all + own, *devices + device),
                None => self.stages.push((stage, own, device)),
            }
        }
        told
    }

    /// Everything but the total, added up.
    #[cfg(test)]
    fn sum(&self) -> Time {
        let stages: Time = self.stages.iter().map(|(_, own, device)| own + device).sum();
        stages + self.idle + self.waiting + self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::actor::NodeTime;
    use proptest::prelude::*;

    fn node(time: Time, device: Time) -> NodeTime {
        NodeTime { calls: 1, time, device }
    }

    /// One core for 1000 ns: 900 of it at work, of which a tenth without a CPU.
    #[test]
    fn a_core_s_time_is_split_as_its_samples_were() {
        let actor = ActorTime {
            thread: 7,
            wall: 1000,
            worked: 900,
            asleep: 0,
            cpu: 900,
            sample: Profile {
                time: 90,
                nodes: vec![node(45, 30), node(36, 0)],
                ..Profile::default()
            },
            stages: vec![0, 4],
        };
        let split = Split::of(std::slice::from_ref(&actor));
        let expected = Split {
            // 810 ns of work: a half and four tenths of it in the stages.
            stages: vec![(0, 135, 270), (4, 324, 0)],
            idle: 90,
            waiting: 100,
            other: 81,
            total: 1000,
        };
        assert_eq!((&split, split.sum()), (&expected, 1000));
    }

    #[test]
    fn actors_of_one_thread_share_its_time_and_others_have_their_own() {
        let actor = |thread, worked, stage| ActorTime {
            thread,
            wall: 1000,
            worked,
            sample: Profile { time: 10, nodes: vec![node(10, 0)], ..Profile::default() },
            stages: vec![stage],
            ..ActorTime::default()
        };
        let split = Split::of(&[actor(1, 300, 0), actor(2, 500, 0), actor(1, 200, 1)]);
        assert_eq!((split.total, split.idle, split.other), (2000, 1000, 0));
        assert_eq!(split.stages, [(0, 800, 0), (1, 200, 0)]);
        // Without a number each has a thread of its own.
        assert_eq!(Split::of(&[actor(0, 1, 0), actor(0, 1, 0)]).total, 2000);
    }

    fn any_actor() -> impl Strategy<Value = ActorTime> {
        let times = (0..3_u32, 0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 41);
        let nodes = prop::collection::vec((0..1u64 << 30, 0..1u64 << 30), 0..5);
        (times, nodes, 0..1u64 << 30).prop_map(
            |((thread, worked, looked, asleep, cpu), nodes, rest)| {
                let nodes: Vec<NodeTime> =
                    nodes.into_iter().map(|(time, device)| node(time, device.min(time))).collect();
                let inside: Time = nodes.iter().map(|node| node.time).sum();
                ActorTime {
                    thread,
                    wall: worked + looked + asleep,
                    worked,
                    asleep,
                    cpu,
                    stages: (0..nodes.len()).collect(),
                    sample: Profile { time: inside + rest, nodes, ..Profile::default() },
                }
            },
        )
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole_whatever_was_measured(
            actors in prop::collection::vec(any_actor(), 0..5),
        ) {
            let split = Split::of(&actors);
            prop_assert_eq!(split.sum(), split.total);
        }
    }
}
