//! `Rewrite`: header fields are set, and every checksum over them follows; none is repaired.
#![doc = include_str!("README.md")]

pub(crate) mod edit;
pub(crate) mod outer;
#[cfg(test)]
pub(crate) mod tests;

use crate::config::Mac;
use crate::stage;
use corelane_runtime::packet::{Burst, NoBuffer, Packet};
use corelane_runtime::stage::{ConfigError, Outputs, Stage, StageContext};
use corelane_wire::ethernet::ethertype;
use edit::{Edit, edit, has_link};
use outer::{Outer, outer};
use std::net::IpAddr;

stage! {
    /// Sets header fields of the outermost headers, and keeps every checksum what it was.
    ///
    /// A field is set where a packet has it: an IPv4 address in IPv4 packets, ports in TCP and UDP. Checksums that
    /// are right stay right, wrong ones stay wrong by as much, a UDP checksum of 0 stays 0, and one that is to be
    /// finished by a port is finished to the right value. At the cost of the headers: no payload is read.
    pub struct Rewrite {
        /// Ethernet source address
        eth_src: Option<Mac> = None,
        /// Ethernet destination address
        eth_dst: Option<Mac> = None,
        /// VLAN identifier of the outermost tag, where there is a tag
        vlan: Option<u16> = None,
        /// priority in the outermost VLAN tag, 0 to 7
        pcp: Option<u8> = None,
        /// source address, in packets of its family
        src: Option<IpAddr> = None,
        /// destination address, in packets of its family
        dst: Option<IpAddr> = None,
        /// DSCP, 0 to 63
        dscp: Option<u8> = None,
        /// ECN field, 0 to 3
        ecn: Option<u8> = None,
        /// TTL or hop limit
        ttl: Option<u8> = None,
        /// source port of TCP or UDP
        sport: Option<u16> = None,
        /// destination port of TCP or UDP
        dport: Option<u16> = None,
    }
    counters { CHANGED, LACKING }
    traits { changes_headers }
}

/// The largest identifier of a VLAN (IEEE 802.1Q): 4095 is reserved.
pub(crate) const VID_MAX: u16 = 4094;

impl Rewrite {
    fn check(&self) -> Result<(), ConfigError> {
        let link = self.eth_src.is_some() || self.eth_dst.is_some();
        if !(link || self.vlan.is_some() || self.pcp.is_some() || self.has_network()) {
            let message = "it sets nothing; name a field to set, such as `dst: \"10.0.0.1\"`, or leave it out";
            return Err(ConfigError { span: None, key: None, message: message.to_owned() });
        }
        if self.ttl == Some(0) {
            let message = "a packet whose TTL is 0 is passed on by nobody; write 1 to 255";
            return Err(ConfigError::at("ttl", message));
        }
        most("vlan", self.vlan, VID_MAX)?;
        most("pcp", self.pcp, 7)?;
        most("dscp", self.dscp, 63)?;
        most("ecn", self.ecn, 3)
    }

    /// Whether a checksum above IP can change.
    fn is_deep(&self) -> bool {
        self.src.is_some() || self.dst.is_some() || self.sport.is_some() || self.dport.is_some()
    }

    fn has_network(&self) -> bool {
        self.is_deep() || self.dscp.is_some() || self.ecn.is_some() || self.ttl.is_some()
    }

    fn rewrite(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Result<(), NoBuffer> {
        let outer = match self.has_network() {
            true => outer(packet, self.is_deep(), ctx),
            false => None,
        };
        let link = has_link(packet);
        let mut lacking = false;
        let changed = edit(packet, outer, ctx.buffers, |edit| {
            lacking |= !self.set_link(edit, link);
            lacking |= self.has_network() && !outer.is_some_and(|outer| self.set_ip(edit, &outer));
        })?;
        ctx.count(Self::CHANGED, u64::from(changed));
        ctx.count(Self::LACKING, u64::from(lacking));
        Ok(())
    }

    /// False where a field is named that the packet has not.
    fn set_link(&self, edit: &mut Edit<'_>, has_link: bool) -> bool {
        let wanted = self.eth_src.is_some() || self.eth_dst.is_some();
        let tags = self.vlan.is_some() || self.pcp.is_some();
        if !has_link {
            return !(wanted || tags);
        }
        if let Some(Mac(address)) = self.eth_dst {
            edit.link(0, &address);
        }
        if let Some(Mac(address)) = self.eth_src {
            edit.link(6, &address);
        }
        !tags || self.set_tag(edit)
    }

    fn set_tag(&self, edit: &mut Edit<'_>) -> bool {
        let word = |at: usize| -> Option<u16> {
            Some(u16::from_be_bytes(edit.data().get(at..at + 2)?.try_into().ok()?))
        };
        let tagged = word(12).is_some_and(ethertype::is_vlan) && edit.data().len() >= 18;
        let Some(old) = word(14).filter(|_| tagged) else { return false };
        let vid = self.vlan.unwrap_or(old & 0x0fff);
        let pcp = self.pcp.map_or(old & 0xe000, |pcp| u16::from(pcp) << 13);
        edit.link(14, &(pcp | old & 0x1000 | vid).to_be_bytes());
        true
    }

    /// False where a field is named that the packet has not.
    fn set_ip(&self, edit: &mut Edit<'_>, outer: &Outer) -> bool {
        self.set_class(edit, outer);
        if let Some(ttl) = self.ttl {
            edit.network(ttl_at(outer), &[ttl]);
        }
        let mut complete = true;
        for (which, address) in [self.src, self.dst].into_iter().enumerate() {
            match address {
                Some(IpAddr::V4(address)) if !outer.v6 => edit.address(which, &address.octets()),
                Some(IpAddr::V6(address)) if outer.v6 => edit.address(which, &address.octets()),
                Some(_) => complete = false,
                None => {}
            }
        }
        for (which, port) in [self.sport, self.dport].into_iter().enumerate() {
            let Some(port) = port else { continue };
            complete &= outer.ports.is_some();
            edit.port(which, port);
        }
        complete
    }

    fn set_class(&self, edit: &mut Edit<'_>, outer: &Outer) {
        let first = edit.data().get(outer.l3..outer.l3 + 2);
        let Some(&[first, second]) = first.and_then(|bytes| bytes.first_chunk()) else { return };
        let word = u16::from_be_bytes([first, second]);
        // IPv6 has its version before the class, and the flow label right behind.
        let shift = if outer.v6 { 4 } else { 0 };
        let old = (word >> shift) as u8;
        let dscp = self.dscp.map_or(old & 0xfc, |dscp| dscp << 2);
        let class = dscp | self.ecn.unwrap_or(old & 0x03);
        let word = word & !(0xff << shift) | u16::from(class) << shift;
        edit.network(0, &word.to_be_bytes());
    }
}

/// Where the TTL or hop limit lies in its header.
pub(crate) fn ttl_at(outer: &Outer) -> usize {
    if outer.v6 { 7 } else { 8 }
}

fn most<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: Option<T>,
    most: T,
) -> Result<(), ConfigError> {
    match value.filter(|value| *value > most) {
        Some(value) => Err(ConfigError::at(
            key,
            format!("{value} is more than `{key}` can be; write at most {most}"),
        )),
        None => Ok(()),
    }
}

impl Stage for Rewrite {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first_mut() {
            if self.rewrite(packet, ctx).is_err() {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            out.next(packet);
        }
    }
}
