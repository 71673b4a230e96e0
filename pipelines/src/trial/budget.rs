//! What the frames of one test may take in memory. Those that stand in the file are counted when it is read; those of
//! captures while they are, before they are kept.

/// Most frames that a test holds.
pub(crate) const FRAMES_MAX: usize = 100_000;
/// Most bytes of those.
pub(crate) const BYTES_MAX: usize = 64 << 20;

/// What was taken of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    frames: usize,
    bytes: usize,
}

impl Budget {
    /// Takes a frame of so many bytes, `times` over.
    ///
    /// # Errors
    /// One sentence, where that is more than a test may hold.
    pub(super) fn take(&mut self, bytes: usize, times: u32) -> Result<(), String> {
        let times = times as usize;
        self.frames = self.frames.saturating_add(times);
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times));
        if self.frames <= FRAMES_MAX && self.bytes <= BYTES_MAX {
            return Ok(());
        }
        let how = if times > 1 { format!(", {times} times over,") } else { String::new() };
        Err(format!(
            "the frames of this file{how} are too many for a test, which holds {FRAMES_MAX} frames of {} MiB at most; \
             repeat it less, or cut the capture",
            BYTES_MAX >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_bytes_are_bounded_each() {
        let mut budget = Budget::default();
        assert_eq!(budget.take(60, FRAMES_MAX as u32 - 1), Ok(()));
        assert_eq!(budget.take(60, 1), Ok(()));
        let error = budget.take(60, 1).unwrap_err();
        assert!(error.contains("100000 frames of 64 MiB") && !error.contains("times"), "{error}");
        let mut budget = Budget::default();
        assert_eq!(budget.take(BYTES_MAX / 2, 2), Ok(()));
        assert!(budget.take(1, 1).is_err());
        let error = Budget::default().take(usize::MAX, u32::MAX).unwrap_err();
        assert!(error.contains("file, 4294967295 times over, are"), "{error}");
    }
}
