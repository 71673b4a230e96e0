//! Everything put off is done: superpackets become frames, and checksums are computed.
//!
//! For packets of which the next step knows less than they ask for: one that goes into a third level, one that is
//! cut into fragments, a train of outer datagrams. It promises the order of packets and that what does not fit
//! its outputs waits inside. It sends nothing by itself.

use crate::checksum_fill::{self, ChecksumFill};
use crate::gso::{self, Gso};
use corelane_runtime::packet::{Burst, Packet, Units};
use corelane_runtime::stage::{CounterId, Outputs, Progress, Reason, Stage, StageContext, Target};

/// Names of the reasons it drops for, behind those of the stage it works in.
pub(super) const REASONS: [&[&str]; 2] = [gso::INFO.drop_reasons, checksum_fill::INFO.drop_reasons];

/// How many reasons those are.
pub(super) const REASON_COUNT: usize = REASONS[0].len() + REASONS[1].len();

/// Counters of what works inside are not those of the stage: nobody declared them, so they count nothing.
const UNCOUNTED: CounterId = CounterId(usize::MAX / 4);

/// See the module documentation.
pub(super) struct Finish {
    gso: Gso,
    fill: ChecksumFill,
    /// Where its reasons begin among those of the stage it works in.
    reason: Reason,
    /// Whether checksums are filled, too.
    fills: bool,
    taken: Burst,
    cut: Burst,
    ready: Burst,
}

impl Finish {
    /// Cuts and, if `fills`, completes every checksum. Its drops are those of the stage from `reason` on.
    pub(super) fn new(reason: Reason, fills: bool) -> Finish {
        Finish {
            gso: Gso::new(None).into_frames(),
            fill: ChecksumFill::new(None),
            reason,
            fills,
            taken: Burst::new(),
            cut: Burst::new(),
            ready: Burst::new(),
        }
    }

    /// Takes a packet, if nothing is inside.
    pub(super) fn take(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.is_empty() { self.taken.push(packet) } else { Err(packet) }
    }

    /// Whether nothing is inside.
    pub(super) fn is_empty(&self) -> bool {
        let bursts = [&self.taken, &self.cut, &self.ready];
        bursts.into_iter().all(|burst| burst.is_empty()) && !self.is_cutting()
    }

    /// What is inside.
    pub(super) fn held(&self) -> Units {
        let bursts = [&self.taken, &self.cut, &self.ready];
        let packets = bursts.into_iter().flat_map(Burst::iter).map(Packet::units);
        packets.fold(self.gso.held(), |sum, units| sum + units)
    }

    fn is_cutting(&self) -> bool {
        self.gso.next_deadline().is_some()
    }

    /// The next packet with nothing put off; `None` where none is left or buffers are out.
    pub(super) fn first(&mut self, ctx: &mut StageContext<'_>) -> Option<&mut Packet> {
        if self.ready.is_empty() {
            self.work(ctx);
        }
        self.ready.first_mut()
    }

    /// Takes out what [`Finish::first`] showed.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.ready.pop()
    }

    fn work(&mut self, ctx: &mut StageContext<'_>) {
        if self.cut.is_empty() {
            let mut within = ctx.within(self.reason, UNCOUNTED);
            let (gso, taken) = (&mut self.gso, &mut self.taken);
            if gso.next_deadline().is_some() {
                into(&mut self.cut, |out| gso.tick(out, &mut within));
            } else if !taken.is_empty() {
                into(&mut self.cut, |out| {
                    gso.process(taken, out, &mut within);
                    Progress::Done
                });
            }
        }
        if !self.fills {
            std::mem::swap(&mut self.cut, &mut self.ready);
            return;
        }
        let reason = Reason(self.reason.0 + REASONS[0].len());
        let mut within = ctx.within(reason, UNCOUNTED);
        let (fill, cut) = (&mut self.fill, &mut self.cut);
        into(&mut self.ready, |out| {
            fill.process(cut, out, &mut within);
            Progress::Done
        });
    }
}

/// Lets a stage send into a burst.
fn into(burst: &mut Burst, work: impl FnOnce(&mut Outputs<'_>) -> Progress) -> Progress {
    let (mut sent, mut no_room) = ([Units::default()], Units::default());
    let inputs = std::slice::from_mut(burst);
    let targets = [Target::Node(0)];
    work(&mut Outputs::new(&targets, inputs, 0, &mut [], &mut sent, &mut no_room))
}
