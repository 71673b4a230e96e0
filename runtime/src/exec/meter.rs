//! The clock of a thread that is measured: time, processor time, and the thread's number.
//!
//! Asked for nothing but that, and only where stages are timed or books are read.

use crate::Time;
use crate::actor::Meter;
use crate::clock::Clock;
use rustix::time::{ClockId, clock_gettime};

/// Reads the clocks of whichever thread asks.
#[derive(Clone, Copy, Debug)]
pub struct ThreadMeter {
    clock: Clock,
}

impl ThreadMeter {
    /// One that reads 0 now.
    pub fn start() -> ThreadMeter {
        ThreadMeter { clock: Clock::start() }
    }
}

impl Meter for ThreadMeter {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn cpu(&self) -> Time {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
        seconds.unwrap_or(0) * 1_000_000_000 + rest.unwrap_or(0)
    }

    fn thread(&self) -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_had_its_time() {
        let meter = ThreadMeter::start();
        let (began, had) = (meter.now(), meter.cpu());
        let mut sum = 0_u64;
        while meter.cpu() - had < 2_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(meter.now() - began >= 2_000_000, "no more processor time than time");
        let had = meter.cpu();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(meter.cpu() - had < 10_000_000, "asleep it has none");
    }

    #[test]
    fn each_thread_has_a_number_of_its_own() {
        let meter = ThreadMeter::start();
        let other = std::thread::spawn(move || meter.thread()).join().expect("a number");
        assert!(other != meter.thread() && other != 0 && meter.thread() != 0);
    }
}
