//! `Reflect`: a packet turns round, so that it goes back to whoever sent it.
#![doc = include_str!("README.md")]

#[cfg(test)]
mod tests;

use crate::rewrite::edit::{Edit, edit, has_link};
use crate::rewrite::outer::{Outer, outer};
use crate::{choice, stage};
use corelane_runtime::packet::{Burst, NoBuffer, Packet};
use corelane_runtime::stage::{ConfigError, Outputs, Stage, StageContext};

choice! {
    /// What is exchanged.
    #[derive(Copy)]
    pub enum Swap {
        /// Ethernet source and destination
        Eth,
        /// IP source and destination
        Ip,
        /// TCP or UDP source and destination port
        Port,
    }
}

stage! {
    /// Exchanges source and destination, so that packets go back to whoever sent them.
    ///
    /// Checksums stay as they are, since a sum does not care for order. A packet to a group of receivers is not
    /// reflected: it would come from an address that nobody may send from. It is dropped as `to_a_group`.
    pub struct Reflect {
        /// what is exchanged, of the outermost headers
        what: Vec<Swap> = [Eth, Ip, Port],
    }
    subject { what }
    counters { REFLECTED }
    drops { TO_A_GROUP }
    traits { changes_headers }
}

impl Reflect {
    fn check(&self) -> Result<(), ConfigError> {
        match self.what.as_slice() {
            [] => Err(ConfigError::at(
                "what",
                "it exchanges nothing; write what, such as [Eth, Ip, Port], or leave the stage out",
            )),
            _ => Ok(()),
        }
    }

    fn swaps(&self, what: Swap) -> bool {
        self.what.contains(&what)
    }

    /// Whether one of the addresses that would become the source is no sender's.
    fn is_to_a_group(&self, packet: &Packet, outer: Option<&Outer>, link: bool) -> bool {
        let data = packet.data();
        let ethernet =
            self.swaps(Swap::Eth) && link && data.first().is_some_and(|byte| byte & 1 != 0);
        let ip = outer.filter(|_| self.swaps(Swap::Ip)).is_some_and(|outer| {
            let at = outer.addresses() + outer.address_len();
            let first = data.get(at..at + outer.address_len()).unwrap_or_default();
            match outer.v6 {
                true => first.first() == Some(&0xff),
                // Multicast (RFC 1112), and the limited broadcast.
                false => {
                    first.first().is_some_and(|byte| byte & 0xf0 == 0xe0) || first == [0xff; 4]
                }
            }
        });
        ethernet || ip
    }

    /// Turns the packet round; false where it cannot be.
    fn reflect(&self, packet: &mut Packet, ctx: &mut StageContext<'_>) -> Result<bool, NoBuffer> {
        let (ip, port) = (self.swaps(Swap::Ip), self.swaps(Swap::Port));
        let outer = if ip || port { outer(packet, true, ctx) } else { None };
        let link = has_link(packet);
        if self.is_to_a_group(packet, outer.as_ref(), link) {
            return Ok(false);
        }
        edit(packet, outer, ctx.buffers, |edit| {
            if self.swaps(Swap::Eth) && link {
                swap::<6>(edit, 0, |edit, which, bytes| edit.link(6 * which, bytes));
            }
            let Some(outer) = outer else { return };
            let at = outer.addresses();
            match outer.v6 {
                _ if !ip => {}
                true => swap::<16>(edit, at, |edit, which, bytes| edit.address(which, bytes)),
                false => swap::<4>(edit, at, |edit, which, bytes| edit.address(which, bytes)),
            }
            if let Some(at) = outer.ports.filter(|_| port) {
                swap::<2>(edit, at, |edit, which, bytes| {
                    edit.port(which, u16::from_be_bytes([bytes[0], bytes[1]]));
                });
            }
        })?;
        Ok(true)
    }
}

/// Exchanges two fields of `N` bytes that stand one behind the other.
fn swap<const N: usize>(
    edit: &mut Edit<'_>,
    at: usize,
    mut write: impl FnMut(&mut Edit<'_>, usize, &[u8]),
) {
    let field = |which: usize| -> Option<[u8; N]> {
        edit.data().get(at + which * N..at + (which + 1) * N)?.try_into().ok()
    };
    if let (Some(first), Some(second)) = (field(0), field(1)) {
        write(edit, 0, &second);
        write(edit, 1, &first);
    }
}

impl Stage for Reflect {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first_mut() {
            let Ok(reflected) = self.reflect(packet, ctx) else { return };
            let Some(packet) = burst.pop() else { return };
            if reflected {
                ctx.count(Self::REFLECTED, 1);
                out.next(packet);
            } else {
                ctx.drop(packet, Self::TO_A_GROUP);
            }
        }
    }
}
