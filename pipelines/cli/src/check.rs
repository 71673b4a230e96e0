//! `corelane check`: everything that is wrong with a description, as its result.
//!
//! Goes as far as a plan, and opens no port: what only a device or the content of a capture can tell is left to
//! the run.

use crate::args::{CheckArgs, Format};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use corelane::{Error, Failure, Plan, Problem, Problems, Registry, Severity, visible};
use serde_json::{Value, json};

/// Checks a description and writes what was found.
pub(crate) fn check(args: &CheckArgs, registry: &Registry) -> Result<Exit, Failure> {
    // Without a text there is nothing to have a result about.
    let text = args.given.text()?;
    let planned = args.given.plan_of(&text, &args.given.overrides(), registry);
    let out = Out::open(&args.given, planned.as_ref().ok())?;
    let paint = out.paint();
    let (text, exit) = match (&planned, args.format) {
        (Ok(plan), Format::Table) => (sound(&args.given.file, plan, paint), Exit::Clean),
        (Ok(plan), Format::Json) => {
            (object(&args.given.file, plan.warnings(), Some(plan)), Exit::Clean)
        }
        (Err(Failure::Description(problems)), Format::Table) => {
            (paint.problems(&format!("{problems}\n")), Exit::Wrong)
        }
        (Err(Failure::Description(problems)), Format::Json) => {
            (object(&args.given.file, problems, None), Exit::Wrong)
        }
        // The description can be read, but not planned; or the machine failed, which is no result.
        (Err(Failure::Error(error)), format) if error.user => {
            (unplanned(&args.given.file, error, format, paint), Exit::Wrong)
        }
        (Err(failure), _) => return Err(failure.clone()),
    };
    out.write(&text)?;
    Ok(exit)
}

fn sound(file: &str, plan: &Plan, paint: Paint) -> String {
    let warnings = plan.warnings();
    let size = plan.size();
    let counted = format!(
        "{}, {}, {}",
        number(size.chains, "chain"),
        number(size.ports, "port"),
        number(size.actors, "actor")
    );
    let file = visible(file);
    match warnings.list.len() + warnings.more {
        0 => format!("{file}: {}; {counted}\n", paint.tone(Tone::Good, "no problems")),
        some => {
            let shown = paint.problems(&warnings.to_string());
            let shown = shown.trim_end();
            let some = paint.tone(Tone::Doubt, &number(some, "warning"));
            format!("{shown}\n{file}: no errors, {some}; {counted}\n")
        }
    }
}

fn unplanned(file: &str, error: &Error, format: Format, paint: Paint) -> String {
    match format {
        Format::Table => {
            let word = paint.tone(Tone::Bad, "error");
            format!("{word}: {}\n1 error\n", visible(&error.to_string()))
        }
        Format::Json => {
            let problem = json!({
                "severity": "error", "code": "no-plan", "message": error.to_string(),
                "line": null, "column": null, "width": null, "help": null,
            });
            let found = json!({ "file": file, "errors": 1, "warnings": 0, "more": 0, "problems": [problem] });
            format!("{found:#}\n")
        }
    }
}

fn object(file: &str, problems: &Problems, plan: Option<&Plan>) -> String {
    let all = problems.list.len() + problems.more;
    let mut found = json!({
        "file": file,
        "errors": problems.errors(),
        "warnings": all - problems.errors(),
        "more": problems.more,
        "problems": problems.list.iter().map(problem).collect::<Vec<Value>>(),
    });
    if let Some(plan) = plan {
        let size = plan.size();
        found["pipeline"] = plan.name().into();
        found["plan"] = plan.hash().into();
        found["chains"] = size.chains.into();
        found["ports"] = size.ports.into();
        found["actors"] = size.actors.into();
    }
    format!("{found:#}\n")
}

fn problem(problem: &Problem) -> Value {
    let place = problem.place.as_ref();
    json!({
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "code": problem.code,
        "message": problem.message,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
        "width": place.map(|place| place.width),
        "help": problem.help,
    })
}

/// `1 port`, `2 ports`.
fn number(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
