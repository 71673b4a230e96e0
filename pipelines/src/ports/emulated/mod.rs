//! `Emulated(caps: All, traffic: (flows: 16, size: 1518, protocol: TcpBulk, count: 10000))`: a NIC in memory.
//!
//! It imitates what the common key `caps` says, as far as it has units for it. `stall: [("0s", "1s")]` names times
//! of the run in which it sends nothing, to see back-pressure; `fail: [("tso4", "1ms")]` what it no longer does
//! from then on, `fail: [("tx_tcp4", After(1000))]` after so many packets of a queue.

#[cfg(test)]
mod tests;
mod traffic;
mod values;

use super::{PortConfig, too_many_queues, wrong};
use crate::spec::Common;
use corelane_device::emulated::{Failing, Faults, Generate, Stall, Traffic};
use corelane_device::{Emulated, EmulatedConfig, caps, probe};
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, Limits};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config;
use serde::Deserialize;
use traffic::TrafficSpec;
use values::{Failure, Window};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Spec {
    traffic: Option<TrafficSpec>,
    stall: Vec<Window>,
    fail: Vec<Failure>,
}

struct Config {
    /// All but the name and the queues that are wanted.
    device: EmulatedConfig,
    facts: Facts,
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
    Ok(Box::new(Config { device, facts }))
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
        let device = EmulatedConfig { name: name.to_owned(), queues, ..self.device.clone() };
        Ok(Box::new(Emulated::open(device)?))
    }
}
