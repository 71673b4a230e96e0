//! Whether a `tests:` block makes sense beside the rest of its file: the names of ports and records that it says,
//! and, once there is a plan, what it wants counted.
//!
//! The shape of the block was checked when it was read. Opens nothing but the records that are named.

use super::cases::{assignments, caps_word};
use super::counters::Names;
use super::spec::{At, CapsChoice, Expected, Test};
use crate::error::{Collector, instead};
use crate::place::Plan;
use crate::ports;
use crate::spec::Description;
use corelane_runtime::stage::spec::Role;

/// Checks names of ports and records.
pub(crate) fn names(description: &Description, problems: &mut Collector) {
    let mut ports: Vec<&str> =
        description.ports.iter().map(|port| port.name.text.as_str()).collect();
    ports.extend(description.unknown.ports.iter().map(String::as_str));
    for test in &description.tests {
        let send = test.send.iter().map(|(port, _)| port);
        for port in send.chain(test.expect.iter().map(|(port, _)| port)) {
            port_exists(port, &ports, problems);
        }
        for (_, expected) in &test.expect {
            let (Expected::Same(from) | Expected::SameAsSet(from)) = expected else { continue };
            if !test.send.iter().any(|(port, _)| port.text == from.text) {
                let message = format!("this test sends nothing to port `{}`", from.text);
                let help =
                    instead(&from.text, test.send.iter().map(|(port, _)| port.text.as_str()));
                problems.error_at(from.span, "no-such-port", message, help);
            }
        }
        if let CapsChoice::These(words) = &test.caps {
            words.iter().for_each(|word| records(word, &ports, problems));
        }
    }
}

fn port_exists(port: &At, ports: &[&str], problems: &mut Collector) {
    if !ports.contains(&port.text.as_str()) {
        let message = format!("the test names port `{}`, which is not there", port.text);
        let help = instead(&port.text, ports.iter().copied());
        problems.error_at(port.span, "no-such-port", message, help);
    }
}

/// The ports and records of a case.
fn records(word: &At, ports: &[&str], problems: &mut Collector) {
    for (port, record) in assignments(&word.text) {
        if let Some(port) = port {
            port_exists(&At { text: port.to_owned(), span: word.span }, ports, problems);
        }
        let folder = problems.folder(word.span).to_owned();
        if let Err(message) = ports::record(&caps_word(record), &folder) {
            problems.error_at(word.span, "bad-value", format!("`caps`: {message}"), None);
        }
    }
}

/// Checks what needs the plan: counters, reasons of drops, and which way packets go on ports.
pub(crate) fn against(plan: &Plan, tests: &[Test], problems: &mut Collector) {
    if tests.is_empty() {
        return;
    }
    let names = Names::of(plan);
    for test in tests {
        for (counter, _) in &test.counters {
            if let Err((message, help)) = names.find(&counter.text) {
                problems.error_at(counter.span, "unknown-counter", message, help);
            }
        }
        for (reason, _) in test.drops.iter().flatten() {
            if let Err((message, help)) = names.drop(&reason.text) {
                problems.error_at(reason.span, "unknown-reason", message, help);
            }
        }
        for (port, _) in &test.send {
            let help = format!("add `Rx(\"{}\")`, or send to another port", port.text);
            one_way(plan, port, Role::Source, ("no stage receives from", help), problems);
        }
        for (port, expected) in &test.expect {
            if matches!(expected, Expected::These(frames) if frames.is_empty()) {
                continue; // that nothing leaves is true then
            }
            let help = format!("add `Tx(\"{}\")`, or expect frames of another port", port.text);
            one_way(plan, port, Role::Sink, ("no stage sends to", help), problems);
        }
    }
}

fn one_way(
    plan: &Plan,
    port: &At,
    role: Role,
    (words, help): (&str, String),
    problems: &mut Collector,
) {
    let on_it = plan.stages.iter().filter(|stage| stage.traits.port.as_ref() == Some(&port.text));
    if !on_it.into_iter().any(|stage| stage.info.role == role) {
        let message = format!("{words} port `{}`", port.text);
        problems.error_at(port.span, "no-way", message, Some(help));
    }
}
