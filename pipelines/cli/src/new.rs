//! `corelane new`: a ready description with its comments, or the list of them.

use crate::args::NewArgs;
use crate::exit::Exit;
use crate::out::Out;
use corelane::{Failure, presets};
use std::fmt::Write;

/// Prints a preset, or lists them.
pub(crate) fn new(args: &NewArgs) -> Result<Exit, Failure> {
    let text = match &args.name {
        // Whoever has tried `preset:NAME` writes it so here too.
        Some(name) => presets::find(name.strip_prefix("preset:").unwrap_or(name))?.text.to_owned(),
        None => list(),
    };
    Out::fresh(&args.output)?.write(&text)?;
    Ok(Exit::Clean)
}

fn list() -> String {
    let mut text = String::new();
    let width = presets::all().iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    for preset in presets::all() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", preset.name, preset.about());
    }
    text + "\ncorelane new NAME > mine.ron starts a file of your own, corelane run preset:NAME runs one as it is\n"
}
