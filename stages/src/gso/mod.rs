//! `Gso`: superpackets are left to a port that can cut them, or cut into what was received.
#![doc = include_str!("README.md")]

mod carried;
mod config;
mod hardware;
mod header;
mod network;
mod outer;
mod shape;
mod software;

pub use carried::CARRIED;
pub use config::{GsoConfig, GsoSpec, INFO};
pub use hardware::WORK;

use carried::{PLAIN, Where, can_repeat, carried};
use config::{BAD_SEGMENTATION, CUT, LEFT, RECHUNKED, SEGMENTS, TOO_MANY_SEGMENTS};
use corelane_runtime::Time;
use corelane_runtime::offload::{Actions, Caps, Fit, PortCaps};
use corelane_runtime::packet::{Burst, Packet, SegFlags, Segmentation, Units};
use corelane_runtime::stage::{Outputs, Progress, Reason, Stage, StageContext};
use hardware::{class, segments_at_once, without_id};
use shape::{Shape, shape};
use software::{Chunk, Cutting, Made, Prepared, Refusal, header_len, prepare};
use std::sync::Arc;

/// Cuts superpackets.
pub struct Gso {
    /// The one port that everything leaves by, if there is one.
    exit: Option<Arc<PortCaps>>,
    /// Whether the port is left superpackets of a class.
    actions: Actions<bool>,
    /// What becomes of those in tunnels, by how they are carried.
    tunnels: Actions<Where>,
    /// Whether the port cuts behind headers that it repeats.
    repeats: bool,
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
        let actions = Actions::new(WORK, Caps::empty(), |_, fit| fit == Fit::Left);
        let tunnels = Actions::new(CARRIED, Caps::empty(), carried::decide);
        Gso { exit, actions, tunnels, repeats: false, rechunks: true, cutting: None }
    }

    /// What is cut is cut into frames, never into smaller superpackets.
    pub(crate) fn into_frames(self) -> Gso {
        Gso { rechunks: false, ..self }
    }

    /// Whether the port takes this superpacket as it is, by what is in force now.
    pub(crate) fn leaves(&mut self, packet: &Packet) -> bool {
        self.follow();
        shape(packet) == Shape::Even && self.chunk(packet, false).is_none()
    }

    /// Takes note of what the port can do now.
    fn follow(&mut self) {
        let caps = self.exit.as_ref().map_or(Caps::empty(), |port| port.effective());
        self.actions.follow(caps);
        self.tunnels.follow(caps);
        self.repeats = caps.contains(Caps::GSO_PARTIAL);
    }

    /// How a superpacket is to be cut; `None`: not at all, the port does.
    fn chunk(&self, packet: &Packet, foreign: bool) -> Option<Chunk> {
        let Some(port) = &self.exit else { return Some(Chunk::FRAME) };
        let limits = &port.facts.limits;
        let (inside, carried) = (class(packet, foreign), carried(packet, limits));
        let at_once = || segments_at_once(packet, header_len(packet), limits);
        let request = packet.segmentation();
        if request.flags.contains(SegFlags::PARTIAL) {
            let takes = self.repeats && self.actions.of(without_id(inside));
            return (!takes || at_once() < request.count).then_some(Chunk::FRAME);
        }
        let place = if carried == PLAIN { Where::Port } else { self.tunnels.of(carried) };
        let (segments, repeats) = match place {
            Where::Port if self.actions.of(inside) => (at_once(), false),
            // Where the port cuts such tunnels too, but does not keep the inner ID.
            Where::Port | Where::Behind if self.cuts_behind(packet, inside, carried) => {
                (at_once(), true)
            }
            Where::Port | Where::Behind | Where::Here => (1, false),
        };
        let whole = segments == request.count && !repeats;
        let repeats = repeats && segments > 1;
        (!whole).then_some(Chunk { segments, repeats })
    }

    /// Whether the port cuts a superpacket of these classes behind headers that it repeats.
    fn cuts_behind(&self, packet: &Packet, inside: u8, carried: u8) -> bool {
        let takes = self.repeats && self.actions.of(without_id(inside));
        takes && carried != PLAIN && can_repeat(packet)
    }

    fn decide(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Decision {
        let foreign = match shape(packet) {
            Shape::Bad => return Decision::Drop(BAD_SEGMENTATION),
            Shape::Single => return Decision::Single,
            Shape::Even => false,
            Shape::Foreign => true,
        };
        let Some(chunk) = self.chunk(packet, foreign) else { return Decision::Leave };
        let chunk = if self.rechunks { chunk } else { Chunk::FRAME };
        match prepare(packet, chunk, ctx) {
            Ok(prepared) => {
                ctx.count(if chunk.segments > 1 { RECHUNKED } else { CUT }, 1);
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
        self.follow();
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
