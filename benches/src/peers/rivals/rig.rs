//! corelane's stages on their own, driven as an actor drives them: bursts in, bursts out, books kept.
//!
//! It promises to add nothing to what is timed but what an actor would: the outputs are set up anew for every call, and
//! what was sent lies in the next stage's input. Panics where packets are lost.

use corelane_runtime::packet::{Buffers, Burst, Csum, HomeConfig, L3, L4, Packet, Units};
use corelane_runtime::stage::{Outputs, Stage, StageContext, Tally, Target};
use corelane_stages::rx::describe;

/// Key of flow hashes.
const KEY: u64 = 0x5eed;
/// More counters and drop reasons than any stage has.
const BOOKS: usize = 32;

/// The next stage.
const TARGETS: [Target; 1] = [Target::Node(0)];

/// Who has looked at checksums before the stage under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// The device: it says that all are right.
    Before,
    /// Nobody.
    No,
}

/// Buffers, and the input of the stage that would come next.
pub(super) struct Rig {
    pub(super) buffers: Buffers,
    tally: Tally,
    next: Vec<Burst>,
    /// Input of a stage behind the first; the two vectors change places.
    input: Vec<Burst>,
    sent: Vec<Units>,
    no_room: Units,
    pub(super) now: u64,
}

impl Rig {
    /// With so many buffers of each class.
    pub(super) fn new(shells: u32, small: u32, large: u32) -> Rig {
        let config = HomeConfig { name: "bench".to_owned(), shells, small, large, node: None };
        Rig {
            buffers: Buffers::new(&config).expect("memory for the bench"),
            tally: Tally::new(BOOKS, BOOKS),
            next: vec![Burst::new()],
            input: vec![Burst::new()],
            sent: vec![Units::default()],
            no_room: Units::default(),
            now: 1,
        }
    }

    /// Packets as they leave `Rx`: copied in, then looked at one by one, so that their headers are in the nearest cache.
    pub(super) fn receive(&mut self, frames: &[Vec<u8>], checked: Checked, burst: &mut Burst) {
        for frame in frames {
            let mut packet = self.buffers.receive(frame).expect("a buffer for each frame");
            packet.meta_mut().orig_len = packet.len();
            assert!(burst.push(packet).is_ok(), "no more than a burst holds");
        }
        for packet in burst.iter_mut() {
            describe(packet, KEY, &mut self.buffers).expect("headers are contiguous");
            if checked == Checked::Before {
                vouch(packet);
            }
        }
    }

    /// One call of `process`; what it sends is in [`Rig::sent`].
    #[inline]
    pub(super) fn process(&mut self, stage: &mut impl Stage, burst: &mut Burst) {
        self.call(|out, ctx| stage.process(burst, out, ctx));
    }

    /// One call of `process` of the stage behind, whose input is what was sent; what that sends is in [`Rig::sent`]
    /// afterwards, its input being empty.
    #[inline]
    pub(super) fn process_sent(&mut self, stage: &mut impl Stage) {
        let (mut input, mut edges) = (std::mem::take(&mut self.input), []);
        let Rig { next, sent, no_room, buffers, tally, now, .. } = self;
        std::mem::swap(next, &mut input);
        let mut out = Outputs::new(&TARGETS, next, 0, &mut edges, sent, no_room);
        stage.process(&mut input[0], &mut out, &mut StageContext::new(*now, buffers, tally));
        self.input = input;
    }

    /// One call of `tick`.
    #[inline]
    pub(super) fn tick(&mut self, stage: &mut impl Stage) {
        self.call(|out, ctx| {
            stage.tick(out, ctx);
        });
    }

    #[inline]
    fn call(&mut self, call: impl FnOnce(&mut Outputs<'_>, &mut StageContext<'_>)) {
        let mut edges = [];
        let Rig { next, sent, no_room, buffers, tally, now, .. } = self;
        let mut out = Outputs::new(&TARGETS, next, 0, &mut edges, sent, no_room);
        call(&mut out, &mut StageContext::new(*now, buffers, tally));
    }

    /// What was sent, as the input of the next stage.
    #[inline]
    pub(super) fn sent(&mut self) -> &mut Burst {
        &mut self.next[0]
    }

    /// Sends home what was sent.
    #[inline]
    pub(super) fn release_sent(&mut self) {
        for packet in self.next[0].drain() {
            self.buffers.release(packet);
        }
    }

    /// Whether nothing was lost and every buffer is home.
    pub(super) fn assert_home(&mut self) {
        assert_eq!(self.no_room, Units::default(), "sent beyond the room");
        assert_eq!(self.tally.dropped(), Units::default(), "dropped");
        assert_eq!(self.buffers.outstanding(), [0; 3], "buffers are still out");
    }
}

/// Says what a device that looked at the packet would.
pub(super) fn vouch(packet: &mut Packet) {
    let layers = packet.meta().layers;
    for (index, level) in layers.levels[..usize::from(layers.count)].iter().enumerate() {
        let none = level.l4_kind == L4::Udp && {
            let at = usize::from(level.l4) + 6;
            packet.data()[at..at + 2] == [0, 0]
        };
        let meta = packet.meta_mut();
        if level.l3_kind == L3::V4 {
            meta.l3[index] = Csum::Good;
        }
        if matches!(level.l4_kind, L4::Tcp | L4::Udp) && !none {
            meta.l4[index] = Csum::Good;
        }
    }
}

/// The bytes of a packet.
pub(super) fn bytes_of(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}
