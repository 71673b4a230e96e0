//! One need held against the ports that could meet it: where the work is done, and a reason that is true.
//!
//! The reason is one line for someone who has never read the code: what the port said, or which line of the
//! file keeps it from being asked, and what is done instead at what cost.

use super::carried::Carried;
use super::{Asked, Exit, Verdict, Where};
use crate::check::CheckedPort;
use crate::text::Span;
use corelane_runtime::offload::{Answer, Caps, Facts, Looks, Need, Offload, Side};
use corelane_runtime::packet::Tunnel;
use std::collections::BTreeSet;

/// The source of a record that the description itself is.
const DESCRIPTION: &str = "the description";

/// What cannot be undone behind a port that joins.
const STAYS_JOINED: &str = ": what it joined comes checked and stays joined";

/// A port that packets come from.
pub(super) struct Entry<'a> {
    pub(super) port: &'a CheckedPort,
    /// Where the file says that nothing the port tells of packets is used.
    pub(super) ignored: Option<String>,
}

/// What a stage's needs are held against.
pub(super) struct Site<'a> {
    /// What packets may look like that come.
    pub(super) looks: Looks,
    /// The tunnels they are in.
    pub(super) carried: &'a Carried,
    /// The tunnels that stages ahead take them out of: kind and UDP port, 0 where the kind has none.
    pub(super) opened: BTreeSet<(Tunnel, u16)>,
    /// Whether any come.
    pub(super) any: bool,
    pub(super) offload: Offload,
    /// Where the file says so, or has the stage.
    pub(super) place: String,
    pub(super) kind: &'static str,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) exit: &'a Exit,
    /// The exit, where it is a port.
    pub(super) out: Option<&'a CheckedPort>,
    /// Ports that what is cut here goes to and that take no packets of several parts.
    pub(super) one_part: Vec<&'a str>,
    /// Says where a range of the file is.
    pub(super) place_of: &'a dyn Fn(Span) -> String,
    /// Why there are no superpackets, no unfinished checksums, no unchecked ones.
    pub(super) absent: Absent,
}

/// Why packets of some kind do not come.
#[derive(Clone, Debug, Default)]
pub(super) struct Absent {
    pub(super) supers: String,
    pub(super) partial: String,
    pub(super) unchecked: String,
}

/// What one port says to a need.
pub(super) struct Said {
    pub(super) asked: Vec<Asked>,
    pub(super) yes: bool,
    /// It does some of it all the same: what it has joined comes so, or it is about some tunnels only.
    pub(super) some: bool,
    pub(super) text: String,
}

impl Site<'_> {
    /// Decides one need.
    pub(super) fn decide(&self, need: &Need) -> Verdict {
        let (place, asked, mut reason) = self.settle(need);
        if matches!(place, Where::Software | Where::Both) {
            reason.push_str(&self.beside(need));
        }
        let (work, software) = (need.work.to_owned(), need.software.to_owned());
        Verdict { work, place, asked, software, reason }
    }

    fn settle(&self, need: &Need) -> (Where, Vec<Asked>, String) {
        let here = |why: String| (Where::Software, Vec::new(), format!("{why}; {}", need.software));
        if !self.any {
            return (Where::Nothing, Vec::new(), "no packet comes here".to_owned());
        }
        if !need.about.is_empty() && !self.looks.intersects(need.about) {
            return (Where::Nothing, Vec::new(), self.why_none(need.about));
        }
        let Some(caps) = need.caps else {
            return match self.out.and_then(|port| self.spared(need, port)) {
                Some((asked, words)) => (Where::Both, vec![asked], words),
                None => (Where::Software, Vec::new(), need.software.to_owned()),
            };
        };
        if self.offload == Offload::SoftwareOnly && !need.optional {
            let why = format!("offload: SoftwareOnly, {}", self.place);
            return self.but_for_joined(need, caps, &why).unwrap_or_else(|| here(why));
        }
        match (need.side, self.out) {
            (Side::Entry, _) => self.of_entries(need, caps),
            (Side::Exit, Some(port)) => self.of_exit(need, caps, port),
            (Side::Exit, None) => here(self.why_no_exit()),
        }
    }

    /// Whether packets may come here that a port has joined, and that came along with `caps`.
    fn comes_joined(&self, port: &CheckedPort, caps: Caps) -> bool {
        port.facts.granted.contains(Caps::RX_HW_GRO)
            && Caps::RX_HW_GRO.with_implied().contains(caps)
            && self.looks.intersects(Looks::BARE_TCP4 | Looks::BARE_TCP6)
    }

    /// No port is to be asked, but what one has joined cannot be undone, and only the port can have checked it.
    fn but_for_joined(
        &self,
        need: &Need,
        caps: Caps,
        why: &str,
    ) -> Option<(Where, Vec<Asked>, String)> {
        if need.side != Side::Entry {
            return None;
        }
        let joining = self.entries.iter().map(|entry| entry.port);
        let joining: Vec<&CheckedPort> =
            joining.filter(|port| !need.within && self.comes_joined(port, caps)).collect();
        let said = joining.iter().map(|port| format!("{}: rx_hw_gro = Yes", port.name));
        let asked = joining.iter().map(|port| answer(&port.name, &port.facts, Caps::RX_HW_GRO));
        let reason = format!("{why}; {}{STAYS_JOINED}; others: {}", join(said), need.software);
        (!joining.is_empty()).then(|| (Where::Both, asked.collect(), reason))
    }

    /// What else is true of work that is done here.
    fn beside(&self, need: &Need) -> String {
        // Headers inside tunnels are read all the same; what a sum of the datagram would spare is sums of payloads.
        let sums = need.about.intersects(Looks::UNCHECKED_TCP | Looks::UNCHECKED_UDP)
            || need.about.intersects(Looks::UNCHECKED_INNER) && need.instead.is_some();
        if sums && self.looks.intersects(Looks::PARTIAL) {
            return "; those that came unfinished are not read".to_owned();
        }
        let cuts = need.about.intersects(Looks::SUPER | Looks::BARE | Looks::REFINED);
        if cuts && self.looks.intersects(Looks::BARE) && !self.one_part.is_empty() {
            let ports: Vec<String> = self.one_part.iter().map(|port| format!("`{port}`")).collect();
            let verb = if ports.len() > 1 { "take" } else { "takes" };
            let ports = ports.join(" and ");
            return format!(
                "; but {ports} {verb} no packets of several parts (multi_part = No), so Tx copies the payloads of \
                 those cut from what came joined"
            );
        }
        String::new()
    }

    fn of_entries(&self, need: &Need, caps: Caps) -> (Where, Vec<Asked>, String) {
        let said: Vec<Said> =
            self.entries.iter().map(|entry| self.entry_says(need, caps, entry)).collect();
        let yes = said.iter().filter(|said| said.yes).count();
        let mut text = join(said.iter().map(|said| said.text.clone()));
        let asked = said.iter().flat_map(|said| said.asked.clone()).collect();
        let spared = self.entries.iter().any(|entry| self.spares(need, caps, entry));
        let place = match yes {
            0 if need.optional => Where::Nothing,
            0 => Where::Software,
            n if n == said.len() => Where::Hardware,
            _ if need.optional => Where::Hardware,
            _ => Where::Both,
        };
        let some = !need.optional && said.iter().any(|said| said.some);
        let place = if place == Where::Software && some { Where::Both } else { place };
        let all_spared = !said.is_empty()
            && self.entries.iter().all(|entry| {
                self.spares(need, caps, entry) || self.entry_says(need, caps, entry).yes
            });
        if place != Where::Hardware && !(spared && all_spared) {
            let there = if place == Where::Both { "where not, " } else { "" };
            text = format!("{text}; {there}{}", need.software);
        }
        (place, asked, text)
    }

    fn entry_says(&self, need: &Need, caps: Caps, entry: &Entry<'_>) -> Said {
        let name = &entry.port.name;
        if let Some(place) = entry.ignored.as_ref().filter(|_| !need.optional) {
            let mut text = format!("{name}: offload: SoftwareOnly, {place}");
            let mut asked = Vec::new();
            let joined = !need.within && self.comes_joined(entry.port, caps);
            if joined {
                asked.push(answer(name, &entry.port.facts, Caps::RX_HW_GRO));
                text.push_str(&format!(", but rx_hw_gro = Yes{STAYS_JOINED}"));
            }
            return Said { asked, yes: false, some: joined, text };
        }
        let mut said = self.says_of_tunnels(need, caps, entry.port);
        if need.optional && said.yes && self.offload == Offload::SoftwareOnly {
            said.text.push_str(", as another Rx on it lets it, which cannot be undone here");
        }
        if let Some((instead, how)) = need.instead.filter(|_| self.spares(need, caps, entry)) {
            said.asked.push(answer(name, &entry.port.facts, instead));
            // What it is about ends where tunnels were listed.
            let listed = need.around.is_some() || need.within;
            let sep = if listed { format!("; {name}:") } else { ",".to_owned() };
            said.text = format!("{}{sep} {} = Yes: {how}", said.text, instead.names());
        }
        said
    }

    /// Whether a port that cannot do it all spares most of it.
    fn spares(&self, need: &Need, caps: Caps, entry: &Entry<'_>) -> bool {
        let granted = entry.port.facts.granted;
        let instead = need.instead.is_some_and(|(instead, _)| granted.contains(instead));
        let all = || self.says_of_tunnels(need, caps, entry.port).yes;
        instead && entry.ignored.is_none() && !all()
    }

    pub(super) fn port_says(&self, port: &CheckedPort, caps: Caps) -> Said {
        let asked: Vec<Asked> = caps
            .iter()
            .map(|bit| {
                let mut asked = answer(&port.name, &port.facts, bit);
                if asked.answer != "yes" && asked.why.is_none() {
                    asked.why = self.written_why(port);
                }
                asked
            })
            .collect();
        let missing: Vec<&Asked> = asked.iter().filter(|asked| asked.answer != "yes").collect();
        let text = match missing.first() {
            None => format!("{}: {} = Yes", port.name, caps.names()),
            Some(first) => {
                let names = missing.iter().map(|asked| asked.capability.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                let word = if first.answer == "unknown" { "Unknown" } else { "No" };
                // What a device said is quoted; where the file says it, that line is named.
                let bit = first_bit(&missing);
                let quoted = port.facts.why(bit).filter(|_| !port.withheld.contains(bit));
                let why = match (&first.why, quoted) {
                    (Some(why), Some(_)) => format!(" (\"{why}\")"),
                    (Some(why), None) => format!(" ({why})"),
                    (None, _) => String::new(),
                };
                format!("{}: {names} = {word}{why}", port.name)
            }
        };
        Said { yes: missing.is_empty(), some: false, text, asked }
    }

    /// Why a capability is not there, where that is nothing but what somebody wrote.
    fn written_why(&self, port: &CheckedPort) -> Option<String> {
        match (&port.common.record, port.caps_at) {
            (Some(record), Some(at)) if record.source == DESCRIPTION => {
                Some(format!("not in its caps, {}", (self.place_of)(at)))
            }
            (Some(record), Some(at)) => {
                Some(format!("not in {}, {}", record.name, (self.place_of)(at)))
            }
            _ if port.kind == "Emulated" => {
                Some(format!("it has no caps, {}", (self.place_of)(port.span)))
            }
            _ => None,
        }
    }

    fn why_none(&self, about: Looks) -> String {
        if about.intersects(Looks::UNCHECKED) {
            return self.absent.unchecked.clone();
        }
        if about.intersects(Looks::PARTIAL) {
            return self.absent.partial.clone();
        }
        match self.looks.has_supers() {
            true => "no superpacket that comes here is like that".to_owned(),
            false => self.absent.supers.clone(),
        }
    }

    fn why_no_exit(&self) -> String {
        let kind = self.kind;
        match self.exit {
            Exit::Port(_) | Exit::Nobody => "packets leave by no port from here".to_owned(),
            Exit::Several(ports) => {
                let ports: Vec<String> = ports.iter().map(|port| format!("`{port}`")).collect();
                let ports = ports.join(" and ");
                format!(
                    "packets leave by {ports}: without this step ({}), the {kind} before each Tx decides for itself",
                    self.place
                )
            }
            Exit::Changed(stage) => {
                format!(
                    "`{stage}` changes headers on the way to the port, which so knows nothing of packets here"
                )
            }
            Exit::Held(stage) => format!("`{stage}` on the way to the port takes none"),
            Exit::Forbidden => format!("offload: SoftwareOnly, {}", self.place),
        }
    }
}

/// The capability that the first of these asks about.
fn first_bit(asked: &[&Asked]) -> Caps {
    asked.first().and_then(|asked| Caps::named(&asked.capability)).unwrap_or_default()
}

fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("; ")
}

pub(super) fn answer(port: &str, facts: &Facts, bit: Caps) -> Asked {
    let answer = match facts.answer(bit) {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "unknown",
    };
    let why = facts.why(bit).map(str::to_owned);
    Asked { port: port.to_owned(), capability: bit.names(), answer, why }
}
