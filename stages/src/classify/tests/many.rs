//! Many rules: reading and compiling them takes time that grows as their number does.

use crate::classify::ClassifySpec;
use corelane_runtime::stage::{Args, Nowhere, Row, StageSpec};
use std::time::{Duration, Instant};

/// Rules as a table has them, each with a name, an address and a port of its own.
fn rows(n: u32) -> Vec<String> {
    let row = |i: u32| {
        let [_, a, b, c] = i.to_be_bytes();
        format!("(name: \"r{i}\", dst: \"10.{a}.{b}.{c}\", udp_dst: {}, to: \"t\")", i % 65_535)
    };
    (0..n).map(row).collect()
}

/// How long it takes to read and compile so many, the best of a few.
fn time(n: u32) -> Duration {
    let texts = rows(n);
    let rows: Vec<Row<'_>> = texts.iter().map(|text| Row { text }).collect();
    let once = || {
        let started = Instant::now();
        let args = Args { text: "(table: \"t\")" };
        let mut config = ClassifySpec.configure(args).expect("a table");
        config.take_rows(&rows).expect("rules");
        assert!(config.build(&mut Nowhere).is_ok());
        started.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn eight_times_as_many_rules_take_some_eight_times_as_long() {
    let (few, many) = (time(8_000), time(64_000));
    // Sixty-four times, where each rule is held against all others.
    assert!(many < few * 24, "{few:?}, {many:?}");
}

#[test]
fn as_many_rules_as_a_table_can_have_are_built() {
    let texts = rows(100_000);
    let rows: Vec<Row<'_>> = texts.iter().map(|text| Row { text }).collect();
    let mut config = ClassifySpec.configure(Args { text: "(table: \"t\")" }).expect("a table");
    assert_eq!(config.take_rows(&rows), Ok(()));
    assert_eq!(config.extra_counters().len(), rows.len());
    assert!(config.build(&mut Nowhere).is_ok());
}

#[test]
fn rules_whose_tables_would_be_too_large_are_refused_with_the_numbers() {
    // Each is a list of ranges that begin and end nowhere near those of others.
    let row = |i: u32| {
        let list =
            (0..400).map(|at| format!("\"{}\"", std::net::Ipv4Addr::from((i * 400 + at) * 8)));
        format!("(dst: [{}])", list.collect::<Vec<_>>().join(", "))
    };
    let texts: Vec<String> = (0..10_240).map(row).collect();
    let rows: Vec<Row<'_>> = texts.iter().map(|text| Row { text }).collect();
    let mut config = ClassifySpec.configure(Args { text: "(table: \"t\")" }).expect("a table");
    let errors = config.take_rows(&rows).expect_err("more than a GiB");
    let [error] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!(error.row % 1024, 0);
    assert!(error.row > 0, "{error:?}");
    let message = &error.error.message;
    assert!(message.starts_with("10240 rules need up to "), "{message}");
    assert!(message.contains("and 1024 MiB are possible; make fewer of them"), "{message}");
}
