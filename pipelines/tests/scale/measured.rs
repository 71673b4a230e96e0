//! Scaling runs of presets, and of pipelines that cannot be measured.

use corelane::scale::{Figures, PartKind, ScaleReport, Scaling, Step, Sweep};
use corelane::{Failure, Machine, Overrides, Pipeline, presets};
use corelane_runtime::testing::skip;
use std::time::Duration;

/// As short as figures can be made at all.
fn short(cores: &[usize]) -> Scaling {
    Scaling {
        cores: cores.to_vec(),
        sweep: Vec::new(),
        warm_up: Duration::from_millis(10),
        measure: Duration::from_millis(50),
        rounds: 3,
    }
}

fn measured(text: &str, scaling: &Scaling) -> Result<ScaleReport, Failure> {
    let pipeline = Pipeline::load("x.ron", text, &Overrides::default())?;
    pipeline.scale(scaling, &corelane::standard(), &Machine::here(), &mut |_| ())
}

fn preset(name: &str, scaling: &Scaling) -> ScaleReport {
    let text = presets::find(name).expect("a preset").text;
    measured(text, scaling).unwrap_or_else(|failure| panic!("{failure}"))
}

fn figures(step: &Step) -> &Figures {
    step.figures.as_ref().expect("it was measured")
}

/// What holds on any machine.
fn is_sound(step: &Step) {
    let figures = figures(step);
    let parts: u64 = figures.parts.iter().map(|part| part.ns).sum();
    assert_eq!(parts, figures.total_ns, "to the nanosecond");
    let cores = step.threads as f64;
    let wall = figures.total_ns as f64 / 1e9;
    // Threads that do not answer at once have windows of different lengths.
    assert!(step.rounds.iter().any(|round| (0.5..1.001).contains(&(wall / round.wall_s / cores))));
    for round in &step.rounds {
        assert!(round.frames > 0 && round.mpps > 0.0);
        assert!(round.wall_s >= 0.04, "about the window at least: {}", round.wall_s);
        assert!(round.cpu_s <= round.wall_s * cores * 1.1, "{} {}", round.cpu_s, round.wall_s);
        // 60 to 1514 bytes, and 24 on the wire.
        let bits = round.gbps_l1 * 1e3 / round.mpps;
        assert!((84.0 * 8.0 - 1.0..=1538.0 * 8.0 + 1.0).contains(&bits), "{bits}");
        assert!(round.busiest_queue >= 1.0 && round.busiest_queue <= cores);
        assert_eq!(round.dropped, 0);
    }
    let rates: Vec<f64> = step.rounds.iter().map(|round| round.mpps).collect();
    let inside = |rate: &&f64| **rate >= figures.mpps.low && **rate <= figures.mpps.high;
    assert_eq!(rates.iter().filter(inside).count(), 3, "three rounds: from the least to the most");
    assert!(rates.contains(&figures.mpps.median));
}

#[test]
fn a_preset_on_one_core_says_where_every_nanosecond_went() {
    let report = preset("scale_encap", &short(&[1]));
    let [point] = &report.points[..] else { panic!("{} points", report.points.len()) };
    let [step] = &point.steps[..] else { panic!("{} steps", point.steps.len()) };
    is_sound(step);
    let figures = figures(step);
    assert_eq!(
        (figures.speed_up.median, figures.speed_up.low, figures.speed_up.high),
        (1.0, 1.0, 1.0)
    );
    assert_eq!(figures.efficiency.expect("it has processor time").median, 1.0);
    let ns = |of: &dyn Fn(&corelane::scale::Part) -> bool| -> u64 {
        figures.parts.iter().filter(|part| of(part)).map(|part| part.ns).sum()
    };
    // Of each stage of the chain something was seen, and of the device in front of it.
    for name in ["generator", "Rx", "ChecksumValidate", "Encap", "Tx"] {
        assert!(ns(&|part| part.name == name) > 0, "{name}: {:?}", figures.parts);
    }
    let stages =
        ns(&|part| matches!(part.kind, PartKind::Generator | PartKind::Device | PartKind::Stage));
    let rest = ns(&|part| matches!(part.kind, PartKind::Idle | PartKind::Other));
    assert!(stages > rest, "an endless input keeps a core at its stages: {:?}", figures.parts);
    assert!(
        step.rounds.iter().all(|round| round.sampling < 0.05),
        "looking at the clock costs little"
    );
}

#[test]
fn two_cores_are_held_against_one_round_by_round() {
    let cpus = Machine::here().cpus.len();
    if cpus < 2 {
        skip("scale::two_cores", "there is one CPU only");
        return;
    }
    let report = preset("scale_gro", &short(&[1, 2]));
    let [one, two] = &report.points[0].steps[..] else { panic!("two steps") };
    is_sound(one);
    is_sound(two);
    assert_eq!((one.threads, two.threads, two.actors), (1, 2, 2));
    let mut ratios: Vec<f64> =
        two.rounds.iter().zip(&one.rounds).map(|(two, one)| two.mpps / one.mpps).collect();
    ratios.sort_by(f64::total_cmp);
    let speed_up = figures(two).speed_up;
    assert_eq!([speed_up.low, speed_up.median, speed_up.high], ratios[..]);
    let table = report.table();
    assert!(table.lines().any(|line| line.starts_with("2 ")), "{table}");
}

#[test]
fn more_cores_than_there_are_are_not_measured() {
    let cpus = Machine::here().cpus.len();
    let scaling = Scaling { rounds: 1, ..short(&[1, cpus + 7]) };
    let report = preset("scale_encap", &scaling);
    let [_, more] = &report.points[0].steps[..] else { panic!("two steps") };
    assert!(more.figures.is_none() && more.rounds.is_empty() && more.noisy.is_empty());
    let table = report.table();
    let line = table.lines().find(|line| line.starts_with("~ ")).expect("a line");
    let words = format!("not measured: {cpus} CPU");
    assert!(line.contains(&(cpus + 7).to_string()) && line.contains(&words), "{table}");
}

#[test]
fn each_value_is_a_table_of_its_own_in_which_printed_cycles_add_up() {
    let sweep = Sweep { parameter: "size".into(), values: vec!["64".into(), "1518".into()] };
    let scaling = Scaling { sweep: vec![sweep], rounds: 1, ..short(&[1]) };
    let report = preset("scale_encap", &scaling);
    let sets: Vec<&str> = report
        .points
        .iter()
        .filter_map(|point| point.set.get("size"))
        .map(String::as_str)
        .collect();
    assert_eq!(sets, ["64", "1518"]);
    let bytes = |point: usize| {
        let round = &report.points[point].steps[0].rounds[0];
        round.bytes as f64 / round.frames as f64
    };
    assert_eq!([bytes(0), bytes(1)], [60.0, 1514.0], "without check sequence");
    let table = report.table();
    let sums = table.lines().filter_map(|line| line.rsplit_once(" = "));
    let mut lines = 0;
    for (parts, sum) in sums.filter(|(parts, _)| parts.contains(" | ")) {
        let last = |part: &str| part.trim().rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
        let added: Option<u64> = parts.split('|').map(last).sum();
        let sum = sum.split(' ').next().and_then(|n| n.parse().ok());
        assert_eq!(added, sum, "{table}");
        lines += 1;
    }
    assert_eq!(lines, 2, "{table}");
    assert!(table.contains("size=64\n") && table.contains("size=1518\n"), "{table}");
}

/// What comes in, not the cores, is the limit of a slow input, and it is said to be.
#[test]
fn a_slow_input_is_the_limit_and_idle_time_is_idle() {
    let text = "Pipeline(name: \"slow\", \
        ports: { \"in\": Emulated(traffic: (rate: \"50kpps\")), \"out\": Emulated() }, \
        chains: { \"m\": [Rx(\"in\"), Tx(\"out\")] })";
    let report = measured(text, &short(&[1])).unwrap_or_else(|failure| panic!("{failure}"));
    let step = &report.points[0].steps[0];
    is_sound(step);
    let figures = figures(step);
    assert!(figures.limit.starts_with("what comes in; idle "), "{}", figures.limit);
    assert!((figures.mpps.median - 0.05).abs() < 0.01, "{}", figures.mpps.median);
    // On a busy machine a thread that looks for work waits for its turn to do so.
    let nothing = figures
        .parts
        .iter()
        .filter(|part| matches!(part.kind, PartKind::Idle | PartKind::Waiting))
        .map(|part| part.ns)
        .sum::<u64>();
    assert!(nothing * 2 > figures.total_ns, "{:?}", figures.parts);
}

fn refused(text: &str, scaling: &Scaling) -> String {
    match measured(text, scaling) {
        Ok(report) => panic!("{}", report.table()),
        Err(failure) => {
            assert!(failure.is_user(), "{failure}");
            failure.to_string()
        }
    }
}

#[test]
fn an_input_that_ends_too_early_is_told() {
    let text = presets::find("scale_encap").expect("a preset").text;
    let sweep = Sweep { parameter: "count".into(), values: vec!["1000".into()] };
    let said = refused(text, &Scaling { sweep: vec![sweep], ..short(&[1]) });
    assert!(
        said.contains("count=1000, 1 core") && said.contains("ended before the window"),
        "{said}"
    );
    let text = "Pipeline(name: \"dry\", ports: { \"in\": Emulated(traffic: (rate: \"1pps\")) }, \
                chains: { \"m\": [Rx(\"in\"), Drop] })";
    let said = refused(text, &short(&[1]));
    assert!(said.contains("no packet came in"), "{said}");
}

#[test]
fn a_value_that_cannot_be_planned_is_told_before_anything_runs() {
    let text = presets::find("scale_encap").expect("a preset").text;
    let sweep = Sweep { parameter: "size".into(), values: vec!["64".into(), "Imx".into()] };
    let scaling = Scaling { sweep: vec![sweep], measure: Duration::from_secs(60), ..short(&[1]) };
    let said = refused(text, &scaling);
    assert!(said.contains("size"), "{said}");
}

#[test]
fn a_pipeline_that_pins_its_actors_cannot_be_put_on_other_numbers_of_cores() {
    let text = "Pipeline(name: \"x\", ports: { \"in\": Emulated(traffic: ()) }, \
                chains: { \"m\": [Rx(\"in\"), Drop] }, cores: Pin({ \"m\": 0 }))";
    assert!(refused(text, &short(&[1])).contains("pins its actors"));
}

/// Rounds go through all steps, each beginning one later.
#[test]
fn rounds_are_interleaved_and_begin_one_step_later_each_time() {
    let text = presets::find("scale_encap").expect("a preset").text;
    let values = ["64", "128", "256"].map(str::to_owned).to_vec();
    let sweep = Sweep { parameter: "size".into(), values };
    let scaling = Scaling { sweep: vec![sweep], measure: Duration::from_millis(10), ..short(&[1]) };
    let mut seen = Vec::new();
    let pipeline = Pipeline::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
    let report = pipeline.scale(&scaling, &corelane::standard(), &Machine::here(), &mut |moment| {
        seen.push((moment.round, moment.step.clone()));
    });
    assert!(report.is_ok_and(|report| report.points.len() == 3));
    let order = [64, 128, 256, 128, 256, 64, 256, 64, 128];
    let expected: Vec<(u32, String)> =
        (0..9).map(|at| (at as u32 / 3 + 1, format!("size={}, 1 core", order[at]))).collect();
    assert_eq!(seen, expected);
}
