//! One need held against the port that packets leave by: whether it does the work, something as good, or most of it,
//! and whether it finds the tunnels that packets are in.
//!
//! The reasons are of the kind that [`super::verdict`] gives.

use super::verdict::{Site, answer};
use super::{Asked, Verdict, Where};
use crate::check::CheckedPort;
use corelane_runtime::offload::{Caps, Looks, Need, Side, UdpPorts};
use corelane_runtime::packet::Tunnel;

impl Site<'_> {
    /// Decides all needs of a stage. Where every packet is in a tunnel, what is inside goes no further than the
    /// tunnel does.
    pub(super) fn decide_all(&self, needs: &[Need]) -> Vec<Verdict> {
        let mut verdicts: Vec<Verdict> = needs.iter().map(|need| self.decide(need)).collect();
        let kinds = [
            (Looks::SUPER | Looks::BARE, Looks::CARRIED),
            (Looks::PARTIAL - Looks::PARTIAL_INSIDE - Looks::PARTIAL_HIDDEN, Looks::PARTIAL_INSIDE),
        ];
        for (plain, tunnel) in kinds {
            let about = |need: &Need, looks: Looks| {
                need.side == Side::Exit && !need.about.is_empty() && looks.contains(need.about)
            };
            let around = needs
                .iter()
                .zip(&verdicts)
                .filter(|(need, _)| about(need, tunnel) && need.inside.is_some());
            // What stands for the tunnel is the need that fewest packets meet.
            let rank = |place: Where| match place {
                Where::Software => 2,
                Where::Both => 1,
                Where::Hardware | Where::Nothing => 0,
            };
            let worst = around.max_by_key(|(_, verdict)| rank(verdict.place));
            let Some((place, work)) = worst.map(|(need, v)| (v.place, need.work)) else { continue };
            if !self.carried.all() || rank(place) == 0 {
                continue;
            }
            let inside = needs.iter().zip(&mut verdicts).filter(|(need, _)| about(need, plain));
            for (_, verdict) in inside.filter(|(_, v)| v.place == Where::Hardware) {
                verdict.place = place;
                verdict.reason.push_str(&format!(", but all of it is {work}, as below"));
            }
        }
        verdicts
    }

    /// Work that the port packets leave by might do.
    pub(super) fn of_exit(
        &self,
        need: &Need,
        caps: Caps,
        port: &CheckedPort,
    ) -> (Where, Vec<Asked>, String) {
        let granted = port.facts.granted;
        let mut said = self.port_says(port, caps);
        let mut place = if said.yes { Where::Hardware } else { Where::Software };
        if let Some(tunnel) = need.inside.filter(|_| said.yes) {
            let (found, words) = self.finds(port, tunnel);
            said.text.push_str(&words);
            place = found;
        }
        if let Some(other) = need.or.filter(|&or| place != Where::Hardware && granted.contains(or))
        {
            let said = self.port_says(port, other);
            return (Where::Hardware, said.asked, said.text);
        }
        if place != Where::Hardware {
            if let Some((asked, words)) = self.spared(need, port) {
                said.asked.push(asked);
                return (Where::Both, said.asked, format!("{}; {words}", said.text));
            }
            let there = if place == Where::Both { "others " } else { "" };
            return (place, said.asked, format!("{}; {there}{}", said.text, need.software));
        }
        let kinds = Caps::TSO4 | Caps::TSO6 | Caps::USO4 | Caps::USO6;
        let limit = match caps.intersects(kinds) {
            true => format!(", up to {} B", port.facts.limits.tso_bytes),
            false => String::new(),
        };
        (Where::Hardware, said.asked, format!("{}{limit}", said.text))
    }

    /// What spares most of the work at a port that does not do it all, if it does that.
    pub(super) fn spared(&self, need: &Need, port: &CheckedPort) -> Option<(Asked, String)> {
        let (instead, how) = need.instead.filter(|(instead, _)| !instead.is_empty())?;
        port.facts.granted.contains(instead).then(|| {
            let asked = answer(&port.name, &port.facts, instead);
            (asked, format!("{}: {} = Yes: {how}", port.name, instead.names()))
        })
    }

    /// Whether a port finds the tunnels of a kind that packets may be in, and behind which UDP ports.
    fn finds(&self, port: &CheckedPort, tunnel: Tunnel) -> (Where, String) {
        let limits = &port.facts.limits;
        let Some(known) = limits.ports(tunnel) else { return (Where::Hardware, String::new()) };
        if known.is_any() {
            return (Where::Hardware, ", behind any udp port".to_owned());
        }
        let behind = |known: &UdpPorts| match known.is_empty() {
            true => "no udp port".to_owned(),
            false => format!("udp port {known}"),
        };
        let come = self.carried.ports(tunnel);
        let unknown: Vec<String> = come
            .iter()
            .filter(|&&come| !limits.finds(tunnel, come))
            .map(|come| come.to_string())
            .collect();
        let listed = come.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        match (come.len(), unknown.len()) {
            (0, _) if known.is_empty() => {
                (Where::Software, ", but it looks behind no udp port".into())
            }
            (0, _) => (Where::Both, format!(", behind {}", behind(known))),
            (_, 0) => (Where::Hardware, format!(", udp port {listed}")),
            (all, some) => {
                let place = if all == some { Where::Software } else { Where::Both };
                let unknown = unknown.join(", ");
                (place, format!(", but it looks behind {}, not {unknown}", behind(known)))
            }
        }
    }
}
