//! Two sides in turn, window by window, on one core.
//!
//! It promises pairs of windows that stand next to each other in time, each side first in every other pair, and that a
//! window during which the kernel took the core away is repeated, so often and no more. It cannot see what else makes a
//! core slow: a neighbour on the same physical core, a hypervisor.

use std::fs;

/// How often a window is repeated before it is taken as it is.
const TRIES: usize = 24;
/// Of all windows of a row no more than so many for each pair are repeated: on a machine that is never quiet a row ends
/// all the same.
const REPEATED_MAX: usize = 6;

/// What one window came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Time per item, ns.
    pub ns: f64,
    /// The core was taken away meanwhile.
    pub disturbed: bool,
}

/// One side of a comparison: runs a window.
pub type Side<'a> = Box<dyn FnMut() -> Window + 'a>;

/// Times of both sides, pair by pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// corelane's, ns an item.
    pub ours: Vec<f64>,
    /// The rival's; empty if there is none.
    pub rival: Vec<f64>,
    /// Windows that were repeated.
    pub repeated: usize,
    /// Windows that were taken though disturbed: all tries were.
    pub disturbed: usize,
    /// Windows that may still be repeated.
    budget: usize,
}

/// Takes so many pairs, after one that does not count.
pub fn pairs(rounds: usize, ours: &mut Side<'_>, rival: Option<&mut Side<'_>>) -> Pairs {
    let mut pairs = Pairs { budget: (rounds + 1) * REPEATED_MAX, ..Pairs::default() };
    let mut rival = rival;
    for round in 0..=rounds {
        let mut taken = [0.0; 2];
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for index in order {
            match (index, &mut rival) {
                (0, _) => taken[0] = pairs.take(ours),
                (_, Some(rival)) => taken[1] = pairs.take(rival),
                (_, None) => {}
            }
        }
        if round > 0 {
            pairs.ours.push(taken[0]);
            pairs.rival.extend(rival.is_some().then_some(taken[1]));
        }
    }
    pairs
}

impl Pairs {
    fn take(&mut self, side: &mut Side<'_>) -> f64 {
        for _ in 1..TRIES.min(self.budget + 1) {
            let window = side();
            if !window.disturbed {
                return window.ns;
            }
            self.repeated += 1;
            self.budget -= 1;
        }
        let window = side();
        self.disturbed += usize::from(window.disturbed);
        window.ns
    }
}

/// Times that the kernel has taken the core from the calling thread; 0 where it does not say.
pub fn switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Runs `work`, which gives the time it measured, and says whether the core was taken meanwhile.
pub fn watched(work: impl FnOnce() -> f64) -> Window {
    let before = switches();
    let ns = work();
    Window { ns, disturbed: switches() != before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn calm(ns: f64) -> Window {
        Window { ns, disturbed: false }
    }

    #[test]
    fn sides_take_turns_and_the_first_round_does_not_count() {
        let order = RefCell::new(String::new());
        let mut times = 0.0;
        let mut ours: Side<'_> = Box::new(|| {
            order.borrow_mut().push('o');
            times += 1.0;
            calm(times)
        });
        let mut rival: Side<'_> = Box::new(|| {
            order.borrow_mut().push('r');
            calm(7.0)
        });
        let taken = pairs(3, &mut ours, Some(&mut rival));
        drop((ours, rival));
        assert_eq!(order.into_inner(), "orroorro");
        assert_eq!(taken.ours, [2.0, 3.0, 4.0]);
        assert_eq!(taken.rival, [7.0; 3]);
        assert_eq!((taken.repeated, taken.disturbed), (0, 0));
    }

    #[test]
    fn a_disturbed_window_is_repeated_but_not_for_ever() {
        let mut calls = 0;
        let mut ours: Side<'_> = Box::new(|| {
            calls += 1;
            Window { ns: f64::from(calls), disturbed: calls != 3 }
        });
        let mut taken = Pairs { budget: 2 * TRIES, ..Pairs::default() };
        assert_eq!(taken.take(&mut ours), 3.0);
        assert_eq!((taken.repeated, taken.disturbed), (2, 0));
        assert_eq!(taken.take(&mut ours), 3.0 + TRIES as f64);
        assert_eq!((taken.repeated, taken.disturbed), (2 + TRIES - 1, 1));
        let left = taken.budget;
        taken.take(&mut ours);
        assert_eq!((taken.budget, taken.repeated), (0, TRIES + 1 + left));
        taken.take(&mut ours);
        assert_eq!((taken.repeated, taken.disturbed), (TRIES + 1 + left, 3));
        assert_eq!(pairs(2, &mut ours, None).rival, [] as [f64; 0]);
    }

    #[test]
    fn the_kernel_says_how_often_it_took_the_core() {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.contains("nonvoluntary_ctxt_switches:"), "{status}");
        let before = switches();
        assert!(switches() >= before);
        assert_eq!(watched(|| 1.5).ns, 1.5);
    }
}
