//! What the catalogue says is held against the loader and the readers of arguments.

use super::{Sort, entries, entry};
use crate::load::Common;
use crate::ports;
use crate::prelude::*;
use crate::{Failure, Machine, Pipeline};
use corelane_runtime::stage::Args;
use corelane_runtime::stage::spec::KeyInfo;

stage! {
    /// Sends what is long elsewhere.
    pub(crate) struct Long {
        /// bytes
        over: u32 = 1514,
        /// where it goes
        to: Output,
    }
    subject { to }
    traits { sharing: Sharing::Exclusive }
}

impl Stage for Long {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, _: &mut StageContext) {
        for packet in burst.drain() {
            if packet.len() > self.over { out.send(self.to, packet) } else { out.next(packet) }
        }
    }
}

fn registry() -> Registry {
    Registry::standard().with::<Long>()
}

/// A whole description around one example.
fn around(entry: &super::Entry) -> String {
    let example = &entry.example;
    let (input, main) = match (entry.sort, entry.place) {
        (Sort::Port, _) => (example.clone(), "Rx(\"port\"), Tx(\"out\")".to_owned()),
        (_, place) if place.starts_with("first") => {
            ("Emulated()".to_owned(), format!("{example}, Tx(\"out\")"))
        }
        (_, place) if place.starts_with("last") => {
            ("Emulated()".to_owned(), format!("Rx(\"port\"), {example}"))
        }
        // It passes nothing on to a next stage, though it may stand in the middle of a chain for all its keys say.
        _ if entry.name == "Classify" => {
            ("Emulated()".to_owned(), format!("Rx(\"port\"), {example}"))
        }
        _ => ("Emulated()".to_owned(), format!("Rx(\"port\"), {example}, Tx(\"out\")")),
    };
    // It answers for the port's addresses.
    let input = match entry.name {
        "Neighbour" => "Emulated(mac: \"02:00:00:00:00:01\", addresses: [\"192.0.2.1/24\"])".into(),
        _ => input,
    };
    let outputs: String =
        entry.outputs.iter().map(|key| format!("\"{key}\": [Drop(\"{key}\")], ")).collect();
    let outputs =
        if entry.name == "Classify" { outputs + "\"to\": [Drop(\"to\")]" } else { outputs };
    let outputs = if entry.example.contains("to") { outputs } else { String::new() };
    let parts = if entry.name == "Use" { "parts: { \"part\": [Count] }, " } else { "" };
    format!(
        "Pipeline(name: \"e\", {parts}ports: {{ \"port\": {input}, \"out\": Emulated() }}, \
         chains: {{ \"main\": [{main}], {outputs} }})"
    )
}

#[test]
fn every_example_is_one_that_the_loader_takes() {
    let registry = registry();
    for entry in entries(&registry) {
        let text = around(&entry);
        let planned = Pipeline::parse(&text)
            .map_err(Failure::from)
            .and_then(|pipeline| pipeline.plan(&registry, &Machine::here()));
        if let Err(failure) = planned {
            panic!("{}: {failure}\n{text}", entry.name);
        }
    }
}

#[test]
fn ports_have_exactly_the_keys_that_are_listed() {
    let registry = registry();
    let ports: Vec<_> =
        entries(&registry).into_iter().filter(|entry| entry.sort == Sort::Port).collect();
    let known: Vec<&str> = ports::KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(ports.iter().map(|port| port.name).collect::<Vec<_>>(), known);
    for (port, kind) in ports.iter().zip(ports::KINDS) {
        assert_eq!(port.subject, kind.subject);
        let args = Args { text: "(qqqqqqqqqqqqqqq: 1)" };
        let errors =
            (kind.configure)(args, &crate::spec::Common::default()).err().expect("no such key");
        let message = &errors[0].message;
        let listed: Vec<&str> = port.keys.iter().map(|key| key.name).collect();
        let said = message.split('`').skip(3).step_by(2).collect::<Vec<_>>();
        assert_eq!(listed, said, "{}: {message}", port.name);
    }
}

#[test]
fn a_page_says_everything_of_a_stage_of_ones_own() {
    let long = entry(&registry(), "Long").expect("it is registered");
    let expected = "\
Long   Sends what is long elsewhere.

STANDS
  within a chain; packets go on to the next stage

KEYS
  over: whole number; default 1514
      bytes
  to: chain; must be given
      where it goes

SHORT
  Long(value) is Long(to: value)

OUTPUTS
  to

COPIES
  one owner; other cores reach it by a ring

EXAMPLE
  Long(\"to\")

KEYS OF EVERY STAGE
  name: text; default none
      what reports call it
  offload: Auto | SoftwareOnly | Require; default Auto
      whether a port may, may not or must do its work
  on_panic: Restart(max: .., window: ..) | Bypass | Drop | Stop; default Restart(max: 5, window: \"10s\")
      what is done about it when it panics
";
    assert_eq!(long.page(), expected);
}

#[test]
fn words_of_a_choice_have_their_meanings() {
    let entry = entry(&registry(), "ChecksumValidate").expect("it is there");
    let on_bad = entry.keys.iter().find(|key| key.name == "on_bad").expect("a key");
    let words: Vec<&str> = on_bad.words.iter().map(|word| word.word).collect();
    assert_eq!(words, ["Mark", "Drop", "Output"]);
    assert_eq!(on_bad.kind, "Mark | Drop | Output(\"chain\")");
    assert_eq!(entry.outputs, ["on_bad", "on_partial", "on_unverifiable", "on_zero6"]);
    assert!(entry.page().contains("      Drop: dropped; the reason is the first wrong kind"));
}

#[test]
fn a_name_that_is_not_there_has_a_near_one() {
    let error = entry(&registry(), "Emulate").expect_err("not there");
    assert!(error.to_string().contains("did you mean `Emulated`?"), "{error}");
}

#[test]
fn what_stands_in_chains_and_is_no_stage_has_its_own_keys_alone() {
    for (name, subject) in [("Ring", "name"), ("Use", "part")] {
        let entry = entry(&registry(), name).expect("it is there");
        assert_eq!((entry.sort, entry.subject), (Sort::Stage, Some(subject)));
        assert!(entry.common_keys.is_empty());
        assert_eq!(entry.keys[0].name, subject);
        assert!(!entry.page().contains("KEYS OF EVERY"), "{}", entry.page());
    }
}

#[test]
fn common_keys_are_those_of_the_loader() {
    let names = |keys: &[KeyInfo]| keys.iter().map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(names(super::STAGE_KEYS), Common::Stage.keys());
    assert_eq!(names(super::PORT_KEYS), Common::Port.keys());
}
