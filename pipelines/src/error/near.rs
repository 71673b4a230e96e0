//! Names that are near to a misspelt one.
//!
//! Names that are no names any more, by their length, are not looked at. Case does not count.

/// Longest name for which a near one is looked for: nobody misspells longer ones.
const NAME_MAX: usize = 64;
/// Most names that are looked at.
const NAMES_MAX: usize = 4096;
/// Most names that are listed where none is near.
const LISTED_MAX: usize = 24;

/// The name nearest to a misspelt one, if any is near.
pub(crate) fn near<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if found.len() > NAME_MAX {
        return None;
    }
    let lower = found.to_lowercase();
    let length = found.chars().count();
    let most = 1.max(length / 3);
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    // Names that differ too much in length are not worth a look.
    let names = names.into_iter().take(NAMES_MAX);
    let names = names.filter(|name| name.chars().count().abs_diff(length) <= most);
    let best = names.map(|name| (distance(name), name)).min()?;
    (best.0 < length.max(1) && best.0 <= most).then_some(best.1)
}

/// `did you mean ..?` or all that would do.
pub(crate) fn instead<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let names: Vec<&str> = names.into_iter().collect();
    match near(found, names.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => listed(&names),
    }
}

/// All the names that there are, as far as anybody would read them.
fn listed(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("the only one is `{only}`")),
        _ => {
            let shown = names.iter().take(LISTED_MAX).map(|name| format!("`{name}`"));
            let more = if names.len() > LISTED_MAX { ", .." } else { "" };
            Some(format!("there are {}{more}", shown.collect::<Vec<_>>().join(", ")))
        }
    }
}
