//! How long generated frames are.
//!
//! Sizes count the frame check sequence of 4 bytes that corelane never sees (RFC 2544 section 9). A frame is never
//! shorter than its headers and one byte of payload.

use super::{ETHERNET, MAX_IP};
use crate::emulated::faults::mix;

const FCS: u32 = 4;
/// Seven small, four middling and one full-sized frame in twelve.
const IMIX: [(u32, u32); 3] = [(64, 7), (594, 4), (1518, 1)];
/// Longest list of sizes kept.
const MIX_MAX: u64 = 1 << 16;

/// Length of generated frames in bytes, frame check sequence included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// All the same.
    Bytes(u32),
    /// 64, 594 and 1518 bytes in a ratio of 7 : 4 : 1.
    Imix,
    /// These sizes in the ratio of these numbers.
    Mix(Vec<(u32, u32)>),
}

impl FrameSize {
    /// Says what is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        let most = MAX_IP + ETHERNET as u32 + FCS;
        let parts = self.parts();
        if let Some((size, _)) = parts.iter().find(|(size, _)| *size > most) {
            return Err(format!(
                "`size` is {size}, but a frame holds at most {MAX_IP} bytes of IP; give {most} or less"
            ));
        }
        if parts.is_empty() || parts.iter().any(|(_, number)| *number == 0) {
            return Err(
                "`size` is a mix with no frames of some size; give `Mix([(64, 7), (1518, 1)])`"
                    .to_owned(),
            );
        }
        let together: u64 = parts.iter().map(|(_, number)| u64::from(*number)).sum();
        if together > MIX_MAX {
            return Err(format!(
                "`size` mixes {together} frames; give numbers that add up to {MIX_MAX} at most"
            ));
        }
        Ok(())
    }

    /// Length of the longest frame without check sequence, at least `least`.
    pub(super) fn largest(&self, least: usize) -> usize {
        let sizes = self.parts().into_iter().map(|(size, _)| size.saturating_sub(FCS) as usize);
        sizes.max().unwrap_or(0).max(least)
    }

    /// Each size and how many of it, in smallest numbers.
    fn parts(&self) -> Vec<(u32, u32)> {
        let mut parts = match self {
            FrameSize::Bytes(size) => vec![(*size, 1)],
            FrameSize::Imix => IMIX.to_vec(),
            FrameSize::Mix(parts) => parts.clone(),
        };
        let common = parts.iter().fold(0, |common, &(_, number)| divisor(common, number)).max(1);
        parts.iter_mut().for_each(|(_, number)| *number /= common);
        parts
    }

    /// Frame lengths without check sequence, at least `least`, in the order in which they are sent.
    pub(super) fn lengths(&self, least: usize, seed: u64) -> Vec<usize> {
        let len = |size: u32| (size.saturating_sub(FCS) as usize).max(least);
        let parts = self.parts();
        let mut lengths: Vec<usize> =
            parts.iter().flat_map(|&(size, n)| vec![len(size); n as usize]).collect();
        for at in (1..lengths.len()).rev() {
            let random = mix(seed ^ at as u64);
            lengths.swap(at, random as usize % (at + 1));
        }
        lengths
    }
}

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_kept_in_smallest_numbers() {
        let mut lengths = FrameSize::Mix(vec![(64, 21_000), (1518, 3_000)]).lengths(50, 9);
        lengths.sort_unstable();
        assert_eq!(lengths, [60, 60, 60, 60, 60, 60, 60, 1514]);
        assert_eq!(FrameSize::Mix(vec![(64, 1 << 20), (65, 1 << 20)]).check(), Ok(()));
    }

    #[test]
    fn a_mix_of_nothing_and_one_without_end_are_refused() {
        let wrong = |parts: &[(u32, u32)]| FrameSize::Mix(parts.to_vec()).check().unwrap_err();
        assert!(wrong(&[]).contains("no frames of some size"));
        assert!(wrong(&[(64, 0)]).contains("no frames of some size"));
        assert!(wrong(&[(64, 1), (65_554, 1)]).contains("`size` is 65554"));
        assert!(wrong(&[(64, u32::MAX), (65, 2)]).contains("add up to 65536"));
    }
}
