//! The key `tests`: a list of `Test(..)`, each read key by key, every mistake at its place.
//!
//! Frames are read in `frames`. Whether ports, records and counters are there is for [`crate::trial`].

use super::Loader;
use crate::error::instead;
use crate::spec::Word;
use crate::text::Span;
use crate::text::params::string_value;
use crate::text::tree::{Call, Field, Kind, Node};
use crate::trial::budget::{BYTES_MAX, FRAMES_MAX};
use crate::trial::spec::{At, CapsChoice, Expected, Sent, Test};
use corelane_stages::config::Nanoseconds;

const KEYS: [&str; 9] =
    ["name", "caps", "set", "send", "expect", "counters", "drops", "seed", "seeds"];
/// Orders of the simulator that one test may try.
const SEEDS_MAX: u64 = 10_000;
/// Tests of a file.
const TESTS_MAX: usize = 1000;

impl Loader {
    /// The tests of a file; `pipeline` is all of it.
    pub(super) fn tests(&mut self, node: &Node, pipeline: &Call) -> Vec<Test> {
        let Kind::List(nodes) = &node.kind else {
            self.expected(node, "tests", "a list of tests: [Test(name: \"..\", ..)]");
            return Vec::new();
        };
        if nodes.len() > TESTS_MAX {
            let message = format!("`tests` has {} entries; {TESTS_MAX} are possible", nodes.len());
            self.advise(node.span, "too-many-entries", message, "split the file");
        }
        let params = self.parameter_names(pipeline);
        let mut tests: Vec<Test> = Vec::new();
        for node in nodes.iter().take(TESTS_MAX) {
            let Some(test) = self.test(node, &params) else { continue };
            if tests.iter().any(|known| known.name.text == test.name.text) {
                let message = format!("there are two tests called `{}`", test.name.text);
                let help = Some("give each a name of its own: `--only` goes by it".to_owned());
                self.problems.error_at(test.name.span, "duplicate-name", message, help);
            }
            tests.push(test);
        }
        tests
    }

    /// Names of the parameters that the file has.
    fn parameter_names(&self, pipeline: &Call) -> Vec<String> {
        let field = pipeline.fields.iter().find(|field| self.slice(field.key) == "params");
        let Some(Kind::Map(entries)) = field.map(|field| &field.value.kind) else {
            return Vec::new();
        };
        entries.iter().filter_map(|(key, _)| string_value(self.slice(key.span))).collect()
    }

    fn test(&mut self, node: &Node, params: &[String]) -> Option<Test> {
        let (entry, _) = self.call(node, &[], "a test such as `Test(name: \"..\", ..)`")?;
        if entry.kind.text != "Test" {
            let message = format!("`tests` holds no `{}`", entry.kind.text);
            self.advise(entry.kind.span, "bad-value", message, "write `Test(name: \"..\", ..)`");
            return None;
        }
        if let Some(value) = entry.values.first() {
            let message = "`Test` takes no value without a key";
            self.advise(value.span, "mixed-arguments", message, "write `name: \"..\"`");
        }
        let mut test = Test {
            name: At { text: String::new(), span: self.text.origin(entry.kind.span) },
            caps: CapsChoice::AsWritten,
            sets: Vec::new(),
            send: Vec::new(),
            expect: Vec::new(),
            counters: Vec::new(),
            drops: None,
            seeds: 1,
            seed: 1,
        };
        for field in entry.fields.iter().filter(|field| field.value.is_sound()) {
            self.test_key(field, params, &mut test);
        }
        self.complete(&entry.fields, entry.kind.span, &test);
        Some(test)
    }

    fn test_key(&mut self, field: &Field, params: &[String], test: &mut Test) {
        let (key, value) = (self.slice(field.key).to_owned(), &field.value);
        match key.as_str() {
            "name" => test.name = self.name(value).map_or(test.name.clone(), |name| self.at(name)),
            "caps" => test.caps = self.test_caps(value),
            "set" => test.sets = self.test_sets(value, params),
            "send" => test.send = self.sends(value),
            "expect" => test.expect = self.expects(value),
            "counters" => test.counters = self.numbers(value, "counters", "a_to_b.Gro.merged"),
            "drops" => test.drops = Some(self.numbers(value, "drops", "bad_checksum")),
            "seed" => {
                let what = "a whole number from 0 to 18446744073709551615";
                test.seed = self.value(value, "seed", what).unwrap_or(1);
            }
            "seeds" => {
                let what = format!("a number of orders from 1 to {SEEDS_MAX}");
                let seeds = self.value::<u64>(value, "seeds", &what).unwrap_or(1);
                if !(1..=SEEDS_MAX).contains(&seeds) {
                    self.expected(value, "seeds", &what);
                }
                test.seeds = seeds.clamp(1, SEEDS_MAX);
            }
            unknown => {
                let message = format!("`Test` has no key `{unknown}`");
                let help = instead(unknown, KEYS);
                self.problems.error(&self.text, field.key, "unknown-key", message, help);
            }
        }
    }

    /// Says what a test lacks.
    fn complete(&mut self, fields: &[Field], at: Span, test: &Test) {
        let has = |key: &str| fields.iter().any(|field| self.slice(field.key) == key);
        // Named and empty a key says nothing either; that there are no drops is something.
        let says = |field: &Field| match self.slice(field.key) {
            "expect" | "counters" => !matches!(&field.value.kind, Kind::Map(all) if all.is_empty()),
            key => key == "drops",
        };
        let (named, sends, expects) = (has("name"), has("send"), fields.iter().any(says));
        let empty = fields.iter().find(|field| self.slice(field.key) == "send" && is_silent(field));
        if let Some(field) = empty {
            let message = "this test sends nothing, so nothing can happen in it";
            let help = "add frames: `send: { \"in\": [Frame([..])] }`";
            self.advise(field.value.span, "bad-value", message, help);
        }
        if !named {
            self.advise(at, "missing-key", "`Test` needs `name`", "add `name: \"..\"`");
        }
        if !sends {
            let help = "add `send: { \"in\": [Frame([..])] }`";
            self.advise(at, "missing-key", "`Test` needs `send`", help);
        }
        if !expects {
            let message = "this test expects nothing, so it cannot fail";
            self.advise(at, "missing-key", message, "add `expect: { \"out\": Same(\"in\") }`");
        }
        let frames = test.send.iter().flat_map(|(_, frames)| frames);
        let times = |sent: &Sent| sent.times as usize;
        let count: usize = frames.clone().map(times).sum();
        let bytes: usize = frames.map(|sent| times(sent) * sent.frame.bytes()).sum();
        if count > FRAMES_MAX || bytes > BYTES_MAX {
            let message = format!("this test sends {count} frames of {bytes} bytes together");
            let help = format!("{FRAMES_MAX} frames of {BYTES_MAX} bytes are possible");
            self.advise(at, "too-many-entries", message, help);
        }
    }

    /// A word with its place in the file.
    pub(super) fn at(&self, word: Word) -> At {
        At { text: word.text, span: self.text.origin(word.span) }
    }

    /// `Every`, `None`, `All`, or a list of cases.
    fn test_caps(&mut self, node: &Node) -> CapsChoice {
        let one = |text: &str| At { text: text.to_owned(), span: self.text.origin(node.span) };
        let what =
            "`None`, `All`, `Every`, or a list such as [\"none\", \"i40e-like\", \"a=mine.ron\"]";
        match (&node.kind, self.slice(node.span)) {
            (Kind::Call(_), "Every") => CapsChoice::Every,
            (Kind::Call(_), "None") => CapsChoice::These(vec![one("none")]),
            (Kind::Call(_), "All") => CapsChoice::These(vec![one("all")]),
            (Kind::Str, _) => {
                CapsChoice::These(self.name(node).map(|word| self.at(word)).into_iter().collect())
            }
            (Kind::List(nodes), _) if !nodes.is_empty() => {
                let words: Vec<Word> = nodes.iter().filter_map(|node| self.name(node)).collect();
                CapsChoice::These(words.into_iter().map(|word| self.at(word)).collect())
            }
            _ => {
                let near = crate::error::near(self.slice(node.span), ["None", "All", "Every"]);
                let help = near.map(|near| format!("did you mean `{near}`?"));
                self.expected_or(node, "caps", what, help);
                CapsChoice::AsWritten
            }
        }
    }

    /// Values of parameters, as they would be set on the command line.
    fn test_sets(&mut self, node: &Node, params: &[String]) -> Vec<(String, String)> {
        let mut sets = Vec::new();
        for (key, value) in self.entries(node, "set", "\"hold\": \"1ms\"") {
            let Some(name) = self.name(key) else { continue };
            if !params.contains(&name.text) {
                let message = format!("the file has no parameter `{}`", name.text);
                let help = instead(&name.text, params.iter().map(String::as_str));
                self.problems.error(&self.text, key.span, "bad-set", message, help);
                continue;
            }
            let written = self.slice(value.span);
            let text = match value.kind {
                Kind::Str => string_value(written).unwrap_or_default(),
                _ => written.to_owned(),
            };
            sets.push((name.text, text));
        }
        sets
    }

    /// Numbers by name.
    fn numbers(&mut self, node: &Node, key: &str, example: &str) -> Vec<(At, u64)> {
        let mut numbers = Vec::new();
        for (name, value) in self.entries(node, key, &format!("\"{example}\": 1")) {
            let Some(name) = self.name(name) else { continue };
            let what = "a whole number for each name";
            let Some(number) = self.value::<u64>(value, key, what) else { continue };
            numbers.push((self.at(name), number));
        }
        numbers
    }

    fn sends(&mut self, node: &Node) -> Vec<(At, Vec<Sent>)> {
        let mut sends = Vec::new();
        for (key, value) in self.entries(node, "send", "\"in\": [Frame([Eth(), ..])]") {
            let Some(port) = self.name(key) else { continue };
            let port = self.at(port);
            let frames = match &value.kind {
                Kind::List(nodes) => nodes.iter().filter_map(|node| self.sent(node)).collect(),
                Kind::Call(_) => self.sent(value).into_iter().collect(),
                _ => {
                    let what = "frames: [Frame([..])], or File(\"x.pcap\")";
                    self.expected(value, "send", what);
                    Vec::new()
                }
            };
            sends.push((port, frames));
        }
        sends
    }

    /// A frame to send, with its time or how often, if that is said.
    fn sent(&mut self, node: &Node) -> Option<Sent> {
        let name = match &node.kind {
            Kind::Call(Call { name: Some(name), .. }) => self.slice(*name).to_owned(),
            _ => String::new(),
        };
        let Kind::Call(call) = &node.kind else { return self.plain(node) };
        match (name.as_str(), call.values.as_slice()) {
            ("At", [time, frame]) if call.fields.is_empty() => {
                let time: Option<Nanoseconds> = self.value(time, "At", "a time such as \"10us\"");
                let sent = self.sent(frame)?;
                Some(Sent { at_ns: time?.0, ..sent })
            }
            ("Repeat", [times, frame]) if call.fields.is_empty() => {
                let most = FRAMES_MAX as u32;
                let times = self.number(times, "Repeat", "a number of frames", 1..=most);
                let sent = self.sent(frame)?;
                Some(Sent { times: sent.times.saturating_mul(times?), ..sent })
            }
            ("At", _) => {
                let help = "write `At(\"10us\", Frame([..]))`";
                self.advise(node.span, "bad-value", "`At` takes a time and a frame", help);
                None
            }
            ("Repeat", _) => {
                let help = "write `Repeat(10, Frame([..]))`";
                self.advise(node.span, "bad-value", "`Repeat` takes a number and a frame", help);
                None
            }
            _ => self.plain(node),
        }
    }

    fn plain(&mut self, node: &Node) -> Option<Sent> {
        let frame = self.frame(node, false)?;
        Some(Sent { at_ns: 0, times: 1, frame })
    }

    fn expects(&mut self, node: &Node) -> Vec<(At, Expected)> {
        let mut all = Vec::new();
        for (key, value) in self.entries(node, "expect", "\"out\": Same(\"in\")") {
            let Some(port) = self.name(key) else { continue };
            let port = self.at(port);
            if let Some(expected) = self.expects_of(value) {
                all.push((port, expected));
            }
        }
        all
    }

    fn expects_of(&mut self, node: &Node) -> Option<Expected> {
        let call = match &node.kind {
            Kind::List(nodes) => {
                return Some(Expected::These(self.wanted(nodes)));
            }
            Kind::Call(call) => call,
            _ => {
                self.no_expectation(node);
                return None;
            }
        };
        let name = call.name.map(|name| self.slice(name).to_owned()).unwrap_or_default();
        match (name.as_str(), call.values.as_slice()) {
            ("Same", [port]) => Some(Expected::Same(self.name(port).map(|port| self.at(port))?)),
            ("SameAsSet", [port]) => {
                Some(Expected::SameAsSet(self.name(port).map(|port| self.at(port))?))
            }
            ("AnyOrder", [Node { kind: Kind::List(nodes), .. }]) => {
                Some(Expected::AnyOrder(self.wanted(nodes)))
            }
            ("File", [_]) => self.frame(node, true).map(|frame| Expected::These(vec![frame])),
            _ => {
                self.no_expectation(node);
                None
            }
        }
    }

    fn wanted(&mut self, nodes: &[Node]) -> Vec<crate::trial::spec::FrameSpec> {
        nodes.iter().filter_map(|node| self.frame(node, true)).collect()
    }

    fn no_expectation(&mut self, node: &Node) {
        let what =
            "[Frame([..])], Same(\"in\"), SameAsSet(\"in\"), AnyOrder([..]) or File(\"x.pcap\")";
        self.expected(node, "expect", what);
    }
}

/// Whether no port stands under `send`; one with an empty list says that nothing comes in there.
fn is_silent(send: &Field) -> bool {
    matches!(&send.value.kind, Kind::Map(ports) if ports.is_empty())
}
