//! Classes of packets, and what is done with each at a port: one list for the plan and for the data path.
//!
//! A stage gives each packet a class, eight bits of facts. Its list of [`ClassNeed`]s says which bits ask for
//! which [`Need`]; [`needed`] is what a whole class asks for. The plan prints the needs of the list, the data path
//! looks into [`Actions`], which is the same list held against what is in force: the two cannot differ.

use super::{Caps, Need};

/// A need, and the classes that have it: those whose bits under `mask` are `is`.
#[derive(Clone, Copy, Debug)]
pub struct ClassNeed {
    /// Bits of a class that decide.
    pub mask: u8,
    /// What they are.
    pub is: u8,
    /// What such packets ask for.
    pub need: Need,
}

impl ClassNeed {
    /// Whether packets of this class have the need.
    pub fn concerns(&self, class: u8) -> bool {
        class & self.mask == self.is
    }
}

/// Everything a port must be able to do to be left packets of a class; `None`: no port is.
pub fn needed(list: &[ClassNeed], class: u8) -> Option<Caps> {
    let mut of_class = list.iter().filter(|entry| entry.concerns(class)).peekable();
    of_class.peek()?;
    of_class.try_fold(Caps::empty(), |sum, entry| Some(sum | entry.need.caps?))
}

/// How much of the work for a class a port takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// All of it.
    Left,
    /// Most of it: what spares it each need says ([`Need::instead`]).
    Spared,
    /// None.
    Here,
}

/// How much a port that can do `caps` takes over for a class; of one that nothing is asked for, none.
pub fn fit(list: &[ClassNeed], class: u8, caps: Caps) -> Fit {
    let needs = list.iter().filter(|entry| entry.concerns(class)).map(|entry| entry.need);
    let each = needs.map(|need| match (need.met_by(caps), need.spared_by(caps)) {
        (true, _) => Fit::Left,
        (false, true) => Fit::Spared,
        (false, false) => Fit::Here,
    });
    let worst = |one: Fit, other: Fit| if one as u8 > other as u8 { one } else { other };
    each.reduce(worst).unwrap_or(Fit::Here)
}

/// What is done with each class while some capabilities are in force.
#[derive(Clone, Debug)]
pub struct Actions<A> {
    caps: Caps,
    list: &'static [ClassNeed],
    decide: fn(class: u8, fit: Fit) -> A,
    actions: [A; 256],
}

impl<A: Copy> Actions<A> {
    /// Where a port can do `caps`. `decide` says what is done with a class of which the port takes over so much.
    pub fn new(
        list: &'static [ClassNeed],
        caps: Caps,
        decide: fn(class: u8, fit: Fit) -> A,
    ) -> Actions<A> {
        let action = |class| decide(class as u8, fit(list, class as u8, caps));
        Actions { caps, list, decide, actions: std::array::from_fn(action) }
    }

    /// Follows a change of what is in force.
    pub fn follow(&mut self, caps: Caps) {
        if self.caps != caps {
            *self = Actions::new(self.list, caps, self.decide);
        }
    }

    /// What is done with a class.
    #[inline]
    pub fn of(&self, class: u8) -> A {
        self.actions[usize::from(class)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::Looks;

    /// Of the fourth the port may do something as good, or spare most.
    const LIST: &[ClassNeed] = &[
        ClassNeed {
            mask: 1,
            is: 1,
            need: Need::exit("one", Looks::SUPER_TCP4, Some(Caps::TSO4), "cut"),
        },
        ClassNeed {
            mask: 2,
            is: 2,
            need: Need::exit("two", Looks::ECN, Some(Caps::TSO_ECN), "cut"),
        },
        ClassNeed { mask: 4, is: 4, need: Need::exit("three", Looks::FOREIGN, None, "nobody") },
        ClassNeed {
            mask: 8,
            is: 8,
            need: Need::exit("four", Looks::VXLAN, Some(Caps::TSO_VXLAN), "cut")
                .or_else(Caps::USO4)
                .or(Caps::GSO_PARTIAL, "most"),
        },
    ];

    #[test]
    fn a_class_needs_all_that_concerns_it_and_nothing_takes_what_asks_for_nothing() {
        assert_eq!(needed(LIST, 0), None);
        assert_eq!(needed(LIST, 1), Some(Caps::TSO4));
        assert_eq!(needed(LIST, 3), Some(Caps::TSO4 | Caps::TSO_ECN));
        assert_eq!(needed(LIST, 5), None);
    }

    #[test]
    fn actions_are_the_list_held_against_caps() {
        let mut actions = Actions::new(LIST, Caps::empty(), |_, fit| fit);
        assert!((0..=255).all(|class| actions.of(class) == Fit::Here));
        for caps in Caps::every_set() {
            actions.follow(caps);
            for class in 0..=255 {
                let plain = needed(LIST, class & 7).is_none_or(|needed| caps.contains(needed));
                let plain = plain && class & 4 == 0;
                let fourth = caps.contains(Caps::TSO_VXLAN) || caps.contains(Caps::USO4);
                let expected = match (class & 8 != 0, plain, class & 7 != 0) {
                    (_, false, _) | (false, _, false) => Fit::Here,
                    (true, true, _) if fourth => Fit::Left,
                    (true, true, _) if caps.contains(Caps::GSO_PARTIAL) => Fit::Spared,
                    (true, true, _) => Fit::Here,
                    (false, true, true) => Fit::Left,
                };
                assert_eq!(actions.of(class), expected, "{class} with {caps:?}");
            }
        }
    }
}
