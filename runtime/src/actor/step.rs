//! One step of an actor: mail, what waits, intake, a pass down the stages, deadlines, and what comes next.
//!
//! Bounded work, no blocking. Nodes are in the order packets take, so one pass carries a burst all the way.

use super::mailbox::Control;
use super::node::{Body, Call, Node, NodeState, Surroundings, Task, contain};
use super::{Actor, Intake, On, Phase, Step};
use crate::Time;
use crate::edge::EdgeTx;
use crate::exec::Reasons;
use crate::packet::{RX_BURST, Units};
use crate::stage::{Progress, Target};
use std::os::fd::BorrowedFd;

impl Actor {
    /// Does a bounded amount of work.
    pub fn step(&mut self, now: Time) -> Step {
        self.read_mail();
        match self.phase {
            Phase::Done => return Step::Done,
            Phase::Stopped => return self.end(),
            Phase::Running => {}
        }
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
        self.begin();
        let mut worked = self.flush_edges();
        // Downstream first: what waits there gets out of the way of what comes.
        for index in (0..self.nodes.len()).rev() {
            worked += self.process(index, now);
        }
        worked += self.intake(now);
        for index in 0..self.nodes.len() {
            worked += self.process(index, now);
            worked += self.tick(index, now);
            worked += self.drain(index, now);
        }
        worked += self.flush_edges();
        self.buffers.flush();
        let step = self.conclude(worked);
        if let Some(watch) = &mut self.watch {
            watch.end(matches!(step, Step::Worked(_)));
        }
        step
    }

    fn begin(&mut self) {
        self.buffers.clear_starved();
        self.full_edge = None;
        self.edges.iter_mut().for_each(EdgeTx::note_room);
        self.nodes.iter_mut().for_each(|node| node.stuck = false);
    }

    /// What the actor, having found nothing to do, is to be woken for beside its time.
    pub fn wants(&self) -> Reasons {
        let mut reasons = Reasons::NEWS;
        reasons.set(Reasons::HOME, self.buffers.starved());
        let stash = self.edges.iter().any(EdgeTx::has_stash);
        reasons.set(Reasons::ROOM, stash || self.waits_for_room());
        reasons
    }

    /// Whether there is something to do at `now`. The sleep protocol's second look.
    pub fn must_wake(&self, now: Time) -> bool {
        self.phase != Phase::Running
            || self.mailbox.has_mail()
            || self.intakes.iter().any(|intake| self.can_read(intake))
            || self.buffers.has_relief()
            || self.has_room()
            || self.next_deadline().is_some_and(|time| time <= now)
    }

    /// What to sleep on, having found nothing to do, beside rings, buffers and mail: descriptors of the devices that
    /// had nothing. One whose packets could not be taken anyway is none of them: it would end every sleep.
    pub fn waits_on(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let waits = |(index, node): &(usize, &Node)| {
            let open = node.state == NodeState::Running && !node.stuck && node.deadline.is_none();
            open && !self.is_held_up(*index)
        };
        self.nodes.iter().enumerate().filter(waits).filter_map(|(_, node)| node.wait_fd())
    }

    /// Whether a ring has something that could be taken in.
    fn can_read(&self, intake: &Intake) -> bool {
        let (ring, node) = (&intake.edge, intake.node);
        let news = !intake.finished && (ring.has_packets() || ring.is_finished());
        news && self.inputs[node].room() > 0 && !self.is_held_up(node)
    }

    /// Whether a ring got room that something waits for. How much is wanted only the stage knows, so any
    /// room made since the last step began counts.
    fn has_room(&self) -> bool {
        let waits = self.waits_for_room();
        let mut edges = self.edges.iter();
        edges.any(|edge| edge.has_stash() && edge.has_slots() || waits && edge.got_room())
    }

    fn waits_for_room(&self) -> bool {
        self.full_edge.is_some()
            || self.inputs.iter().any(|input| input.held() > 0)
            || self.nodes.iter().any(|node| node.held.packets > 0)
    }

    fn read_mail(&mut self) {
        while let Some(control) = self.mailbox.read() {
            match control {
                Control::Books => self.publish(),
                Control::Drain => self.stop_sources(),
                Control::Stop if self.phase == Phase::Running => self.phase = Phase::Stopped,
                Control::Stop => {}
            }
        }
    }

    fn stop_sources(&mut self) {
        for node in &mut self.nodes {
            if let Body::Source(source) = &mut node.body {
                contain(|| source.stop());
                node.deadline = None;
            }
        }
    }

    fn flush_edges(&mut self) -> usize {
        let buffers = &mut self.buffers;
        self.edges.iter_mut().map(|edge| edge.flush(|packet| buffers.release(packet))).sum()
    }

    /// Polls sources and reads rings, as far as what they feed has room.
    fn intake(&mut self, now: Time) -> usize {
        let mut worked = 0;
        for index in 0..self.nodes.len() {
            let due = self.nodes[index].deadline.is_none_or(|time| time <= now);
            let running = self.nodes[index].state == NodeState::Running;
            if running && due && matches!(self.nodes[index].body, Body::Source(_)) {
                worked += self.poll(index, now);
            }
        }
        for index in 0..self.intakes.len() {
            worked += self.read_ring(index);
        }
        worked
    }

    fn poll(&mut self, index: usize, now: Time) -> usize {
        match self.call(index, Task::Poll(RX_BURST), now) {
            Some(Progress::Worked(n)) => {
                self.nodes[index].deadline = None;
                // It says that there may be more, so not even 0 lets the actor sleep.
                n.max(1)
            }
            Some(Progress::Idle(until)) => {
                self.nodes[index].deadline = until;
                0
            }
            Some(Progress::Done) => {
                self.nodes[index].deadline = None;
                self.finish(index);
                1
            }
            Some(Progress::Starved) => self.note_starved(index),
            None => {
                self.nodes[index].stuck = true;
                0
            }
        }
    }

    /// A stage waits for buffers, whatever its deadline says: until then there is no use in calling it.
    fn note_starved(&mut self, index: usize) -> usize {
        self.buffers.note_starved();
        self.nodes[index].stuck = true;
        0
    }

    fn read_ring(&mut self, index: usize) -> usize {
        let intake = &mut self.intakes[index];
        if intake.finished {
            return 0;
        }
        let node = intake.node;
        if self.is_held_up(node) {
            self.note_full_edge(node);
            return 0;
        }
        let intake = &mut self.intakes[index];
        let input = &mut self.inputs[node];
        let budget = RX_BURST.min(input.room());
        let got = intake.edge.receive(input, budget);
        if got == 0 && budget > 0 && intake.edge.is_finished() {
            intake.finished = true;
            self.nodes[node].upstream -= 1;
            return 1;
        }
        got
    }

    /// Whether an edge that packets of this node can come to is full.
    fn is_held_up(&self, index: usize) -> bool {
        self.nodes[index].reach.iter().any(|&edge| self.edges[edge].is_blocked())
    }

    /// Remembers which full edge keeps a node from being called.
    fn note_full_edge(&mut self, index: usize) {
        let full = self.nodes[index].reach.iter().find(|&&edge| self.edges[edge].room() == 0);
        if let Some(&edge) = full {
            self.full_edge = Some(edge);
            self.edges[edge].count_full();
        }
    }

    fn process(&mut self, index: usize, now: Time) -> usize {
        let before = self.inputs[index].held();
        let node = &self.nodes[index];
        // A stage that multiplies may have paused within a packet: what it holds comes up again.
        let paused = node.multiplies && node.held.packets > 0;
        if before == 0 && !paused {
            return 0;
        }
        let sent = self.nodes[index].output().packets;
        self.call(index, Task::Process, now);
        let taken = before.saturating_sub(self.inputs[index].held());
        // A stage that cuts may work long on one packet.
        taken.max((self.nodes[index].output().packets - sent) as usize)
    }

    fn tick(&mut self, index: usize, now: Time) -> usize {
        let node = &self.nodes[index];
        let due = node.deadline.is_some_and(|time| time <= now);
        if !due || node.state == NodeState::Finished || matches!(node.body, Body::Source(_)) {
            return 0;
        }
        match self.call(index, Task::Tick, now) {
            Some(Progress::Worked(n)) => n,
            Some(Progress::Idle(until)) => {
                self.nodes[index].name_time(until);
                0
            }
            Some(Progress::Done) => 0,
            Some(Progress::Starved) => self.note_starved(index),
            None => {
                self.nodes[index].stuck = true;
                0
            }
        }
    }

    /// Lets a node without input, and without anything before it, pass on what it holds.
    fn drain(&mut self, index: usize, now: Time) -> usize {
        let node = &self.nodes[index];
        let source = matches!(node.body, Body::Source(_));
        let idle = node.upstream == 0 && self.inputs[index].held() == 0;
        if source || !idle || node.state == NodeState::Finished {
            return 0;
        }
        match self.call(index, Task::Drain, now) {
            Some(Progress::Done) => {
                self.finish(index);
                1
            }
            Some(Progress::Worked(n)) => n,
            Some(Progress::Idle(until)) => {
                self.nodes[index].name_time(until);
                0
            }
            Some(Progress::Starved) => self.note_starved(index),
            None => 0,
        }
    }

    fn finish(&mut self, index: usize) {
        self.nodes[index].state = NodeState::Finished;
        self.nodes[index].deadline = None;
        for target in 0..self.nodes[index].targets.len() {
            if let Target::Node(to) = self.nodes[index].targets[target] {
                self.nodes[to].upstream -= 1;
            }
        }
    }

    /// Calls a node unless it is held up; settles the books if it panics.
    fn call(&mut self, index: usize, task: Task, now: Time) -> Option<Progress> {
        if self.is_held_up(index) {
            self.note_full_edge(index);
            return None;
        }
        let mark = self.watch.as_mut().and_then(|watch| watch.enter());
        let (own, behind) = self.inputs.split_at_mut(index + 1);
        let around = Surroundings {
            now,
            input: &mut own[index],
            behind,
            first: index + 1,
            edges: &mut self.edges,
            buffers: &mut self.buffers,
            watch: self.watch.as_deref_mut(),
        };
        let call = self.nodes[index].call(task, around);
        if let (Some(watch), Some(mark)) = (&mut self.watch, mark) {
            watch.leave(index, mark);
        }
        match call {
            None => {
                self.note_full_edge(index);
                None
            }
            Some(Call::Returned(progress)) => Some(progress),
            Some(Call::Panicked) => {
                self.recover(index, now);
                Some(Progress::Worked(1))
            }
        }
    }

    fn recover(&mut self, index: usize, now: Time) {
        let waiting = self.inputs[index].iter().map(|packet| packet.units());
        let waiting = waiting.fold(Units::default(), |sum, units| sum + units);
        let entered = self.entered(index) - waiting;
        let node = &mut self.nodes[index];
        let source = matches!(node.body, Body::Source(_));
        let fatal = node.recover(entered, now);
        tracing::error!(stage = %node.name, fatal, "stage panicked; its burst is dropped");
        if fatal {
            self.failed = Some(format!("{} panicked", node.name));
            self.mailbox.report_failure();
        }
        if source {
            self.finish(index);
        }
    }

    /// All that ever came to a node.
    pub(super) fn entered(&self, index: usize) -> Units {
        let mut sum = self.nodes[index].tally.received;
        for node in &self.nodes[..index] {
            for (target, &sent) in node.targets.iter().zip(&node.sent) {
                if *target == Target::Node(index) {
                    sum += sent;
                }
            }
        }
        let rings = self.intakes.iter().filter(|intake| intake.node == index);
        rings.fold(sum, |sum, intake| sum + intake.edge.taken())
    }

    fn conclude(&mut self, worked: usize) -> Step {
        let finished = self.nodes.iter().all(|node| node.state == NodeState::Finished);
        if finished && !self.edges.iter().any(|edge| edge.has_stash()) {
            return self.end();
        }
        if worked > 0 {
            self.steps[0] += 1;
            return Step::Worked(worked);
        }
        let until = self.next_deadline();
        if let Some(edge) = self.full_edge {
            self.steps[2] += 1;
            return Step::Blocked(On::Edge(edge), until);
        }
        if self.buffers.starved() {
            self.steps[2] += 1;
            return Step::Blocked(On::Home, until);
        }
        self.steps[1] += 1;
        Step::Idle(until)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.nodes.iter().filter(|node| !node.stuck).filter_map(|node| node.deadline).min()
    }

    fn end(&mut self) -> Step {
        self.phase = Phase::Done;
        self.buffers.flush();
        self.edges.iter_mut().for_each(|edge| edge.close());
        // Whoever looks at the run later finds these: no step will answer any more.
        self.publish();
        Step::Done
    }

    fn publish(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.note_thread();
        }
        let books = self.report();
        self.mailbox.publish(books);
    }
}
