//! One declaration of every kind of thing, and what comes of it.

use super::{Hex, Output, OutputNames};
use crate::config::{Bytes, Nanoseconds};
use crate::{choice, stage};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Declared, OutputId, Outputs, Registry, Sharing, Stage,
    StageContext,
};
use corelane_runtime::testing::Harness;
use std::ops::RangeInclusive;

choice! {
    /// What to do.
    #[derive(Copy)]
    enum Way {
        /// goes on
        Pass,
        Output(Output),
    }
}

stage! {
    /// Does everything
    /// a stage can.
    ///
    /// And says more.
    ///
    /// - a list
    struct Everything {
        /// 4 bytes
        key: Hex<4>,
        /// how many
        /// there are
        count: u16 = 7,
        hold: Nanoseconds = "50us",
        size: Option<Bytes> = None,
        ports: RangeInclusive<u16> = 1..=9,
        list: Vec<u8> = [1, 2],
        flag: bool = true,
        /// what to do
        way: Way = Pass,
        /// where else to go
        other: Output,
        more: Vec<Output> = [],
    }
    counters { BYTES, /** all of them */ PACKETS_SEEN }
    drops { REPLAY }
    subject { other }
    state { seen: u64 = 3, list_of: Vec<u64> = vec![1] }
    given { hash: u64 = |ctx| ctx.hash_key() }
    traits { edits_payload, holds: 64, sharing: Sharing::Exclusive }
}

impl Everything {
    fn check(&self) -> Result<(), ConfigError> {
        match self.count {
            0 => Err(ConfigError::at("count", "0 are too few; write at least 1")),
            _ => Ok(()),
        }
    }

    fn traits(&self, traits: &mut Traits) {
        traits.adds = self.count.into();
    }

    /// All that nothing here depends on.
    fn rest(&self) -> impl std::fmt::Debug {
        (self.key, self.hold, self.size, self.ports.clone(), self.list.clone(), self.flag)
    }
}

impl Stage for Everything {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.seen += 1;
            assert!(format!("{:?}", self.rest()).starts_with("(0aff0010, "));
            ctx.count(Self::PACKETS_SEEN, self.seen + self.hash + self.list_of[0]);
            ctx.count(Self::BYTES, packet.len().into());
            match (packet.len(), self.way) {
                (0, _) => ctx.drop(packet, Self::REPLAY),
                (1, Way::Output(output)) => out.send(output, packet),
                (2, _) => out.send(self.other, packet),
                (3, _) => out.send(self.more[0], packet),
                _ => out.next(packet),
            }
        }
    }
}

stage! {
    /// Ends a chain in two others.
    struct Fork { left: Output, right: Output }
    role { Sink }
}

impl Stage for Fork {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            out.send(if packet.len() < 10 { self.left } else { self.right }, packet);
        }
    }
}

const ARGUMENTS: &str =
    r#"(more: ["third", "fourth"], other: "second", way: Output("first"), key: "0aFF0010")"#;

struct Place;
impl BuildContext for Place {
    fn open_rx(
        &mut self,
        _: &str,
    ) -> Result<Box<dyn corelane_runtime::port::RxQueue>, corelane_runtime::Error> {
        panic!("it has no port")
    }
    fn open_tx(
        &mut self,
        _: &str,
    ) -> Result<Box<dyn corelane_runtime::port::TxQueue>, corelane_runtime::Error> {
        panic!("it has no port")
    }
    fn port_caps(&self, _: &str) -> Option<std::sync::Arc<corelane_runtime::offload::PortCaps>> {
        None
    }
    fn exit_caps(&self) -> Option<std::sync::Arc<corelane_runtime::offload::PortCaps>> {
        None
    }
    fn port_number(&self, _: &str) -> u16 {
        0
    }
    fn hash_key(&self) -> u64 {
        1000
    }
}

fn errors<S: Declared>(text: &str) -> Vec<(String, String)> {
    let errors = S::spec().configure(Args { text }).err().expect("a mistake");
    errors.into_iter().map(|error| (error.key.unwrap_or_default(), error.message)).collect()
}

#[test]
fn the_catalogue_says_what_is_written() {
    let spec = Everything::spec();
    let info = spec.info();
    assert_eq!((info.name, info.summary), ("Everything", "Does everything a stage can."));
    assert_eq!(spec.doc(), "And says more.\n\n- a list");
    assert_eq!((info.role, info.subject), (Role::Middle, Some("other")));
    assert_eq!(info.drop_reasons, ["replay"]);
    assert_eq!(info.counters, ["bytes", "packets_seen"]);
    let keys: Vec<_> =
        info.keys.iter().map(|key| (key.name, key.kind, key.default, key.doc)).collect();
    let expected = [
        ("key", "4 bytes in hex", None, "4 bytes"),
        ("count", "whole number up to 65535", Some("7"), "how many there are"),
        ("hold", "time", Some("\"50us\""), ""),
        ("size", "size", Some("none"), ""),
        ("ports", "range such as 1..=9", Some("1..=9"), ""),
        ("list", "list of: whole number up to 255", Some("[1, 2]"), ""),
        ("flag", "true | false", Some("true"), ""),
        ("way", "Pass | Output(\"chain\")", Some("Pass"), "what to do"),
        ("other", "chain", None, "where else to go"),
        ("more", "list of: chain", Some("[]"), ""),
    ];
    assert_eq!(keys, expected);
    assert_eq!(spec.example(), "Everything(key: \"00010203\", other: \"other\")");
    let said: Vec<_> = spec.choices().iter().map(|c| (c.key, c.word, c.doc)).collect();
    assert_eq!(said, [("way", "Pass", "goes on")]);
    // The same kind, and no copy of it.
    assert!(std::ptr::eq(info, Everything::spec().info()));
}

#[test]
fn outputs_are_numbered_in_the_order_of_the_keys() {
    let config = Everything::spec().configure(Args { text: ARGUMENTS }).expect("sound");
    let traits = config.traits();
    let outputs: Vec<_> =
        traits.outputs.iter().map(|(key, chain)| (key.as_str(), chain.as_str())).collect();
    let expected = [("way", "first"), ("other", "second"), ("more", "third"), ("more", "fourth")];
    assert_eq!(outputs, expected);
    assert!(traits.edits_payload && traits.holds == 64 && traits.adds == 7);
    assert_eq!(traits.sharing, Sharing::Exclusive);
    let mut harness = harness(&*config);
    let packets: Vec<_> = (0..5).map(|len| harness.packet(&vec![0; len])).collect();
    harness.feed(packets, &[5]);
    for (output, len) in [(0, 4), (1, 1), (2, 2), (3, 3)] {
        let got = harness.take_from(output);
        assert_eq!(got.iter().map(|packet| packet.len()).collect::<Vec<_>>(), [len]);
        harness.release(got);
    }
    assert_eq!(harness.dropped("replay").packets, 1);
    // 4 + 5 + 6 + 7 + 8, and for each packet what the place and the state say.
    assert_eq!(harness.counter("packets_seen"), 30 + 5 * 1001);
    harness.finish();
}

fn harness(config: &dyn corelane_runtime::stage::StageConfig) -> Harness {
    let built = config.build(&mut Place).expect("built");
    Harness::built(built, Everything::spec().info()).outputs(5)
}

#[test]
fn every_copy_begins_afresh() {
    let config = Everything::spec().configure(Args { text: ARGUMENTS }).expect("sound");
    let Ok(Built::Stage(first, Some(again))) = config.build(&mut Place) else {
        panic!("it can be restarted")
    };
    for stage in [first, again(), again()] {
        let built = Built::Stage(stage, None);
        let mut harness = Harness::built(built, Everything::spec().info()).outputs(5);
        let packet = harness.packet(&[]);
        harness.feed([packet], &[1]);
        assert_eq!(harness.counter("packets_seen"), 1005);
        harness.finish();
    }
}

#[test]
fn a_stage_that_ends_its_chain_has_named_outputs_only() {
    let info = Fork::spec();
    assert_eq!(info.info().role, Role::Sink);
    let text = "(right: \"r\", left: \"l\")";
    let config = info.configure(Args { text }).expect("sound");
    assert_eq!(config.traits().outputs.len(), 2);
    let built = config.build(&mut Place).expect("built");
    let mut harness = Harness::built(built, info.info()).outputs(2);
    let packets = [harness.packet(&[0; 5]), harness.packet(&[0; 50])];
    harness.feed(packets, &[2]);
    for (output, len) in [(0, 5), (1, 50)] {
        let got = harness.take_from(output);
        assert_eq!((got.len(), got[0].len()), (1, len));
        harness.release(got);
    }
    harness.finish();
    let mut middle = OutputNames::new(1);
    assert_eq!(middle.of_key("to").add("a".into()), OutputId(1));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let found = errors::<Everything>("(kei: 1, count: 70000, flag: 1, way: Pas, ports: 9..=1)");
    let keys: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
    for key in ["kei", "count", "flag", "way", "ports", "key", "other"] {
        assert!(keys.contains(&key), "{key} in {found:#?}");
    }
    let message = |key: &str| {
        let found = found.iter().find(|(name, _)| name == key);
        found.map(|(_, message)| message.as_str()).unwrap_or_default()
    };
    assert_eq!(message("kei"), "there is no key `kei`; did you mean `key`?");
    assert_eq!(message("other"), "`other` must be given");
    assert_eq!(message("way"), "`Pas` cannot be written for `way`; did you mean `Pass`?");
    assert_eq!(message("ports"), "the range 9..=1 holds nothing; write 1..=9 for `ports`");
    assert_eq!(message("count"), "integer is out of bounds for `count`");
    assert_eq!(message("flag"), "expected boolean for `flag`");
}

#[test]
fn a_value_of_the_wrong_form_shows_the_right_one() {
    let message = |text: &str| errors::<Everything>(text)[0].1.clone();
    let rest = "other: \"a\"";
    assert_eq!(
        message(&format!("(key: \"0a0b\", {rest})")),
        "expected 8 hexadecimal digits, found 4 for `key`"
    );
    assert_eq!(
        message(&format!("(key: \"0a0b0c0g\", {rest})")),
        "`g` is no hexadecimal digit for `key`"
    );
    assert_eq!(
        message(&format!("(key: 5, {rest})")),
        "expected 4 bytes in hex, a string of 8 digits for `key`, found the unsigned integer `5`"
    );
    let count = message(&format!("(key: \"0a0b0c0d\", {rest}, count: 0)"));
    assert_eq!(count, "0 are too few; write at least 1");
}

#[test]
fn a_text_that_is_no_ron_is_one_mistake() {
    assert_eq!(errors::<Everything>("(key: \"0a0b0c0d\" other: \"a\")").len(), 1);
}

stage! {
    /// Has a default that is none.
    struct Careless { pub size: u8 = 300 }
}

impl Stage for Careless {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        burst.drain().filter(|packet| packet.len() > self.size.into()).for_each(|p| out.next(p));
    }
}

#[test]
#[should_panic(expected = "stage `Careless` declares the default 300 for `size`")]
fn a_default_that_is_no_value_of_its_key_is_found_when_the_stage_is_registered() {
    let _ = Registry::new().with::<Careless>();
}

#[test]
fn a_range_within_a_text_is_a_text() {
    let spec = crate::drop::Drop::spec();
    let config = spec.configure(Args { text: "(label: \"1..=2 \\\" 3..=4\" /* 5..=6 */)" });
    let label = config.expect("sound").traits().label;
    assert_eq!(label.as_deref(), Some("1..=2 \" 3..=4"));
}
