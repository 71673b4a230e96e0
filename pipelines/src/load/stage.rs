//! One stage: its name, its arguments as text, and the keys that every stage has.

use super::{About, Loader};
use crate::error::near;
use crate::spec::{Entry, Misuse, StageEntry};
use crate::text::tree::Node;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::offload::Offload;
use corelane_runtime::stage::spec::KeyInfo;
use corelane_stages::config::Nanoseconds;
use serde::Deserialize;

/// Keys that every stage has.
pub(super) const KEYS: [&str; 3] = ["name", "offload", "on_panic"];
/// What `on_panic` may say.
const ON_PANIC: [&str; 4] = ["Restart", "Bypass", "Drop", "Stop"];

const fn key(name: &'static str, kind: &'static str, doc: &'static str) -> KeyInfo {
    KeyInfo { name, kind, default: Some(""), doc }
}

/// Keys of `pools`.
pub(super) const POOL_KEYS: &[KeyInfo] = &[
    key("shells", "a number of buffers", "headers that share another buffer's data"),
    key("small", "a number of buffers", "buffers of 2 KiB"),
    key("large", "a number of buffers", "buffers of 64 KiB"),
];
/// Keys of `Restart`.
const RESTART_KEYS: &[KeyInfo] = &[
    key("max", "a number of restarts from 0 to 4294967295", "restarts within the window"),
    key("window", "a time such as \"10s\"", "how long a restart counts"),
];

impl Loader {
    pub(super) fn stage(&mut self, node: &Node) -> Option<StageEntry> {
        let (entry, common) = self.call(node, &KEYS, "a stage such as `Rx(\"in\")`")?;
        if entry.kind.text == crate::check::RING {
            // `Ring(name: ..)` names the ring, not the stage; the catalogue knows no such key.
            let (entry, _) = self.call(node, &[], "")?;
            return Some(StageEntry::plain(entry));
        }
        let mut stage = StageEntry::plain(entry);
        for field in &common {
            match self.slice(field.key) {
                "name" => stage.name = self.name(&field.value),
                "offload" => {
                    let choices = [
                        ("Auto", Offload::Auto),
                        ("SoftwareOnly", Offload::SoftwareOnly),
                        ("Require", Offload::Require),
                    ];
                    let offload = self.choice(&field.value, "offload", &choices);
                    stage.offload = offload.unwrap_or_default();
                }
                _ => {
                    stage.on_panic = self.on_panic(&field.value).unwrap_or_default();
                    stage.on_panic_at = Some(field.value.span);
                }
            }
        }
        Some(stage)
    }

    fn on_panic(&mut self, node: &Node) -> Option<OnPanic> {
        let (entry, _) = self.call(node, &[], "`Restart(..)`, `Bypass`, `Drop` or `Stop`")?;
        let plain = entry.values.is_empty() && entry.fields.is_empty();
        match entry.kind.text.as_str() {
            "Restart" => self.restart(&entry),
            "Bypass" if plain => Some(OnPanic::Bypass),
            "Drop" if plain => Some(OnPanic::Drop),
            "Stop" if plain => Some(OnPanic::Stop),
            other => {
                let help = match ON_PANIC.contains(&other) {
                    true => Some(format!("write `{other}` without arguments")),
                    false => near(other, ON_PANIC).map(|near| format!("did you mean `{near}`?")),
                };
                let what = "`Restart(..)`, `Bypass`, `Drop` or `Stop`";
                self.expected_or(node, "on_panic", what, help);
                None
            }
        }
    }

    fn restart(&mut self, entry: &Entry) -> Option<OnPanic> {
        let args = match entry.arguments(&self.text, Some("max")) {
            Ok(args) => args,
            Err(Misuse::Mixed(_) | Misuse::Several(_) | Misuse::NoSubject(_)) => {
                let message = "`Restart` takes keys, or `max` alone without its key";
                let help = "write `Restart(max: 5, window: \"10s\")`";
                self.advise(entry.span, "mixed-arguments", message, help);
                return None;
            }
        };
        let about = About::new("`Restart`", entry.span, RESTART_KEYS);
        let restart: Restart = self.typed(&args, &about)?;
        Some(OnPanic::Restart { max: restart.max, window: restart.window.0 })
    }
}

impl StageEntry {
    /// Without any of the common keys.
    fn plain(entry: Entry) -> StageEntry {
        StageEntry {
            entry,
            used: None,
            name: None,
            on_panic: OnPanic::default(),
            on_panic_at: None,
            offload: Offload::default(),
        }
    }
}

/// Arguments of `on_panic: Restart(..)`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Restart {
    max: u32,
    window: Nanoseconds,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart { max: 5, window: Nanoseconds(10_000_000_000) }
    }
}
