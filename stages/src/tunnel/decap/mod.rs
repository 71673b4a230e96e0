//! `Decap`: packets come out of a tunnel.
//!
//! It promises the packet inside, nothing moved, where everything about the outer headers is as it must be, and a
//! reason where it is not. Superpackets that were joined inside the tunnel come out whole; a train of outer
//! datagrams is taken apart first. What the outer checksum says of the payload stays known.

mod config;
mod learn;
mod outer;
mod take;

pub use config::{DecapConfig, DecapSpec, DecapTunnel, INFO};

use super::finish::Finish;
use super::keys::Ecn;
use config::{FINISH, TRAINS};
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet, Units};
use corelane_runtime::stage::{OutputId, Outputs, Progress, Reason, Stage, StageContext};
use learn::Rows;
use std::net::IpAddr;
use std::sync::Arc;

/// What holds for all packets.
struct Settings {
    /// UDP ports of the tunnel.
    ports: Vec<u16>,
    /// Addresses of this end; none: any will do.
    locals: Vec<IpAddr>,
    /// The one identifier taken; none: any.
    vni: Option<u32>,
    /// Whether bits are ignored that must be 0.
    ignores_reserved: bool,
    /// Whether datagrams over IPv6 need no checksum.
    takes_zero: bool,
    ecn: Ecn,
    rows: Option<Rows>,
    otherwise: Option<OutputId>,
    /// Of hashes.
    key: u64,
}

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It is out of the tunnel and goes on.
    Next,
    /// It is for somebody else, or ends here where there is nowhere else.
    Otherwise(Reason),
    /// It ends here.
    Drop(Reason),
    /// It stays where it is until buffers come home.
    Wait,
    /// It is many datagrams, which are taken apart first.
    Train,
}

/// Takes packets out of a tunnel.
pub struct Decap {
    settings: Arc<Settings>,
    trains: Box<Finish>,
    /// How far the learned addresses were looked through for old ones.
    cursor: usize,
}

impl Decap {
    fn new(settings: Arc<Settings>) -> Decap {
        Decap { settings, trains: Box::new(Finish::new(FINISH, false)), cursor: 0 }
    }

    fn send(
        &mut self,
        packet: Packet,
        way: Way,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        match (way, settings.otherwise) {
            (Way::Next, _) => out.next(packet),
            (Way::Otherwise(_), Some(output)) => out.send(output, packet),
            (Way::Otherwise(reason) | Way::Drop(reason), _) => ctx.drop(packet, reason),
            (Way::Train | Way::Wait, _) => {
                ctx.count(TRAINS, 1);
                if let Err(packet) = self.trains.take(packet) {
                    // Nothing is begun while something is in there.
                    ctx.drop(packet, FINISH);
                }
            }
        }
    }

    /// Goes on with a train, as far as there is room: `Done` where nothing is left of it.
    fn go_on(
        &mut self,
        settings: &Settings,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let mut worked = 0;
        while !self.trains.is_empty() {
            if out.room() == 0 {
                return Progress::Worked(worked);
            }
            let starved = if worked > 0 { Progress::Worked(worked) } else { Progress::Starved };
            let Some(packet) = self.trains.first(ctx) else {
                if self.trains.is_empty() {
                    break;
                }
                return starved;
            };
            let way = take::take(packet, settings, &mut self.cursor, ctx);
            if way == Way::Wait {
                return starved;
            }
            if let Some(packet) = self.trains.pop() {
                self.send(packet, way, settings, out, ctx);
            }
            worked += 1;
        }
        Progress::Done
    }
}

impl Stage for Decap {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let settings = Arc::clone(&self.settings);
        loop {
            if !self.trains.is_empty() && self.go_on(&settings, out, ctx) != Progress::Done {
                return;
            }
            let Some(packet) = burst.first_mut().filter(|_| out.room() > 0) else { return };
            let way = take::take(packet, &settings, &mut self.cursor, ctx);
            if way == Way::Wait {
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
        (!self.trains.is_empty()).then_some(0)
    }

    fn held(&self) -> Units {
        self.trains.held()
    }
}
