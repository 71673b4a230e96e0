//! Live figures of a run: what happened between two reports, as one line.
//!
//! Packets are frames on the wire, so that a superpacket counts as what it stands for. A direction in which
//! nothing ever moved is left out.

use corelane::report::PortReport;
use corelane::{Report, visible};
use std::time::Duration;

/// The line at `time` of the run: rates since the report `before`, which is `period` older than `now`.
pub(crate) fn line(
    time: Duration,
    before: Option<&Report>,
    now: &Report,
    period: Duration,
) -> String {
    // As many as two lines need to differ; no period is shorter than 10 ms.
    let digits = match period.as_millis() {
        0..100 => 2,
        100..1000 => 1,
        _ => 0,
    };
    let mut line = format!("{:5.digits$}s", time.as_secs_f64());
    for (name, port) in now.ports.iter() {
        let old = before.and_then(|before| before.ports.get(name));
        let moved = port_figures(port, old, period);
        if !moved.is_empty() {
            line += &format!("   {} {}", visible(name), moved.join("  "));
        }
    }
    let lost = dropped(now) - before.map_or(0, dropped).min(dropped(now));
    line += &format!("   drops {}/s", plain(rate(lost, period)));
    line += &busy(before, now, period);
    // Its share of the figures is older than they are.
    let late = now.late.iter().map(|actor| format!("   {} is late", visible(actor)));
    line + &late.collect::<String>()
}

/// How busy each CPU was, in the order of the plan; actors that share one are summed.
fn busy(before: Option<&Report>, now: &Report, period: Duration) -> String {
    let mut cpus: Vec<(Option<usize>, f64)> = Vec::new();
    for (index, actor) in now.actors.iter().enumerate() {
        let old = before.and_then(|before| before.actors.get(index)).map_or(0.0, |old| old.busy_s);
        let seconds = (actor.busy_s - old).max(0.0);
        match cpus.iter_mut().find(|(cpu, _)| cpu.is_some() && *cpu == actor.cpu) {
            Some((_, sum)) => *sum += seconds,
            None => cpus.push((actor.cpu, seconds)),
        }
    }
    let share = |seconds: f64| (seconds * 100.0 / period.as_secs_f64().max(1e-9)).min(100.0);
    let shares: Vec<String> = cpus.iter().map(|cpu| format!("{:.0}", share(cpu.1))).collect();
    if shares.is_empty() { String::new() } else { format!("   busy {} %", shares.join(" ")) }
}

fn port_figures(port: &PortReport, old: Option<&PortReport>, period: Duration) -> Vec<String> {
    type Count = fn(&PortReport) -> u64;
    let ways: [(&str, Count, Count); 2] = [
        ("rx", |port| port.rx_wire_packets, |port| port.rx_bytes),
        ("tx", |port| port.tx_wire_packets, |port| port.tx_bytes),
    ];
    let since = |count: Count| count(port).saturating_sub(old.map_or(0, count));
    let used = ways.into_iter().filter(|(_, packets, _)| packets(port) > 0);
    let figures = used.map(|(way, packets, bytes)| {
        let packets = scaled(rate(since(packets), period), "pps");
        format!("{way} {packets} {}", scaled(rate(since(bytes), period) * 8.0, "b/s"))
    });
    figures.collect()
}

/// Packets lost by stages, rings and ports.
fn dropped(report: &Report) -> u64 {
    report.totals.dropped + report.ports.iter().map(|(_, port)| port.drops.sum()).sum::<u64>()
}

/// In a second.
fn rate(count: u64, period: Duration) -> f64 {
    count as f64 / period.as_secs_f64().max(1e-9)
}

fn plain(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// Three digits and a unit.
fn scaled(rate: f64, unit: &str) -> String {
    let mut scaled = rate;
    let mut prefixes = ["", "k", "M", "G", "T"].into_iter();
    let mut prefix = prefixes.next().unwrap_or_default();
    while scaled >= 999.5 {
        let Some(next) = prefixes.next() else { break };
        scaled /= 1000.0;
        prefix = next;
    }
    let digits = match scaled {
        small if prefix.is_empty() => return format!("{small:.0} {unit}"),
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_and_a_unit() {
        let rates = [0.0, 7.0, 999.4, 999.6, 1_214_000.0, 13_940_000.0, 999_600_000.0];
        let shown = rates.map(|rate| scaled(rate, "pps"));
        let expected =
            ["0 pps", "7 pps", "999 pps", "1.00 kpps", "1.21 Mpps", "13.9 Mpps", "1.00 Gpps"];
        assert_eq!(shown, expected);
        assert_eq!([0.0, 0.25, 9.94, 12.3].map(plain), ["0", "0.2", "9.9", "12"]);
    }
}
