//! `Emulated(caps: All, traffic: (flows: 16, size: 1518, protocol: TcpBulk, count: 10000))`: a NIC in memory.
//!
//! `caps` is `None`, `All`, or a list of capabilities, each of which brings those along without which it means
//! nothing. `stall: [("0s", "1s")]` names times of the run in which it sends nothing, to see back-pressure.

use super::{Common, PortConfig, wrong};
use corelane_device::emulated::{FrameSize, Generate, Order, Protocol, Stall, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::Error;
use corelane_runtime::offload::Caps;
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config::{self, Nanoseconds};
use ron::value::RawValue;
use serde::Deserialize as DeriveDeserialize;
use serde::de::{self, Deserialize, Deserializer};

#[derive(Clone, Debug, Default, DeriveDeserialize)]
#[serde(deny_unknown_fields, default)]
struct Spec {
    caps: CapsSpec,
    traffic: Option<TrafficSpec>,
    stall: Vec<(Nanoseconds, Nanoseconds)>,
}

#[derive(Clone, Debug, DeriveDeserialize)]
#[serde(deny_unknown_fields, default)]
struct TrafficSpec {
    flows: u32,
    size: SizeSpec,
    protocol: ProtocolSpec,
    ipv6: bool,
    order: OrderSpec,
    count: Option<u64>,
    seed: u64,
}

impl Default for TrafficSpec {
    fn default() -> TrafficSpec {
        TrafficSpec {
            flows: 1,
            size: SizeSpec(FrameSize::Bytes(64)),
            protocol: ProtocolSpec::Udp,
            ipv6: false,
            order: OrderSpec::RoundRobin,
            count: None,
            seed: 1,
        }
    }
}

#[derive(Clone, Copy, Debug, DeriveDeserialize)]
enum ProtocolSpec {
    Udp,
    TcpBulk,
}

#[derive(Clone, Copy, Debug, DeriveDeserialize)]
enum OrderSpec {
    RoundRobin,
    Trains(u32),
}

/// `None`, `All` or `["rx_tcp", "tso4"]`.
#[derive(Clone, Copy, Debug)]
struct CapsSpec(Caps);

impl Default for CapsSpec {
    fn default() -> CapsSpec {
        CapsSpec(Caps::MULTI_PART)
    }
}

impl<'de> Deserialize<'de> for CapsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CapsSpec, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        caps(raw.get_ron().trim()).map(CapsSpec).map_err(de::Error::custom)
    }
}

fn caps(text: &str) -> Result<Caps, String> {
    match text {
        "None" => return Ok(Caps::empty()),
        "All" => return Ok(Caps::all()),
        _ => {}
    }
    let names: Vec<String> = ron::from_str(text).map_err(|_| {
        "expected `None`, `All` or a list such as [\"rx_tcp\", \"tso4\"]".to_owned()
    })?;
    let mut caps = Caps::empty();
    for name in names {
        let bit = Caps::from_name(&name.to_uppercase()).ok_or_else(|| {
            let all: Vec<String> =
                Caps::all().iter_names().map(|(name, _)| name.to_lowercase()).collect();
            let help = crate::error::instead(&name, all.iter().map(String::as_str));
            format!("no capability is called `{name}` ({})", help.unwrap_or_default())
        })?;
        caps |= bit.with_implied();
    }
    Ok(caps)
}

/// A number of bytes, check sequence included, or `Imix`.
#[derive(Clone, Copy, Debug)]
struct SizeSpec(FrameSize);

impl<'de> Deserialize<'de> for SizeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SizeSpec, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get_ron().trim();
        let size = match text {
            "Imix" => Some(FrameSize::Imix),
            number => ron::from_str(number).ok().map(FrameSize::Bytes),
        };
        let expected = "expected a number of bytes, such as 1518, or `Imix`";
        size.map(SizeSpec).ok_or_else(|| de::Error::custom(expected))
    }
}

impl From<&TrafficSpec> for Generate {
    fn from(spec: &TrafficSpec) -> Generate {
        Generate {
            flows: spec.flows,
            size: spec.size.0,
            protocol: match spec.protocol {
                ProtocolSpec::Udp => Protocol::Udp,
                ProtocolSpec::TcpBulk => Protocol::TcpBulk,
            },
            ipv6: spec.ipv6,
            order: match spec.order {
                OrderSpec::RoundRobin => Order::RoundRobin,
                OrderSpec::Trains(frames) => Order::Trains(frames),
            },
            count: spec.count,
            seed: spec.seed,
        }
    }
}

struct Config {
    spec: Spec,
    mtu: Option<u32>,
}

pub(super) fn configure(
    args: Args<'_>,
    common: &Common,
) -> Result<Box<dyn PortConfig>, Vec<ConfigError>> {
    let spec: Spec = config::parse(args)?;
    if spec.traffic.as_ref().is_some_and(|traffic| traffic.flows == 0) {
        return Err(wrong("traffic", "0 flows are no traffic; give `flows` at least 1"));
    }
    Ok(Box::new(Config { spec, mtu: common.mtu }))
}

impl PortConfig for Config {
    /// Without traffic its input ends at once.
    fn receives(&self) -> bool {
        true
    }

    fn transmits(&self) -> bool {
        true
    }

    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error> {
        let mut config = EmulatedConfig::new(name);
        config.caps = self.spec.caps.0;
        config.limits.mtu = self.mtu;
        config.queues = queues;
        if let Some(traffic) = &self.spec.traffic {
            config.rx = Traffic::Generate(traffic.into());
        }
        let windows = self.spec.stall.iter().map(|(from, to)| from.0..to.0).collect::<Vec<_>>();
        if !windows.is_empty() {
            config.faults.stall = Stall::Windows(windows);
        }
        Ok(Box::new(Emulated::open(config)?))
    }
}
