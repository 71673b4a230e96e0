//! A capture file as a port: its records are received, packets sent are written.
//!
//! Reading and writing are directions of one port, each with a file of its own; nothing here knows the file
//! formats ([`crate::capture`] does). A file is refused when the port is opened, before the first packet.

mod rx;
mod tx;

use crate::capture::{CaptureError, CaptureFile, CaptureWriter, Format};
use crate::shares::Shares;
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use std::path::PathBuf;
use std::sync::Arc;

/// A capture port as described.
#[derive(Clone, Debug)]
pub struct PcapConfig {
    /// Name of the port in the description.
    pub name: String,
    /// File to read.
    pub read: Option<PathBuf>,
    /// File to write; emptied when the transmit queue is opened. Its name decides the format.
    pub write: Option<PathBuf>,
    /// Read the file again and again, without end.
    pub repeat: bool,
    /// Most receive queues, at least 1. Those opened share the flows of the file.
    pub queues: usize,
    /// Largest IP packet, for those who ask; files take any.
    pub mtu: Option<u32>,
}

impl PcapConfig {
    /// A port without files.
    pub fn new(name: impl Into<String>) -> PcapConfig {
        let name = name.into();
        PcapConfig { name, read: None, write: None, repeat: false, queues: 1, mtu: None }
    }

    /// The same, reading this file.
    #[must_use]
    pub fn reading(self, path: impl Into<PathBuf>) -> PcapConfig {
        PcapConfig { read: Some(path.into()), ..self }
    }

    /// The same, writing this file.
    #[must_use]
    pub fn writing(self, path: impl Into<PathBuf>) -> PcapConfig {
        PcapConfig { write: Some(path.into()), ..self }
    }
}

/// A capture file as a port.
#[derive(Debug)]
pub struct Pcap {
    caps: Arc<PortCaps>,
    file: Option<CaptureFile>,
    write: Option<PathBuf>,
    repeat: bool,
    queues: usize,
    rx_open: Shares,
    tx_open: Shares,
}

impl Pcap {
    /// Opens the file to be read, if there is one.
    ///
    /// # Errors
    /// A user error where the file is refused: it is not there, no capture, or of another link type than
    /// Ethernet; or where there are no queues.
    pub fn open(config: PcapConfig) -> Result<Pcap, Error> {
        let PcapConfig { name, read, write, repeat, queues, mtu } = config;
        if queues == 0 {
            return Err(Error::user(format!("port {name}"), "has 0 queues; give at least 1"));
        }
        let limits = Limits { mtu, ..Limits::default() };
        let file = read.map(CaptureFile::open).transpose();
        let file = file.map_err(|error| failure(&name, &error))?;
        Ok(Pcap {
            caps: Arc::new(PortCaps::new(&name, Caps::MULTI_PART, limits)),
            file,
            write,
            repeat,
            queues,
            rx_open: Shares::default(),
            tx_open: Shares::default(),
        })
    }

    fn wrong(&self, text: impl Into<String>) -> Error {
        Error::user(format!("port {}", self.caps.port), text)
    }
}

/// A refusal is the description's fault; damage and failed writes are not.
fn failure(port: &str, error: &CaptureError) -> Error {
    let (what, message) = (format!("port {port}"), error.to_string());
    if error.is_refusal() { Error::user(what, message) } else { Error::system(what, message) }
}

impl Port for Pcap {
    fn caps(&self) -> Arc<PortCaps> {
        self.caps.clone()
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        let Some(file) = self.file.clone() else {
            return Err(self.wrong("has no file to read; give it one, or take its `Rx` away"));
        };
        let Some(share) = self.rx_open.open(self.queues) else {
            return Err(self.wrong(format!("has {} receive queues; give it more", self.queues)));
        };
        Ok(Box::new(rx::PcapRx::new(&self.caps.port, file, self.repeat, share)))
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        let Some(path) = &self.write else {
            return Err(self.wrong("has no file to write; give it one, or take its `Tx` away"));
        };
        if self.tx_open.open(1).is_none() {
            return Err(self.wrong(
                "is written by one queue, since packets of several would mix by chance; \
                 give each `Tx` a port with a file of its own",
            ));
        }
        let writer = Format::from_path(path).and_then(|format| CaptureWriter::create(path, format));
        let writer = writer.map_err(|error| failure(&self.caps.port, &error))?;
        Ok(Box::new(tx::PcapTx::new(&self.caps.port, writer)))
    }
}
