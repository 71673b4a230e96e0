//! `Ttl`: the TTL or hop limit is lowered, as a router does, and what has come to its end leaves the way.
#![doc = include_str!("README.md")]

#[cfg(test)]
mod tests;

use crate::declare::Output;
use crate::rewrite::edit::edit;
use crate::rewrite::outer::{Outer, outer};
use crate::rewrite::ttl_at;
use crate::{choice, stage};
use corelane_runtime::packet::{Burst, NoBuffer, Packet};
use corelane_runtime::stage::{ConfigError, Outputs, Stage, StageContext};

choice! {
    /// What happens to a packet that may go no further.
    #[derive(Copy)]
    pub enum Expired {
        /// dropped, counted as `ttl_expired`
        Drop,
        /// sent to that chain, as it came
        Output(Output),
    }
}

stage! {
    /// Lowers the TTL or hop limit of the outermost IP header.
    ///
    /// A packet whose TTL would come to 0 or below has expired, and is not changed (RFC 1812 section 5.3.1, RFC 8200 section 3).
    /// What is no IP passes. The IPv4 header checksum follows, right or wrong as it was; nothing else is touched.
    pub struct Ttl {
        /// by how much, at least 1
        decrement: u8 = 1,
        /// what happens to a packet that may go no further
        expired: Expired = Drop,
    }
    subject { decrement }
    drops { TTL_EXPIRED }
    traits { changes_headers }
}

impl Ttl {
    fn check(&self) -> Result<(), ConfigError> {
        let lowers = self.decrement > 0;
        lowers
            .then_some(())
            .ok_or(ConfigError::at("decrement", "0 lowers nothing; write at least 1"))
    }

    /// Lowers it; false where the packet has expired.
    fn lower(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Result<bool, NoBuffer> {
        let Some(outer) = outer(packet, false, ctx) else { return Ok(true) };
        let ttl = packet.data().get(outer.l3 + ttl_at(&outer)).copied().unwrap_or(u8::MAX);
        let Some(left) = ttl.checked_sub(self.decrement).filter(|&left| left > 0) else {
            return Ok(false);
        };
        let write = |outer: &Outer| ttl_at(outer);
        edit(packet, Some(outer), ctx.buffers, |edit| edit.network(write(&outer), &[left]))?;
        Ok(true)
    }
}

impl Stage for Ttl {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first_mut() {
            let Ok(goes_on) = self.lower(packet, ctx) else { return };
            let Some(packet) = burst.pop() else { return };
            match self.expired {
                _ if goes_on => out.next(packet),
                Expired::Drop => ctx.drop(packet, Self::TTL_EXPIRED),
                Expired::Output(output) => out.send(output, packet),
            }
        }
    }
}
