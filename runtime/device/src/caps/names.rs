//! Names of capabilities and lies as records and descriptions write them, and what to write where one is wrong.

use crate::emulated::Lies;
use corelane_runtime::offload::Caps;

/// Longest name for which a near one is looked for: nobody misspells longer ones.
const NAME_MAX: usize = 64;

/// `did you mean ..?`, or all that would do.
pub fn instead<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match near(found, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("there are {}", quoted.join(", "))
        }
    }
}

fn near<'n>(found: &str, names: &[&'n str]) -> Option<&'n str> {
    if found.len() > NAME_MAX {
        return None;
    }
    let lower = found.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let (distance, best) = names.iter().map(|name| (distance(name), *name)).min()?;
    let length = found.chars().count();
    (distance < length.max(1) && distance <= 1.max(length / 3)).then_some(best)
}

/// The capabilities of these names, without what they imply.
///
/// # Errors
/// One sentence for each name that is none, with what to write instead.
pub fn list<N: AsRef<str>>(names: &[N]) -> Result<Caps, Vec<String>> {
    let known = Caps::all().iter_names().map(|(name, _)| name).collect::<Vec<_>>();
    let read = |name: &str| Caps::named(name);
    let bits = each(names, "capability", &known, read)?;
    Ok(bits.into_iter().collect())
}

/// The lies of these names.
pub(super) fn lies<N: AsRef<str>>(names: &[N]) -> Result<Lies, Vec<String>> {
    let known = Lies::all().iter_names().map(|(name, _)| name).collect::<Vec<_>>();
    let read = |name: &str| Lies::from_name(&name.to_uppercase());
    let bits = each(names, "lie", &known, read)?;
    Ok(bits.into_iter().collect())
}

fn each<N: AsRef<str>, T>(
    names: &[N],
    what: &str,
    known: &[&str],
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Vec<String>> {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    let known: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
    for name in names.iter().map(AsRef::as_ref) {
        match read(name) {
            Some(value) => found.push(value),
            None => {
                let help = instead(name, known.iter().map(String::as_str));
                wrong.push(format!("no {what} is called `{name}`: {help}"));
            }
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}
