//! Under which capabilities a test is run, one case for each.
//!
//! `Every` is: none; all; each alone, with what it stands on; all but each, without what stands on it; and where
//! several ports take part, each of them with all while the others have none. What the emulated device has no
//! unit for makes no case.

use super::spec::{At, CapsChoice, Test};
use corelane_device::EmulatedConfig;
use corelane_runtime::offload::Caps;
use std::collections::BTreeSet;

/// Capabilities of ports, by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// As [`Selection::caps`](super::Selection::caps) takes it.
    pub(crate) name: String,
    /// For each port that is not as written: what its key `caps` would say.
    pub(crate) ports: Vec<(String, String)>,
}

/// The name of the case in which every port is as the file has it.
const AS_WRITTEN: &str = "as written";

/// The cases of a test. `ports` are those of the file.
pub(crate) fn cases(test: &Test, ports: &[String]) -> Vec<Case> {
    match &test.caps {
        CapsChoice::AsWritten => {
            vec![Case { name: AS_WRITTEN.to_owned(), ports: Vec::new() }]
        }
        CapsChoice::Every => every(&touched(test)),
        CapsChoice::These(words) => words.iter().map(|word| named(word, ports)).collect(),
    }
}

/// The ports that a test sends to or looks at.
fn touched(test: &Test) -> Vec<String> {
    let send = test.send.iter().map(|(port, _)| &port.text);
    let names = send.chain(test.expect.iter().map(|(port, _)| &port.text));
    names.cloned().collect::<BTreeSet<String>>().into_iter().collect()
}

fn every(ports: &[String]) -> Vec<Case> {
    let on_all = |name: String, caps: Caps| Case {
        name,
        ports: ports.iter().map(|port| (port.clone(), written(caps))).collect(),
    };
    let all = granted(Caps::asked());
    let mut cases = vec![on_all("none".to_owned(), Caps::empty()), on_all("all".to_owned(), all)];
    for bit in all.iter() {
        cases.push(on_all(format!("only {}", bit.names()), bit.with_implied()));
    }
    for bit in all.iter() {
        cases.push(on_all(format!("all but {}", bit.names()), (all - bit).without_orphans()));
    }
    for one in ports.iter().filter(|_| ports.len() > 1) {
        let caps = |port: &String| written(if port == one { all } else { Caps::empty() });
        let ports = ports.iter().map(|port| (port.clone(), caps(port))).collect();
        cases.push(Case { name: format!("all on {one}"), ports });
    }
    cases
}

/// What of these the emulated device can do.
fn granted(caps: Caps) -> Caps {
    EmulatedConfig { caps, ..EmulatedConfig::new("") }.facts().granted
}

/// Capabilities as the key `caps` of a port has them.
fn written(caps: Caps) -> String {
    let names: Vec<String> = caps.iter().map(|bit| format!("\"{}\"", bit.names())).collect();
    if names.is_empty() { "None".to_owned() } else { format!("[{}]", names.join(", ")) }
}

/// A case that the file names: for all ports, or for those it names.
fn named(word: &At, ports: &[String]) -> Case {
    let parts = assignments(&word.text);
    let all = parts.iter().filter(|(port, _)| port.is_none()).map(|(_, record)| *record);
    let mut known: Vec<(String, String)> = all
        .flat_map(|record| ports.iter().map(move |port| (port.clone(), caps_word(record))))
        .collect();
    for (port, record) in parts {
        let Some(port) = port else { continue };
        known.retain(|(known, _)| known != port);
        known.push((port.to_owned(), caps_word(record)));
    }
    Case { name: word.text.clone(), ports: known }
}

/// `record`, or `port=record`, several apart by commas.
pub(crate) fn assignments(text: &str) -> Vec<(Option<&str>, &str)> {
    let parts = text.split(',').map(str::trim);
    parts
        .map(|part| match part.split_once('=') {
            Some((port, record)) => (Some(port.trim()), record.trim()),
            None => (None, part),
        })
        .collect()
}

/// `none` and `all` are what others write as `None` and `All`.
pub(crate) fn caps_word(record: &str) -> String {
    match record {
        "none" => "None".to_owned(),
        "all" => "All".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports;
    use std::path::Path;

    fn names() -> Vec<String> {
        ["a", "b"].map(str::to_owned).to_vec()
    }

    #[test]
    fn every_case_is_a_record_that_grants_what_its_name_says() {
        let cases = every(&names());
        let all = granted(Caps::asked());
        assert_eq!(cases.len(), 2 + 2 * all.iter().count() + 2);
        let caps = |case: &Case, port: usize| {
            ports::record(&case.ports[port].1, Path::new("")).unwrap().facts.granted
        };
        for case in &cases {
            let granted = caps(case, 0);
            if let Some(bit) = case.name.strip_prefix("only ").and_then(Caps::named) {
                assert_eq!(granted, bit.with_implied(), "{}", case.name);
            }
            if let Some(bit) = case.name.strip_prefix("all but ").and_then(Caps::named) {
                assert_eq!(granted, (all - bit).without_orphans(), "{}", case.name);
            }
        }
        let last = cases.last().unwrap();
        assert_eq!(
            (last.name.as_str(), caps(last, 0), caps(last, 1)),
            ("all on b", Caps::empty(), all)
        );
    }

    #[test]
    fn a_case_names_one_port_or_all() {
        let case = |text: &str| {
            named(&At { text: text.to_owned(), span: crate::text::Span::default() }, &names()).ports
        };
        let pair = |port: &str, record: &str| (port.to_owned(), record.to_owned());
        assert_eq!(case("i40e-like"), [pair("a", "i40e-like"), pair("b", "i40e-like")]);
        assert_eq!(case("b=caps/mine.ron"), [pair("b", "caps/mine.ron")]);
        assert_eq!(case("all, b=none"), [pair("a", "All"), pair("b", "None")]);
    }
}
