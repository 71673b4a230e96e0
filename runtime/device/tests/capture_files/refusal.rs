//! Files that cannot be read or written: one sentence each, never a panic, a wait or a lost file.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::ours;
use corelane_device::capture::{CaptureError, CaptureFile, CaptureWriter, Format};
use tempfile::TempDir;

/// Opens and expects a refusal; gives its sentence without the path.
fn refusal(path: &Path) -> String {
    let error = CaptureFile::open(path).map(|_| ()).expect_err("a refusal");
    assert!(error.is_refusal() && !error.is_damage());
    assert_eq!(error.path(), path);
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    let rest = text.strip_prefix(&format!("{}: ", path.display()));
    rest.expect("the path comes first").to_owned()
}

fn file(dir: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A capture of `count` frames of 60 bytes.
fn capture(dir: &TempDir, name: &str, count: u64) -> PathBuf {
    let path = dir.path().join(name);
    let format = Format::from_path(&path).unwrap();
    let mut writer = CaptureWriter::create(&path, format).unwrap();
    for number in 0..count {
        writer.write(number, 60, [&[7; 60][..]], 60).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Records and errors of a whole walk.
fn count(file: &mut CaptureFile) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    let mut records = file.records();
    while let Some(record) = records.next_record() {
        *if record.is_ok() { &mut good } else { &mut bad } += 1;
    }
    (good, bad)
}

#[test]
fn what_is_not_a_capture_says_what_it_is() {
    let dir = TempDir::new().unwrap();
    for (bytes, words) in [
        (&b""[..], "is empty (0 bytes)"),
        (b"\x1f\x8b\x08\0", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        (b"\x7fELF", "begins with 7f 45 4c 46"),
        (b"\x7f", "has only 1 byte, too few for a capture"),
        (b"\x4d\x3c\xb2", "has only 3 bytes, too few for a capture"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x04", "header of 24 bytes exceeds the 7 bytes left"),
        (b"\x0a\x0d\x0d\x0a", "header of 28 bytes exceeds the 4 bytes left"),
    ] {
        let text = refusal(&file(&dir, "x.pcap", bytes));
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_is_not_a_file_is_refused_without_waiting() {
    let dir = TempDir::new().unwrap();
    assert!(refusal(&dir.path().join("missing.pcap")).starts_with("cannot be opened: No such"));
    assert!(refusal(dir.path()).starts_with("is not a regular file"));
    assert!(refusal(Path::new("/dev/zero")).starts_with("is not a regular file"));
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert!(refusal(&pipe).starts_with("is not a regular file"));
}

#[test]
fn a_cut_capture_gives_its_records_then_one_sentence() {
    let dir = TempDir::new().unwrap();
    for (name, at, fault) in [
        ("cut.pcap", 24 + 11 * 76, "captured length 60 exceeds the 48 bytes left in the file"),
        ("cut.pcapng", 76 + 11 * 92, "block length 92 exceeds the 80 bytes left in the file"),
    ] {
        let whole = std::fs::read(capture(&dir, name, 12)).unwrap();
        let path = file(&dir, name, &whole[..whole.len() - 12]);
        let (seen, error) = ours(&path).unwrap();
        assert_eq!(seen.len(), 11);
        let error = error.expect("the last record is cut");
        assert!(error.is_damage() && !error.is_refusal());
        let expected = format!(
            "{}: record 12 at byte {at}: {fault}; the 11 records before it were read; copy the \
             file again from its source, or wait until its writer has closed it",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        let mut opened = CaptureFile::open(&path).unwrap();
        assert_eq!(count(&mut opened), (11, 1));
        assert_eq!(count(&mut opened), (11, 1), "again from the start");
    }
}

#[test]
fn the_name_chooses_the_format() {
    for (name, format) in
        [("a.pcap", Format::Pcap), ("a.PcapNG", Format::PcapNg), ("/x/a.b.pcap", Format::Pcap)]
    {
        assert_eq!(Format::from_path(name).unwrap(), format);
    }
    for name in ["a", "a.txt", "pcap", ".pcap", "a.pcap.gz"] {
        let error = Format::from_path(name).unwrap_err();
        assert!(error.is_refusal());
        assert!(error.to_string().contains("ends in neither .pcap nor .pcapng"));
    }
}

#[test]
fn a_file_is_never_written_while_it_is_read_or_written() {
    let dir = TempDir::new().unwrap();
    let path = capture(&dir, "busy.pcap", 3);
    let link = dir.path().join("link.pcap");
    symlink(&path, &link).unwrap();
    let mut reader = CaptureFile::open(&path).unwrap();
    let second = CaptureFile::open(&link).expect("readers share a file");
    let error = CaptureWriter::create(&link, Format::Pcap).expect_err("it is being read");
    assert!(error.is_refusal() && error.to_string().contains("is being read"), "{error}");
    assert_eq!(count(&mut reader), (3, 0));
    drop(reader);
    CaptureWriter::create(&link, Format::Pcap).expect_err("the second reader still has it");
    drop(second);
    let writer = CaptureWriter::create(&link, Format::Pcap).expect("nobody has it");
    assert!(refusal(&path).starts_with("is being written"));
    let error = CaptureWriter::create(&path, Format::Pcap).expect_err("one writer at a time");
    assert!(error.to_string().contains("is being written"), "{error}");
    drop(writer);
    assert_eq!(count(&mut CaptureFile::open(&path).unwrap()), (0, 0));
}

#[test]
fn a_file_that_cannot_be_created_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("no/such/folder.pcap");
    let error = CaptureWriter::create(&path, Format::Pcap).expect_err("cannot be created");
    assert!(error.is_refusal());
    assert!(error.to_string().contains("cannot be created"), "{error}");
}

#[test]
fn what_is_neither_file_nor_character_device_is_not_written_and_not_waited_for() {
    let dir = TempDir::new().unwrap();
    let pipe = dir.path().join("pipe.pcap");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let link = dir.path().join("link.pcap");
    symlink(&pipe, &link).unwrap();
    let socket = dir.path().join("socket.pcap");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, what) in
        [(&pipe, "pipe"), (&link, "pipe"), (&socket, "socket"), (&dir.path().into(), "directory")]
    {
        let error = CaptureWriter::create(path, Format::Pcap).expect_err("not written");
        assert!(error.is_refusal());
        assert!(error.to_string().contains(&format!(": is a {what}, and only")), "{error}");
    }
    let null = dir.path().join("null.pcap");
    symlink("/dev/null", &null).unwrap();
    CaptureWriter::create(&null, Format::Pcap).unwrap().finish().unwrap();
    // A link to nothing makes the file it names.
    let (dangling, target) = (dir.path().join("to.pcap"), dir.path().join("made.pcap"));
    symlink(&target, &dangling).unwrap();
    CaptureWriter::create(&dangling, Format::Pcap).unwrap().finish().unwrap();
    assert!(target.is_file());
}

#[test]
fn a_file_cut_while_it_is_read_is_damaged_there() {
    let dir = TempDir::new().unwrap();
    for name in ["cut.pcap", "cut.pcapng"] {
        // More than a window shows at once.
        let path = capture(&dir, name, 20_000);
        let mut file = CaptureFile::open(&path).unwrap();
        let mut records = file.records();
        assert!(records.next_record().unwrap().is_ok());
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(300).unwrap();
        let mut read = 1;
        let error = loop {
            match records.next_record().expect("an error comes before the end") {
                Ok(record) => assert_eq!((record.data, record.number), (&[7; 60][..], read + 1)),
                Err(error) => break error,
            }
            read += 1;
        };
        assert!((1..20_000).contains(&read) && error.is_damage());
        let sentence = format!("the file had {length} bytes when opened and was cut while");
        assert!(error.to_string().contains(&sentence), "{error}");
        assert!(records.next_record().is_none());
    }
}

#[test]
fn what_the_system_took_is_told_from_what_waits() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("some.pcap");
    let mut writer = CaptureWriter::create(&path, Format::Pcap).unwrap();
    let (mut waits, mut goes) = (0, 0);
    for number in 1..=2000 {
        writer.write(0, 1000, [&[7; 1000][..]], 1000).unwrap();
        let there = (std::fs::metadata(&path).unwrap().len().saturating_sub(24)) / 1016;
        assert_eq!((writer.records(), writer.handed_over()), (number, there));
        *if there == number { &mut goes } else { &mut waits } += 1;
    }
    assert!(waits > 1000 && goes < 100, "{waits} {goes}");
    writer.flush().unwrap();
    assert_eq!(writer.handed_over(), 2000);
}

#[test]
fn a_full_disk_is_an_error_then_and_later() {
    let mut writer = CaptureWriter::create("/dev/full", Format::PcapNg).unwrap();
    let frame = [0; 1000];
    let error = (0..1000)
        .find_map(|_| writer.write(0, 1000, [&frame[..]], 1000).err())
        .expect("the buffer does not hold all of it");
    assert!(matches!(error, CaptureError::Write { .. }), "{error:?}");
    assert!(
        error.to_string().starts_with("/dev/full: cannot be written: No space left"),
        "{error}"
    );
    let records = writer.records();
    for error in [writer.write(0, 0, [], 0).unwrap_err(), writer.flush().unwrap_err()] {
        assert!(error.to_string().contains("an earlier write failed: No space left"), "{error}");
    }
    assert_eq!((writer.records(), writer.handed_over()), (records, 0));
    writer.finish().expect_err("what was written is incomplete");
    let mut writer = CaptureWriter::create("/dev/full", Format::Pcap).unwrap();
    writer.write(0, 60, [&[0; 60][..]], 60).expect("it fits the buffer");
    writer.finish().expect_err("it does not fit the disk");
}

#[test]
fn a_caller_that_miscounts_leaves_a_readable_file() {
    let dir = TempDir::new().unwrap();
    for name in ["odd.pcap", "odd.pcapng"] {
        let path = dir.path().join(name);
        let format = Format::from_path(name).unwrap();
        let mut writer = CaptureWriter::create(&path, format).unwrap();
        writer.write(1, 9, [&b"short"[..]], 9).expect_err("four bytes are missing");
        writer.write(2, 9, [&b"too "[..], b"long", b"!"], 6).expect("cut as asked");
        writer.write(3, 9, [], u32::MAX).expect_err("above the limit");
        writer.finish().unwrap();
        let (seen, error) = ours(&path).unwrap();
        assert!(error.is_none());
        let data: Vec<_> = seen.into_iter().map(|seen| seen.data).collect();
        assert_eq!(data, [&b"short\0\0\0\0"[..], b"too lo"]);
    }
}
