//! Names of threads: those of their actors, as far as the kernel keeps them.
//!
//! It keeps 15 bytes. It promises names that differ wherever there are few enough actors for that, without
//! control characters, cut between characters.

use std::collections::BTreeSet;

/// Bytes of a thread's name that the kernel keeps.
const NAME_MAX: usize = 15;

/// A name for the thread of each actor. One that is too long, or taken already, loses its end to a number.
pub(super) fn thread_names(actors: &[String]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for (index, actor) in actors.iter().enumerate() {
        let plain: String = actor.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let mut name = plain.clone();
        // The first number is the actor's own; they go up until a name is free.
        let mut number = index;
        while name.len() > NAME_MAX || taken.contains(&name) {
            name = numbered(&plain, number);
            number += 1;
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// The beginning of a name and a number, together as long as fits.
fn numbered(name: &str, number: usize) -> String {
    let number = format!("~{number}");
    let mut end = name.len().min(NAME_MAX.saturating_sub(number.len()));
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{number}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(actors: &[&str]) -> Vec<String> {
        thread_names(&actors.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn short_names_stay_and_long_ones_are_told_apart() {
        assert_eq!(
            names(&["main", "from_wan#0", "from_wan#1"]),
            ["main", "from_wan#0", "from_wan#1"]
        );
        let long = names(&["from_the_other_side#0", "from_the_other_side#1", "exactly15bytes!"]);
        assert_eq!(long, ["from_the_othe~0", "from_the_othe~1", "exactly15bytes!"]);
        assert_eq!(names(&["a\0b", "a?b"]), ["a?b", "a?b~1"], "taken by what became of another");
        assert_eq!(names(&["ääääääääää"]), ["ääääää~0"], "cut between characters");
    }

    proptest! {
        #[test]
        fn every_name_fits_and_no_two_are_the_same(
            actors in prop::collection::vec("[a-c~0-2ä\u{0}]{0,20}", 0..40),
        ) {
            let names = thread_names(&actors);
            prop_assert_eq!(names.len(), actors.len());
            let different: BTreeSet<&String> = names.iter().collect();
            prop_assert_eq!(different.len(), names.len());
            for (name, actor) in names.iter().zip(&actors) {
                prop_assert!(name.len() <= NAME_MAX && !name.contains(char::is_control));
                let begins = name.split('~').next().unwrap_or_default();
                let shown = actor.replace('\0', "?");
                prop_assert!(shown.starts_with(begins), "{} for {}", name, actor);
            }
        }
    }
}
