//! `Emulated(caps: All, traffic: (flows: 16, size: 1518, protocol: TcpBulk, count: 10000))`: a NIC in memory.
//!
//! It imitates what the common key `caps` says, as far as it has units for it. `stall: [("0s", "1s")]` names times
//! of the run in which it sends nothing, to see back-pressure; `fail: [("tso4", "1ms")]` what it no longer does
//! from then on, `fail: [("tx_tcp4", After(1000))]` after so many packets of a queue. `vxlan_ports: [4789, 8472]` and
//! `geneve_ports: [6081]` name the UDP ports behind which it looks for tunnels, in the place of those of its record.
//! `read: "in.pcap"` gives it the frames of a capture, `write: "out.pcap"` keeps what it sends.

mod files;
#[cfg(test)]
mod tests;
mod traffic;
mod values;

use super::{PortConfig, too_many_queues, wrong};
use crate::spec::Common;
use corelane_device::emulated::{Collector, Failing, Faults, Generate, Sink, Stall, Traffic};
use corelane_device::{Emulated, EmulatedConfig, caps, probe};
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, Limits, UdpPorts};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config;
use serde::Deserialize;
use std::path::Path;
use traffic::TrafficSpec;
use values::{Failure, Window};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Spec {
    traffic: Option<TrafficSpec>,
    read: Option<String>,
    write: Option<String>,
    stall: Vec<Window>,
    fail: Vec<Failure>,
    vxlan_ports: Option<Vec<u16>>,
    geneve_ports: Option<Vec<u16>>,
}

struct Config {
    /// All but the name, the queues that are wanted, and what files hold.
    device: EmulatedConfig,
    facts: Facts,
    read: Option<String>,
    write: Option<String>,
}

pub(super) fn configure(
    args: Args<'_>,
    common: &Common,
) -> Result<Box<dyn PortConfig>, Vec<ConfigError>> {
    let spec: Spec = config::parse(args)?;
    let mut device = EmulatedConfig::new("");
    let limits = Limits { mtu: common.mtu, ..Limits::default() };
    device.imitates = Some(match &common.record {
        Some(record) => record.facts.clone(),
        None => Facts::new(Caps::MULTI_PART, limits),
    });
    if let Some(facts) = &mut device.imitates {
        facts.limits.mtu = common.mtu.or(facts.limits.mtu);
    }
    let mut mistakes = Vec::new();
    if let Some(facts) = &mut device.imitates {
        mistakes.extend(tunnel_ports(&spec, &mut facts.limits));
    }
    device.faults = faults(&spec, common);
    if spec.stall.iter().any(|window| window.0.is_empty()) {
        let message = "in `stall` a time of standing still ends before it begins; write the earlier time first";
        mistakes.extend(wrong("stall", message));
    }
    device.rx = match spec.traffic.as_ref().map(|traffic| traffic.generate(common)) {
        None => Traffic::None,
        Some(Ok(generate)) => Traffic::Generate(generate),
        Some(Err(message)) => {
            mistakes.extend(wrong("traffic", message));
            Traffic::None
        }
    };
    if spec.read.is_some() && spec.traffic.is_some() {
        let message =
            "it cannot receive a capture and traffic of its own; leave out `read` or `traffic`";
        mistakes.extend(wrong("read", message));
    }
    let mut facts = device.facts();
    mistakes.extend(too_many_queues(common, &facts));
    match failing(&spec, &facts) {
        Ok(failing) => device.faults.fail = failing,
        Err(messages) => mistakes.extend(messages.into_iter().flat_map(|text| wrong("fail", text))),
    }
    if let Traffic::Generate(Generate { partial: true, .. }) = &device.rx
        && !facts.granted.contains(Caps::RX_PARTIAL)
    {
        let message = "its traffic has unfinished checksums, which it does not hand over; give `caps` with rx_partial";
        mistakes.extend(wrong("traffic", message));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    if common.verify {
        let probed =
            probe::emulated(&device).map_err(|error| wrong("verify", error.to_string()))?;
        device.imitates = Some(probed.clone());
        facts = probed;
    }
    facts.queues = common.queues.or(facts.queues);
    Ok(Box::new(Config { device, facts, read: spec.read, write: spec.write }))
}

/// Takes over the UDP ports of tunnels that the port is told itself.
fn tunnel_ports(spec: &Spec, limits: &mut Limits) -> Vec<ConfigError> {
    let lists = [
        ("vxlan_ports", &spec.vxlan_ports, &mut limits.vxlan_ports, 4789),
        ("geneve_ports", &spec.geneve_ports, &mut limits.geneve_ports, 6081),
    ];
    let mut mistakes = Vec::new();
    for (key, written, known, usual) in lists {
        let Some(written) = written else { continue };
        match UdpPorts::of(written) {
            Some(ports) => *known = ports,
            None => {
                let most = UdpPorts::MOST;
                let text = format!(
                    "`{key}` holds up to {most} UDP ports from 1 on, such as [{usual}]; give those behind which the device looks"
                );
                mistakes.extend(wrong(key, text));
            }
        }
    }
    mistakes
}

fn faults(spec: &Spec, common: &Common) -> Faults {
    let windows = spec.stall.iter().map(|window| window.0.clone()).collect::<Vec<_>>();
    let stall = if windows.is_empty() { Stall::Never } else { Stall::Windows(windows) };
    let lies = common.record.as_ref().map(|record| record.lies).unwrap_or_default();
    Faults { stall, lies, ..Faults::default() }
}

/// What is to fail, as long as the port can do it before.
fn failing(spec: &Spec, facts: &Facts) -> Result<Vec<Failing>, Vec<String>> {
    let mut failing = Vec::new();
    let mut wrong = Vec::new();
    for Failure(name, moment) in &spec.fail {
        match caps::list(&[name]) {
            Err(messages) => wrong.extend(messages),
            Ok(caps) if !facts.granted.contains(caps) => {
                let why = facts.why(caps).map(|why| format!(" ({why})")).unwrap_or_default();
                wrong.push(format!(
                    "it cannot do {name}{why}, so that cannot fail; give it in `caps`"
                ));
            }
            Ok(caps) => failing.push(Failing { caps, from: moment.0 }),
        }
    }
    if wrong.is_empty() { Ok(failing) } else { Err(wrong) }
}

impl PortConfig for Config {
    /// Without traffic its input ends at once.
    fn receives(&self) -> bool {
        true
    }

    fn transmits(&self) -> bool {
        true
    }

    fn files(&self) -> Vec<&Path> {
        self.read.iter().chain(&self.write).map(Path::new).collect()
    }

    fn writes(&self) -> Vec<&Path> {
        self.write.iter().map(Path::new).collect()
    }

    fn drop_reasons(&self) -> Vec<&'static str> {
        vec!["too_large_for_pool", "unsupported_request", "over_mtu"]
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error> {
        if let Some(most) = self.facts.queues.filter(|&most| queues > usize::from(most)) {
            let message = format!(
                "has {most} queues per direction, and {queues} are wanted; give `cores` fewer"
            );
            return Err(Error::user(format!("port {name}"), message));
        }
        let mut device = EmulatedConfig { name: name.to_owned(), queues, ..self.device.clone() };
        let mut file = None;
        if let Some(path) = &self.read {
            let (frames, read) = files::read(name, path)?;
            (device.rx, file) = (Traffic::Frames { frames, repeat: false }, Some(read));
        }
        let nic: Box<dyn Port> = match &self.write {
            None => Box::new(Emulated::open(device)?),
            Some(path) => {
                let sent = Collector::new();
                device.tx = Sink::Collect(sent.clone());
                Box::new(files::Recorded::new(name, Emulated::open(device)?, sent, path)?)
            }
        };
        Ok(match file {
            None => nic,
            Some(_file) => Box::new(files::Reading { nic, _file }),
        })
    }
}
