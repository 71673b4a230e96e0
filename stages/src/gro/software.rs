//! The stage at work: for each packet, what leaves before it, and whether it joins, starts a merge or passes.
//!
//! It promises that no packet overtakes another of its flow, that no more is sent in a call than there is
//! room for, and that what is held is known exactly. Which segments fit together is asked of `segment`, `tcp`
//! and `udp`; what a finished merge looks like, of `finish`.

use super::counters::{Ended, MERGED, SUPERPACKETS};
use super::finish::finish;
use super::flow::{Flow, FlowKey};
use super::hardware::{Known, known};
use super::held::{Answer, BothIds, Held};
use super::segment::{self, Segment};
use super::sums::{derived_sum, verify, verify_around};
use super::table::Place;
use super::{Gro, tcp, tunnel, udp};
use crate::rx::hardware::forget;
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet, Train, Units};
use corelane_runtime::stage::{Outputs, Progress, Stage, StageContext};

/// The way out, and how many packets still fit.
struct Exit<'a, 'b> {
    out: &'a mut Outputs<'b>,
    room: usize,
}

impl<'a, 'b> Exit<'a, 'b> {
    fn new(out: &'a mut Outputs<'b>) -> Exit<'a, 'b> {
        let room = out.room();
        Exit { out, room }
    }

    fn send(&mut self, packet: Packet) {
        self.room = self.room.saturating_sub(1);
        self.out.next(packet);
    }

    fn pass(&mut self, packet: Packet) -> Result<(), NoRoom> {
        if self.room == 0 {
            return Err(NoRoom(packet));
        }
        self.send(packet);
        Ok(())
    }
}

/// A packet that could not be settled because the outputs are full.
struct NoRoom(Packet);

impl Gro {
    /// Handles one packet; it comes back if there is no room for what must leave first.
    fn settle(
        &mut self,
        packet: Packet,
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), NoRoom> {
        match &Flow::of(&packet) {
            Flow::One(key) => self.settle_in_flow(packet, key, exit, ctx),
            Flow::Hidden(key, between) => {
                let others = |held: &Held| between.may_be(&held.key) && held.key != *key;
                let packet = self.let_out(packet, others, exit, ctx)?;
                self.settle_in_flow(packet, key, exit, ctx)
            }
            Flow::Pair(between) => {
                let between = |held: &Held| between.may_be(&held.key);
                let packet = self.let_out(packet, between, exit, ctx)?;
                exit.pass(packet)
            }
            Flow::All => {
                let packet = self.let_out(packet, |_| true, exit, ctx)?;
                exit.pass(packet)
            }
            Flow::None => exit.pass(packet),
        }
    }

    /// Sends on the merges that `packet` must not overtake; gives the packet back to go on with.
    fn let_out(
        &mut self,
        packet: Packet,
        before: impl Fn(&Held) -> bool,
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) -> Result<Packet, NoRoom> {
        let mut at = self.table.oldest();
        while let Some(place) = at {
            at = self.table.newer(place);
            if self.table.get(place).is_some_and(&before) {
                if exit.room == 0 {
                    return Err(NoRoom(packet));
                }
                self.emit(place, Ended::Unfit, exit, ctx);
            }
        }
        Ok(packet)
    }

    fn settle_in_flow(
        &mut self,
        mut packet: Packet,
        key: &FlowKey,
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), NoRoom> {
        if exit.room == 0 {
            return Err(NoRoom(packet));
        }
        let (bucket, found) = self.table.find(key);
        let mut segment = Segment::default();
        let fit = self.fit(&mut packet, key, &mut segment, ctx);
        match (found, fit) {
            (None, Err(_)) => exit.pass(packet),
            (None, Ok(())) => self.start(packet, (bucket, key, &segment), exit, ctx),
            (Some(place), Err(ended)) => {
                self.emit(place, ended, exit, ctx);
                exit.pass(packet)
            }
            (Some(place), Ok(())) => match self.question(place, &segment, packet.data()) {
                Answer::Join(ids) => {
                    self.join(place, packet, &segment, ids, ctx);
                    Ok(())
                }
                Answer::JoinLast(ids, ended) => {
                    self.join(place, packet, &segment, ids, ctx);
                    self.emit(place, ended, exit, ctx);
                    Ok(())
                }
                Answer::Split(ended) => {
                    self.emit(place, ended, exit, ctx);
                    self.start(packet, (bucket, key, &segment), exit, ctx)
                }
            },
        }
    }

    /// Whether the packet may be merged: it is one clean segment, and its checksums are known to be right.
    fn fit(
        &mut self,
        packet: &mut Packet,
        key: &FlowKey,
        segment: &mut Segment,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), Ended> {
        if packet.is_super() {
            return Err(Ended::Unfit);
        }
        segment::read(packet, key, segment)?;
        let good = match known(packet.meta(), key) {
            Known::Good => true,
            Known::Open => verify(packet, key, segment, ctx),
            Known::No => false,
        };
        let good = good && (!key.is_tunnelled() || around_is_good(packet, key, segment, ctx));
        if good { Ok(()) } else { Err(Ended::Unfit) }
    }

    fn question(&self, place: Place, segment: &Segment, data: &[u8]) -> Answer {
        let Some(held) = self.table.get(place) else { return Answer::Split(Ended::Unfit) };
        if held.key.is_udp() {
            udp::question(held, segment, data, &self.bounds)
        } else {
            tcp::question(held, segment, data, &self.bounds)
        }
    }

    /// Starts a merge with a packet that others can follow; any other passes.
    fn start(
        &mut self,
        mut packet: Packet,
        (bucket, key, segment): (u16, &FlowKey, &Segment),
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), NoRoom> {
        let leads = if key.is_udp() { udp::can_lead(segment) } else { tcp::can_lead(segment) };
        let header_len = u32::from(segment.places.payload);
        // Headers are written when the merge leaves; who shares them must not see that.
        let writable = packet.is_unshared()
            || leads && packet.make_header_unique(header_len, ctx.buffers).is_ok();
        if !leads || !writable {
            return exit.pass(packet);
        }
        if self.table.is_full() || self.held.segments >= self.most_held {
            if exit.room == 0 {
                return Err(NoRoom(packet));
            }
            self.emit_oldest(Ended::Table, exit, ctx);
        }
        let (units, hash) = (packet.units(), packet.meta().hash);
        match self.table.insert(bucket, Held::new(*key, *segment, Train::new(packet), ctx.now)) {
            Ok(()) => {
                self.held += units;
                self.hints.set(hash, self.table.newest());
                Ok(())
            }
            Err(held) => exit.pass(finish(held)),
        }
    }

    /// Takes a segment into a merge.
    fn join(
        &mut self,
        place: Place,
        mut packet: Packet,
        segment: &Segment,
        ids: BothIds,
        ctx: &mut StageContext<'_>,
    ) {
        let Some(held) = self.table.get_mut(place) else { return };
        let key = held.key;
        let head = held.train.head();
        if head.segments() == 1
            && head.payload_sum().is_none()
            && let Some(sum) = derived_sum(head.data(), &key, &held.first)
        {
            held.train.set_payload_sum(sum);
        }
        if packet.payload_sum().is_none() {
            match derived_sum(packet.data(), &key, segment) {
                Some(sum) => packet.set_payload_sum(sum),
                None => packet.mark_piece(),
            }
        }
        let (header_len, payload) = (u32::from(segment.places.payload), u32::from(segment.payload));
        if segment.padded {
            packet.truncate(header_len + payload, ctx.buffers);
        }
        packet.pull(header_len, ctx.buffers);
        ctx.absorb_behind(&mut held.train, packet, payload);
        held.joined(segment, ids);
        self.held += Units { packets: 0, segments: 1, bytes: u64::from(payload) };
        self.merged += 1;
    }

    /// Lets a merge leave.
    fn emit(
        &mut self,
        place: Place,
        ended: Ended,
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) {
        let Some(held) = self.table.take(place) else { return };
        let units = held.train.head().units();
        self.held = self.held - units;
        if units.segments > 1 {
            ctx.count(SUPERPACKETS, 1);
            ctx.count(ended.counter(), 1);
        }
        exit.send(finish(held));
    }

    fn emit_oldest(&mut self, ended: Ended, exit: &mut Exit<'_, '_>, ctx: &mut StageContext<'_>) {
        if let Some(place) = self.table.oldest() {
            self.emit(place, ended, exit, ctx);
        }
    }

    /// Lets merges leave, oldest first, while `due` says so and there is room.
    fn emit_while(
        &mut self,
        ended: Ended,
        due: impl Fn(&Held) -> bool,
        exit: &mut Exit<'_, '_>,
        ctx: &mut StageContext<'_>,
    ) {
        while let Some(place) = self.table.oldest() {
            if exit.room == 0 || !self.table.get(place).is_some_and(&due) {
                return;
            }
            self.emit(place, ended, exit, ctx);
        }
    }

    /// Lets the oldest merge go where buffers run low: others need them more.
    fn relieve(&mut self, exit: &mut Exit<'_, '_>, ctx: &mut StageContext<'_>) {
        if exit.room == 0 || !ctx.buffers.is_low() {
            return;
        }
        // What other cores sent back may only not have been taken in yet.
        ctx.buffers.reclaim();
        if ctx.buffers.is_low() {
            self.emit_oldest(Ended::Table, exit, ctx);
        }
    }

    /// When a merge that began at `since` must leave; without a hold time, at once.
    fn due(&self, since: Time) -> Time {
        self.hold.map_or(0, |hold| since.saturating_add(hold))
    }
}

/// Whether the checksums around a segment in a tunnel, which is right itself, are known to be right.
fn around_is_good(
    packet: &mut Packet,
    key: &FlowKey,
    segment: &Segment,
    ctx: &mut StageContext<'_>,
) -> bool {
    match tunnel::known(packet) {
        Known::Good => true,
        Known::Open => verify_around(packet, key, segment, ctx),
        Known::No => false,
    }
}

impl Stage for Gro {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        if !self.trusts {
            burst.iter_mut().for_each(forget);
        }
        let mut exit = Exit::new(out);
        let waited = self.waiting.take();
        for packet in waited.into_iter().chain(burst.drain()) {
            let settled = match self.join_usual(packet, ctx) {
                Some(packet) => self.settle(packet, &mut exit, ctx),
                None => Ok(()),
            };
            if let Err(NoRoom(packet)) = settled {
                self.waiting = Some(packet);
                break;
            }
            if self.hold.is_some() {
                self.relieve(&mut exit, ctx);
            }
            if exit.room == 0 {
                break;
            }
        }
        if self.hold.is_none() {
            self.emit_while(Ended::Burst, |_| true, &mut exit, ctx);
            self.hints.forget();
        }
        ctx.count(MERGED, std::mem::take(&mut self.merged));
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let mut exit = Exit::new(out);
        let room = exit.room;
        if let Some(packet) = self.waiting.take() {
            self.waiting = self.settle(packet, &mut exit, ctx).err().map(|NoRoom(packet)| packet);
        }
        let (now, hold) = (ctx.now, self.hold.unwrap_or(0));
        let due = |held: &Held| held.since.saturating_add(hold) <= now;
        self.emit_while(Ended::Time, due, &mut exit, ctx);
        match room - exit.room {
            0 => Progress::Idle(self.next_deadline()),
            sent => Progress::Worked(sent),
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let mut exit = Exit::new(out);
        let room = exit.room;
        self.emit_while(Ended::Drain, |_| true, &mut exit, ctx);
        if self.table.len() == 0 && exit.room > 0 {
            // Everything it was not to overtake has left.
            self.waiting.take().into_iter().for_each(|packet| exit.send(packet));
        }
        if self.table.len() == 0 && self.waiting.is_none() {
            Progress::Done
        } else {
            Progress::Worked(room - exit.room)
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        if self.waiting.is_some() {
            return Some(0);
        }
        let oldest = self.table.oldest().and_then(|place| self.table.get(place));
        oldest.map(|held| self.due(held.since))
    }

    fn held(&self) -> Units {
        let waiting = self.waiting.as_ref().map(Packet::units);
        self.held + waiting.unwrap_or_default()
    }
}
