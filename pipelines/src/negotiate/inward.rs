//! What the port that packets come from says of their headers around tunnels and inside: that depends on which tunnels
//! it finds, and by which UDP ports.
//!
//! Of a packet in which it finds a tunnel a port tells of the innermost headers what it tells of the outermost headers
//! of any other packet; of the outer headers it tells by capabilities of their own. Where stages ahead take packets out
//! of tunnels, those tunnels are what matters; elsewhere any may come.

use super::verdict::{Said, Site};
use crate::check::CheckedPort;
use corelane_runtime::offload::{Caps, Facts, Limits, Need};
use corelane_runtime::packet::Tunnel;

/// Which of the tunnels that matter a port finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finds {
    All,
    Some,
    None,
}

impl Site<'_> {
    /// What a port says that may be asked.
    pub(super) fn says_of_tunnels(&self, need: &Need, caps: Caps, port: &CheckedPort) -> Said {
        match need.around {
            Some(around) => self.says_around(caps, around, port),
            None if need.within => self.says_within(caps, port),
            None => self.port_says(port, caps),
        }
    }

    /// Of the outermost headers, which may be those around a tunnel.
    fn says_around(&self, caps: Caps, around: Caps, port: &CheckedPort) -> Said {
        let plain = self.port_says(port, caps);
        let found = found(&port.facts.limits, port.facts.granted);
        match self.finds_opened(port) {
            Finds::None => plain,
            // All that matters comes in tunnels that it finds.
            Finds::All => self.port_says(port, around),
            Finds::Some => {
                let mut both = self.port_says(port, caps | around);
                if plain.yes && !both.yes {
                    let outer = self.port_says(port, around).text;
                    both.text = format!("{}; {outer} around {found}", plain.text);
                    both.some = true;
                }
                both
            }
        }
    }

    /// Of the headers inside tunnels.
    fn says_within(&self, caps: Caps, port: &CheckedPort) -> Said {
        let mut said = self.port_says(port, caps);
        if !said.yes {
            return said;
        }
        let finds = self.finds_opened(port);
        said.yes = finds == Finds::All;
        said.some = finds == Finds::Some;
        let found = found(&port.facts.limits, port.facts.granted);
        said.text.push_str(&match finds {
            Finds::All => format!(", inner headers of {}", self.opened_in_words()),
            Finds::Some => format!(", inner headers of {found}"),
            Finds::None if found.is_empty() => ", but it finds no tunnel".to_owned(),
            Finds::None => format!(", but it finds {found} only"),
        });
        said
    }

    fn finds_opened(&self, port: &CheckedPort) -> Finds {
        let Facts { limits, granted, .. } = &port.facts;
        let finds = |tunnel: Tunnel, udp: u16| match tunnel {
            Tunnel::Vxlan | Tunnel::Geneve => limits.finds(tunnel, udp),
            Tunnel::Gre => granted.contains(Caps::TSO_GRE),
            Tunnel::Ip => granted.contains(Caps::TSO_IPIP),
            Tunnel::None | Tunnel::Other => false,
        };
        let count = self.opened.iter().filter(|&&(tunnel, udp)| finds(tunnel, udp)).count();
        match (self.opened.len(), count) {
            (0, _) if found(limits, *granted).is_empty() => Finds::None,
            (0, _) => Finds::Some,
            (_, 0) => Finds::None,
            (all, some) if all == some => Finds::All,
            _ => Finds::Some,
        }
    }

    /// The tunnels that stages ahead take packets out of.
    fn opened_in_words(&self) -> String {
        let words = self.opened.iter().map(|&(tunnel, udp)| match tunnel {
            Tunnel::Vxlan => format!("VXLAN port {udp}"),
            Tunnel::Geneve => format!("Geneve port {udp}"),
            Tunnel::Gre => "GRE".to_owned(),
            Tunnel::Ip => "IP in IP".to_owned(),
            Tunnel::None | Tunnel::Other => "other tunnels".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The tunnels that a device finds, in words; empty: none.
fn found(limits: &Limits, granted: Caps) -> String {
    let behind = [("VXLAN", &limits.vxlan_ports), ("Geneve", &limits.geneve_ports)];
    let behind = behind.into_iter().filter(|(_, ports)| !ports.is_empty());
    let behind = behind.map(|(kind, ports)| format!("{kind} port {ports}"));
    let plain = [("GRE", Caps::TSO_GRE), ("IP in IP", Caps::TSO_IPIP)];
    let plain = plain.into_iter().filter(|(_, bit)| granted.contains(*bit));
    let all: Vec<String> = behind.chain(plain.map(|(kind, _)| kind.to_owned())).collect();
    all.join(", ")
}
