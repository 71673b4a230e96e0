//! Ready descriptions, each a file below `presets/` with comments for whoever starts from it.
//!
//! What they promise is tried by tests: each loads without a warning, is planned and runs. They are plain
//! descriptions and get no treatment of their own.

use crate::error::instead;
use corelane_runtime::Error;

/// A ready description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name, as in `preset:NAME`.
    pub name: &'static str,
    /// The file, comments and all.
    pub text: &'static str,
}

/// Those there are, in the order to meet them.
const ALL: &[Preset] = &[
    Preset { name: "demo", text: include_str!("../presets/demo.ron") },
    Preset { name: "forward", text: include_str!("../presets/forward.ron") },
    Preset { name: "coalesce", text: include_str!("../presets/coalesce.ron") },
    Preset { name: "bump", text: include_str!("../presets/bump.ron") },
    Preset { name: "checksum_audit", text: include_str!("../presets/checksum_audit.ron") },
    Preset { name: "vxlan_gateway", text: include_str!("../presets/vxlan_gateway.ron") },
    Preset { name: "vtep", text: include_str!("../presets/vtep.ron") },
    Preset { name: "monitor", text: include_str!("../presets/monitor.ron") },
    Preset { name: "split_cores", text: include_str!("../presets/split_cores.ron") },
    Preset { name: "fan_out", text: include_str!("../presets/fan_out.ron") },
    Preset { name: "scale_encap", text: include_str!("../presets/scale_encap.ron") },
    Preset { name: "scale_gro", text: include_str!("../presets/scale_gro.ron") },
];

impl Preset {
    /// What it is for: the first sentence of its comment.
    pub fn about(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix("//"));
        let words: Vec<&str> = comment.flat_map(str::split_whitespace).collect();
        let text = words.join(" ");
        text.split_once(". ").map_or(text.as_str(), |(first, _)| first).trim_end_matches('.').into()
    }
}

/// All of them.
pub fn all() -> &'static [Preset] {
    ALL
}

/// The one of that name.
///
/// # Errors
/// Where there is none; it names those there are.
pub fn find(name: &str) -> Result<Preset, Error> {
    ALL.iter().find(|preset| preset.name == name).copied().ok_or_else(|| {
        let help = instead(name, ALL.iter().map(|preset| preset.name)).unwrap_or_default();
        Error::user(format!("preset:{name}"), format!("there is no such preset; {help}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_in_a_sentence_what_it_is_for() {
        for preset in all() {
            let about = preset.about();
            assert!((20..100).contains(&about.len()), "{}: {about}", preset.name);
            assert!(!about.ends_with('.') && !about.contains("//"), "{}: {about}", preset.name);
        }
    }

    #[test]
    fn a_misspelt_name_is_told_the_right_one() {
        assert_eq!(find("bump").map(|preset| preset.name), Ok("bump"));
        let message = find("bmup").map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(message, "preset:bmup: there is no such preset; did you mean `bump`?");
    }
}
