//! Every port on its own: is its kind known, are its arguments right, what can it do.

use super::entries::{arguments, report_misuse};
use super::{CheckedPort, Origin, later};
use crate::error::Collector;
use crate::load::{self, About, report};
use crate::ports::{self, PortConfig, PortKind};
use crate::spec::{Common, Description, PortEntry};
use crate::text::Mapped;
use crate::text::tree::Field;
use corelane_device::caps::Record;
use corelane_runtime::offload::Caps;
use corelane_runtime::stage::Args;

/// The ports; `None` where something was wrong.
pub(super) fn ports(
    description: &Description,
    problems: &mut Collector,
) -> Vec<Option<CheckedPort>> {
    description.ports.iter().map(|port| read(&description.text, port, problems)).collect()
}

fn read(text: &Mapped, port: &PortEntry, problems: &mut Collector) -> Option<CheckedPort> {
    let entry = &port.entry;
    let record = match &port.common.caps {
        Some(_) => record(text, &port.common, problems).map(Some),
        None => Some(None),
    };
    let Some(kind) = ports::kind(&entry.kind.text) else {
        unknown(text, port, problems);
        return None;
    };
    let mut common = port.common.clone();
    common.record = record.clone().flatten();
    let (config, arguments) = configure(text, port, kind, &common, problems)?;
    no_effect(text, port, config.ignores(), problems);
    no_mac(text, port, problems);
    if let (Some(why), Some(caps)) = (config.only_planned(), &port.common.caps) {
        let message = format!("port `{}` can be planned with, but not run: {why}", port.name.text);
        let help = Some("for a run take it off, or use an `Emulated` port".to_owned());
        problems.warning(text, caps.span, "plan-only", message, help);
    }
    let record = record?;
    Some(CheckedPort {
        // Of a record as far as this kind of port goes by it.
        facts: config.facts(),
        origin: match (record, config.goes_by()) {
            (Some(record), _) => Origin::Recorded(record.name),
            (None, Some(record)) => Origin::Recorded(record.to_owned()),
            (None, None) => Origin::Asked,
        },
        withheld: Caps::empty(),
        caps_at: port.common.caps.as_ref().map(|caps| text.origin(caps.span)),
        name: port.name.text.clone(),
        kind: entry.kind.text.clone(),
        arguments,
        config,
        common,
        span: text.origin(entry.kind.span),
    })
}

/// Who has addresses answers for them, and needs a link-layer address for that.
fn no_mac(text: &Mapped, port: &PortEntry, problems: &mut Collector) {
    let (Some(span), None) = (port.common.addresses_at, port.common.mac) else { return };
    let given = |field: &Field| text.text().get(field.key.range()) == Some("mac");
    // One that could not be read is told already.
    if port.common.addresses.is_empty() || port.common_fields.iter().any(given) {
        return;
    }
    let name = &port.name.text;
    let message = format!(
        "port `{name}` has addresses, but `{}` has no mac of its own",
        port.entry.kind.text
    );
    let help = "add one to answer and to send by: `mac: \"02:00:00:00:00:01\"`".to_owned();
    problems.error(text, span, "no-mac", message, Some(help));
}

/// Keys that this kind of port can do nothing with. Of one that was put in another's place only its own: the
/// common keys of the other stay, and are meant for that.
fn no_effect(text: &Mapped, port: &PortEntry, ignored: &[(&str, &str)], problems: &mut Collector) {
    let kind = &port.entry.kind;
    let in_file = problems.line(text.origin(kind.span)).is_some();
    for field in &port.common_fields {
        let key = text.text().get(field.key.range()).unwrap_or_default();
        let Some((_, why)) = ignored.iter().find(|(ignored, _)| *ignored == key) else { continue };
        // A port with addresses answers from its own.
        if key == "mac" && !port.common.addresses.is_empty() {
            continue;
        }
        if problems.line(text.origin(field.key)).is_some() == in_file {
            let message = format!("`{key}` has no effect on `{}`: {why}", kind.text);
            let help = Some("leave it out".to_owned());
            problems.warning(text, field.key, "no-effect", message, help);
        }
    }
}

fn unknown(text: &Mapped, port: &PortEntry, problems: &mut Collector) {
    let (entry, name) = (&port.entry, &port.entry.kind.text);
    if let Some(subject) = later::port(name) {
        if later::first(problems, name) {
            let message = format!("kind of port `{name}` does not exist yet in this version");
            let kinds: Vec<String> =
                ports::KINDS.iter().map(|kind| format!("`{}`", kind.name)).collect();
            let help = format!("there are {}", kinds.join(", "));
            problems.error(text, entry.kind.span, "not-yet", message, Some(help));
        }
        if let Some(misuse) = subject.and_then(|_| entry.misuse(subject)) {
            report_misuse(text, entry, &misuse, subject, None, problems);
        }
        return;
    }
    let message = format!("no kind of port is called `{name}`");
    let help = later::instead_of_port(name, ports::KINDS.iter().map(|kind| kind.name));
    problems.error(text, entry.kind.span, "unknown-port-kind", message, help);
}

/// A message, and the advice in it: a name that is near, or what stands behind a semicolon.
fn advice(message: &str) -> (String, Option<String>) {
    if let Some((before, rest)) = message.split_once("did you mean `")
        && let Some((near, _)) = rest.split_once("`?")
    {
        let before = before.trim_end_matches([' ', ':', ';', '(']);
        return (before.to_owned(), Some(format!("did you mean `{near}`?")));
    }
    match message.split_once("; ") {
        Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
        None => (message.to_owned(), None),
    }
}

/// What the key `caps` says.
fn record(text: &Mapped, common: &Common, problems: &mut Collector) -> Option<Record> {
    let caps = common.caps.as_ref()?;
    match ports::record(&caps.text, problems.folder(text.origin(caps.span))) {
        Ok(record) => Some(record),
        Err(message) => {
            let (message, help) = advice(&message);
            problems.error(text, caps.span, "bad-value", format!("`caps`: {message}"), help);
            None
        }
    }
}

/// A port and its arguments; what has no value is left out, to find what else is wrong.
fn configure(
    text: &Mapped,
    port: &PortEntry,
    kind: &PortKind,
    common: &Common,
    problems: &mut Collector,
) -> Option<(Box<dyn PortConfig>, String)> {
    let entry = &port.entry;
    if !entry.values.iter().all(|value| value.is_sound()) {
        return None; // its brackets may be wrong
    }
    let (sound, left_out) = entry.without(text, kind.subject, &[]);
    let args = arguments(text, &sound, kind.subject, None, problems)?;
    match (kind.configure)(Args { text: args.text() }, common) {
        Ok(config) if left_out.is_empty() => Some((config, args.text().to_owned())),
        Ok(_) => None,
        Err(mut errors) => {
            // Whoever says that a key is missing does not see what was left out.
            let missing =
                |key: &Option<String>| left_out.iter().any(|left| Some(left) == key.as_ref());
            errors.retain(|error| left_out.is_empty() || !missing(&error.key));
            let what = format!("`{}`", entry.kind.text);
            // What is wrong with a common key is shown where that stands.
            errors.retain(|error| {
                let is_key =
                    |field: &&Field| text.text().get(field.key.range()) == error.key.as_deref();
                let Some(field) = port.common_fields.iter().find(is_key) else { return true };
                let (message, help) = advice(&error.message);
                let message = format!("{what}: {message}");
                problems.error(text, field.value.span, "bad-value", message, help);
                false
            });
            let about = About::new(&what, entry.span, &[]).with_common(load::Common::Port);
            report(problems, text, &args, &about, errors);
            None
        }
    }
}
