//! `corelane check`: everything that is wrong with a description, as its result.
//!
//! Goes as far as a plan, and opens no port: what only a device or the content of a capture can tell is left to
//! the run.

use crate::args::{CheckArgs, Format};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use corelane::{Error, Failure, Plan, Problems, Registry, visible};
use serde::Serialize;

/// What was found, as JSON has it: the problems, and of a plan where there is one.
#[derive(Serialize)]
struct Found<'f> {
    #[serde(flatten)]
    problems: &'f Problems,
    #[serde(flatten)]
    plan: Option<Planned<'f>>,
}

/// How much there is of a plan.
#[derive(Serialize)]
struct Planned<'f> {
    pipeline: &'f str,
    plan: &'f str,
    chains: usize,
    ports: usize,
    actors: usize,
}

/// Checks a description and writes what was found.
pub(crate) fn check(args: &CheckArgs, registry: &Registry) -> Result<Exit, Failure> {
    // Without a text there is nothing to have a result about.
    let text = args.given.text()?;
    let file = &args.given.file;
    let planned = args.given.plan_of(&text, &args.given.overrides(), registry);
    let out = Out::open(&args.given, planned.as_ref().ok())?;
    let paint = out.paint();
    let (text, exit) = match (planned, args.format) {
        (Ok(plan), Format::Table) => (sound(file, &plan, paint), Exit::Clean),
        (Ok(plan), Format::Json) => (json(plan.warnings(), Some(&plan))?, Exit::Clean),
        (Err(Failure::Description(problems)), Format::Table) => {
            (problems.render(paint.is_on()) + " (exit 2)\n", Exit::Wrong)
        }
        (Err(Failure::Description(problems)), Format::Json) => {
            (json(&problems, None)?, Exit::Wrong)
        }
        // The description can be read, but not planned; or the machine failed, which is no result.
        (Err(Failure::Error(error)), format) if error.user => {
            let problems = Problems::of_error(file, &error);
            let text = match format {
                Format::Table => problems.render(paint.is_on()) + " (exit 2)\n",
                Format::Json => json(&problems, None)?,
            };
            (text, Exit::Wrong)
        }
        (Err(failure), _) => return Err(failure),
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
    match warnings.warnings() {
        0 => format!("{file}: {}; {counted}\n", paint.tone(Tone::Good, "no problems")),
        some => {
            let shown = warnings.render(paint.is_on());
            let shown = shown.trim_end();
            let some = paint.tone(Tone::Doubt, &number(some, "warning"));
            format!("{shown}\n{file}: no errors, {some}; {counted}\n")
        }
    }
}

fn json(problems: &Problems, plan: Option<&Plan>) -> Result<String, Error> {
    let plan = plan.map(|plan| {
        let size = plan.size();
        let (chains, ports, actors) = (size.chains, size.ports, size.actors);
        Planned { pipeline: plan.name(), plan: plan.hash(), chains, ports, actors }
    });
    let text = serde_json::to_string_pretty(&Found { problems, plan });
    text.map(|text| text + "\n").map_err(|error| Error::system("problems", error.to_string()))
}

/// `1 port`, `2 ports`.
fn number(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
