//! Verdicts that say the same of different work, told in one row: `tcp, udp over ipv4, ipv6`.
//!
//! Two verdicts say the same where the work is done in the same place and their reasons differ in nothing but
//! the capabilities they name. The reason of the row is theirs, with all of those capabilities in it.

use crate::negotiate::{Verdict, Where};

/// Verdicts told together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) work: String,
    pub(super) place: Where,
    pub(super) reason: String,
    /// Their places in the list.
    pub(super) members: Vec<usize>,
}

/// In the order of the first of each.
pub(super) fn groups(verdicts: &[Verdict]) -> Vec<Group> {
    let mut alike: Vec<(Vec<usize>, Reason<'_>)> = Vec::new();
    for (number, verdict) in verdicts.iter().enumerate() {
        let reason = Reason::of(verdict);
        let same = |(members, known): &&mut (Vec<usize>, Reason<'_>)| {
            verdicts[members[0]].place == verdict.place && known.texts == reason.texts
        };
        match alike.iter_mut().find(same) {
            Some((members, known)) => {
                members.push(number);
                known.join(&reason);
            }
            None => alike.push((vec![number], reason)),
        }
    }
    let told = |(members, reason): (Vec<usize>, Reason<'_>)| {
        let works: Vec<&str> = members.iter().map(|&at| verdicts[at].work.as_str()).collect();
        let place = verdicts[members[0]].place;
        Group { work: together(&works), place, reason: reason.text(), members }
    };
    alike.into_iter().map(told).collect()
}

/// A reason, taken apart at the lists of capabilities in it.
struct Reason<'a> {
    /// What stands before each list, and behind the last.
    texts: Vec<&'a str>,
    /// The lists.
    lists: Vec<Vec<&'a str>>,
}

impl<'a> Reason<'a> {
    fn of(verdict: &'a Verdict) -> Reason<'a> {
        let text = verdict.reason.as_str();
        let (mut texts, mut lists): (Vec<&str>, Vec<Vec<&str>>) = (Vec::new(), Vec::new());
        let mut done = 0;
        for (start, word) in words(text) {
            if !verdict.asked.iter().any(|asked| asked.capability == word) {
                continue;
            }
            let between = text.get(done..start).unwrap_or_default();
            match lists.last_mut().filter(|_| between == ", ") {
                Some(list) => list.push(word),
                None => {
                    texts.push(between);
                    lists.push(vec![word]);
                }
            }
            done = start + word.len();
        }
        texts.push(text.get(done..).unwrap_or_default());
        Reason { texts, lists }
    }

    /// Takes over the capabilities of another with the same texts.
    fn join(&mut self, other: &Reason<'a>) {
        for (list, more) in self.lists.iter_mut().zip(&other.lists) {
            for word in more {
                if !list.contains(word) {
                    list.push(word);
                }
            }
        }
    }

    fn text(&self) -> String {
        let lists = self.lists.iter().map(|list| list.join(", ")).chain([String::new()]);
        self.texts.iter().zip(lists).map(|(text, list)| format!("{text}{list}")).collect()
    }
}

/// The words of a text that could be capabilities, and where they stand. What a port said is in quotes, and is
/// left as it is.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut at, mut quoted) = (0, false);
    text.split(move |c| !inside(c)).filter_map(move |word| {
        // `at` is behind the sign that ended the word before, the first word aside.
        let start = at;
        let end = start + word.len();
        let sign = text.get(end..)?.chars().next();
        at = end + sign.map_or(0, char::len_utf8);
        let said = quoted;
        quoted ^= sign == Some('"');
        (!word.is_empty() && !said).then_some((start, word))
    })
}

/// `tcp over ipv4`, `tcp over ipv6`, `udp over ipv4`, `udp over ipv6`: `tcp, udp over ipv4, ipv6`. Behind them come
/// those that are over nothing.
pub(super) fn together(works: &[&str]) -> String {
    let mut plain: Vec<&str> = Vec::new();
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for work in works {
        match work.split_once(" over ") {
            None => plain.push(work),
            Some((upper, lower)) => match rows.iter_mut().find(|(known, _)| *known == upper) {
                Some((_, lowers)) => lowers.push(lower),
                None => rows.push((upper, vec![lower])),
            },
        }
    }
    let mut merged: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (upper, lowers) in rows {
        match merged.iter_mut().find(|(_, known)| *known == lowers) {
            Some((uppers, _)) => uppers.push(upper),
            None => merged.push((vec![upper], lowers)),
        }
    }
    let over = |(uppers, lowers): &(Vec<&str>, Vec<&str>)| {
        format!("{} over {}", uppers.join(", "), lowers.join(", "))
    };
    // Where a name has a comma itself another sign must stand between names.
    let between = if plain.iter().any(|work| work.contains(',')) { "; " } else { ", " };
    let plain = (!plain.is_empty()).then(|| plain.join(between));
    merged.iter().map(over).chain(plain).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiate::Asked;

    fn verdict(work: &str, place: Where, capabilities: &[&str], reason: &str) -> Verdict {
        let asked = capabilities.iter().map(|capability| Asked {
            port: "out".into(),
            capability: (*capability).into(),
            answer: "yes",
            why: None,
        });
        let asked = asked.collect();
        Verdict { work: work.into(), place, asked, software: String::new(), reason: reason.into() }
    }

    #[test]
    fn what_differs_in_the_capability_only_is_one_row() {
        let hardware =
            |work, cap: &str| verdict(work, Where::Hardware, &[cap], &format!("out: {cap} = Yes"));
        let all = [
            hardware("tcp over ipv4", "tx_tcp4"),
            hardware("tcp over ipv6", "tx_tcp6"),
            verdict("sctp", Where::Software, &["tx_sctp"], "out: tx_sctp = Yes"),
            hardware("udp over ipv4", "tx_udp4"),
            hardware("udp over ipv6", "tx_udp6"),
        ];
        let groups = groups(&all);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].work, "tcp, udp over ipv4, ipv6");
        assert_eq!(groups[0].reason, "out: tx_tcp4, tx_tcp6, tx_udp4, tx_udp6 = Yes");
        assert_eq!(groups[1].reason, "out: tx_sctp = Yes");
    }

    #[test]
    fn a_reason_that_is_another_stays_apart() {
        let all = [
            verdict("a", Where::Software, &["tso4"], "out: tso4 = No (\"too old\")"),
            verdict("b", Where::Software, &["tso6"], "out: tso6 = No (\"broken\")"),
            verdict("c", Where::Software, &["tso6", "multi_part"], "out: tso6, multi_part = No"),
        ];
        let groups = groups(&all);
        assert_eq!(groups.iter().map(|g| g.work.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(groups[2].reason, "out: tso6, multi_part = No");
    }

    #[test]
    fn what_a_port_said_is_left_as_it_is() {
        let why = |cap: &str, said: &str| format!("é: {cap} = No (\"not without {said}\"); here");
        let all = [
            verdict("a", Where::Software, &["tso4", "tso6"], &why("tso4", "tso6")),
            verdict("b", Where::Software, &["tso4", "tso6"], &why("tso6", "tso4")),
            verdict("c", Where::Software, &["tso4", "tso6"], &why("tso6", "tso6")),
        ];
        let groups = groups(&all);
        let told: Vec<(&str, &str)> =
            groups.iter().map(|group| (group.work.as_str(), group.reason.as_str())).collect();
        let both = why("tso4, tso6", "tso6");
        assert_eq!(told, [("a, c", both.as_str()), ("b", &why("tso6", "tso4"))]);
    }

    #[test]
    fn works_are_told_together_only_where_every_pair_is_there() {
        assert_eq!(together(&["tcp over ipv4", "udp over ipv6"]), "tcp over ipv4; udp over ipv6");
        assert_eq!(
            together(&["ipv4", "tcp over ipv4", "udp over ipv4"]),
            "tcp, udp over ipv4; ipv4"
        );
        assert_eq!(together(&["a, b", "c"]), "a, b; c");
        assert_eq!(together(&[""]), "");
    }
}
