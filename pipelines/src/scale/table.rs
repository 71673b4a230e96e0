//! The scaling table for people.
//!
//! Parts of a line of cycles are rounded so that what is printed adds up to the sum that is printed. Names come from
//! the description and are shown without anything that would drive a terminal.

use super::report::{Figures, Part, PartKind, Point, ScaleReport, Step};
use super::stats::Interval;
use crate::shown::visible;
use std::fmt::Write;

/// Adds a line. Writing to a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        { let _ = writeln!($out, $($arg)*); }
    };
}

/// The whole table.
pub(super) fn write(report: &ScaleReport) -> String {
    let mut out = String::new();
    line!(out, "{}", machine(report));
    for point in &report.points {
        self::point(&mut out, report, point);
    }
    line!(out, "{}", legend(report));
    out
}

fn machine(report: &ScaleReport) -> String {
    let machine = &report.machine;
    let mut facts = vec![format!(
        "{}, {}{}",
        machine.model.as_deref().map_or("unknown processor".into(), visible),
        number(machine.cpus, "CPU"),
        match machine.nodes {
            1 => String::new(),
            nodes => format!(" on {nodes} nodes"),
        }
    )];
    if machine.siblings > 0 {
        facts.push(format!("{} of them SMT siblings", machine.siblings));
    }
    facts.extend(machine.governor.as_deref().map(|name| format!("governor {}", visible(name))));
    facts.extend(machine.load.map(|load| format!("load {load:.1}")));
    facts.extend(machine.clock_ghz.map(|ghz| format!("{ghz:.2} GHz")));
    let steps = || report.points.iter().flat_map(|point| &point.steps);
    let plan = steps().find_map(|step| step.plan.as_deref()).unwrap_or("none");
    let fused = steps().all(|step| step.actors == step.threads);
    let how = if fused { "one actor a core" } else { "several actors a core" };
    format!("{}   machine  {}   plan {plan}, {how}", visible(&report.pipeline), facts.join(", "))
}

fn point(out: &mut String, report: &ScaleReport, point: &Point) {
    let set: Vec<String> = point
        .set
        .iter()
        .map(|(name, value)| format!("{}={}", visible(name), visible(value)))
        .collect();
    if !set.is_empty() {
        line!(out, "{}", set.join("  "));
    }
    let unit = if report.machine.clock_ghz.is_some() { "cycles/packet" } else { "ns/packet" };
    line!(
        out,
        "cores      Mpps   spread   Gb/s (L1)   speed-up          efficiency   {unit:>13}   busiest queue   limit"
    );
    for step in &point.steps {
        line!(out, "{}", row(step).trim_end());
    }
    let word = if report.machine.clock_ghz.is_some() { "cycles" } else { "ns" };
    let mut label = word;
    for step in &point.steps {
        if let Some(figures) = &step.figures {
            line!(out, "{label:<9}{} ({})", cycles(figures), number(step.cores, "core"));
            label = "";
        }
    }
}

fn row(step: &Step) -> String {
    let Some(figures) = &step.figures else {
        let why = step.not_measured.as_deref().unwrap_or("no reason is known");
        return format!("~ {:<7}not measured: {why}", step.cores);
    };
    let noisy = match step.noisy.as_slice() {
        [] => String::new(),
        reasons => format!("   noisy: {}", reasons.join(", ")),
    };
    format!(
        "{:<7}{:>8}{:>7.1} %{:>12.1}{:>11.2}{:>20}{:>16.0}{:>14.2} x   {}{noisy}",
        step.cores,
        rate(figures.mpps.median),
        figures.spread * 100.0,
        figures.gbps_l1,
        figures.speed_up.median,
        figures.efficiency.as_ref().map_or("unknown".to_owned(), percent),
        figures.cycles_per_packet.unwrap_or(figures.ns_per_packet),
        figures.busiest_queue,
        visible(&figures.limit),
    )
}

/// Three digits, as far as they are before the point at least.
fn rate(mpps: f64) -> String {
    match mpps {
        few if few < 0.995 => format!("{few:.3}"),
        some if some < 9.995 => format!("{some:.2}"),
        many => format!("{many:.1}"),
    }
}

/// `99 % (98..100)`; without brackets where all rounds agree.
fn percent(interval: &Interval) -> String {
    let [median, low, high] = [interval.median, interval.low, interval.high].map(|of| of * 100.0);
    match format!("{low:.0}") == format!("{high:.0}") {
        true => format!("{median:.0} %"),
        false => format!("{median:.0} % ({low:.0}..{high:.0})"),
    }
}

/// `generator 18 | Rx 21 | .. | idle 0 | other 2 = 135`. What is nothing, and need not be said to be, is left out.
fn cycles(figures: &Figures) -> String {
    let value = |part: &Part| part.cycles_per_packet.unwrap_or(part.ns_per_packet);
    let whole = rounded(&figures.parts.iter().map(value).collect::<Vec<f64>>());
    let shown = figures.parts.iter().zip(&whole);
    let shown = shown.filter(|(part, whole)| part.kind != PartKind::Waiting || **whole > 0);
    let parts: Vec<String> =
        shown.map(|(part, whole)| format!("{} {whole}", visible(&part.name))).collect();
    format!("{} = {}", parts.join(" | "), whole.iter().sum::<u64>())
}

/// Whole numbers next to these whose sum is the rounded sum: those that lose most by rounding down are rounded up.
fn rounded(values: &[f64]) -> Vec<u64> {
    let mut whole: Vec<u64> = values.iter().map(|value| value.max(0.0) as u64).collect();
    let sum = values.iter().sum::<f64>().round().max(0.0) as u64;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].fract().total_cmp(&values[a].fract()));
    let missing = sum.saturating_sub(whole.iter().sum());
    order.into_iter().take(missing as usize).for_each(|at| whole[at] += 1);
    whole
}

fn legend(report: &ScaleReport) -> String {
    let measured = || report.points.iter().flat_map(|point| &point.steps);
    let confidence = measured().find_map(|step| Some(step.figures.as_ref()?.mpps.confidence));
    let rounds = report.settings.rounds;
    let brackets = match confidence {
        Some(confidence) if rounds > 1 => {
            format!("; in brackets where it is with {:.0} %", confidence * 100.0)
        }
        _ => String::new(),
    };
    let clock = match report.machine.clock_ghz {
        Some(ghz) => format!(
            "\ncycles are ns x {ghz:.2} GHz, of all cores together, in the round in the middle"
        ),
        None => String::new(),
    };
    format!(
        "speed-up: packets a second, efficiency: packets a second of processor time, both over the first line; \
         medians of {}{brackets}{clock}",
        number(rounds as usize, "round"),
    )
}

/// `1 core`, `2 cores`.
fn number(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_printed_adds_up() {
        assert_eq!(rounded(&[0.5, 0.5, 0.4]), [1, 0, 0]);
        assert_eq!(rounded(&[18.4, 21.4, 24.4, 0.0]), [19, 21, 24, 0]);
        assert_eq!(rounded(&[]), [] as [u64; 0]);
    }

    #[test]
    fn rates_have_three_digits_and_an_interval_its_ends() {
        assert_eq!(
            [0.1234, 1.0, 9.99, 14.84, 108.0].map(rate),
            ["0.123", "1.00", "9.99", "14.8", "108.0"]
        );
        let interval = |low, median, high| Interval { median, low, high, confidence: 0.9 };
        assert_eq!(percent(&interval(0.98, 0.99, 1.0)), "99 % (98..100)");
        assert_eq!(percent(&interval(1.0, 1.0, 1.0)), "100 %");
    }

    proptest! {
        #[test]
        fn rounding_moves_no_part_by_a_whole_one(
            values in prop::collection::vec(0.0..1e6_f64, 0..12),
        ) {
            let whole = rounded(&values);
            let sum: f64 = values.iter().sum();
            prop_assert_eq!(whole.iter().sum::<u64>(), sum.round() as u64);
            for (value, whole) in values.iter().zip(whole) {
                prop_assert!((value - whole as f64).abs() < 1.0, "{} {}", value, whole);
            }
        }
    }
}
