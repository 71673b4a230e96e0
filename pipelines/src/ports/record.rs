//! What the key `caps` of a port says, as a record: `None`, `All`, a list of capabilities, the name of a profile
//! that comes with corelane, or a file beside the description.
//!
//! It promises a record in which everything makes sense, or one sentence that says what to write instead. It
//! reads files that are named, and nothing else.

use crate::error::near;
use corelane_device::caps::{self, Record};
use corelane_runtime::offload::Caps;
use std::fs;
use std::path::{Path, PathBuf};

/// No record is that long; whoever names something else is told so before it is read.
const FILE_MAX: u64 = 1 << 20;

/// The record that `written` means; files are looked for in the folder `beside`.
pub(crate) fn record(written: &str, beside: &Path) -> Result<Record, String> {
    let written = written.trim();
    match written {
        "None" => return Ok(Record::of("None", "the description", Caps::empty())),
        // Checksums that were never finished are no ability.
        "All" => return Ok(Record::of("All", "the description", Caps::all() - Caps::RX_PARTIAL)),
        _ if written.starts_with('[') => return list(written),
        _ => {}
    }
    // From a description it comes with its quotes, from the command line without.
    let name = match written.starts_with('"') {
        true => ron::from_str(written).map_err(|_| expected())?,
        false => written.to_owned(),
    };
    match Record::named(&name) {
        Some(record) => Ok(record),
        None if is_path(&name) || beside.join(&name).exists() => read(&name, beside),
        None => Err(unknown(&name)),
    }
}

/// The file that [`record`] would read for `written`, if it would read one.
pub(crate) fn record_file(written: &str, beside: &Path) -> Option<PathBuf> {
    let written = written.trim();
    if matches!(written, "None" | "All") || written.starts_with('[') {
        return None;
    }
    let name = match written.starts_with('"') {
        true => ron::from_str(written).ok()?,
        false => written.to_owned(),
    };
    let path = beside.join(&name);
    (Record::named(&name).is_none() && path.exists()).then_some(path)
}

fn expected() -> String {
    "expected `None`, `All`, a list such as [\"rx_tcp\", \"tso4\"], the name of a profile, or a file".to_owned()
}

/// Capabilities by name, with all that each of them needs.
fn list(written: &str) -> Result<Record, String> {
    let names: Vec<String> = ron::from_str(written).map_err(|_| expected())?;
    let caps = caps::list(&names).map_err(|wrong| wrong.join("; "))?;
    Ok(Record::of(written, "the description", caps.with_implied()))
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".ron")
}

fn unknown(name: &str) -> String {
    let known = || caps::profiles().chain(["None", "All"]);
    // `i40e` is what others call it.
    let short = known().find(|known| name.len() > 1 && known.starts_with(&name.to_lowercase()));
    // `None` is a word of its own: what is merely like it may have been meant to be anything.
    let alike = || known().filter(|known| *known != "None" || name.eq_ignore_ascii_case(known));
    let help = match short.or_else(|| near(name, alike())) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let all: Vec<String> = known().map(|known| format!("`{known}`")).collect();
            format!("there are {}", all.join(", "))
        }
    };
    format!(
        "no record is called `{name}` ({help}); a file is named with its folder or ending, such as \"caps/mine.ron\""
    )
}

fn read(name: &str, beside: &Path) -> Result<Record, String> {
    let path = beside.join(name);
    let cannot = |why: std::io::Error| format!("{name} cannot be read: {why}");
    let known = fs::metadata(&path).map_err(cannot)?;
    if !known.is_file() || known.len() > FILE_MAX {
        return Err(format!("{name} is no record: a record is a file of at most {FILE_MAX} bytes"));
    }
    let text = fs::read_to_string(&path).map_err(cannot)?;
    Record::parse(&text).map_err(|wrong| format!("{name}: {wrong}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(written: &str) -> String {
        record(written, Path::new("")).unwrap_err()
    }

    fn granted(written: &str) -> Caps {
        record(written, Path::new("")).unwrap().facts.granted
    }

    #[test]
    fn words_and_lists_say_what_a_port_can_do() {
        assert_eq!(granted("None"), Caps::empty());
        assert_eq!(granted("All"), Caps::all() - Caps::RX_PARTIAL);
        assert_eq!(granted(" [ \"rx_tcp\", \"TSO4\" ] "), Caps::RX_TCP | Caps::TSO4.with_implied());
        assert_eq!(granted("[]"), Caps::empty());
    }

    #[test]
    fn profiles_are_named_with_quotes_and_without() {
        let profile = Record::named("i40e-like").unwrap();
        assert_eq!(record("\"i40e-like\"", Path::new("/nowhere")), Ok(profile.clone()));
        assert_eq!(record("i40e-like", Path::new("")), Ok(profile));
    }

    #[test]
    fn a_file_stands_beside_the_description() {
        let folder = tempfile::tempdir().unwrap();
        let mine = Record::of("mine", "a test", Caps::RX_IP);
        fs::create_dir(folder.path().join("caps")).unwrap();
        fs::write(folder.path().join("caps/mine.ron"), mine.to_ron()).unwrap();
        fs::write(folder.path().join("plain"), mine.to_ron()).unwrap();
        assert_eq!(record("\"caps/mine.ron\"", folder.path()), Ok(mine.clone()));
        assert_eq!(record("plain", folder.path()), Ok(mine));
        let file = |written: &str| record_file(written, folder.path());
        assert_eq!(file("\"caps/mine.ron\""), Some(folder.path().join("caps/mine.ron")));
        assert_eq!(file("plain"), Some(folder.path().join("plain")));
        let words = ["None", "All", "[\"tso4\"]", "i40e-like", "nowhere.ron"];
        assert!(words.iter().all(|word| file(word).is_none()));
        fs::write(folder.path().join("bad.ron"), "Caps(name: 1)").unwrap();
        let message = record("\"bad.ron\"", folder.path()).unwrap_err();
        assert!(message.starts_with("bad.ron: `name` must be a text"), "{message}");
        let message = record("\"caps/\"", folder.path()).unwrap_err();
        assert!(message.contains("caps/ is no record"), "{message}");
    }

    #[test]
    fn mistakes_say_what_to_write() {
        assert!(wrong("\"i40e_like\"").contains("did you mean `i40e-like`?"));
        assert!(wrong("i40e").contains("did you mean `i40e-like`?"));
        assert!(wrong("nope").contains("there are `bare-virtio`, `tap`"));
        assert!(wrong("nonsense").contains("there are `bare-virtio`, `tap`"));
        assert!(wrong("\"caps/mine.ron\"").contains("caps/mine.ron cannot be read"));
        assert!(wrong("[\"tso44\"]").contains("did you mean `tso4`?"));
        assert!(wrong("[1]").contains("expected `None`, `All`"));
        assert!(wrong("\"open").contains("expected `None`, `All`"));
        assert!(wrong("none").contains("did you mean `None`?"));
    }
}
