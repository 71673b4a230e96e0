//! Where the frames that an emulated NIC receives come from.
//!
//! A [`Feed`] is one receive queue's share of the port's [`Traffic`]: it shows the next frame, again and again
//! until it is told to advance, so that a frame for which there is no buffer is not lost. What hardware finds
//! out about a frame is worked out here once, before the first packet, so that it costs no time in the run.

use super::frame::Frame;
use super::generate::{Generate, Generator};
use super::inspect::{Findings, inspect};
use super::join::Arrival;
use crate::headers::{Parses, flow_hash};
use crate::shares::Share;
use corelane_runtime::Time;
use corelane_runtime::offload::Caps;
use std::sync::Arc;

/// What an emulated NIC receives.
#[derive(Clone, Debug, Default)]
pub enum Traffic {
    /// Nothing; a receive queue is at its end at once.
    #[default]
    None,
    /// These frames in this order, each queue those whose symmetric flow hash falls to it.
    Frames {
        /// The frames; their times need not grow.
        frames: Vec<Frame>,
        /// Begin again at the end, without end; times go on growing by the span of the list.
        repeat: bool,
    },
    /// These frames, each not before its time; times must not go down.
    Timed(Vec<Frame>),
    /// Frames that are made, without end or a given number.
    Generate(Generate),
}

/// Traffic that queues share.
#[derive(Clone, Debug)]
pub(super) enum Shared {
    None,
    Frames(Arc<[Frame]>, bool),
    Timed(Arc<[Frame]>),
    Generate(Generate),
}

impl From<Traffic> for Shared {
    fn from(traffic: Traffic) -> Shared {
        match traffic {
            Traffic::None => Shared::None,
            Traffic::Frames { frames, repeat } => Shared::Frames(frames.into(), repeat),
            Traffic::Timed(frames) => Shared::Timed(frames.into()),
            Traffic::Generate(generate) => Shared::Generate(generate),
        }
    }
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next<'a> {
    /// This frame.
    Frame(Arrival<'a>),
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing any more.
    End,
}

/// One queue's frames.
#[derive(Debug)]
pub(super) enum Feed {
    Nothing,
    List(List),
    Made(Box<Generator>),
}

impl Feed {
    /// The share of one queue of a device that looks into these tunnels. Called when all queues are open.
    pub(super) fn new(traffic: &Shared, share: &Share, parses: &Parses) -> Feed {
        match traffic {
            Shared::None => Feed::Nothing,
            Shared::Frames(frames, repeat) => Feed::List(List::new(frames, *repeat, share, parses)),
            Shared::Timed(frames) => {
                let list = List::new(frames, false, share, parses);
                Feed::List(List { timed: true, ..list })
            }
            Shared::Generate(generate) => {
                Feed::Made(Box::new(Generator::new(generate, share, parses)))
            }
        }
    }

    /// The frame that comes next, at `now` where it has no time of its own, with what a port of these
    /// capabilities must find out about it.
    pub(super) fn peek(&mut self, caps: Caps, now: Time) -> Next<'_> {
        match self {
            Feed::Nothing => Next::End,
            Feed::List(list) => list.peek(now),
            Feed::Made(generator) => generator.peek(caps, now),
        }
    }

    /// Goes past the frame shown.
    pub(super) fn advance(&mut self) {
        match self {
            Feed::Nothing => {}
            Feed::List(list) => list.advance(),
            Feed::Made(generator) => generator.advance(),
        }
    }
}

/// The frames of a list that fall to one queue.
#[derive(Debug)]
pub(super) struct List {
    frames: Arc<[Frame]>,
    mine: Vec<(u32, Findings)>,
    next: usize,
    repeat: bool,
    /// Whether a frame comes at its time, and not as soon as it is asked for.
    timed: bool,
    /// Added to times, more with each round.
    shift: Time,
    span: Time,
}

impl List {
    fn new(frames: &Arc<[Frame]>, repeat: bool, share: &Share, parses: &Parses) -> List {
        let own = frames.iter().enumerate().filter(|(_, frame)| share.has(flow_hash(&frame.data)));
        let mine =
            own.map(|(index, frame)| (index as u32, inspect(&frame.data, !frame.is_cut(), parses)));
        let times = || frames.iter().map(|frame| frame.time_ns);
        let span = times().max().unwrap_or(0) - times().min().unwrap_or(0);
        let (frames, mine) = (frames.clone(), mine.collect());
        List { frames, mine, next: 0, repeat, timed: false, shift: 0, span: span.saturating_add(1) }
    }

    fn peek(&self, now: Time) -> Next<'_> {
        let Some(&(index, findings)) = self.mine.get(self.next) else { return Next::End };
        let frame = &self.frames[index as usize];
        let time = frame.time_ns.saturating_add(self.shift);
        if self.timed && time > now {
            return Next::NotBefore(time);
        }
        Next::Frame(Arrival { bytes: &frame.data, time, orig_len: frame.orig_len, findings })
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.repeat && self.next >= self.mine.len() {
            self.next = 0;
            self.shift = self.shift.saturating_add(self.span);
        }
    }
}
