//! Stages built from their descriptions, in a place with ports, and packets that go through several of them.

use corelane_runtime::Error;
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::Packet;
use corelane_runtime::port::{RxQueue, TxQueue};
use corelane_runtime::stage::{
    Args, BuildContext, OutputId, PortInfo, Row, StageConfig, StageInfo, StageSpec,
};
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_fill::{self, ChecksumFill};
use corelane_stages::gso::{self, Gso};
use corelane_stages::rx::describe;
use corelane_stages::tunnel::{decap, encap};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const KEY: u64 = 0x5eed;

/// A place in a plan: packets come in by port `lan` (0), and leave by `wan`.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) mtu: Option<u32>,
    /// Whether there is a way back to `lan`, and which.
    pub(crate) answer: Option<OutputId>,
    pub(crate) shared: HashMap<String, Arc<dyn Any + Send + Sync>>,
}

impl BuildContext for Place {
    fn open_rx(&mut self, port: &str) -> Result<Box<dyn RxQueue>, Error> {
        Err(Error::user(port.to_owned(), "no port here"))
    }

    fn open_tx(&mut self, port: &str) -> Result<Box<dyn TxQueue>, Error> {
        Err(Error::user(port.to_owned(), "no port here"))
    }

    fn port_caps(&self, _: &str) -> Option<Arc<PortCaps>> {
        None
    }

    fn exit_caps(&self) -> Option<Arc<PortCaps>> {
        None
    }

    fn port_number(&self, _: &str) -> u16 {
        0
    }

    fn hash_key(&self) -> u64 {
        KEY
    }

    fn port_info(&self, port: &str) -> Option<PortInfo> {
        let wan = port == "wan";
        let address = |text: &str, prefix| (text.parse().expect("an address"), prefix);
        let addresses = vec![address("1.1.2.88", 24), address("2001:cafe::88", 64)];
        Some(PortInfo {
            name: port.to_owned(),
            number: u16::from(wan),
            mac: wan.then_some([0xaa, 0x55, 0xaa, 0x55, 0, 0]),
            mtu: if wan { self.mtu } else { None },
            addresses: if wan { addresses } else { Vec::new() },
            gateways: Vec::new(),
        })
    }

    fn entries(&self) -> Vec<String> {
        vec!["lan".to_owned()]
    }

    fn exits(&self) -> Vec<String> {
        vec!["wan".to_owned()]
    }

    fn answer(&self, port: u16) -> Option<OutputId> {
        self.answer.filter(|_| port == 0)
    }

    fn shared(
        &mut self,
        name: &str,
        make: &mut dyn FnMut() -> Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.shared.entry(name.to_owned()).or_insert_with(make))
    }
}

/// The configuration that arguments make.
pub(crate) fn config(spec: &dyn StageSpec, text: &str, rows: &[&str]) -> Box<dyn StageConfig> {
    let mut config = match spec.configure(Args { text }) {
        Ok(config) => config,
        Err(errors) => panic!("{text}: {errors:?}"),
    };
    let rows: Vec<Row<'_>> = rows.iter().map(|text| Row { text }).collect();
    if let Err(errors) = config.take_rows(&rows) {
        panic!("{rows:?}: {errors:?}");
    }
    config
}

fn stage(spec: &dyn StageSpec, text: &str, rows: &[&str], place: &mut Place) -> Harness {
    let config = config(spec, text, rows);
    let outputs = 1 + config.traits().outputs.len() + usize::from(place.answer.is_some());
    let built = match config.build(place) {
        Ok(built) => built,
        Err(error) => panic!("{text}: {error}"),
    };
    let info: &StageInfo = spec.info();
    Harness::built(built, info).outputs(outputs).multiplies()
}

/// `Encap` with these arguments, at a port without an MTU.
pub(crate) fn encap(text: &str) -> Harness {
    encap_at(text, &[], &mut Place::default())
}

pub(crate) fn encap_at(text: &str, rows: &[&str], place: &mut Place) -> Harness {
    stage(&encap::EncapSpec, text, rows, place)
}

/// `Decap` with these arguments.
pub(crate) fn decap(text: &str) -> Harness {
    decap_at(text, &[], &mut Place::default())
}

pub(crate) fn decap_at(text: &str, rows: &[&str], place: &mut Place) -> Harness {
    stage(&decap::DecapSpec, text, rows, place)
}

/// A packet with these bytes, as it leaves `Rx`.
pub(crate) fn received(harness: &mut Harness, frame: &[u8]) -> Packet {
    let mut packet = harness.packet(frame);
    describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
    packet
}

/// What a stage makes of packets that came from another one, until nothing is left inside.
pub(crate) fn through(harness: &mut Harness, packets: Vec<Packet>) -> Vec<Packet> {
    harness.feed(packets, &[7, 32]);
    harness.drain();
    harness.assert_balanced();
    harness.take()
}

/// `Gso`, which cuts everything.
pub(crate) fn gso() -> Harness {
    Harness::new(Gso::new(None), &gso::INFO).multiplies()
}

/// `ChecksumFill`, which finishes everything.
pub(crate) fn fill() -> Harness {
    Harness::new(ChecksumFill::new(None), &checksum_fill::INFO)
}

/// All bytes of a packet.
pub(crate) fn bytes_of(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

/// The frames that leave a port which can do nothing, of packets of another stage's; that stage is finished.
pub(crate) fn leave(mut from: Harness, packets: Vec<Packet>) -> Vec<Vec<u8>> {
    let (mut gso, mut fill) = (gso(), fill());
    let cut = through(&mut gso, packets);
    let filled = through(&mut fill, cut);
    let frames: Vec<Vec<u8>> = filled.iter().map(bytes_of).collect();
    send_home(&mut from, filled);
    gso.finish();
    fill.finish();
    from.finish();
    frames
}

/// Sends packets home, those of other stages' homes too.
pub(crate) fn send_home(harness: &mut Harness, packets: Vec<Packet>) {
    harness.release(packets);
    harness.buffers.flush();
}
