//! Tests of tests: what passes, what fails and where, and that a stage that does wrong is caught.

use super::{Mismatch, Outcome, Selection};
use crate::{Failure, Pipeline, Registry};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};
use corelane_stages::stage;

stage! {
    /// Turns a bit of every packet over, at this byte, and says nothing.
    struct Mutant {
        /// which byte
        at: u32,
    }
    subject { at }
}

impl Stage for Mutant {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            let byte = packet.data_mut().and_then(|data| data.get_mut(self.at as usize));
            byte.into_iter().for_each(|byte| *byte ^= 1);
            out.next(packet);
        }
    }
}

fn registry() -> Registry {
    crate::fixture::registry().with::<Mutant>()
}

/// From `in` to `out` through these stages, with one test.
fn text(stages: &str, test: &str) -> String {
    format!(
        "Pipeline(name: \"t\", ports: {{ \"in\": Emulated, \"out\": Emulated }},
         chains: {{ \"main\": [Rx(\"in\"), {stages} Tx(\"out\")] }},
         tests: [Test(name: \"x\", {test})])"
    )
}

fn run(stages: &str, test: &str) -> Vec<Outcome> {
    let text = text(stages, test);
    let pipeline = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(pipeline.tests(), ["x"]);
    pipeline.run_tests(&registry()).unwrap_or_else(|failure| panic!("{failure}"))
}

#[track_caller]
fn assert_passes(stages: &str, test: &str) {
    for outcome in run(stages, test) {
        assert!(outcome.passed, "{outcome}");
    }
}

/// Byte, layer and field of the only mismatch of the only case.
#[track_caller]
fn place(stages: &str, test: &str) -> (usize, String, Option<String>) {
    let outcomes = run(stages, test);
    let [outcome] = &outcomes[..] else { panic!("{} cases", outcomes.len()) };
    let [Mismatch::Frame(frame)] = &outcome.mismatches[..] else { panic!("{outcome}") };
    let first = frame.first.clone().unwrap_or_else(|| panic!("{outcome}"));
    (first.byte, first.layer, first.field)
}

const TCP: &str = "send: { \"in\": [Frame([Eth(), Ipv4(), Tcp(), Payload(100)])] }, ";
const SAME: &str = "expect: { \"out\": Same(\"in\") }";

#[test]
fn a_mutant_is_caught_at_its_byte_under_every_capability() {
    for (at, layer, field) in [
        (5, "Eth", Some("dst")),
        (22, "Ipv4", Some("ttl")),
        (33, "Ipv4", Some("dst")),
        (47, "Tcp", Some("flags")),
        (54, "Payload", None),
    ] {
        let mutant = format!("Mutant({at}),");
        let found = place(&mutant, &format!("{TCP}{SAME}"));
        assert_eq!(found, (at, layer.to_owned(), field.map(str::to_owned)));
    }
    let outcomes = run("Mutant(22),", &format!("{TCP}{SAME}, caps: Every"));
    assert!(outcomes.len() > 20 && outcomes.iter().all(|outcome| !outcome.passed));
}

#[test]
fn what_is_not_written_is_not_compared() {
    let like = |frame: &str| format!("{TCP}expect: {{ \"out\": [Frame([{frame}])] }}");
    assert_passes("Mutant(22),", &like("Eth(), Ipv4(dst: \"198.51.100.2\"), Tcp()"));
    let found = place("Mutant(22),", &like("Eth(), Ipv4(checksum: Good)"));
    assert_eq!(found, (24, "Ipv4".to_owned(), Some("checksum".to_owned())));
    let found = place("", &like("Eth(), Ipv4(), Udp()"));
    assert_eq!(found, (34, "Udp".to_owned(), None));
    let found = place("", &like("Eth(), Ipv4(), Tcp(), Payload(101)"));
    assert_eq!(found, (154, "Payload".to_owned(), None));
}

#[test]
fn frames_come_at_their_times() {
    let two = |time: &str| {
        format!(
            "send: {{ \"in\": [Frame([Eth(), Ipv4(), Tcp(seq: 1), Payload(100)]),
                              At(\"{time}\", Frame([Eth(), Ipv4(), Tcp(seq: 101), Payload(100)]))] }},
             {SAME}, "
        )
    };
    let gro = "Gro(hold: \"50us\"),";
    assert_passes(gro, &(two("10us") + "counters: { \"main.Gro.merged\": 1 }"));
    assert_passes(gro, &(two("90us") + "counters: { \"main.Gro.merged\": 0 }"));
}

#[test]
fn order_is_compared_unless_it_is_not_to_be() {
    let frames = "send: { \"in\": [Frame([Eth(), Ipv4(), Udp(src: 1)]), Frame([Eth(), Ipv4(), Udp(src: 2)])] }, ";
    let wanted = "[Frame([Eth(), Ipv4(), Udp(src: 2)]), Frame([Eth(), Ipv4(), Udp(src: 1)])]";
    assert_passes("", &format!("{frames}expect: {{ \"out\": AnyOrder({wanted}) }}"));
    assert_passes("", &format!("{frames}expect: {{ \"out\": SameAsSet(\"in\") }}"));
    let found = place("", &format!("{frames}expect: {{ \"out\": {wanted} }}"));
    assert_eq!(found, (35, "Udp".to_owned(), Some("src".to_owned())));
}

#[test]
fn a_test_may_set_parameters_and_try_several_orders() {
    let text = text(
        "Gro(hold: \"$hold\"),",
        &format!("{TCP}{SAME}, set: {{ \"hold\": \"1ms\" }}, seeds: 5"),
    );
    let text = text.replace("name: \"t\",", "name: \"t\", params: { \"hold\": \"10us\" },");
    let pipeline = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let outcomes = pipeline.run_tests(&registry()).unwrap_or_else(|failure| panic!("{failure}"));
    let seeds: Vec<u64> = outcomes.iter().map(|outcome| outcome.seed).collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5]);
    assert!(outcomes.iter().all(|outcome| outcome.passed), "{}", outcomes[0]);
}

#[test]
fn what_is_wrong_whatever_ports_can_do_is_no_outcome() {
    let text = text("", &format!("{TCP}{SAME}, counters: {{ \"main.Gro.merged\": 1 }}"));
    let pipeline = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let failure =
        pipeline.run_tests(&registry()).map_or_else(|failure| failure, |_| panic!("it ran"));
    assert!(matches!(failure, Failure::Description(_)), "{failure}");
    let only = Selection { test: Some("y".to_owned()), ..Selection::default() };
    let ran = pipeline.run_tests_of(&registry(), &only, &mut |_| ());
    assert!(ran.is_err());
}

#[test]
fn a_lying_device_and_a_panic_are_told() {
    let outcomes = run("", &format!("{TCP}{SAME}, caps: [\"none\", \"lies\"], drops: {{}}"));
    assert!(outcomes[0].passed, "{}", outcomes[0]);
    let outcomes = run("Panics(1),", &format!("{TCP}{SAME}"));
    let told = outcomes[0].mismatches.iter().any(
        |mismatch| matches!(mismatch, Mismatch::Run { message } if message.contains("panicked")),
    );
    assert!(told, "{}", outcomes[0]);
}
