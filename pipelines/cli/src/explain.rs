//! `corelane explain`: what a plan does where, and why; one decision of it in full; what another would change.
//!
//! Opens no port. Of what is given beside the file, `--diff` shows the effect.

use crate::args::Given;
use crate::exit::Exit;
use crate::out::Out;
use clap::{Args, ValueEnum};
use corelane::explain::{Explanation, Style};
use corelane::{Error, Failure, Overrides, Plan, Registry};

/// How an explanation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people
    Table,
    /// For programs: one object, keys are stable
    Json,
    /// For Graphviz: `corelane explain FILE --format dot | dot -Tsvg`
    Dot,
}

/// Arguments of `corelane explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each stage has a row for each kind of work that a port could do: where it is done, and why. Rows with a + are
steps that were added. Opens no port, and needs neither root nor the devices.

corelane explain gw.ron --caps wan=i40e-like          as if `wan` were that
corelane explain gw.ron --caps wan=i40e-like --diff   only what that changes
corelane explain gw.ron --brief                       a line a stage, without reasons
corelane explain gw.ron --why main.+Gso               one decision in full, and what to change for another

With --diff the plan is held against the file as it stands, on this machine. Where the file cannot stand without
--set, those values hold for both. Exit codes: 0 it is explained; 2 wrong description or arguments.")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// How it is written
    #[arg(long, value_enum, default_value_t = ExplainFormat::Table)]
    pub(crate) format: ExplainFormat,
    /// One stage and every decision about it: main.1, main.+Gso, or the name that the file gives it
    #[arg(long, value_name = "STAGE", conflicts_with = "diff")]
    pub(crate) why: Option<String>,
    /// A line for each stage: where its work is done, without reasons
    #[arg(long, conflicts_with_all = ["diff", "why", "format"])]
    pub(crate) brief: bool,
    /// Only what differs from the file without --set, --port, --caps, --cores, --cpus and --topology
    #[arg(long)]
    pub(crate) diff: bool,
}

/// Explains a plan.
pub(crate) fn explain(args: &ExplainArgs, registry: &Registry) -> Result<Exit, Failure> {
    let text = args.given.text()?;
    let plan = args.given.plan_of(&text, &args.given.overrides(), registry)?;
    let out = Out::open(&args.given, Some(&plan))?;
    let style = Style { colour: out.paint().is_on(), ..Style::default() };
    let written = write(args, &text, &plan, registry, style)?;
    out.write(&written)?;
    Ok(Exit::Clean)
}

fn write(
    args: &ExplainArgs,
    text: &str,
    plan: &Plan,
    registry: &Registry,
    style: Style,
) -> Result<String, Failure> {
    let explanation = plan.explain();
    if args.diff {
        let before = as_it_stands(&args.given, text, registry)?.explain();
        return Ok(difference(&before, &explanation, args.format, style)?);
    }
    Ok(match &args.why {
        None if args.brief => explanation.brief(Style { width: 80, ..style }),
        Some(stage) => decision(&explanation, stage, args.format, style)?,
        None => match args.format {
            ExplainFormat::Table => explanation.table(style),
            ExplainFormat::Json => explanation.to_json()? + "\n",
            ExplainFormat::Dot => explanation.to_dot(),
        },
    })
}

/// The plan of the file alone; its parameters as given, if it needs them.
fn as_it_stands(given: &Given, text: &str, registry: &Registry) -> Result<Plan, Failure> {
    let alone = Given {
        ports: Vec::new(),
        caps: Vec::new(),
        cores: None,
        cpus: None,
        topology: None,
        ..given.clone()
    };
    let plan = alone.plan_of(text, &Overrides::default(), registry);
    match plan {
        Err(Failure::Description(_)) if !given.sets.is_empty() => {
            alone.plan_of(text, &alone.overrides(), registry)
        }
        plan => plan,
    }
}

fn difference(
    before: &Explanation,
    after: &Explanation,
    format: ExplainFormat,
    style: Style,
) -> Result<String, Error> {
    let diff = before.diff(after);
    match format {
        ExplainFormat::Table => Ok(diff.table(style)),
        ExplainFormat::Json => Ok(diff.to_json()? + "\n"),
        ExplainFormat::Dot => Err(no_graph("--diff")),
    }
}

fn decision(
    explanation: &Explanation,
    stage: &str,
    format: ExplainFormat,
    style: Style,
) -> Result<String, Error> {
    let why = explanation.why(stage).map_err(|near| Error::user("--why", near.to_string()))?;
    match format {
        ExplainFormat::Table => Ok(why.table(style)),
        ExplainFormat::Json => Ok(why.to_json()? + "\n"),
        ExplainFormat::Dot => Err(no_graph("--why")),
    }
}

fn no_graph(option: &str) -> Error {
    let message = format!("`dot` draws whole plans, not what {option} shows; write table or json");
    Error::user("--format", message)
}
