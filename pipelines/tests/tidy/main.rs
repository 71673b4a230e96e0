//! The rules of the tree, as tests: what lies where, how long it is, who may use whom, where `unsafe` is.
//!
//! Promises that each rule names the file and line that breaks it, and that the rules themselves are
//! tried on text that breaks them. Reads source as text, through [`lexer`]; judges neither formatting nor
//! lints, which have tools of their own.

mod lexer;
mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lexer::{code_of, functions, line_of, words};

/// Everything that must lie at the top.
const TOP: [&str; 17] = [
    "Cargo.toml",
    "Cargo.lock",
    "runtime",
    "stages",
    "pipelines",
    "examples",
    "benches",
    "docs",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    ".ci",
    ".gitignore",
    "rust-toolchain.toml",
    "rustfmt.toml",
];
/// What else may lie there: further tool files, and what tools leave behind.
const TOP_OPTIONAL: [&str; 6] = ["clippy.toml", ".cargo", ".config", ".git", "target", "out"];

/// The only files with `unsafe` in them. Whoever adds one argues for it in review.
const UNSAFE_FILES: &[&str] = &[
    "runtime/dpdk-sys/src/clock.rs",
    "runtime/dpdk-sys/src/eal.rs",
    "runtime/dpdk-sys/src/ffi.rs",
    "runtime/dpdk-sys/src/gro.rs",
    "runtime/dpdk-sys/src/gso.rs",
    "runtime/dpdk-sys/src/packets.rs",
    "runtime/dpdk-sys/src/ring.rs",
    "runtime/dpdk-sys/src/sums.rs",
    "runtime/device/src/tap/sys.rs",
    "runtime/src/edge.rs",
    "runtime/src/packet/burst.rs",
    "runtime/src/packet/cut.rs",
    "runtime/src/packet/handle.rs",
    "runtime/src/packet/home.rs",
    "runtime/src/packet/memory.rs",
    "runtime/src/packet/part.rs",
    "runtime/src/packet/release.rs",
    "runtime/src/packet/returns.rs",
    "runtime/src/packet/returns_loom.rs",
    "runtime/src/packet/train.rs",
    "runtime/src/testing/alloc.rs",
    "runtime/src/testing/poke.rs",
    "runtime/sum/src/wide.rs",
];

/// Which of the workspace's own crates each may depend on outside its tests. `examples` and `benches`,
/// which nothing depends on, may use everything.
const ARROWS: [(&str, &[&str]); 8] = [
    ("runtime/sum", &[]),
    ("runtime/dpdk-sys", &[]),
    ("runtime", &["corelane-sum"]),
    ("runtime/device", &["corelane-runtime"]),
    ("stages/wire", &["corelane-sum"]),
    ("stages", &["corelane-runtime", "corelane-sum", "corelane-wire"]),
    (
        "pipelines",
        &[
            "corelane-device",
            "corelane-runtime",
            "corelane-stages",
            "corelane-sum",
            "corelane-wire",
        ],
    ),
    ("pipelines/cli", &["corelane"]),
];

/// Crates that must forbid `unsafe` at their root.
const FORBID_UNSAFE: [&str; 5] = [
    "stages/src/lib.rs",
    "stages/wire/src/lib.rs",
    "pipelines/src/lib.rs",
    "pipelines/cli/src/lib.rs",
    "examples/src/lib.rs",
];

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
/// A safety comment stands at most this many lines above its `unsafe`.
const SAFETY_LINES_MAX: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// All files below `folder` whose name ends in `suffix`, build outputs left out.
fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "out" {
                found.extend(files(&path, suffix));
            }
        } else if name.ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every source file: its path from the top with forward slashes, and its text.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let sources: Vec<_> = files(&root, ".rs")
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("source is UTF-8");
            let name =
                path.strip_prefix(&root).expect("below the top").to_string_lossy().into_owned();
            (name.replace('\\', "/"), text)
        })
        .collect();
    assert!(sources.len() > 10, "found only {} source files", sources.len());
    sources
}

/// Fails with every complaint, one a line.
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Complaints about every `unsafe` of a file that no safety comment argues for.
fn unargued_unsafe(name: &str, text: &str) -> Vec<String> {
    let code = code_of(text);
    let lines: Vec<&str> = text.lines().collect();
    let needs_argument = |at: &usize| {
        let next = code[at + "unsafe".len()..].trim_start();
        // `unsafe fn(..)` is a type, and `unsafe extern "C" fn(..)` too: nothing is done there.
        !next.starts_with("fn(") && !next.starts_with("extern")
    };
    words(&code, "unsafe")
        .filter(needs_argument)
        .map(|at| line_of(&code, at))
        .filter(|&line| {
            let above = &lines[line.saturating_sub(1 + SAFETY_LINES_MAX)..line];
            !above.iter().any(|line| line.contains("SAFETY:")) && !has_safety_section(&lines, line)
        })
        .map(|line| format!("{name}:{line}: `unsafe` without a SAFETY comment"))
        .collect()
}

/// Whether the documentation right above `line` has a `# Safety` section, as an `unsafe fn` must.
fn has_safety_section(lines: &[&str], line: usize) -> bool {
    let above = lines[..line - 1].iter().rev();
    above
        .map(|line| line.trim_start())
        .take_while(|line| line.starts_with("///") || line.starts_with("#["))
        .any(|line| line.contains("# Safety"))
}

/// Names of the workspace's own crates in the dependency tables of a manifest, those for tests left out.
fn own_dependencies(manifest: &str) -> BTreeSet<&str> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let table = header.trim_end_matches(']');
            inside = table.split('.').next_back() == Some("dependencies");
            // The long form, `[dependencies.corelane-sum]`, names the crate in the header.
            let long = table.split_once("dependencies.").filter(|(kind, _)| !kind.ends_with('-'));
            found.extend(long.map(|(_, name)| name));
        } else if inside {
            found.extend(line.split(['=', '.', ' ']).next());
        }
    }
    found.retain(|name| name.starts_with("corelane"));
    found
}

#[test]
fn the_top_is_fixed() {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root()).unwrap() {
        found.insert(entry.unwrap().file_name().to_string_lossy().into_owned());
    }
    let missing = TOP.iter().filter(|name| !found.contains(**name));
    let mut complaints: Vec<String> = missing.map(|name| format!("{name} is missing")).collect();
    let allowed = |name: &str| TOP.contains(&name) || TOP_OPTIONAL.contains(&name);
    let stray = found.iter().filter(|name| !allowed(name) && !name.ends_with(".tmp"));
    complaints.extend(stray.map(|name| format!("{name} does not belong at the top")));
    none(complaints);
}

#[test]
fn every_file_opens_with_its_promise_and_is_short() {
    let mut complaints = Vec::new();
    for (name, text) in sources() {
        if !text.starts_with("//!") {
            complaints.push(format!("{name}: does not open with a `//!` comment"));
        }
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{name}: {lines} lines, at most {FILE_LINES_MAX} are allowed"));
        }
    }
    none(complaints);
}

fn long_functions(name: &str, text: &str) -> Vec<String> {
    let long =
        functions(&code_of(text)).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
    long.map(|(line, lines)| format!("{name}:{line}: a function of {lines} lines")).collect()
}

#[test]
fn every_function_is_short() {
    none(sources().iter().flat_map(|(name, text)| long_functions(name, text)).collect());
}

#[test]
fn unsafe_stands_in_named_files_below_runtime_and_is_argued() {
    let mut complaints = Vec::new();
    let mut with_unsafe = BTreeSet::new();
    for (name, text) in sources() {
        if words(&code_of(&text), "unsafe").next().is_some() {
            complaints.extend(unargued_unsafe(&name, &text));
            with_unsafe.insert(name);
        }
    }
    let named: BTreeSet<String> = UNSAFE_FILES.iter().map(ToString::to_string).collect();
    let outside = named.iter().filter(|name| !name.starts_with("runtime/"));
    complaints
        .extend(outside.map(|name| format!("{name}: `unsafe` is allowed below runtime/ only")));
    let stray = with_unsafe.difference(&named);
    complaints.extend(stray.map(|name| format!("{name}: has `unsafe` and is not in UNSAFE_FILES")));
    let stale = named.difference(&with_unsafe);
    complaints.extend(stale.map(|name| format!("{name}: in UNSAFE_FILES without any `unsafe`")));
    none(complaints);
}

#[test]
fn crates_above_runtime_forbid_unsafe() {
    let forbids = |name: &&&str| {
        let text = fs::read_to_string(root().join(name)).unwrap_or_default();
        code_of(&text).contains("#![forbid(unsafe_code)]")
    };
    let lacking = FORBID_UNSAFE.iter().filter(|name| !forbids(name));
    none(lacking.map(|name| format!("{name}: lacks `#![forbid(unsafe_code)]`")).collect());
}

#[test]
fn dependencies_point_downwards() {
    let mut complaints = Vec::new();
    for (folder, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let wrong = own_dependencies(&manifest).into_iter().filter(|name| !allowed.contains(name));
        complaints.extend(wrong.map(|name| format!("{folder} may not depend on {name}")));
    }
    none(complaints);
}

#[test]
fn every_offloadable_stage_has_both_paths_and_a_readme() {
    let mut complaints = Vec::new();
    for hardware in files(&root().join("stages/src"), "hardware.rs") {
        let folder = hardware.parent().unwrap();
        let missing = ["mod.rs", "software.rs", "README.md"]
            .into_iter()
            .filter(|name| !folder.join(name).is_file());
        complaints.extend(missing.map(|name| format!("{}: lacks {name}", folder.display())));
    }
    none(complaints);
}

/// Whether the code of a source file declares a stage: by macro, or by the trait that a macro would implement.
fn declares_a_stage(text: &str) -> bool {
    let code = code_of(text);
    let of_macro = code.match_indices("stage! {").any(|(at, _)| {
        // `crate::stage! { @..` is the macro itself at work.
        !code[at + "stage! {".len()..].trim_start().starts_with('@')
    });
    of_macro || code.contains("impl StageConfig for ")
}

#[test]
fn every_stage_has_a_readme_that_opens_its_documentation() {
    let root = root().join("stages/src");
    let mut complaints = Vec::new();
    let mut found = 0;
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        // What makes stages of declarations, and its examples, are none.
        if !folder.is_dir() || folder.ends_with("declare") {
            continue;
        }
        let tests = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
        let own = files(&folder, ".rs").into_iter();
        let own = own.filter(|path| !tests(path.strip_prefix(&root).expect("below it")));
        if !own.map(|path| fs::read_to_string(path).unwrap()).any(|text| declares_a_stage(&text)) {
            continue;
        }
        found += 1;
        let opens = fs::read_to_string(folder.join("mod.rs")).unwrap_or_default();
        if !opens.contains("#![doc = include_str!(\"README.md\")]") {
            complaints.push(format!("{}: mod.rs does not show README.md", folder.display()));
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        if !readme.starts_with("# ") || readme.lines().count() < 5 {
            complaints.push(format!("{}: lacks a README.md that says something", folder.display()));
        }
    }
    assert!(found > 10, "found only {found} folders with stages");
    none(complaints);
}

#[test]
fn stages_are_found_where_they_are_declared() {
    assert!(declares_a_stage("stage! {\n    pub struct Nothing {}\n}\n"));
    assert!(declares_a_stage("impl StageConfig for NothingConfig {}\n"));
    assert!(!declares_a_stage("/// stage! { pub struct Nothing {} }\nfn nothing() {}\n"));
    assert!(!declares_a_stage("$crate::stage! { @numbers $name }\n"));
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
    ];
    let mut complaints = Vec::new();
    for (name, text) in sources() {
        for (line, text) in (1..).zip(text.lines()) {
            let found = marks.iter().filter(|mark| text.contains(**mark));
            complaints.extend(found.map(|mark| format!("{name}:{line}: `{mark}`")));
        }
    }
    none(complaints);
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    // Put together here, so that this file does not find itself.
    let paths = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];
    let mut complaints = Vec::new();
    for suffix in [".rs", ".md", ".toml", ".ron", ".sh", ".py", "Makefile"] {
        for file in files(&root(), suffix) {
            let text = fs::read_to_string(&file).unwrap();
            let found = paths.iter().filter(|path| text.contains(**path));
            complaints.extend(found.map(|path| format!("{}: `{path}`", file.display())));
        }
    }
    none(complaints);
}

#[test]
fn the_wall_stands_between_70_and_71_lines() {
    let function = |lines: usize| {
        // Braces in strings, characters and comments must not be counted.
        let body = r##"let _ = ("}", '}', '\'', b'{', r#"}"{"#, "\"}"); // }"##;
        let body = format!("    {body}\n").repeat(lines - 2);
        format!(
            "/* }} /* }} */ */\npub(crate) fn long<'a>(text: &'a [u8; 4]) -> &'a u8 {{\n{body}}}\n"
        )
    };
    assert_eq!(functions(&code_of(&function(70))), [(2, 70)]);
    assert_eq!(long_functions("a.rs", &function(70)), [] as [&str; 0]);
    assert_eq!(long_functions("a.rs", &function(71)), ["a.rs:2: a function of 71 lines"]);
}

#[test]
fn unsafe_needs_its_argument_near() {
    let far = format!("// SAFETY: argued\n{}unsafe {{}}\n", "\n".repeat(SAFETY_LINES_MAX));
    assert_eq!(unargued_unsafe("a.rs", &far), ["a.rs:10: `unsafe` without a SAFETY comment"]);
    assert_eq!(unargued_unsafe("a.rs", &far[..].replacen('\n', "", 1)), [] as [&str; 0]);
    let documented =
        "/// Does it.\n///\n/// # Safety\n///\n/// Alone.\n#[inline]\npub unsafe fn go() {}\n";
    assert_eq!(unargued_unsafe("a.rs", documented), [] as [&str; 0]);
    assert_eq!(unargued_unsafe("a.rs", "/// Does it.\npub unsafe fn go() {}\n").len(), 1);
    assert_eq!(
        unargued_unsafe("a.rs", "// unsafe\nlet f: unsafe fn(u8);\n\"unsafe\"\n"),
        [] as [&str; 0]
    );
}

#[test]
fn dependencies_are_read_from_every_form_of_table() {
    let manifest = "[dependencies]\ncorelane.workspace = true\nron = \"1\"\n[dev-dependencies]\ncorelane-x = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\ncorelane-sum = { path = \"..\" }\n[dependencies.corelane-wire]\npath = \"..\"\n\
        [dev-dependencies.corelane-y]\npath = \"..\"\n";
    let found: Vec<&str> = own_dependencies(manifest).into_iter().collect();
    assert_eq!(found, ["corelane", "corelane-sum", "corelane-wire"]);
}
