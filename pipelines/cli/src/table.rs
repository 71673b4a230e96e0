//! The report for people: ports, stages, cores, rings, payload, and whether it all adds up.
//!
//! Shows only what was counted. Numbers of packets are packets as they were handed on, so a superpacket is
//! one; what the wire saw is named so. Names come from the description and are shown without anything that
//! would drive a terminal.

use crate::paint::{Paint, Tone};
use corelane::report::{ActorReport, Named, PortReport, RingReport, StageReport};
use corelane::{Report, visible};
use std::fmt::Write;

/// Counters of a stage that are shown; JSON has them all.
const COUNTERS_MAX: usize = 6;

/// The whole table, painted when it is whole.
pub(crate) fn write(report: &Report, paint: Paint) -> String {
    paint.lines(&plain(report), painted)
}

fn plain(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    ports(&mut out, &report.ports);
    stages(&mut out, &report.stages);
    cores(&mut out, &report.actors);
    rings(&mut out, &report.rings);
    payload(&mut out, report);
    balance(&mut out, report);
    out
}

/// Words that a line may begin with, and what is wrong wherever it stands.
fn painted(paint: Paint, line: &str) -> String {
    const HEADS: [&str; 5] = ["PORTS", "STAGES", "CORES", "RING", "PAYLOAD"];
    const WRONG: [&str; 4] = ["NOT BALANCED", "FAILED:", "lost by the port:", "cannot do "];
    if let Some((before, word)) = WRONG.iter().find_map(|word| Some((line.find(word)?, word))) {
        let (start, rest) = line.split_at(before);
        let (word, rest) = rest.split_at(word.len());
        return start.to_owned() + &paint.tone(Tone::Bad, word) + rest;
    }
    let head = HEADS.iter().map(|head| (*head, Tone::Strong)).chain([("BALANCED", Tone::Good)]);
    for (head, tone) in head {
        if let Some(rest) = line.strip_prefix(head) {
            return paint.tone(tone, head) + rest;
        }
    }
    line.to_owned()
}

/// Adds a line. Writing to a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        { let _ = writeln!($out, $($arg)*); }
    };
}

fn head(out: &mut String, report: &Report) {
    let how = match &report.simulation {
        Some(simulation) => {
            format!("simulated with seed {} in {} turns, ", simulation.seed, simulation.turns)
        }
        None => String::new(),
    };
    line!(
        out,
        "{}  plan {}  {how}{:.3} s",
        visible(&report.pipeline),
        report.plan,
        report.duration_s
    );
}

fn ports(out: &mut String, ports: &Named<PortReport>) {
    let width = widest(ports.iter().map(|(name, _)| name)).max(8);
    line!(
        out,
        "PORTS {:width$}  {:>12} {:>10} {:>12} {:>13} {:>10} {:>8}",
        "",
        "rx packets",
        "rx bytes",
        "tx packets",
        "(on the wire)",
        "tx bytes",
        "drops",
        width = width - 4
    );
    for (name, port) in ports.iter() {
        let name = visible(name);
        line!(
            out,
            "  {name:width$}  {:>12} {:>10} {:>12} {:>13} {:>10} {:>8}{}",
            count(port.rx_packets),
            bytes(port.rx_bytes),
            count(port.tx_packets),
            count(port.tx_wire_packets),
            bytes(port.tx_bytes),
            count(port.drops.sum()),
            by_queue(port)
        );
        for (reason, packets) in port.drops.iter().filter(|(_, packets)| **packets > 0) {
            line!(
                out,
                "  {:width$}  lost by the port: {} {reason}",
                "",
                count(*packets),
                reason = visible(reason)
            );
        }
        for lost in &port.demoted {
            line!(
                out,
                "  {:width$}  cannot do {} since {:.3} s: {}; software does it",
                "",
                visible(&lost.capability),
                lost.at_s,
                visible(&lost.why)
            );
        }
    }
}

/// How what came in is spread over several queues; nothing where there is one.
fn by_queue(port: &PortReport) -> String {
    let queues = port.queues.iter().filter(|queue| queue.direction == "rx");
    let packets: Vec<u64> = queues.map(|queue| queue.packets).collect();
    if packets.len() < 2 || port.rx_packets == 0 {
        return String::new();
    }
    let share = |packets: &u64| format!("{:.0}", *packets as f64 * 100.0 / port.rx_packets as f64);
    let shares: Vec<String> = packets.iter().map(share).collect();
    format!("   rx by queue {} %", shares.join(" "))
}

fn stages(out: &mut String, stages: &[StageReport]) {
    let title = |stage: &StageReport| match stage.name == stage.kind {
        true => stage.kind.to_owned(),
        false => format!("{} ({})", visible(&stage.name), stage.kind),
    };
    let ids = widest(stages.iter().map(|stage| stage.id.as_str())).max(6);
    let titles = stages.iter().map(|stage| title(stage).chars().count()).max().unwrap_or(0);
    line!(out, "STAGES{:1$}  {2:>12} {3:>12}   note", "", ids + titles - 2, "in", "out");
    for stage in stages {
        let (id, title, note) = (visible(&stage.id), title(stage), note(stage));
        let (came, went) = (count(stage.packets_in), count(stage.packets_out));
        let row = format!("  {id:ids$}  {title:titles$}  {came:>12} {went:>12}   {note}");
        line!(out, "{}", row.trim_end());
    }
}

/// What is worth saying about a stage, most important first.
fn note(stage: &StageReport) -> String {
    let mut notes = Vec::new();
    if stage.panics > 0 {
        notes.push(format!("panicked {}", times(stage.panics)));
    }
    let dropped: Vec<String> = named(&stage.drops).collect();
    if !dropped.is_empty() {
        // A stage with nothing to tell apart calls its one reason just so.
        let all = dropped.join(", ");
        let plain = all.strip_suffix(" dropped").filter(|_| dropped.len() == 1);
        notes.push(format!("dropped {}", plain.unwrap_or(&all)));
    }
    if stage.absorbed > 0 {
        let factor = stage.packets_in as f64 / stage.packets_out.max(1) as f64;
        notes.push(format!("joined {}, x {factor:.1}", count(stage.absorbed)));
    }
    if stage.created > 0 {
        notes.push(format!("made {}", count(stage.created)));
    }
    if stage.payload_bytes_summed > 0 {
        notes.push(format!("read {} for checksums", bytes(stage.payload_bytes_summed)));
    }
    if stage.held > 0 {
        notes.push(format!("still holds {}", count(stage.held)));
    }
    // What was right is told last, so that nothing wrong is among what is left out.
    let (good, other): (Vec<String>, Vec<String>) =
        named(&stage.counters).partition(|text| text.ends_with(".good"));
    let counters: Vec<String> = other.into_iter().chain(good).collect();
    notes.extend(counters.iter().take(COUNTERS_MAX).cloned());
    if counters.len() > COUNTERS_MAX {
        notes.push(format!("{} more in JSON", counters.len() - COUNTERS_MAX));
    }
    notes.join("; ")
}

/// Those that counted something.
fn named(values: &Named<u64>) -> impl Iterator<Item = String> {
    let some = values.iter().filter(|(_, value)| **value > 0);
    some.map(|(name, value)| format!("{} {}", count(*value), visible(name)))
}

/// Characters of the longest name.
fn widest<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

/// A line for each actor. A simulation has no time to speak of, and counts steps instead.
fn cores(out: &mut String, actors: &[ActorReport]) {
    let spent = |actor: &ActorReport| actor.busy_s + actor.poll_s + actor.idle_s;
    let timed = actors.iter().any(|actor| spent(actor) > 0.0);
    let heads = if timed { ["busy %", "poll %", "idle %"] } else { ["steps", "idle", "waiting"] };
    let width = widest(actors.iter().map(|actor| actor.name.as_str()));
    let note = if timed { "   of its own time" } else { "" };
    let [first, second, third] = heads;
    line!(out, "CORES    {:width$}  {first:>12} {second:>12} {third:>12}{note}", "");
    let mut actors: Vec<&ActorReport> = actors.iter().collect();
    // Those that share a CPU stand together; what runs anywhere comes last.
    actors.sort_by_key(|actor| actor.cpu.unwrap_or(usize::MAX));
    for actor in actors {
        let cpu = actor.cpu.map_or("any".to_owned(), |cpu| cpu.to_string());
        let all = spent(actor).max(f64::MIN_POSITIVE);
        let share = |seconds: f64| format!("{:.0}", seconds * 100.0 / all);
        let figures = if timed {
            [actor.busy_s, actor.poll_s, actor.idle_s].map(share)
        } else {
            [actor.steps_worked, actor.steps_idle, actor.steps_blocked].map(count)
        };
        line!(
            out,
            "  cpu {cpu:>3} {:width$} {:>12} {:>12} {:>12}{}",
            visible(&actor.name),
            figures[0],
            figures[1],
            figures[2],
            actor
                .failed
                .as_ref()
                .map_or(String::new(), |failed| format!("   FAILED: {}", visible(failed)))
        );
    }
}

fn rings(out: &mut String, rings: &[RingReport]) {
    for ring in rings {
        let route = format!(" from {}", ring.from);
        let name = ring.name.strip_suffix(&route).unwrap_or(&ring.name);
        let lost = match ring.dropped {
            0 => String::new(),
            dropped => format!(", dropped {}", count(dropped)),
        };
        line!(
            out,
            "RING     {}: {} -> {}, {} ({} on the wire){}{lost}",
            visible(name),
            visible(&ring.from),
            visible(&ring.to),
            number(ring.packets, "packet"),
            count(ring.segments),
            held_up(ring)
        );
    }
}

/// Whether the sender had to wait.
fn held_up(ring: &RingReport) -> String {
    match (ring.full, ring.stash_high) {
        (0, _) => ", never full".to_owned(),
        (full, 0) => format!(", full {}", times(full)),
        (full, most) => {
            format!(", full {}, at most {} waited", times(full), number(most, "packet"))
        }
    }
}

fn payload(out: &mut String, report: &Report) {
    let totals = &report.totals;
    let (carried, summed) = (totals.payload_bytes, totals.payload_bytes_summed);
    let reads = if carried == 0 { 0.0 } else { summed as f64 / carried as f64 };
    let reads = match reads {
        few if few > 0.0 && few < 0.01 => "< 0.01".to_owned(),
        reads => format!("{reads:.2}"),
    };
    line!(
        out,
        "PAYLOAD  {} carried, {} summed in software: {reads} reads a byte; {} copied",
        bytes(carried),
        bytes(summed),
        number(totals.copies, "packet")
    );
}

fn balance(out: &mut String, report: &Report) {
    let totals = &report.totals;
    let word = if report.balanced != Some(false) { "BALANCED" } else { "NOT BALANCED" };
    let consumed = match totals.consumed {
        0 => String::new(),
        consumed => format!(" + consumed {}", count(consumed)),
    };
    line!(
        out,
        "{word} rx {} + created {} = tx {} + dropped {} + absorbed {}{consumed} + held {}",
        count(totals.rx_packets),
        count(totals.created),
        count(totals.tx_packets),
        count(totals.dropped),
        count(totals.absorbed),
        count(totals.held)
    );
    for complaint in &report.unbalanced {
        line!(out, "  {}", visible(complaint));
    }
}

/// `once`, `2 times`.
fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{} times", count(n)) }
}

/// `1 packet`, `2 packets`.
fn number(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// With a comma between thousands.
fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Powers of ten, as line rates are given.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        let counted = [0, 7, 999, 1000, 1_234_567].map(count);
        assert_eq!(counted, ["0", "7", "999", "1,000", "1,234,567"]);
        let sized = [0, 999, 1000, 1_949_999, 999_960, 17_400_000_000].map(bytes);
        assert_eq!(sized, ["0 B", "999 B", "1.0 kB", "1.9 MB", "1.0 MB", "17.4 GB"]);
    }
}
