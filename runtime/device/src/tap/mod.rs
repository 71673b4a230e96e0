//! A Linux tap: an interface of this host whose other end is a port.
//!
//! What the host sends out of the interface is received here, what is transmitted here comes in at the host. Work goes
//! along in a virtio-net header in both directions ([`crate::vnet`]): the host leaves checksums and cutting undone
//! and we say so in meta; what the kernel was found to take is left to it on the way back. One system call moves one
//! packet, however large.
//!
//! A receive queue is one file of the interface; the kernel spreads flows over them. A transmit queue writes to one of
//! these files too, so that no file is open that nobody reads; a port that is only written has one all the same, and
//! what the host sends it the kernel drops once its queue is full. An interface that this process has made is gone
//! with its last queue, unless it is to persist.

mod facts;
mod holders;
mod link;
mod open;
mod probe;
mod rx;
mod spill;
mod sys;
#[cfg(test)]
mod tests;
mod tx;

pub use probe::probe;

use crate::vnet::Agreed;
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, PortCaps};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// Most queues that the kernel gives an interface.
pub const QUEUES_MAX: usize = 256;

/// Every name under which its queues count losses.
pub const DROPS: &[&str] = &[
    "runt",
    "bad_vnet_header",
    "too_large_for_pool",
    "unknown_tunnel",
    "not_read_in_time",
    "link_down",
    "interface_gone",
    "refused",
    "unsupported_request",
    "write_error",
];

/// A tap as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapConfig {
    /// Name of the port in the description.
    pub name: String,
    /// Name of the interface; one that is not there is made. With `%d` in it the kernel picks a number.
    pub interface: String,
    /// Network namespace to open it in: a name that `ip netns` knows, or a path. `None`: that of the process.
    pub namespace: Option<String>,
    /// Most receive queues, 1 to [`QUEUES_MAX`].
    pub queues: usize,
    /// MTU to set; `None`: the one it has.
    pub mtu: Option<u32>,
    /// Hardware address to set.
    pub mac: Option<[u8; 6]>,
    /// Whether it is brought up.
    pub up: bool,
    /// Whether it stays when the run has ended.
    pub persist: bool,
    /// Whether it must be there already.
    pub must_exist: bool,
    /// Whether the host may leave checksums and cutting to us. Otherwise it does everything itself before we see a packet.
    pub offloads: bool,
}

impl TapConfig {
    /// One queue of an interface, brought up, with all offloads.
    pub fn new(name: impl Into<String>, interface: impl Into<String>) -> TapConfig {
        TapConfig {
            name: name.into(),
            interface: interface.into(),
            namespace: None,
            queues: 1,
            mtu: None,
            mac: None,
            up: true,
            persist: false,
            must_exist: false,
            offloads: true,
        }
    }

    fn what(&self) -> String {
        format!("port {}", self.name)
    }
}

/// The files of the interface, one a receive queue: what its transmit queues choose from when the run has begun.
type Files = Arc<Mutex<Vec<Arc<File>>>>;

/// A Linux tap.
#[derive(Debug)]
pub struct Tap {
    config: TapConfig,
    caps: Arc<PortCaps>,
    interface: String,
    agreed: Agreed,
    multi_queue: bool,
    files: Files,
    unread: Option<link::Unread>,
    /// What the kernel was seen to take.
    proven: Caps,
    rx_open: usize,
    tx_open: usize,
}

impl Tap {
    /// Opens the interface, and makes it if it is not there. What it can do is tried on the kernel once a process.
    ///
    /// # Errors
    /// Where the kernel refuses: the message says what, why, and what to do.
    pub fn open(config: TapConfig) -> Result<Tap, Error> {
        let opened = open::open(&config)?;
        let (facts, proven) = facts::of_opened(&opened, &config);
        Ok(Tap {
            caps: Arc::new(PortCaps::of(&config.name, facts)),
            config,
            interface: opened.interface,
            agreed: opened.agreed,
            multi_queue: opened.multi_queue,
            files: Arc::new(Mutex::new(vec![Arc::new(opened.file)])),
            unread: opened.unread,
            proven,
            rx_open: 0,
            tx_open: 0,
        })
    }

    /// What is known of such a port where no device is asked: what a tap of a current Linux takes.
    pub fn facts(config: &TapConfig) -> Facts {
        facts::recorded(config)
    }

    /// Name of the interface, also where the kernel picked it.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// What the host leaves to us.
    pub fn agreed(&self) -> Agreed {
        self.agreed
    }

    fn files(&self) -> std::sync::MutexGuard<'_, Vec<Arc<File>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrong(&self, text: String) -> Error {
        Error::user(self.config.what(), text)
    }
}

impl Port for Tap {
    fn caps(&self) -> Arc<PortCaps> {
        Arc::clone(&self.caps)
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        let (index, most) = (self.rx_open, self.config.queues);
        if index >= most {
            return Err(self.wrong(format!("has {most} receive queues; give it more")));
        }
        if index > 0 && !self.multi_queue {
            return Err(self.wrong(format!("`{}` was made for one queue", self.interface)));
        }
        if index >= self.files().len() {
            let file = open::open_queue(&self.config, &self.interface, self.agreed)?;
            self.files().push(Arc::new(file));
        }
        let file = Arc::clone(&self.files()[index]);
        self.rx_open += 1;
        let unread = self.unread.take();
        Ok(Box::new(rx::TapRx::new(&self.config.name, &self.interface, file, self.agreed, unread)))
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        let index = self.tx_open;
        self.tx_open += 1;
        let files = Arc::clone(&self.files);
        Ok(Box::new(tx::TapTx::new(&self.caps, &self.interface, files, index, self.proven)))
    }
}
