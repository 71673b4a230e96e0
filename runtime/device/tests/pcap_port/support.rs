//! Classic capture files made and taken apart by hand, and a loop that moves packets between two ports.

use corelane_device::{Pcap, PcapConfig};
use corelane_runtime::packet::{Buffers, Burst, HomeConfig};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use corelane_runtime::stage::{Progress, StageContext, Tally};
use std::path::{Path, PathBuf};

/// A record: time in ns, length on the wire, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) time: u64,
    pub(crate) orig_len: u32,
    pub(crate) data: Vec<u8>,
}

impl Row {
    pub(crate) fn new(time: u64, data: Vec<u8>) -> Row {
        Row { time, orig_len: data.len() as u32, data }
    }
}

/// A file with nanosecond times, little endian.
pub(crate) fn capture(link: u32, rows: &[Row]) -> Vec<u8> {
    let mut file = Vec::new();
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    file.extend(words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 1 << 20, link]));
    for row in rows {
        let (seconds, ns) = ((row.time / 1_000_000_000) as u32, (row.time % 1_000_000_000) as u32);
        file.extend(words(&[seconds, ns, row.data.len() as u32, row.orig_len]));
        file.extend(&row.data);
    }
    file
}

/// The records of such a file.
pub(crate) fn rows_of(path: &Path) -> Vec<Row> {
    let file = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 1));
    let (mut at, mut rows) = (24, Vec::new());
    while at < file.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let (len, orig_len) = (word(at + 8) as usize, word(at + 12));
        let data = file[at + 16..at + 16 + len].to_vec();
        rows.push(Row { time, orig_len, data });
        at += 16 + len;
    }
    rows
}

/// A folder that is gone at the end of the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, rows: &[Row]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, capture(1, rows)).unwrap();
        path
    }
}

pub(crate) fn reader(path: &Path) -> Pcap {
    Pcap::open(PcapConfig::new("in").reading(path)).unwrap()
}

pub(crate) fn writer(path: &Path) -> Box<dyn TxQueue> {
    Pcap::open(PcapConfig::new("out").writing(path)).unwrap().open_tx().unwrap()
}

/// Buffers and books.
pub(crate) struct Bench {
    pub(crate) buffers: Buffers,
    pub(crate) tally: Tally,
}

impl Bench {
    pub(crate) fn new(small: u32, large: u32) -> Bench {
        let config = HomeConfig { name: "bench".into(), shells: 8, small, large, node: None };
        Bench { buffers: Buffers::new(&config).unwrap(), tally: Tally::new(0, 0) }
    }

    pub(crate) fn poll(&mut self, rx: &mut dyn RxQueue, burst: &mut Burst) -> Progress {
        rx.rx(burst, 32, &mut StageContext::new(0, &mut self.buffers, &mut self.tally))
    }

    pub(crate) fn transmit(&mut self, tx: &mut dyn TxQueue, burst: &mut Burst) {
        tx.tx(burst, &mut StageContext::new(0, &mut self.buffers, &mut self.tally));
        assert!(burst.is_empty());
    }

    /// Moves packets until the receive queue is at its end, or starves although everything is at home.
    pub(crate) fn run(&mut self, rx: &mut dyn RxQueue, tx: &mut dyn TxQueue) {
        let mut burst = Burst::new();
        loop {
            match self.poll(rx, &mut burst) {
                Progress::Done => break,
                Progress::Worked(n) => assert_eq!(n, burst.len()),
                Progress::Idle(Some(_)) => {}
                other => panic!("{other:?}"),
            }
            self.transmit(tx, &mut burst);
        }
        tx.finish();
        assert_eq!(self.buffers.outstanding(), [0; 3]);
    }
}

/// A UDP frame of the given ports; checksums are nobody's business here.
pub(crate) fn udp(source: u16, destination: u16, payload: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(source.to_be_bytes());
    frame.extend(destination.to_be_bytes());
    frame.extend([0, 9, 0, 0, payload]);
    frame
}
