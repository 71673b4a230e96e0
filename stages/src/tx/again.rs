//! Finishing packets anew, for a port that can do less than when they were finished.
//!
//! It promises the order of packets, and that nothing is lost where the port loses one capability after
//! another: what was finished for the one before last is finished once more. Everything it works with is made
//! with it. It sends nothing, and does not know the queue.
//!
//! Packets leave in this order: `ready`, `cut`, what `gso` has begun to cut, `older`, the input. Of a superpacket
//! to be cut nothing is begun before `ready` and `cut` are empty, so that the two together never hold more
//! than a burst, and where they come from a cut there is no superpacket among them.

use super::config::{FILL, GSO, REFINISHED};
use crate::checksum_fill::ChecksumFill;
use crate::gso::Gso;
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Burst, Csum, Packet, Units};
use corelane_runtime::stage::{Outputs, Stage, StageContext, Target};
use std::sync::Arc;

/// See the module documentation.
pub(super) struct Again {
    gso: Gso,
    fill: ChecksumFill,
    /// What `ready` was finished for.
    caps: Caps,
    /// Finished, to be sent before anything else.
    pub(super) ready: Burst,
    /// Whether `ready` are frames of a superpacket that was cut; else packets one for one.
    from_cut: bool,
    /// Cut; checksums may still have to be filled.
    cut: Burst,
    /// Was finished for more than the port can do now.
    older: Burst,
}

/// What there is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Packets are in `ready`.
    Ready,
    /// Nothing.
    Nothing,
    /// Something, which waits for buffers.
    Starved,
}

impl Again {
    pub(super) fn new(port: &Arc<PortCaps>) -> Again {
        Again {
            gso: Gso::new(Some(Arc::clone(port))).into_frames(),
            fill: ChecksumFill::new(Some(Arc::clone(port))),
            caps: port.effective(),
            ready: Burst::new(),
            from_cut: false,
            cut: Burst::new(),
            older: Burst::new(),
        }
    }

    /// Whether nothing is inside.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.cut.is_empty() && self.older.is_empty() && !self.is_cutting()
    }

    /// What is inside.
    pub(super) fn held(&self) -> Units {
        let bursts = [&self.ready, &self.cut, &self.older];
        let packets = bursts.into_iter().flat_map(Burst::iter).map(Packet::units);
        packets.fold(self.gso.held(), |sum, units| sum + units)
    }

    /// Takes note of what the port can do now: what is ready for more than that is ready no longer.
    pub(super) fn follow(&mut self, caps: Caps) {
        if caps == self.caps {
            return;
        }
        self.caps = caps;
        let behind = if self.from_cut { &mut self.cut } else { &mut self.older };
        std::mem::swap(&mut self.ready, behind);
        // One for one, both come from one burst; of a cut, both have the room of one. So this ends.
        while behind.room() > 0
            && let Some(packet) = self.ready.pop()
        {
            let _ = behind.push(packet);
        }
    }

    /// Sees to it that packets are in `ready`, from inside or from `input`.
    pub(super) fn next(&mut self, input: &mut Burst, ctx: &mut StageContext<'_>) -> Next {
        while self.ready.is_empty() {
            let waits = if !self.cut.is_empty() {
                self.from_cut = true;
                fill(&mut self.fill, &mut self.cut, &mut self.ready, ctx);
                self.ready.is_empty() && !self.cut.is_empty()
            } else if self.is_cutting() {
                let mut ctx = ctx.within(GSO.0, GSO.1);
                let gso = &mut self.gso;
                into(&mut self.cut, |out| gso.tick(out, &mut ctx));
                self.cut.is_empty() && self.is_cutting()
            } else if !self.older.is_empty() {
                let mut older = std::mem::take(&mut self.older);
                let waits = self.begin(&mut older, ctx);
                self.older = older;
                waits
            } else if !input.is_empty() {
                self.begin(input, ctx)
            } else {
                return Next::Nothing;
            };
            if waits {
                return Next::Starved;
            }
        }
        Next::Ready
    }

    fn is_cutting(&self) -> bool {
        self.gso.next_deadline().is_some()
    }

    /// Takes up the front of `source`: packets that stay one, or a superpacket to be cut. True where it must
    /// stay there for want of a buffer.
    fn begin(&mut self, source: &mut Burst, ctx: &mut StageContext<'_>) -> bool {
        let (before, gso) = (source.len(), &mut self.gso);
        let stays_one = |packet: &&Packet| !packet.is_super() || gso.leaves(packet);
        let run = source.iter().take_while(stays_one).count();
        if run > 0 {
            self.from_cut = false;
            source.with_front(run, |front| self.fill_run(front, ctx));
        } else {
            let mut within = ctx.within(GSO.0, GSO.1);
            source.with_front(1, |front| {
                into(&mut self.cut, |out| gso.process(front, out, &mut within));
            });
            let begun = !self.cut.is_empty() || self.is_cutting();
            ctx.count(REFINISHED, u64::from(begun));
        }
        source.len() == before
    }

    /// Fills what the port no longer does, and counts the packets.
    fn fill_run(&mut self, run: &mut Burst, ctx: &mut StageContext<'_>) {
        let partial = |burst: &Burst| burst.iter().filter(|packet| is_partial(packet)).count();
        let (len, asked) = (run.len(), partial(run));
        if asked == 0 {
            run.drain().for_each(|packet| {
                let _ = self.ready.push(packet);
            });
            return;
        }
        fill(&mut self.fill, run, &mut self.ready, ctx);
        let dropped = len - run.len() - self.ready.len();
        let left = partial(run) + partial(&self.ready) + dropped;
        ctx.count(REFINISHED, (asked - left) as u64);
    }
}

/// Whether a frame has a checksum that is still to be finished.
fn is_partial(packet: &Packet) -> bool {
    let meta = packet.meta();
    let partial = meta.l4.contains(&Csum::Partial) || meta.l3.contains(&Csum::Partial);
    partial && !packet.is_super()
}

fn fill(fill: &mut ChecksumFill, from: &mut Burst, to: &mut Burst, ctx: &mut StageContext<'_>) {
    let mut ctx = ctx.within(FILL.0, FILL.1);
    into(to, |out| fill.process(from, out, &mut ctx));
}

/// Lets a stage send into a burst.
fn into<R>(burst: &mut Burst, work: impl FnOnce(&mut Outputs<'_>) -> R) -> R {
    let (mut sent, mut no_room) = ([Units::default()], Units::default());
    let inputs = std::slice::from_mut(burst);
    let targets = [Target::Node(0)];
    work(&mut Outputs::new(&targets, inputs, 0, &mut [], &mut sent, &mut no_room))
}
