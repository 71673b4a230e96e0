//! `ChecksumValidate`: every checksum of a packet is checked, the payload read at most once; no byte is changed.
#![doc = include_str!("README.md")]

pub(crate) mod beyond;
pub(crate) mod counters;
mod gre;
mod hardware;
pub(crate) mod scope;
mod software;
#[cfg(test)]
mod tests;
mod verify;

use crate::declare::Output;
use crate::rx::hardware::forget;
use crate::{choice, stage};
use corelane_runtime::offload::{Looks, Need, Offload};
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::stage::spec::Traits;
use corelane_runtime::stage::{Outputs, Reason, Stage, StageContext};
use verify::{Found, Rules};

choice! {
    /// What happens to a packet with a wrong checksum.
    #[derive(Copy)]
    pub enum OnBad {
        /// passed on, marked bad: never joined, never repaired
        Mark,
        /// dropped; the reason is the first wrong kind of IPv4, TCP, UDP, GRE
        Drop,
        /// sent to that chain, marked bad
        Output(Output),
    }
}

choice! {
    /// What happens to a packet whose checksum holds just the sum of the pseudo header, and that nobody asks to finish.
    #[derive(Copy)]
    pub enum OnPartial {
        /// passed on as it is, never joined
        Pass,
        /// passed on, to be finished by `ChecksumFill` or by the port it leaves by
        Finish,
        /// dropped
        Drop,
        /// sent to that chain as it is
        Output(Output),
    }
}

choice! {
    /// What happens to a packet with a checksum of which nothing can be said.
    #[derive(Copy)]
    pub enum OnUnverifiable {
        /// passed on as it is, never joined
        Pass,
        /// dropped
        Drop,
        /// sent to that chain as it is
        Output(Output),
    }
}

choice! {
    /// What happens to a packet whose UDP header, over IPv6, says that there is no checksum, where its port is not
    /// one that may.
    #[derive(Copy)]
    pub enum OnZero6 {
        /// dropped, as a receiver must (RFC 8200 section 8.1)
        Drop,
        /// passed on
        Pass,
        /// sent to that chain
        Output(Output),
    }
}

stage! {
    /// Checks IPv4, TCP, UDP and GRE checksums at every level and remembers the payload's sum.
    ///
    /// Where a port says that a checksum is right or wrong, that is taken over; everything else is computed, each
    /// payload byte read at most once. No byte is changed. A packet that is several of these is treated as the
    /// first of them: bad, partial, unverifiable. A checksum that came unfinished because its sender's own stack
    /// asks for it to be finished counts as good without being read: nothing can have damaged it yet. UDP over IPv6
    /// without a checksum is accepted to the ports of `zero6_ports` alone, which are those of tunnels that leave it
    /// out (RFC 6935, RFC 6936).
    pub struct ChecksumValidate {
        /// what happens to a packet with a wrong checksum
        on_bad: OnBad = Mark,
        /// what happens to a packet that merely looks unfinished; one that its sender asks to be finished is vouched for
        on_partial: OnPartial = Pass,
        /// what happens to fragments, cut packets and impossible lengths
        on_unverifiable: OnUnverifiable = Pass,
        /// what happens to UDP over IPv6 without a checksum, at any level, to a port not in `zero6_ports`
        on_zero6: OnZero6 = Drop,
        /// UDP destination ports to which packets over IPv6 may come without a checksum
        zero6_ports: Vec<u16> = [],
    }
    counters { ..counters::NAMES }
    drops { BAD_IPV4, BAD_TCP, BAD_UDP, BAD_GRE, UDP6_ZERO_CHECKSUM, PARTIAL, UNVERIFIABLE }
    given {
        /// Whether a device's word is taken over.
        trusts: bool = |ctx| ctx.offload() != Offload::SoftwareOnly
    }
    traits { checks }
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Next,
    Drop(Reason),
    Output(Output),
}

impl ChecksumValidate {
    /// A stage that does `on_bad` with what is wrong, and passes on whatever else there is.
    pub fn new(on_bad: OnBad) -> ChecksumValidate {
        ChecksumValidate {
            on_bad,
            on_partial: OnPartial::Pass,
            on_unverifiable: OnUnverifiable::Pass,
            on_zero6: OnZero6::Pass,
            zero6_ports: Vec::new(),
            trusts: true,
        }
    }

    fn needs(&self) -> Vec<Need> {
        hardware::NEEDS.to_vec()
    }

    fn traits(&self, traits: &mut Traits) {
        if self.on_partial == OnPartial::Finish {
            traits.makes |= Looks::PARTIAL.difference(Looks::PARTIAL_IPV4);
        }
    }

    fn check_packet(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Found {
        if !self.trusts {
            forget(packet);
        }
        let finish = self.on_partial == OnPartial::Finish;
        verify::verify(packet, &Rules { finish, zero6_ports: &self.zero6_ports }, ctx)
    }

    fn way(&self, found: Found) -> Way {
        if let Some(reason) = reason(found) {
            match self.on_bad {
                OnBad::Mark => {}
                OnBad::Drop => return Way::Drop(reason),
                OnBad::Output(output) => return Way::Output(output),
            }
        }
        if found.contains(Found::ZERO6) {
            match self.on_zero6 {
                OnZero6::Pass => {}
                OnZero6::Drop => return Way::Drop(Self::UDP6_ZERO_CHECKSUM),
                OnZero6::Output(output) => return Way::Output(output),
            }
        }
        if found.contains(Found::PARTIAL) {
            match self.on_partial {
                OnPartial::Pass | OnPartial::Finish => {}
                OnPartial::Drop => return Way::Drop(Self::PARTIAL),
                OnPartial::Output(output) => return Way::Output(output),
            }
        }
        if found.contains(Found::UNVERIFIABLE) {
            match self.on_unverifiable {
                OnUnverifiable::Pass => {}
                OnUnverifiable::Drop => return Way::Drop(Self::UNVERIFIABLE),
                OnUnverifiable::Output(output) => return Way::Output(output),
            }
        }
        Way::Next
    }
}

impl Stage for ChecksumValidate {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            let found = self.check_packet(&mut packet, ctx);
            if found.is_empty() {
                out.next(packet);
                continue;
            }
            match self.way(found) {
                Way::Next => out.next(packet),
                Way::Drop(reason) => ctx.drop(packet, reason),
                Way::Output(output) => out.send(output, packet),
            }
        }
    }
}

fn reason(found: Found) -> Option<Reason> {
    let kinds = [
        (Found::IPV4, ChecksumValidate::BAD_IPV4),
        (Found::TCP, ChecksumValidate::BAD_TCP),
        (Found::UDP, ChecksumValidate::BAD_UDP),
        (Found::GRE, ChecksumValidate::BAD_GRE),
    ];
    kinds.into_iter().find_map(|(kind, reason)| found.contains(kind).then_some(reason))
}
