//! The block `scale` of a description: what is read, what is taken where it says nothing, what it is narrowed to.

use corelane::scale::{Scaling, Sweep};
use corelane::{Machine, Overrides, Pipeline};
use std::time::Duration;

/// A pipeline with this block.
fn with(scale: &str) -> Pipeline {
    let text = format!(
        "Pipeline(name: \"x\", params: {{ \"size\": Imix, \"rate\": Max, \"name\": \"a\" }}, \
         ports: {{ \"in\": Emulated(traffic: (size: \"$size\", rate: \"$rate\")) }}, \
         chains: {{ \"m\": [Rx(\"in\"), Drop(\"$name\")] }}, {scale})"
    );
    let pipeline = Pipeline::load("x.ron", &text, &Overrides::default());
    pipeline.unwrap_or_else(|problems| panic!("{problems}"))
}

fn machine(cpus: usize) -> Machine {
    Machine::from_ron(&format!("Machine(cores: {cpus})")).expect("a machine")
}

#[test]
fn what_it_says_is_measured() {
    let pipeline = with(
        "scale: (cores: [4, 1, 2], sweep: { \"size\": [64, Imix], \"rate\": [\"1Mpps\"], \"name\": [\"b\", \"c d\"] }, \
         warm_up: \"1s\", measure: \"5s\", rounds: 7)",
    );
    let sweep = |parameter: &str, values: &[&str]| Sweep {
        parameter: parameter.to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    let expected = Scaling {
        cores: vec![1, 2, 4],
        // As --set takes them: in quotes only where the default is no text.
        sweep: vec![
            sweep("size", &["64", "Imix"]),
            sweep("rate", &["\"1Mpps\""]),
            sweep("name", &["b", "c d"]),
        ],
        warm_up: Duration::from_secs(1),
        measure: Duration::from_secs(5),
        rounds: 7,
    };
    assert_eq!(pipeline.scaling(&machine(2)), expected);
    assert!(pipeline.plan(&corelane::standard(), &machine(2)).is_ok());
}

#[test]
fn a_parameter_that_is_given_is_not_swept() {
    let text = corelane::presets::find("scale_encap").expect("a preset").text;
    let sets = Overrides::sets([("size".to_owned(), "594".to_owned())]);
    let pipeline = Pipeline::load("x.ron", text, &sets);
    let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
    let sweep = pipeline.scaling(&machine(2)).sweep;
    assert_eq!(sweep, [Sweep { parameter: "size".to_owned(), values: vec!["594".to_owned()] }]);
}

#[test]
fn where_it_says_nothing_the_machine_and_usual_times_are_taken() {
    let expected = Scaling {
        cores: vec![1, 2, 4, 6],
        sweep: Vec::new(),
        warm_up: Duration::from_millis(200),
        measure: Duration::from_secs(1),
        rounds: 5,
    };
    assert_eq!(with("").scaling(&machine(6)), expected);
    assert_eq!(with("scale: ()").scaling(&machine(6)), expected);
    let some = with("scale: (measure: \"2s\")").scaling(&machine(6));
    assert_eq!(some, Scaling { measure: Duration::from_secs(2), ..expected });
}
