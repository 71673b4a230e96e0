//! `Gso`: superpackets are left to a port that can cut them, or cut into what was received.
#![doc = include_str!("README.md")]

mod config;
mod hardware;
mod header;
mod shape;
mod software;

pub use config::{GsoConfig, GsoSpec, INFO};
pub use hardware::WORK;

use config::{BAD_SEGMENTATION, CUT, LEFT, RECHUNKED, SEGMENTS, TOO_MANY_SEGMENTS};
use corelane_runtime::Time;
use corelane_runtime::offload::{Actions, Caps, PortCaps};
use corelane_runtime::packet::{Burst, Packet, SegFlags, Segmentation, Units};
use corelane_runtime::stage::{Outputs, Progress, Reason, Stage, StageContext};
use hardware::{class, segments_at_once};
use shape::{Shape, shape};
use software::{Cutting, Made, Prepared, Refusal, prepare};
use std::sync::Arc;

/// Cuts superpackets.
pub struct Gso {
    /// The one port that everything leaves by, if there is one.
    exit: Option<Arc<PortCaps>>,
    /// Whether the port is left superpackets of a class.
    actions: Actions<bool>,
    /// Whether a superpacket too large for the port is cut into smaller ones that are not.
    rechunks: bool,
    /// A superpacket that there was no room for to the end.
    cutting: Option<Cutting>,
}

/// What is done with the superpacket in front.
enum Decision {
    /// It goes on as it is: the port cuts it.
    Leave,
    /// It is one frame and goes on as such.
    Single,
    /// It is cut.
    Cut(Prepared),
    /// It stays where it is until buffers come home.
    Wait,
    /// It ends here.
    Drop(Reason),
}

impl Gso {
    /// Before the port with these capabilities; `None`: every superpacket is cut.
    pub fn new(exit: Option<Arc<PortCaps>>) -> Gso {
        let actions = Actions::new(WORK, Caps::empty(), |_, left| left);
        Gso { exit, actions, rechunks: true, cutting: None }
    }

    /// What is cut is cut into frames, never into smaller superpackets.
    pub(crate) fn into_frames(self) -> Gso {
        Gso { rechunks: false, ..self }
    }

    /// Whether the port takes this superpacket as it is, by what is in force now.
    pub(crate) fn leaves(&mut self, packet: &Packet) -> bool {
        let Some(port) = &self.exit else { return false };
        self.actions.follow(port.effective());
        let header_len = u32::from(packet.meta().layers.levels[0].payload);
        shape(packet) == Shape::Even
            && self.actions.of(class(packet, false))
            && segments_at_once(packet, header_len, &port.facts.limits) == packet.segments()
    }

    fn decide(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Decision {
        let foreign = match shape(packet) {
            Shape::Bad => return Decision::Drop(BAD_SEGMENTATION),
            Shape::Single => return Decision::Single,
            Shape::Even => false,
            Shape::Foreign => true,
        };
        let chunk = match &self.exit {
            Some(port) if self.actions.of(class(packet, foreign)) => {
                let header_len = u32::from(packet.meta().layers.levels[0].payload);
                segments_at_once(packet, header_len, &port.facts.limits)
            }
            _ => 1,
        };
        if chunk == packet.segments() {
            return Decision::Leave;
        }
        let chunk = if self.rechunks { chunk } else { 1 };
        match prepare(packet, chunk, ctx) {
            Ok(prepared) => {
                ctx.count(if chunk > 1 { RECHUNKED } else { CUT }, 1);
                Decision::Cut(prepared)
            }
            Err(Refusal::Wait) => Decision::Wait,
            Err(Refusal::TooMany) => Decision::Drop(TOO_MANY_SEGMENTS),
            Err(Refusal::Bad) => Decision::Drop(BAD_SEGMENTATION),
        }
    }

    /// Goes on with the superpacket being cut while there is room.
    fn go_on(
        &mut self,
        room: &mut usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let Some(cutting) = &mut self.cutting else { return Progress::Done };
        let (before, mut frames) = (*room, 0);
        while *room > 0 {
            match cutting.next(ctx) {
                Made::Packet(packet) => {
                    frames += u64::from(!packet.is_super());
                    *room -= 1;
                    out.next(packet);
                }
                Made::Unpaddable(packet) => ctx.drop(packet, BAD_SEGMENTATION),
                Made::Starved | Made::Nothing => break,
            }
        }
        ctx.count(SEGMENTS, frames);
        if cutting.is_done() {
            self.cutting = None;
            return Progress::Done;
        }
        let sent = before - *room;
        if *room > 0 && sent == 0 { Progress::Starved } else { Progress::Worked(sent) }
    }

    /// Handles the superpacket at the front of the burst; false where it must stay there.
    fn take_up(
        &mut self,
        burst: &mut Burst,
        room: &mut usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        let Some(packet) = burst.first_mut() else { return false };
        let decision = self.decide(packet, ctx);
        if matches!(decision, Decision::Wait) {
            return false;
        }
        let Some(mut packet) = burst.pop() else { return false };
        match decision {
            Decision::Cut(prepared) => self.cutting = Some(Cutting::new(packet, prepared)),
            Decision::Drop(reason) => ctx.drop(packet, reason),
            Decision::Leave => {
                ctx.count(LEFT, 1);
                *room -= 1;
                out.next(packet);
            }
            Decision::Single => {
                packet.set_segmentation(ordinary(&packet));
                *room -= 1;
                out.next(packet);
            }
            Decision::Wait => {}
        }
        true
    }
}

/// No request, and what a frame of its own would say of itself.
fn ordinary(packet: &Packet) -> Segmentation {
    Segmentation { count: packet.segments(), flags: SegFlags::empty(), ..Segmentation::default() }
}

impl Stage for Gso {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let caps = self.exit.as_ref().map_or(Caps::empty(), |port| port.effective());
        self.actions.follow(caps);
        let mut room = out.room();
        while room > 0 {
            if self.go_on(&mut room, out, ctx) != Progress::Done {
                return;
            }
            // Looking at all of them first fetches their lines side by side.
            let plain = burst.iter().take(room).take_while(|packet| !packet.is_super()).count();
            for packet in burst.drain().take(plain) {
                out.next(packet);
            }
            room -= plain;
            if room == 0 || !self.take_up(burst, &mut room, out, ctx) {
                return;
            }
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let mut room = out.room();
        match self.go_on(&mut room, out, ctx) {
            Progress::Done => Progress::Worked(1),
            progress => progress,
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let mut room = out.room();
        self.go_on(&mut room, out, ctx)
    }

    fn next_deadline(&self) -> Option<Time> {
        // The rest is due as soon as there is room, whether or not more packets come.
        self.cutting.is_some().then_some(0)
    }

    fn held(&self) -> Units {
        self.cutting.as_ref().map_or(Units::default(), Cutting::units)
    }
}
