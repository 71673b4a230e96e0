//! `Encap`: packets go into a tunnel, with whatever they still ask for.
//!
//! It promises the packet inside as it came, superpackets whole, and an outer header that is right for every frame
//! made of it. Nothing inside is repaired. What it cannot say of two headers in front of a third one is done before
//! that is put there.

mod config;
mod fragment;
mod header;
mod put;
mod reply;
mod road;
mod segment;

pub use config::{EncapConfig, EncapSpec, EncapTunnel, INFO, Oversize};

use super::finish::Finish;
use super::keys::{Ecn, OrInherit};
use config::{FINISH, FINISHED, FRAGMENTED, FRAGMENTS, NO_REMOTE, REPLICATED, TOO_BIG};
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet, Units};
use corelane_runtime::stage::{OutputId, Outputs, Progress, Reason, Stage, StageContext};
use fragment::{Datagram, Fragments, Refused};
use put::Putter;
use road::Road;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What holds for all packets.
struct Settings {
    road: Road,
    ttl: OrInherit,
    dscp: OrInherit,
    ecn: Ecn,
    src_ports: RangeInclusive<u16>,
    /// Of hashes.
    key: u64,
    /// Most bytes of an outer IP packet.
    limit: u32,
    oversize: Vec<Oversize>,
    otherwise: Option<OutputId>,
    /// Where answers go for packets from the port of that number.
    answers: Vec<(u16, OutputId)>,
}

/// What is to be done with a packet.
enum Way {
    /// It is in the tunnel and goes on.
    Next,
    /// It goes elsewhere, or ends here where there is nowhere else.
    Otherwise(Reason),
    /// It ends here.
    Drop(Reason),
    /// It stays where it is until buffers come home.
    Wait,
    /// What it asks for is done first.
    Finish,
    /// It goes to all ends of this row.
    Replicate(usize),
    /// It is in the tunnel, and is cut into fragments.
    Fragment(Datagram),
    /// Its sender is told that so many bytes of its frame would fit.
    Reply(u32),
}

/// A packet being cut into fragments.
#[derive(Default)]
enum Cutting {
    #[default]
    Nothing,
    /// It waits for buffers.
    Waiting(Packet, Datagram),
    /// Fragments are being made.
    Fragments(Fragments),
}

/// A packet that goes to all ends of a row, one after the other.
struct Copies {
    packet: Packet,
    row: usize,
    /// The end that gets the next copy.
    next: usize,
    /// That copy, where it waits for a buffer.
    copy: Option<Packet>,
}

/// Puts packets into a tunnel.
pub struct Encap {
    settings: Arc<Settings>,
    putter: Putter,
    finish: Box<Finish>,
    cutting: Cutting,
    copies: Option<Copies>,
}

impl Encap {
    fn new(settings: Arc<Settings>, id: u32) -> Encap {
        let finish = Box::new(Finish::new(FINISH, true));
        let putter = Putter::new(id);
        Encap { settings, putter, finish, cutting: Cutting::Nothing, copies: None }
    }

    /// Does what is to be done with a packet; `way` was found for it.
    fn send(
        &mut self,
        packet: Packet,
        way: Way,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        match way {
            Way::Next => out.next(packet),
            Way::Otherwise(reason) => match settings.otherwise {
                Some(output) => out.send(output, packet),
                None => ctx.drop(packet, reason),
            },
            Way::Drop(reason) => ctx.drop(packet, reason),
            Way::Finish => {
                ctx.count(FINISHED, 1);
                if let Err(packet) = self.finish.take(packet) {
                    // Nothing is begun while something is in there.
                    ctx.drop(packet, TOO_BIG);
                }
            }
            Way::Replicate(row) => self.copies = Some(Copies { packet, row, next: 0, copy: None }),
            Way::Fragment(datagram) => {
                ctx.count(FRAGMENTED, 1);
                self.cutting = Cutting::Waiting(packet, datagram);
            }
            Way::Reply(most) => put::reply(packet, most, settings, out, ctx),
            // It was left where it is.
            Way::Wait => ctx.drop(packet, TOO_BIG),
        }
    }

    /// Begins to cut a datagram, if there are buffers for it.
    fn begin_cutting(
        &mut self,
        packet: Packet,
        datagram: Datagram,
        settings: &Settings,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        match Fragments::begin(packet, datagram, settings.limit, settings.key, ctx) {
            Ok(fragments) => self.cutting = Cutting::Fragments(fragments),
            Err((packet, Refused::Never)) => ctx.drop(packet, TOO_BIG),
            Err((packet, Refused::Wait)) => {
                self.cutting = Cutting::Waiting(packet, datagram);
                return false;
            }
        }
        true
    }

    /// Goes on with what was begun, as far as there is room: `Done` where nothing is left.
    fn go_on(
        &mut self,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let mut worked = 0;
        while !self.is_idle() {
            if !has_room(settings, out) {
                return Progress::Worked(worked);
            }
            let went = match (std::mem::take(&mut self.cutting), self.copies.take()) {
                (Cutting::Waiting(packet, datagram), copies) => {
                    self.copies = copies;
                    self.begin_cutting(packet, datagram, settings, ctx)
                }
                (Cutting::Fragments(fragments), copies) => {
                    self.copies = copies;
                    self.go_on_cutting(fragments, out, ctx)
                }
                (Cutting::Nothing, Some(copies)) => self.go_on_copying(copies, settings, out, ctx),
                (Cutting::Nothing, None) => self.go_on_finishing(settings, out, ctx),
            };
            if !went {
                return if worked > 0 { Progress::Worked(worked) } else { Progress::Starved };
            }
            worked += 1;
        }
        Progress::Done
    }

    fn is_idle(&self) -> bool {
        let busy = !matches!(self.cutting, Cutting::Nothing) || self.copies.is_some();
        !busy && self.finish.is_empty()
    }

    fn go_on_cutting(
        &mut self,
        mut fragments: Fragments,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        let made = fragments.next(ctx);
        if !fragments.is_done() {
            self.cutting = Cutting::Fragments(fragments);
        }
        let Some(fragment) = made else { return false };
        ctx.count(FRAGMENTS, 1);
        out.next(fragment);
        true
    }

    /// The next packet that was finished goes into the tunnel.
    fn go_on_finishing(
        &mut self,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        let Some(packet) = self.finish.first(ctx) else { return self.finish.is_empty() };
        let way = self.putter.put(packet, settings, ctx);
        if matches!(way, Way::Wait) {
            return false;
        }
        if let Some(packet) = self.finish.pop() {
            self.send(packet, way, settings, out, ctx);
        }
        true
    }

    /// The next end of a row gets a copy, the last one the packet itself.
    fn go_on_copying(
        &mut self,
        mut copies: Copies,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        let Some(template) = settings.road.copy(copies.row, copies.next) else {
            ctx.drop(copies.packet, NO_REMOTE);
            return true;
        };
        if settings.road.copy(copies.row, copies.next + 1).is_none() {
            let way = self.putter.put_to(&mut copies.packet, template, settings, ctx);
            if matches!(way, Way::Wait) {
                self.copies = Some(copies);
                return false;
            }
            self.send(copies.packet, way, settings, out, ctx);
            return true;
        }
        let Some(mut copy) = copies.copy.take().or_else(|| copy_of(&copies.packet, ctx)) else {
            self.copies = Some(copies);
            return false;
        };
        let way = self.putter.put_to(&mut copy, template, settings, ctx);
        if matches!(way, Way::Wait) {
            copies.copy = Some(copy);
            self.copies = Some(copies);
            return false;
        }
        copies.next += 1;
        self.copies = Some(copies);
        self.send(copy, way, settings, out, ctx);
        true
    }
}

/// A copy with headers of its own, if there are buffers for it.
fn copy_of(packet: &Packet, ctx: &mut StageContext<'_>) -> Option<Packet> {
    let headers = packet.meta().layers.innermost().map_or(14, |level| u32::from(level.payload));
    let copy = packet.share(headers, packet.len(), ctx.buffers).ok()?;
    ctx.share(&copy);
    ctx.count(REPLICATED, 1);
    Some(copy)
}

/// Whether a packet can go on, or elsewhere. An answer that there is no room for is not sent.
#[inline]
fn has_room(settings: &Settings, out: &Outputs<'_>) -> bool {
    out.room_of(OutputId::NEXT) > 0
        && settings.otherwise.is_none_or(|output| out.room_of(output) > 0)
}

impl Stage for Encap {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let settings = Arc::clone(&self.settings);
        loop {
            if !self.is_idle() && self.go_on(&settings, out, ctx) != Progress::Done {
                return;
            }
            let Some(packet) = burst.first_mut().filter(|_| has_room(&settings, out)) else {
                return;
            };
            let way = self.putter.put(packet, &settings, ctx);
            if matches!(way, Way::Wait) {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            match way {
                Way::Next => out.next(packet),
                way => self.send(packet, way, &settings, out, ctx),
            }
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let settings = Arc::clone(&self.settings);
        match self.go_on(&settings, out, ctx) {
            Progress::Done => Progress::Worked(1),
            progress => progress,
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let settings = Arc::clone(&self.settings);
        self.go_on(&settings, out, ctx)
    }

    fn next_deadline(&self) -> Option<Time> {
        // The rest is due as soon as there is room, whether or not more packets come.
        (!self.is_idle()).then_some(0)
    }

    fn held(&self) -> Units {
        let cut = match &self.cutting {
            Cutting::Nothing => Units::default(),
            Cutting::Fragments(fragments) => fragments.held(),
            Cutting::Waiting(packet, _) => packet.units(),
        };
        let copies = self.copies.iter();
        let copied = copies.flat_map(|copies| copies.copy.iter().chain([&copies.packet]));
        copied.map(Packet::units).fold(self.finish.held() + cut, |sum, units| sum + units)
    }
}
