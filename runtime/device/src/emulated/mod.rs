//! A NIC in memory, with any capabilities.
//!
//! In the order frames travel: [`Traffic`] is what it receives, from a list or made by [`Generate`]; it reports
//! what hardware of its [`Caps`] would, joins segments if it can; on the other
//! side it takes packets with their requests, does what it granted, refuses the rest ([`Refusals`]), and keeps
//! the frames ([`Collector`]) or throws them away. [`Faults`] make it stall and lie.
//!
//! It stands on the hardware side of the test that hardware and software paths give the same packets. So it is
//! written from the specifications, and shares no parser and no checksum code with the stages. It is exact, not
//! fast: only the way without hardware work is fit for measuring.
//!
//! Tunnels it finds by the UDP ports of its [`Limits`] (VXLAN, Geneve), and by their protocol where it cuts inside
//! them (GRE, IP in IP). On receipt it tells the outer level from the one inside; on transmit it finishes the
//! checksums of both, and cuts TCP inside with every header around it made new, or, as `GSO_PARTIAL`, repeated.
//!
//! What it does not do: lose frames by itself, or join segments inside a tunnel. Of a
//! [`Record`](crate::caps::Record) it imitates what it has a unit for, and says of the rest that it has none.

mod arithmetic;
mod facts;
mod faults;
mod finish;
mod frame;
mod generate;
mod inspect;
mod join;
mod request;
mod rx;
mod segment;
mod traffic;
mod tx;

pub use faults::{Failing, Faults, Lies, Onset, Stall};
pub use frame::{Collector, Frame, Sink};
pub use generate::{FrameSize, Generate, Order, Overlay, OverlayKind, Protocol, Rate};
pub use request::{Refusal, Refusals};
pub use traffic::Traffic;

use crate::shares::Shares;
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, Limits, PortCaps};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use std::sync::Arc;

/// What receive queues do; the rest is done by transmit queues.
const RX: Caps = Caps::from_bits_truncate(0xffff);

/// An emulated NIC as described.
#[derive(Clone, Debug)]
pub struct EmulatedConfig {
    /// Name of the port in the description.
    pub name: String,
    /// What it can do; bits whose implied bits are missing are not granted.
    pub caps: Caps,
    /// How much it takes.
    pub limits: Limits,
    /// What is known of a device that it is to imitate, as far as it can, in the place of `caps` and `limits`.
    pub imitates: Option<Facts>,
    /// What it receives.
    pub rx: Traffic,
    /// What becomes of what it sends.
    pub tx: Sink,
    /// Most queues per direction, at least 1. Those opened share the traffic.
    pub queues: usize,
    /// What goes wrong.
    pub faults: Faults,
}

impl EmulatedConfig {
    /// A NIC with one queue per direction that receives nothing, keeps nothing, and can do nothing but take
    /// packets of several parts.
    pub fn new(name: impl Into<String>) -> EmulatedConfig {
        EmulatedConfig {
            name: name.into(),
            caps: Caps::MULTI_PART,
            limits: Limits::default(),
            imitates: None,
            rx: Traffic::None,
            tx: Sink::Discard,
            queues: 1,
            faults: Faults::default(),
        }
    }
}

/// An emulated NIC.
#[derive(Debug)]
pub struct Emulated {
    caps: Arc<PortCaps>,
    traffic: traffic::Shared,
    sink: Sink,
    faults: Faults,
    queues: usize,
    rx_open: Shares,
    tx_open: Shares,
    refusals: Arc<Refusals>,
}

impl Emulated {
    /// Makes the device.
    ///
    /// # Errors
    /// A user error where there are no queues, or the traffic cannot be made.
    pub fn open(config: EmulatedConfig) -> Result<Emulated, Error> {
        let facts = config.facts();
        let EmulatedConfig { name, rx, tx, queues, faults, .. } = config;
        let wrong = |wrong: &str| Error::user(format!("port {name}"), wrong);
        if queues == 0 {
            return Err(wrong("has 0 queues; give at least 1"));
        }
        if let Traffic::Generate(generate) = &rx {
            generate.check_for(&name)?;
            if generate.partial && !facts.granted.contains(Caps::RX_PARTIAL) {
                return Err(wrong(
                    "hands over no unfinished checksums, which its traffic has; give it `rx_partial`",
                ));
            }
        }
        Ok(Emulated {
            caps: Arc::new(PortCaps::of(&name, facts)),
            traffic: rx.into(),
            sink: tx,
            faults,
            queues,
            rx_open: Shares::default(),
            tx_open: Shares::default(),
            refusals: Arc::default(),
        })
    }

    /// What the device refused to send; the handle outlives the port.
    pub fn refusals(&self) -> Arc<Refusals> {
        self.refusals.clone()
    }

    fn no_queue(&self) -> Error {
        let text = format!("has {} queues per direction; give it more", self.queues);
        Error::user(format!("port {}", self.caps.port), text)
    }
}

impl Port for Emulated {
    fn caps(&self) -> Arc<PortCaps> {
        self.caps.clone()
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        let share = self.rx_open.open(self.queues).ok_or_else(|| self.no_queue())?;
        let (caps, traffic) = (self.caps.clone(), self.traffic.clone());
        Ok(Box::new(rx::EmulatedRx::new(caps, &self.faults, traffic, share)))
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        let share = self.tx_open.open(self.queues).ok_or_else(|| self.no_queue())?;
        let (queue, _) = share.of_all();
        let refusals = self.refusals.clone();
        let (caps, sink, faults) = (&self.caps, &self.sink, &self.faults);
        Ok(Box::new(tx::EmulatedTx::new(caps, queue, sink, faults, refusals)))
    }
}
