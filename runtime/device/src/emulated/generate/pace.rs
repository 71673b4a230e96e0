//! When the next frame is due.
//!
//! The pace is kept over the whole run: a queue that was not asked for a while owes what it missed, as frames
//! wait on a wire that nobody reads. Times are those of the run, so a simulated run paces its virtual clock.

use corelane_runtime::Time;

/// Preamble, start of frame, check sequence and the gap between frames: what a frame occupies on the wire beside
/// its bytes (IEEE 802.3, clauses 3 and 4).
const WIRE: usize = 24;
const SECOND: f64 = 1e9;

/// How fast frames come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as they are taken.
    Max,
    /// So many frames a second.
    Frames(u64),
    /// So many bits a second on the wire, with preamble, check sequence and gap.
    Bits(u64),
}

impl Rate {
    /// Says what is wrong with it.
    pub(super) fn check(self) -> Result<(), String> {
        match self {
            Rate::Frames(0) | Rate::Bits(0) => {
                Err("`rate` is 0, so nothing would ever come; give `Max` or such as \"1Mpps\""
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The clock of one queue.
#[derive(Debug)]
pub(super) struct Pace {
    /// ns that a frame costs, and a byte of it; `None`: nothing is ever waited for.
    cost: Option<(f64, f64)>,
    start: Option<Time>,
    /// ns from the start to the next frame.
    due: f64,
}

impl Pace {
    /// The pace of a queue that has this part of all the traffic.
    pub(super) fn new(rate: Rate, part: f64) -> Pace {
        let part = part.max(f64::MIN_POSITIVE);
        let cost = match rate {
            Rate::Max => None,
            Rate::Frames(frames) => Some((SECOND / frames as f64 / part, 0.0)),
            Rate::Bits(bits) => {
                let byte = 8.0 * SECOND / bits as f64 / part;
                Some((byte * WIRE as f64, byte))
            }
        };
        Pace { cost, start: None, due: 0.0 }
    }

    /// When the next frame is on the wire; `now` is when this is asked, the first time being the start.
    pub(super) fn due(&mut self, now: Time) -> Time {
        if self.cost.is_none() {
            return now;
        }
        let start = *self.start.get_or_insert(now);
        start.saturating_add(self.due.round() as Time)
    }

    /// Goes past a frame of `len` bytes.
    pub(super) fn advance(&mut self, len: usize) {
        if let Some((frame, byte)) = self.cost {
            self.due += frame + byte * len as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_gigabits_are_fourteen_million_small_frames() {
        // 10 Gb/s of 84 bytes of wire: 14,880,952 frames a second (RFC 2544 era textbook figure).
        let mut pace = Pace::new(Rate::Bits(10_000_000_000), 1.0);
        pace.due(5);
        (0..14_880_952).for_each(|_| pace.advance(60));
        let second = pace.due(0) - 5;
        assert!((999_999_900..=1_000_000_100).contains(&second), "{second}");
    }

    #[test]
    fn half_the_traffic_comes_at_half_the_pace_and_max_never_waits() {
        let mut pace = Pace::new(Rate::Frames(1_000), 0.5);
        assert_eq!(pace.due(7), 7);
        pace.advance(1514);
        assert_eq!(pace.due(1_000), 2_000_007);
        let mut pace = Pace::new(Rate::Max, 0.5);
        pace.due(7);
        pace.advance(60);
        assert_eq!(pace.due(9), 9);
    }
}
