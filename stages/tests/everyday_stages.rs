//! `Count`, `Drop`, and what all stages have in common: a name, documented keys, arguments that are checked.

use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role};
use corelane_runtime::stage::{Args, Built, ConfigError, Nowhere, StageInfo};
use corelane_runtime::testing::Harness;
use corelane_stages::standard;

fn build(name: &str, text: &str) -> Result<Built, Error> {
    let registry = standard();
    let spec = registry.get(name).expect("a stage of that name");
    spec.configure(Args { text }).expect("sound arguments").build(&mut Nowhere)
}

fn harness(name: &str, outputs: usize) -> Harness {
    let built = build(name, "()").unwrap_or_else(|error| panic!("{error}"));
    let info = standard().get(name).expect("a stage of that name").info();
    Harness::built(built, info).outputs(outputs)
}

#[test]
fn count_counts_and_passes_on() {
    let mut harness = harness("Count", 1);
    let frames: Vec<Vec<u8>> = (60..400).map(|len| vec![len as u8; len]).collect();
    let packets: Vec<_> = frames.iter().map(|frame| harness.packet(frame)).collect();
    harness.feed(packets, &[1, 32, 7]);
    assert_eq!(harness.take_frames(), frames);
    assert_eq!(harness.counter("packets"), 340);
    assert_eq!(harness.counter("segments"), 340);
    assert_eq!(harness.counter("bytes"), (60..400_u64).sum());
    harness.finish();
}

#[test]
fn drop_ends_everything_and_has_a_label() {
    let mut harness = harness("Drop", 0);
    for len in 0..100 {
        let packet = harness.packet(&vec![1; len]);
        harness.push(packet);
    }
    harness.run();
    assert_eq!(harness.dropped("dropped").packets, 100);
    harness.finish();
    let registry = standard();
    let spec = registry.get("Drop").expect("Drop");
    let config = spec.configure(Args { text: "(label: \"audited\")" }).expect("sound");
    assert_eq!(config.traits().label.as_deref(), Some("audited"));
}

#[test]
fn every_stage_documents_exactly_the_keys_it_takes() {
    for spec in standard().iter() {
        let info = spec.info();
        let text = "(no_such_key_anywhere: 1)";
        let errors = spec.configure(Args { text }).err().expect("an unknown key is an error");
        // Keys that must be given are missing, too.
        let unknown = |error: &&ConfigError| error.key.as_deref() == Some("no_such_key_anywhere");
        let error = errors.iter().find(unknown).unwrap_or_else(|| panic!("{}", info.name));
        let message = &error.message;
        for key in info.keys {
            assert!(!key.doc.is_empty() && !key.kind.is_empty(), "{}.{}", info.name, key.name);
            assert!(
                message.contains(&format!("`{}`", key.name)),
                "{} misses {}",
                info.name,
                key.name
            );
        }
        assert_eq!(
            message.matches('`').count() / 2,
            info.keys.len() + 1,
            "{}: {message}",
            info.name
        );
        assert!(info.subject.is_none_or(|subject| info.keys.iter().any(|key| key.name == subject)));
        assert!(info.summary.ends_with('.'), "{}", info.name);
    }
}

/// The arguments with keys of an example: `Name`, `Name(value)`, or `Name(key: value)`.
fn arguments(info: &StageInfo, example: &str) -> String {
    let written = example.strip_prefix(info.name).expect("an example of the stage");
    let inside = written.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let keyed = |key: &KeyInfo| written.starts_with(&format!("({}:", key.name));
    match (inside, info.subject) {
        (Some(inside), Some(subject)) if !info.keys.iter().any(keyed) => {
            format!("({subject}: {inside})")
        }
        (Some(_), _) => written.to_owned(),
        (None, _) => "()".to_owned(),
    }
}

#[test]
fn every_stage_is_built_from_its_example() {
    for spec in standard().iter() {
        let info = spec.info();
        let text = arguments(info, spec.example());
        let config = spec.configure(Args { text: &text });
        let config = config.unwrap_or_else(|errors| panic!("{}: {errors:?}", info.name));
        let on_port = info.subject == Some("port");
        let end = matches!(info.role, Role::Source | Role::Sink);
        assert_eq!(config.traits().port.is_some(), on_port && end, "{}", info.name);
        match config.build(&mut Nowhere) {
            Ok(_) => assert!(!on_port, "{} was built without its port", info.name),
            Err(error) => assert!(on_port && error.user, "{}: {error}", info.name),
        }
    }
}

#[test]
fn names_of_stages_reasons_and_counters_are_distinct() {
    let registry = standard();
    let mut names: Vec<_> = registry.iter().map(|spec| spec.info().name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), registry.iter().count());
    for spec in registry.iter() {
        for list in [spec.info().counters, spec.info().drop_reasons] {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), list.len(), "{}", spec.info().name);
        }
    }
}
