//! From the text of a record to a [`Record`].
//!
//! It promises every mistake at once, each with its key and what to write instead; only where brackets or
//! quotes are broken is there a single message, with line and column. What it lets pass makes sense: what is
//! granted is advertised, and stands on what it needs.

use super::Record;
use super::names::{self, instead};
use crate::emulated::Lies;
use corelane_runtime::offload::{Answer, Caps, Facts, Limits, Reason, UdpPorts};
use ron::extensions::Extensions;
use ron::value::RawValue;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use std::fmt;

const KEYS: [&str; 8] =
    ["name", "source", "advertised", "granted", "reasons", "limits", "queues", "lies"];
const LIMITS: [&str; 6] =
    ["tso_bytes", "tso_segments", "header_len", "mtu", "vxlan_ports", "geneve_ports"];

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the text, one sentence each, joined by `; `.
    pub fn parse(text: &str) -> Result<Record, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let call: Call = ron::from_str(text).map_err(|error| {
            let at = error.span.start;
            let what = sentence(&error.code.to_string());
            format!(
                "line {}, column {}: {what}; a record is one `Caps(key: value, ..)`",
                at.line, at.col
            )
        })?;
        let mut reader = Reader { wrong: Vec::new() };
        let record = reader.record(&call.0);
        match (record, reader.wrong.is_empty()) {
            (Some(record), true) => Ok(record),
            _ => Err(reader.wrong.join("; ")),
        }
    }
}

/// First letter small, no full stop, as other messages have it.
fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// `key: value` pairs, each value still text, so that one that is wrong hides no other.
type Fields = Vec<(String, Box<RawValue>)>;

/// `Caps(..)`.
struct Call(Fields);

/// `(..)`.
struct Group(Fields);

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Call, D::Error> {
        deserializer.deserialize_struct("Caps", &[], Pairs).map(Call)
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Group, D::Error> {
        deserializer.deserialize_struct("", &[], Pairs).map(Group)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys with values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::new();
        while let Some(entry) = map.next_entry()? {
            fields.push(entry);
        }
        Ok(fields)
    }
}

/// `No(["tso4"], "why")`.
#[derive(serde::Deserialize)]
enum Written {
    No(Vec<String>, String),
    Unknown(Vec<String>, String),
}

/// Two segments of the smallest MSS that hosts must take (RFC 9293, section 3.7.1), headers included.
const TSO_BYTES_MIN: u32 = 2 * 536 + 54;
/// Ethernet, IPv4 and TCP without options.
const HEADER_LEN_MIN: u32 = 54;

struct Reader {
    wrong: Vec<String>,
}

impl Reader {
    fn record(&mut self, fields: &Fields) -> Option<Record> {
        self.keys(fields, &KEYS, "a record");
        let name = self.text(fields, "name");
        let source = self.text(fields, "source");
        let advertised = self.caps(fields, "advertised");
        let granted = match find(fields, "granted") {
            Some(_) => self.caps(fields, "granted"),
            None => advertised.map(Caps::without_orphans),
        };
        if find(fields, "advertised").is_none() {
            self.wrong.push("`advertised` must be given, such as [\"rx_ip\", \"tso4\"]".into());
        }
        let reasons = self.reasons(fields);
        let limits = self.limits(fields);
        let queues = self.value::<u16>(fields, "queues", "a number of queues, such as 8");
        if queues == Some(0) {
            self.wrong.push("`queues` is 0; give at least 1".into());
        }
        let lies = self.lies(fields);
        let (advertised, granted) = (advertised?, granted?);
        self.sound(advertised, granted);
        self.possible(granted, &limits);
        for reason in reasons.iter().filter(|reason| granted.contains(reason.caps)) {
            let names = reason.caps.names();
            self.wrong.push(format!("`reasons` says why {names} is missing, but it is granted"));
        }
        let facts = Facts { advertised, granted, limits, queues, reasons };
        Some(Record { name: name?, source: source?, facts, lies })
    }

    /// Unknown keys, and those given twice.
    fn keys(&mut self, fields: &Fields, known: &[&str], what: &str) {
        for (at, (key, _)) in fields.iter().enumerate() {
            if !known.contains(&key.as_str()) {
                let help = instead(key, known.iter().copied());
                self.wrong.push(format!("{what} has no key `{key}`: {help}"));
            } else if fields[..at].iter().any(|(other, _)| other == key) {
                self.wrong.push(format!("`{key}` is given twice: keep one of them"));
            }
        }
    }

    fn value<T: DeserializeOwned>(&mut self, fields: &Fields, key: &str, what: &str) -> Option<T> {
        let written = find(fields, key)?;
        let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let read = options.from_str(written.get_ron().trim());
        if read.is_err() {
            self.wrong.push(format!("`{key}` must be {what}"));
        }
        read.ok()
    }

    fn text(&mut self, fields: &Fields, key: &str) -> Option<String> {
        let text: Option<String> = self.value(fields, key, "a text in quotes");
        let empty = text.as_deref().is_some_and(|text| text.trim().is_empty());
        if empty || find(fields, key).is_none() {
            self.wrong.push(format!("`{key}` must be given, and not be empty"));
        }
        text.filter(|_| !empty)
    }

    fn caps(&mut self, fields: &Fields, key: &str) -> Option<Caps> {
        let what = "a list of capabilities, such as [\"rx_ip\", \"tso4\"]";
        let names: Vec<String> = self.value(fields, key, what)?;
        self.list(key, &names)
    }

    fn list(&mut self, key: &str, names: &[String]) -> Option<Caps> {
        let caps = names::list(names);
        caps.map_err(|wrong| {
            self.wrong.extend(wrong.iter().map(|wrong| format!("`{key}`: {wrong}")))
        })
        .ok()
    }

    fn reasons(&mut self, fields: &Fields) -> Vec<Reason> {
        let what = "a list such as [No([\"tso4\"], \"why\"), Unknown([\"rx_ip\"], \"why\")]";
        let written: Vec<Written> = self.value(fields, "reasons", what).unwrap_or_default();
        let mut reasons = Vec::new();
        for reason in written {
            let (answer, names, why) = match reason {
                Written::No(names, why) => (Answer::No, names, why),
                Written::Unknown(names, why) => (Answer::Unknown, names, why),
            };
            let caps = self.list("reasons", &names);
            reasons.extend(caps.map(|caps| Reason { caps, answer, why }));
        }
        reasons
    }

    fn limits(&mut self, fields: &Fields) -> Limits {
        let usual = Limits::default();
        let example = "such as (tso_bytes: 65536, mtu: 1500)";
        let Some(Group(limits)) = self.value(fields, "limits", example) else { return usual };
        self.keys(&limits, &LIMITS, "`limits`");
        let bytes = "a number of bytes, such as 65536";
        Limits {
            tso_bytes: self.value(&limits, "tso_bytes", bytes).unwrap_or(usual.tso_bytes),
            tso_segments: self
                .value(&limits, "tso_segments", "a number of segments, 65535 at most")
                .unwrap_or(usual.tso_segments),
            header_len: self
                .value(&limits, "header_len", "a number of bytes, 65535 at most")
                .unwrap_or(usual.header_len),
            mtu: self.value(&limits, "mtu", bytes),
            vxlan_ports: self.ports(&limits, "vxlan_ports"),
            geneve_ports: self.ports(&limits, "geneve_ports"),
        }
    }

    fn ports(&mut self, limits: &Fields, key: &str) -> UdpPorts {
        let every = find(limits, key).is_some_and(|written| written.get_ron().trim() == "\"any\"");
        if every {
            return UdpPorts::ANY;
        }
        let what = "a list of UDP ports, such as [4789], or \"any\"";
        let ports: Vec<u16> = self.value(limits, key, what).unwrap_or_default();
        UdpPorts::of(&ports).unwrap_or_else(|| {
            let most = UdpPorts::MOST;
            self.wrong.push(format!("`{key}` must be up to {most} UDP ports, none of them 0"));
            UdpPorts::NONE
        })
    }

    /// Limits under which no superpacket at all could be cut make what is granted untrue.
    fn possible(&mut self, granted: Caps, limits: &Limits) {
        for (key, ports, caps, port) in [
            ("vxlan_ports", limits.vxlan_ports, Caps::TSO_VXLAN, 4789),
            ("geneve_ports", limits.geneve_ports, Caps::TSO_GENEVE, 6081),
        ] {
            if granted.contains(caps) && ports.is_empty() {
                let name = caps.names();
                self.wrong.push(format!(
                    "`granted` has {name}, but no UDP port behind which the device looks for it: give `limits: ({key}: [{port}])`"
                ));
            }
        }
        let cuts = Caps::TSO4 | Caps::TSO6 | Caps::USO4 | Caps::USO6;
        if !granted.intersects(cuts) {
            return;
        }
        let Limits { tso_bytes, tso_segments, header_len, .. } = *limits;
        for (key, given, least) in [
            ("tso_bytes", tso_bytes, TSO_BYTES_MIN),
            ("tso_segments", u32::from(tso_segments), 2),
            ("header_len", u32::from(header_len), HEADER_LEN_MIN),
        ] {
            if given < least {
                let names = (granted & cuts).names();
                let message =
                    format!("`{key}` is {given}, so nothing can be cut, but {names} is granted");
                self.wrong.push(format!("{message}: give at least {least}, or do not grant it"));
            }
        }
    }

    fn lies(&mut self, fields: &Fields) -> Lies {
        let what = "a list such as [\"skip_checksum\"]";
        let names: Vec<String> = self.value(fields, "lies", what).unwrap_or_default();
        names::lies(&names).unwrap_or_else(|wrong| {
            self.wrong.extend(wrong.iter().map(|wrong| format!("`lies`: {wrong}")));
            Lies::empty()
        })
    }

    /// Holds what is granted against what is advertised, and against what it needs.
    fn sound(&mut self, advertised: Caps, granted: Caps) {
        let beyond = granted - advertised;
        if !beyond.is_empty() {
            let names = beyond.names();
            self.wrong
                .push(format!("`granted` has {names}, which is not advertised: add it there"));
        }
        for bit in granted - granted.without_orphans() {
            let missing = (bit.with_implied() - granted).names();
            let bit = bit.names();
            self.wrong.push(format!("`granted` has {bit} without {missing}, which it needs"));
        }
    }
}

fn find<'f>(fields: &'f Fields, key: &str) -> Option<&'f RawValue> {
    fields.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
}
