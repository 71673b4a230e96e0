//! `corelane doctor`: what this machine has for corelane, for people and for programs.

use crate::args::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use corelane::doctor::{Finding, Roots, State, examine, is_ready};
use corelane::{Failure, visible};
use serde_json::json;
use std::fmt::Write;

/// Looks at this machine and writes what was found.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let out = Out::plain(&args.output)?;
    let findings = examine(&Roots::here());
    let ready = is_ready(&findings);
    let text = match args.format {
        Format::Table => table(&findings, out.paint()),
        Format::Json => {
            let found = json!({ "schema": 1, "ready": ready, "findings": findings });
            format!("{found:#}\n")
        }
    };
    out.write(&text)?;
    Ok(if ready { Exit::Clean } else { Exit::Failed })
}

/// A line for each finding, and below it what to know where something can be done.
fn table(findings: &[Finding], paint: Paint) -> String {
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, tone) = word(finding.state);
        let mark = paint.tone(tone, &format!("{word:7}"));
        let (what, found) = (finding.what, visible(&finding.found));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mark}  {what:width$}  {found}");
        if finding.state == State::Ok {
            continue;
        }
        let why = paint.tone(Tone::Faint, finding.why_it_matters);
        let _ = writeln!(text, "{:1$}{why}", "", width + 11);
        if let Some(cure) = &finding.cure {
            let cure = paint.tone(Tone::Strong, &visible(cure));
            let _ = writeln!(text, "{:1$}$ {cure}", "", width + 11);
        }
    }
    text + "\n" + &verdict(findings, paint)
}

fn word(state: State) -> (&'static str, Tone) {
    match state {
        State::Ok => ("ok", Tone::Good),
        State::Warning => ("warning", Tone::Doubt),
        State::Missing => ("missing", Tone::Bad),
    }
}

fn verdict(findings: &[Finding], paint: Paint) -> String {
    let is_lacking = |finding: &&Finding| finding.needed && finding.state == State::Missing;
    let lacking: Vec<&str> =
        findings.iter().filter(is_lacking).map(|finding| finding.what).collect();
    if lacking.is_empty() {
        let ready = paint.tone(Tone::Good, "corelane can run here");
        return format!("{ready}; what is missing is needed by some ports and tools only\n");
    }
    let not = paint.tone(Tone::Bad, "corelane cannot run here");
    format!("{not}; every run needs {}\n", lacking.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(what: &'static str, state: State, needed: bool, cure: Option<&str>) -> Finding {
        let cure = cure.map(str::to_owned);
        let (found, why_it_matters) = (format!("{what} found"), "why");
        Finding { what, state, needed, found, why_it_matters, cure }
    }

    #[test]
    fn the_table_tells_what_to_do_only_where_there_is_something_to_do() {
        let findings = [
            finding("cpus", State::Ok, true, None),
            finding("tun", State::Missing, false, Some("modprobe tun")),
            finding("steal", State::Warning, false, None),
        ];
        let expected = "\
ok       cpus   cpus found
missing  tun    tun found
                why
                $ modprobe tun
warning  steal  steal found
                why

corelane can run here; what is missing is needed by some ports and tools only
";
        assert_eq!(table(&findings, Paint::plain()), expected);
    }

    #[test]
    fn what_every_run_needs_is_named() {
        let findings = [finding("memory", State::Missing, true, None)];
        let text = table(&findings, Paint::plain());
        assert!(text.ends_with("corelane cannot run here; every run needs memory\n"), "{text}");
    }
}
