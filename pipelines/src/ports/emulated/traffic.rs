//! The key `traffic` of an emulated port: what it receives.
//!
//! `traffic: (flows: 1000, size: Imix, protocol: Udp, order: Zipf(1.1), rate: "1Mpps", count: 10000, seed: 1)`.
//! With `tunnel: Vxlan(vni: 42)` or `tunnel: Geneve(vni: 42)` the frames come in a tunnel, and `size` is that of the
//! frames inside; `from: "192.0.2.7", to: "192.0.2.1"` are its outer addresses, `port: 4789` its UDP port,
//! `checksum: true` gives it an outer UDP checksum.

use super::values::{OrderSpec, RateSpec, SizeSpec};
use crate::spec::Common;
use corelane_device::emulated::{Generate, Order, Overlay, OverlayKind, Protocol};
use serde::Deserialize;
use std::net::IpAddr;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TrafficSpec {
    flows: u32,
    size: SizeSpec,
    protocol: ProtocolSpec,
    ipv6: bool,
    order: OrderSpec,
    rate: RateSpec,
    count: Option<u64>,
    seed: u64,
    /// Whether checksums are left unfinished.
    partial: bool,
    tunnel: Option<TunnelSpec>,
}

impl Default for TrafficSpec {
    fn default() -> TrafficSpec {
        let usual = Generate::default();
        TrafficSpec {
            flows: usual.flows,
            size: SizeSpec(usual.size),
            protocol: ProtocolSpec::Udp,
            ipv6: usual.ipv6,
            order: OrderSpec::RoundRobin,
            rate: RateSpec(usual.rate),
            count: usual.count,
            seed: usual.seed,
            partial: usual.partial,
            tunnel: None,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
enum TunnelSpec {
    Vxlan(TunnelKeys),
    Geneve(TunnelKeys),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TunnelKeys {
    vni: u32,
    port: Option<u16>,
    from: Option<IpAddr>,
    to: Option<IpAddr>,
    #[serde(default)]
    checksum: bool,
}

impl TunnelSpec {
    fn overlay(&self) -> Overlay {
        let (kind, keys) = match self {
            TunnelSpec::Vxlan(keys) => (OverlayKind::Vxlan, keys),
            TunnelSpec::Geneve(keys) => (OverlayKind::Geneve, keys),
        };
        let usual = Overlay::new(kind, keys.vni);
        Overlay {
            port: keys.port.unwrap_or(usual.port),
            from: keys.from.unwrap_or(usual.from),
            to: keys.to.unwrap_or(usual.to),
            checksum: keys.checksum,
            ..usual
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum ProtocolSpec {
    Udp,
    TcpBulk,
}

impl TrafficSpec {
    /// What the device is to generate, for a port of this address; or what is wrong with it.
    pub(super) fn generate(&self, common: &Common) -> Result<Generate, String> {
        let usual = Generate::default();
        let generate = Generate {
            flows: self.flows,
            size: self.size.0.clone(),
            protocol: match self.protocol {
                ProtocolSpec::Udp => Protocol::Udp,
                ProtocolSpec::TcpBulk => Protocol::TcpBulk,
            },
            ipv6: self.ipv6,
            order: match self.order {
                OrderSpec::RoundRobin => Order::RoundRobin,
                OrderSpec::Trains(frames) => Order::Trains(frames),
                OrderSpec::Zipf(power) => Order::Zipf(power),
            },
            count: self.count,
            rate: self.rate.0,
            seed: self.seed,
            destination: common.mac.unwrap_or(usual.destination),
            partial: self.partial,
            tunnel: self.tunnel.as_ref().map(TunnelSpec::overlay),
        };
        generate.check().map_err(|(_, wrong)| wrong)?;
        Ok(generate)
    }
}
