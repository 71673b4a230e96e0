//! Tests: what is found against trying rules one after the other; how rules are read; the stage in the harness.

mod facts;
mod many;
mod property;
mod reading;
mod stage;

use super::compile::Wishes;
use super::config::wishes;
use super::rule::Rule;
use super::table::Classifier;
use crate::fixture::received;
use corelane_runtime::packet::Packet;
use corelane_runtime::stage::{BuildContext, Nowhere, PortInfo};
use corelane_runtime::testing::Harness;
use std::net::IpAddr;

/// Ports `p0`, `p1` .. of those numbers; `p0` has addresses.
#[derive(Default)]
struct Place(Nowhere);

impl BuildContext for Place {
    fn open_rx(
        &mut self,
        port: &str,
    ) -> Result<Box<dyn corelane_runtime::port::RxQueue>, corelane_runtime::Error> {
        self.0.open_rx(port)
    }
    fn open_tx(
        &mut self,
        port: &str,
    ) -> Result<Box<dyn corelane_runtime::port::TxQueue>, corelane_runtime::Error> {
        self.0.open_tx(port)
    }
    fn port_caps(&self, _: &str) -> Option<std::sync::Arc<corelane_runtime::offload::PortCaps>> {
        None
    }
    fn exit_caps(&self) -> Option<std::sync::Arc<corelane_runtime::offload::PortCaps>> {
        None
    }
    fn port_number(&self, port: &str) -> u16 {
        port.strip_prefix('p').and_then(|number| number.parse().ok()).expect("a port")
    }
    fn hash_key(&self) -> u64 {
        1
    }
    fn port_info(&self, port: &str) -> Option<PortInfo> {
        let addresses = ["192.0.2.1", "2001:db8::1"];
        let addresses = addresses.map(|text| (text.parse::<IpAddr>().expect("an address"), 24));
        (port == "p0").then(|| PortInfo { addresses: addresses.to_vec(), ..PortInfo::default() })
    }
}

/// Rules as they are written, ready to be looked up.
fn classifier(rules: &[String], place: &dyn BuildContext) -> Classifier {
    let read =
        |text: &String| Rule::read(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let wishes: Vec<Wishes> =
        rules.iter().map(|text| wishes(&read(text), place).expect("known ports")).collect();
    Classifier::new(&wishes)
}

/// A packet as it leaves `Rx` of a port, with a mark.
fn packet(harness: &mut Harness, frame: &[u8], mark: u16, port: u16) -> Packet {
    let mut packet = received(harness, frame, &[]);
    packet.set_mark(mark);
    packet.meta_mut().port = port;
    packet
}
