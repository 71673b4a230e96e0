//! Which processes hold a tap open, as far as this user may see: for the message that it is in use.

use std::fs;
use std::path::Path;

/// In words, to go behind "in use"; empty where nobody is seen.
pub(super) fn holders(interface: &str) -> String {
    let Ok(processes) = fs::read_dir("/proc") else { return String::new() };
    let named = processes.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let path = entry.path();
        holds(&path, interface).then(|| {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim_end())
        })
    });
    match named.collect::<Vec<_>>() {
        named if named.is_empty() => String::new(),
        named => format!(" by {}", named.join(", ")),
    }
}

/// The kernel names the interface in what it tells of such a file.
fn holds(process: &Path, interface: &str) -> bool {
    let Ok(files) = fs::read_dir(process.join("fdinfo")) else { return false };
    files.flatten().any(|file| {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.strip_prefix("iff:"))
            .any(|name| name.trim() == interface)
    })
}
