//! An emulated NIC with its own wire behind it, to be probed.
//!
//! Each question goes to a device of its own that is opened for it, so that no answer depends on what was asked
//! before; its limits are the usual ones, as probes are no test of limits.

use super::vectors::Sent;
use super::{Loopback, Seen, probe};
use crate::emulated::{Collector, Emulated, EmulatedConfig, Faults, Frame, Sink, Traffic};
use corelane_runtime::Error;
use corelane_runtime::offload::{Facts, UdpPorts};
use corelane_runtime::packet::{Buffers, Burst, HomeConfig, Packet, Segmentation};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Progress, StageContext, Tally};

/// What the device that `config` describes can do when it is tried. One that lies is asked for all that it
/// advertises; an honest one does what it grants, and refuses the rest.
///
/// # Errors
/// Where there is no memory for the probes.
pub fn emulated(config: &EmulatedConfig) -> Result<Facts, Error> {
    let mut facts = config.facts();
    let honest = config.faults.lies.is_empty();
    let caps = if honest { facts.granted } else { facts.advertised };
    let mut device = EmulatedConfig::new("probe");
    device.caps = caps;
    // Probes are on the registered ports; behind which others it looks is no question of what it does there.
    device.limits.vxlan_ports = UdpPorts::one(4789);
    device.limits.geneve_ports = UdpPorts::one(6081);
    device.faults = Faults { lies: config.faults.lies, ..Faults::default() };
    let claims = device.facts().granted;
    let home = HomeConfig { name: "probe".into(), shells: 8, small: 16, large: 4, node: None };
    let mut bench = Bench { device, buffers: Buffers::new(&home)?, tally: Tally::new(0, 0) };
    let (granted, reasons) = probe(&mut bench, claims)?;
    // Whatever was thought of what has been tried now is out of date.
    facts.reasons.iter_mut().for_each(|reason| reason.caps -= claims);
    facts.reasons.retain(|reason| !reason.caps.is_empty());
    facts.reasons.extend(reasons);
    facts.granted = granted;
    Ok(facts)
}

struct Bench {
    device: EmulatedConfig,
    buffers: Buffers,
    tally: Tally,
}

impl Bench {
    fn packet(&mut self, request: &Sent) -> Result<Packet, Error> {
        let bytes = request.packet();
        let none = || Error::user("probe", "there is no buffer for a probe packet");
        let mut packet = self.buffers.receive(&bytes).ok_or_else(none)?;
        request.asks.mark(packet.meta_mut());
        if let Some((kind, gso_size, flags)) = request.cut {
            let count = request.back.len() as u16;
            packet.set_segmentation(Segmentation { kind, gso_size, count, flags });
        }
        Ok(packet)
    }
}

impl Loopback for Bench {
    fn send(&mut self, request: &Sent) -> Result<Vec<Vec<u8>>, Error> {
        let wire = Collector::new();
        let tx = Sink::Collect(wire.clone());
        let mut queue = Emulated::open(EmulatedConfig { tx, ..self.device.clone() })?.open_tx()?;
        let mut burst = Burst::new();
        let packet = self.packet(request)?;
        if let Err(packet) = burst.push(packet) {
            self.buffers.release(packet);
        }
        let mut ctx = StageContext::new(0, &mut self.buffers, &mut self.tally);
        queue.tx(&mut burst, &mut ctx);
        queue.finish();
        burst.drain().for_each(|packet| self.buffers.release(packet));
        Ok(wire.take().into_iter().map(|frame| frame.data).collect())
    }

    fn receive(&mut self, frames: &[Vec<u8>]) -> Result<Vec<Seen>, Error> {
        let frames = frames.iter().map(|bytes| Frame::new(0, bytes.clone())).collect();
        let rx = Traffic::Frames { frames, repeat: false };
        let mut queue = Emulated::open(EmulatedConfig { rx, ..self.device.clone() })?.open_rx()?;
        let mut burst = Burst::new();
        let mut seen = Vec::new();
        loop {
            let mut ctx = StageContext::new(0, &mut self.buffers, &mut self.tally);
            let progress = queue.rx(&mut burst, 8, &mut ctx);
            for packet in burst.drain() {
                seen.push(look(&packet));
                self.buffers.release(packet);
            }
            // Whatever is not work is the end: everything is there from the start.
            if !matches!(progress, Progress::Worked(_)) {
                return Ok(seen);
            }
        }
    }
}

fn look(packet: &Packet) -> Seen {
    let meta = packet.meta();
    let request = packet.segmentation();
    Seen {
        bytes: packet.parts().collect::<Vec<_>>().concat(),
        l3: meta.l3[0],
        l4: meta.l4[0],
        known: meta.known(),
        joined: packet.is_super().then_some((request.count, request.gso_size)),
    }
}
