//! Before `Tx`: packets that have no destination address yet are given one.
//!
//! It promises that packets of one next hop leave in the order they came, whether or not they had to wait, and that
//! who waits leaves or is dropped within a bounded time. Where an address was last confirmed too long ago it is
//! used, and asked for again at the same time (RFC 4861, section 7.3.3, for ARP too): nobody waits for that.

use super::config::{
    ASKED, NO_BUFFER, NO_ROUTE, NOT_IP, QUEUE_FULL, RESOLVED, Settings, TABLE_FULL, UNRESOLVED,
    WAITED,
};
use super::me::{Hop, Mac, Me};
use super::message;
use super::table::{Known, Table};
use super::waiting::{Waiting, Wanted};
use corelane_runtime::Time;
use corelane_runtime::packet::{Packet, Units};
use corelane_runtime::shared::SharedMap;
use corelane_runtime::stage::{OutputId, Outputs, Progress, StageContext};
use corelane_wire::arp::ArpPacket;
use corelane_wire::ethernet::EthernetHeader;
use std::net::IpAddr;

/// How often the table is looked at for those who wait: answers come in on other cores.
const LOOK_EVERY: Time = 1_000_000;

/// The resolving half.
#[derive(Debug)]
pub(super) struct Resolving {
    me: Me,
    table: Table,
    key: u64,
    retry: Time,
    tries: u8,
    reachable: Time,
    waiting: Waiting,
    /// When the table was last looked at for those who wait.
    looked: Time,
    /// When what still waits is given up, once nothing more will come.
    ends: Option<Time>,
}

impl Resolving {
    pub(super) fn new(me: Me, table: Table, settings: &Settings, key: u64) -> Resolving {
        Resolving {
            me,
            table,
            key,
            retry: settings.retry,
            tries: settings.tries,
            reachable: settings.reachable,
            waiting: Waiting::new(settings.hold, settings.hold_each),
            looked: 0,
            ends: None,
        }
    }

    /// Whether a packet asks to be resolved.
    #[inline]
    pub(super) fn concerns(&self, packet: &Packet) -> bool {
        packet.data().first_chunk() == Some(&[0; 6])
    }

    pub(super) fn held(&self) -> Units {
        self.waiting.units()
    }

    /// Sends a packet on, now or later. There must be room for one.
    pub(super) fn take(
        &mut self,
        packet: Packet,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        match self.me.hop_of(packet.data()) {
            Hop::Direct(to) => send(packet, self.me.mac, to, out, ctx),
            Hop::Host(hop) => self.via(hop, packet, out, ctx),
            Hop::Nobody => ctx.drop(packet, NO_ROUTE),
            Hop::NotIp => {
                ctx.count(NOT_IP, 1);
                out.next(packet);
            }
        }
    }

    fn via(
        &mut self,
        hop: IpAddr,
        packet: Packet,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        let index = if self.waiting.is_idle() { None } else { self.waiting.position(hop) };
        let others_wait = index.is_some_and(|index| self.waiting.wanted()[index].packets > 0);
        let known = self.table.look(hop);
        match (known, others_wait) {
            (Known::At(mac, seen), false) => {
                if index.is_none() && self.is_stale(seen, ctx.now) {
                    self.want(hop, Some(mac), out, ctx);
                }
                // The question may have taken the last place.
                match out.room_of(OutputId::NEXT) {
                    0 => self.wait(hop, packet, ctx),
                    _ => send(packet, self.me.mac, mac, out, ctx),
                }
            }
            (_, true) => {
                self.wait(hop, packet, ctx);
                self.look_again(hop, out, ctx);
            }
            (Known::Asked | Known::Nobody, false) => {
                self.wait(hop, packet, ctx);
                self.ask_first(hop, out, ctx);
            }
        }
    }

    fn is_stale(&self, seen: Time, now: Time) -> bool {
        seen != SharedMap::FOR_GOOD && now.saturating_sub(seen) > self.reachable
    }

    /// Puts a packet behind those that wait for a next hop.
    fn wait(&mut self, hop: IpAddr, packet: Packet, ctx: &mut StageContext<'_>) {
        let index = match self.waiting.position(hop) {
            Some(index) => index,
            None => self.begin(hop, ctx),
        };
        ctx.count(WAITED, 1);
        if let Some(oldest) = self.waiting.push(index, packet) {
            ctx.drop(oldest, QUEUE_FULL);
        }
    }

    /// Begins to want a next hop; the question is still to be asked.
    fn begin(&mut self, hop: IpAddr, ctx: &mut StageContext<'_>) -> usize {
        let (ask_at, since) = (ctx.now, ctx.now);
        let wanted = Wanted { hop, packets: 0, tries: self.tries, ask_at, since };
        self.waiting.want(wanted, |oldest| ctx.drop(oldest, QUEUE_FULL))
    }

    fn want(
        &mut self,
        hop: IpAddr,
        known: Option<Mac>,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        let index = self.begin(hop, ctx);
        self.ask(index, known, out, ctx);
    }

    /// Asks for a next hop for which nobody has asked yet.
    fn ask_first(&mut self, hop: IpAddr, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let Some(index) = self.waiting.position(hop) else { return };
        let wanted = self.waiting.wanted()[index];
        if wanted.tries == self.tries && wanted.ask_at <= ctx.now {
            self.ask(index, None, out, ctx);
        }
    }

    /// Asks, if there is room and a buffer; else a little later, and that is no try.
    fn ask(
        &mut self,
        index: usize,
        known: Option<Mac>,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        let hop = self.waiting.wanted()[index].hop;
        if !self.table.ask(hop, ctx.now) {
            ctx.count(TABLE_FULL, 1);
        }
        let me = self.me.mac;
        let sent = match hop {
            IpAddr::V4(hop) => self.me.source_v4(hop).is_some_and(|own| {
                let question = ArpPacket::request(me, own.octets(), hop.octets());
                let frame = message::arp(known.unwrap_or([0xff; 6]), me, &question);
                message::send(&frame, OutputId::NEXT, self.key, out, ctx)
            }),
            IpAddr::V6(hop) => self.me.source_v6(hop).is_some_and(|own| {
                let frame = message::solicitation(me, own, hop, known);
                message::send(&frame, OutputId::NEXT, self.key, out, ctx)
            }),
        };
        let wanted = self.waiting.at(index);
        match sent {
            true => {
                wanted.tries -= 1;
                wanted.ask_at = ctx.now.saturating_add(self.retry);
                ctx.count(ASKED, 1);
            }
            false => wanted.ask_at = ctx.now.saturating_add(LOOK_EVERY.min(self.retry)),
        }
    }

    /// Lets those go that wait for a next hop, if it is known by now.
    fn look_again(&mut self, hop: IpAddr, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let Known::At(mac, seen) = self.table.look(hop) else { return };
        let (me, room) = (self.me.mac, out.room_of(OutputId::NEXT));
        self.waiting.take(hop, room, |packet| send(packet, me, mac, out, ctx));
        if let Some(index) = self.waiting.position(hop) {
            let wanted = self.waiting.wanted()[index];
            if wanted.packets == 0 && (seen >= wanted.since || !self.is_stale(seen, ctx.now)) {
                self.waiting.settle(index);
            }
        }
    }

    /// Looks after everybody who is asked for.
    pub(super) fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        self.looked = ctx.now;
        // From behind: who is settled is taken out of the list.
        for index in (0..self.waiting.wanted().len()).rev() {
            let Wanted { hop, .. } = self.waiting.wanted()[index];
            self.look_again(hop, out, ctx);
            let still = self.waiting.wanted().get(index).filter(|wanted| wanted.hop == hop);
            let Some(&wanted) = still.filter(|wanted| wanted.ask_at <= ctx.now) else { continue };
            let known = match self.table.look(hop) {
                Known::At(mac, _) => Some(mac),
                Known::Asked | Known::Nobody => None,
            };
            match (wanted.tries, known, wanted.packets) {
                // It is known, and what waits only waits for room.
                (_, Some(_), 1..) => self.waiting.at(index).ask_at = ctx.now + LOOK_EVERY,
                (0, ..) => self.give_up(index, ctx),
                _ => self.ask(index, known, out, ctx),
            }
        }
    }

    /// Nobody answers.
    fn give_up(&mut self, index: usize, ctx: &mut StageContext<'_>) {
        let hop = self.waiting.wanted()[index].hop;
        self.waiting.take_all(hop, |packet| ctx.drop(packet, UNRESOLVED));
        self.waiting.settle(index);
        self.table.forget(hop);
    }

    /// When [`Resolving::tick`] is wanted.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let ask_at = self.waiting.wanted().iter().map(|wanted| wanted.ask_at).min()?;
        match self.waiting.is_empty() {
            true => Some(ask_at),
            false => Some(ask_at.min(self.looked.saturating_add(LOOK_EVERY))),
        }
    }

    /// Lets what waits go, as long as an answer may still come: until the next question would be due.
    pub(super) fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        if self.waiting.is_empty() {
            return Progress::Done;
        }
        let ends = *self.ends.get_or_insert(ctx.now.saturating_add(self.retry));
        let before = self.waiting.units().packets;
        if ctx.now < ends {
            self.tick(out, ctx);
        } else {
            while let Some(last) = self.waiting.wanted().len().checked_sub(1) {
                self.give_up(last, ctx);
            }
        }
        match before - self.waiting.units().packets {
            0 => Progress::Idle(Some(ends.min(ctx.now.saturating_add(LOOK_EVERY)))),
            sent => Progress::Worked(sent as usize),
        }
    }
}

/// Writes the addresses and sends the packet on. There must be room for one.
fn send(mut packet: Packet, from: Mac, to: Mac, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
    if !packet.is_unshared()
        && packet.make_header_unique(EthernetHeader::LEN as u32, ctx.buffers).is_err()
    {
        return ctx.drop(packet, NO_BUFFER);
    }
    match packet.data_mut().and_then(|bytes| bytes.first_chunk_mut::<12>()) {
        Some(addresses) => {
            addresses[..6].copy_from_slice(&to);
            addresses[6..].copy_from_slice(&from);
            ctx.count(RESOLVED, 1);
            out.next(packet);
        }
        None => ctx.drop(packet, NO_BUFFER),
    }
}
