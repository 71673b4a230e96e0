//! What a port sent, held against what was expected of it.

use super::compare::Wanted;
use super::outcome::{Difference, FrameMismatch, LayerView};
use super::view;
use std::collections::BTreeMap;

/// What is expected of a port.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) wanted: Vec<Wanted>,
    /// Whether the order counts.
    pub(crate) ordered: bool,
    /// The frames that were sent, where it is clear which frame came of which.
    pub(crate) sent: Vec<Vec<u8>>,
}

/// A frame that is not as expected: its number, and that of the one that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    wanted: Option<usize>,
    received: Option<usize>,
}

impl Port {
    /// The first frame that is not as expected; `None`: all are.
    pub(crate) fn mismatch(&self, received: &[Vec<u8>]) -> Option<FrameMismatch> {
        let pairs = match self.ordered {
            true => self.in_order(received),
            false => self.in_any_order(received),
        };
        let first = *pairs.first()?;
        let wanted = first.wanted.and_then(|at| self.wanted.get(at));
        let frame = first.received.and_then(|at| received.get(at)).map(Vec::as_slice);
        let difference = wanted.zip(frame).and_then(|(wanted, frame)| wanted.difference(frame));
        let at = first.received.or(first.wanted).unwrap_or(0);
        let focus = difference.as_ref().map(|difference| difference.byte);
        let kinds = wanted.map(Wanted::kinds).unwrap_or_default();
        let place = first.wanted.or(first.received).unwrap_or(0);
        let sent = self.sent.get(place).map(|sent| view::of_frame(sent, &[], focus));
        Some(FrameMismatch {
            port: self.name.clone(),
            frame: at + 1,
            frames_expected: self.wanted.len(),
            frames_received: received.len(),
            first: difference,
            more: pairs.len() - 1,
            sent,
            expected: wanted.map(|wanted| wanted.view(focus)),
            received: frame.map(|frame| -> Vec<LayerView> { view::of_frame(frame, &kinds, focus) }),
            received_hex: frame.map(view::hex),
        })
    }

    fn in_order(&self, received: &[Vec<u8>]) -> Vec<Pair> {
        let differs = |at: usize| match (self.wanted.get(at), received.get(at)) {
            (Some(wanted), Some(frame)) => wanted.difference(frame).is_some(),
            _ => true,
        };
        let there = |at: usize, len: usize| (at < len).then_some(at);
        (0..self.wanted.len().max(received.len()))
            .filter(|at| differs(*at))
            .map(|at| Pair {
                wanted: there(at, self.wanted.len()),
                received: there(at, received.len()),
            })
            .collect()
    }

    /// What is left on both sides when as many as possible have found each other.
    fn in_any_order(&self, received: &[Vec<u8>]) -> Vec<Pair> {
        let partners = match self.wanted.iter().all(|wanted| matches!(wanted, Wanted::Exactly(_))) {
            true => self.same_bytes(received),
            false => self.most_pairs(received),
        };
        let taken: Vec<usize> = partners.iter().flatten().copied().collect();
        let mut free = (0..received.len()).filter(|at| !taken.contains(at));
        let lonely = (0..self.wanted.len()).filter(|at| partners[*at].is_none());
        let mut pairs: Vec<Pair> =
            lonely.map(|at| Pair { wanted: Some(at), received: free.next() }).collect();
        pairs.extend(free.map(|at| Pair { wanted: None, received: Some(at) }));
        pairs
    }

    /// For each that is expected whole a frame with the same bytes.
    fn same_bytes(&self, received: &[Vec<u8>]) -> Vec<Option<usize>> {
        let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (at, frame) in received.iter().enumerate().rev() {
            places.entry(frame).or_default().push(at);
        }
        let mut place = |wanted: &Wanted| match wanted {
            Wanted::Exactly(frame) => places.get_mut(frame.as_slice())?.pop(),
            Wanted::Like(_) => None,
        };
        self.wanted.iter().map(&mut place).collect()
    }

    /// A largest set of pairs, by ways along which one more can be had (the algorithm of Kuhn).
    fn most_pairs(&self, received: &[Vec<u8>]) -> Vec<Option<usize>> {
        let fits: Vec<Vec<usize>> = self
            .wanted
            .iter()
            .map(|wanted| {
                let fits = |at: &usize| wanted.difference(&received[*at]).is_none();
                (0..received.len()).filter(fits).collect()
            })
            .collect();
        let mut owner: Vec<Option<usize>> = vec![None; received.len()];
        for wanted in 0..self.wanted.len() {
            let mut tried = vec![false; received.len()];
            find_partner(wanted, &fits, &mut owner, &mut tried);
        }
        let partner = |wanted: usize| owner.iter().position(|owner| *owner == Some(wanted));
        (0..self.wanted.len()).map(partner).collect()
    }
}

/// Finds a frame for `wanted`, if need be by finding its present owner another.
fn find_partner(
    wanted: usize,
    fits: &[Vec<usize>],
    owner: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for &frame in &fits[wanted] {
        if std::mem::replace(&mut tried[frame], true) {
            continue;
        }
        let is_free = match owner[frame] {
            None => true,
            Some(other) => find_partner(other, fits, owner, tried),
        };
        if is_free {
            owner[frame] = Some(wanted);
            return true;
        }
    }
    false
}

impl Difference {
    /// Header and field, as people name them.
    pub fn place(&self) -> String {
        match &self.field {
            Some(field) => format!("{}.{field}", self.layer),
            None => self.layer.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(wanted: &[&[u8]], ordered: bool) -> Port {
        let wanted = wanted.iter().map(|frame| Wanted::Exactly(frame.to_vec())).collect();
        Port { name: "p".to_owned(), wanted, ordered, sent: Vec::new() }
    }

    fn frames(frames: &[&[u8]]) -> Vec<Vec<u8>> {
        frames.iter().map(|frame| frame.to_vec()).collect()
    }

    #[test]
    fn order_counts_where_it_is_to() {
        let received = frames(&[&[2; 20], &[1; 20]]);
        assert!(port(&[&[1; 20], &[2; 20]], false).mismatch(&received).is_none());
        let found = port(&[&[1; 20], &[2; 20]], true).mismatch(&received).unwrap();
        assert_eq!((found.frame, found.more, found.first.unwrap().byte), (1, 1, 0));
    }

    #[test]
    fn a_frame_too_many_and_one_too_few_are_told() {
        let found = port(&[&[1; 20]], true).mismatch(&frames(&[&[1; 20], &[2; 20]])).unwrap();
        assert_eq!((found.frame, found.frames_expected, found.frames_received), (2, 1, 2));
        assert!(found.first.is_none() && found.expected.is_none() && found.received.is_some());
        let found = port(&[&[1; 20], &[1; 20]], false).mismatch(&frames(&[&[1; 20]])).unwrap();
        assert_eq!((found.frame, found.frames_expected, found.frames_received), (2, 2, 1));
        assert!(found.expected.is_some() && found.received.is_none());
        assert!(port(&[], true).mismatch(&[]).is_none());
    }
}
