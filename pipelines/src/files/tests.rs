//! Which files a description names, and that none of them is taken away from another.

use super::*;
use crate::{Failure, Machine, Overrides, Pipeline, Problem, standard};
use std::fs;
use tempfile::TempDir;

const TEXT: &str = r#"Pipeline(
    name: "files",
    params: { "seen": "seen.pcapng", "write": "out.pcap" },
    tables: { "rules": Load("rules.ron") },
    ports: {
        "in": Emulated(read: "in.pcap", caps: "mine.ron"),
        "out": Pcap(write: "$write"),
    },
    chains: { "m": [Rx("in"), Classify(table: "rules"), Capture("$seen"), Tx("out")] },
    tests: [Test(name: "t", caps: ["out=other.ron"], send: { "in": File("sent.pcap") }, expect: { "out": File("got.pcap") })],
)"#;

/// A folder with every file that the description reads.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let record = corelane_device::caps::Record::of("r", "a test", Default::default()).to_ron();
    for name in ["in.pcap", "sent.pcap", "got.pcap"] {
        put(name, "");
    }
    put("rules.ron", "[(udp_dst: 53)]");
    put("mine.ron", &record);
    put("other.ron", &record);
    put("d.ron", TEXT);
    folder
}

fn plan(folder: &TempDir, sets: &[(&str, &str)]) -> Result<Plan, Vec<Problem>> {
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Names in a port and in a stage are meant in the folder that the process is in.
    let text = ["in.pcap", "seen.pcapng", "out.pcap"].iter().fold(TEXT.to_owned(), |text, name| {
        text.replace(&format!("\"{name}\""), &format!("{:?}", path(name)))
    });
    let sets = sets.iter().map(|(key, name)| ((*key).to_owned(), path(name)));
    let given = Overrides::sets(sets);
    let pipeline =
        Pipeline::load(&path("d.ron"), &text, &given).map_err(|problems| problems.list)?;
    pipeline.plan(&standard(), &Machine::from_ron("Machine(cores: 1)").unwrap()).map_err(
        |failure| match failure {
            Failure::Description(problems) => problems.list,
            Failure::Error(error) => panic!("{error}"),
        },
    )
}

#[test]
fn every_file_is_in_the_list_with_what_it_is() {
    let folder = folder();
    let planned = plan(&folder, &[]).unwrap();
    let name = |file: &FileUse| file.path.file_name().unwrap().to_string_lossy().into_owned();
    let list: Vec<_> =
        planned.files().iter().map(|file| (name(file), file.what.as_str(), file.written)).collect();
    let right = [
        ("d.ron", "the description", false),
        ("rules.ron", "a table of the description", false),
        ("in.pcap", "what port in reads", false),
        ("mine.ron", "the record of port in", false),
        ("out.pcap", "what port out writes", true),
        ("sent.pcap", "a file of test \"t\"", false),
        ("got.pcap", "a file of test \"t\"", false),
        ("other.ron", "a file of test \"t\"", false),
        ("seen.pcapng", "what `Capture` of chain `m` writes", true),
    ];
    assert_eq!(list, right.map(|(name, what, written)| (name.to_owned(), what, written)));
}

#[test]
fn nothing_that_is_read_is_written_whatever_it_is_called() {
    let folder = folder();
    let read = ["d.ron", "rules.ron", "in.pcap", "mine.ron", "sent.pcap", "got.pcap", "other.ron"];
    for name in read {
        let link = format!("link-{name}.pcapng");
        let soft = format!("soft-{name}.pcapng");
        fs::hard_link(folder.path().join(name), folder.path().join(&link)).unwrap();
        std::os::unix::fs::symlink(name, folder.path().join(&soft)).unwrap();
        let writers = [("seen", 9), ("write", 7)];
        for (by, line) in writers {
            for path in [&link, &soft, &format!("./{link}")] {
                let problems = plan(&folder, &[(by, path)]).err().unwrap();
                let [problem] = problems.as_slice() else { panic!("{name}: {problems:?}") };
                assert_eq!(problem.code, "overwrites", "{name}");
                assert!(
                    problem.message.contains(": one of them would be lost"),
                    "{}",
                    problem.message
                );
                assert_eq!(problem.place.as_ref().map(|place| place.line), Some(line), "{name}");
            }
        }
    }
}

#[test]
fn two_that_write_one_file_are_told_though_it_is_not_there_yet() {
    let folder = folder();
    let both = [("seen", "new.pcapng"), ("write", "./new.pcapng")];
    let problems = plan(&folder, &both).err().unwrap();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.message.contains("and what port out writes ("), "{}", problem.message);
    assert!(problem.message.contains("d.ron:7:"), "{}", problem.message);
    assert_eq!(problem.place.as_ref().map(|place| place.line), Some(9));
    assert!(!folder.path().join("new.pcapng").exists(), "nothing was opened");
    assert!(plan(&folder, &[("seen", "new.pcapng"), ("write", "new.pcap")]).is_ok());
}

#[test]
fn what_is_no_file_is_nobodys() {
    assert_eq!(Identity::of(Path::new("/dev/null")), None);
    assert_eq!(Identity::of(Path::new("/nowhere/at/all")), None);
    let folder = folder();
    assert_eq!(Identity::of(folder.path()), None);
    let here = folder.path().join("in.pcap");
    assert!(FileUse::read(&here, "it", None).is(&folder.path().join("../").join(&here)));
}

#[test]
fn a_stage_that_keeps_its_file_to_itself_does_not_get_one_that_is_read() {
    let folder = folder();
    let planned = plan(&folder, &[]).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let error = planned.free_to_write(&path("rules.ron")).unwrap_err();
    assert!(error.user && error.message.starts_with("is a table of the description"), "{error}");
    assert_eq!(planned.free_to_write(&path("new.pcapng")).ok(), Some(()));
}
