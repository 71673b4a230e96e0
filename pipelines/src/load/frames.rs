//! Frames as tests write them: `Frame([Eth(), Ipv4(ttl: 3), ..])`, `Hex("0200..")`, `File("x.pcap")`.
//!
//! Each header and each of its keys is looked up in the table of headers, and each value must fit its field. That
//! headers follow each other as they can is checked here too; what would be sent of them is not built yet.

use super::Loader;
use crate::error::{instead, near};
use crate::text::Span;
use crate::text::params::string_value;
use crate::text::tree::{Call, Field as Written, Kind as Shape, Node};
use crate::trial::layout::{BYTES_MAX, Field, Form, Kind, LAYOUTS, Layout, TCP_FLAGS, followers};
use crate::trial::spec::{FrameSpec, Layer, Value};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Most headers of a frame.
const LAYERS_MAX: usize = 32;

impl Loader {
    /// A frame; `wanted`: one that is to be received, in which less may be said.
    pub(super) fn frame(&mut self, node: &Node, wanted: bool) -> Option<FrameSpec> {
        let call = match &node.kind {
            Shape::Call(call) => call,
            _ => return self.no_frame(node),
        };
        let name = call.name.map(|name| self.slice(name).to_owned()).unwrap_or_default();
        match (name.as_str(), call.values.as_slice()) {
            ("Frame", [Node { kind: Shape::List(nodes), .. }]) if call.fields.is_empty() => {
                self.layers(nodes, node.span).map(FrameSpec::Layers)
            }
            ("Hex", [text]) if call.fields.is_empty() => self.hex(text).map(FrameSpec::Bytes),
            ("File", [file]) if call.fields.is_empty() => {
                self.name(file).map(|file| FrameSpec::File(self.at(file)))
            }
            ("At" | "Repeat", _) if wanted => {
                let message = format!("`{name}` is for frames to send: times are not compared");
                self.advise(node.span, "bad-value", message, "write the frame alone");
                None
            }
            ("Frame", _) => {
                let help = "write `Frame([Eth(), Ipv4(), ..])`";
                self.advise(node.span, "bad-value", "`Frame` takes a list of headers", help);
                None
            }
            _ => self.no_frame(node),
        }
    }

    fn no_frame(&mut self, node: &Node) -> Option<FrameSpec> {
        if !node.is_whole() {
            return None; // that is noted
        }
        let written = self.slice(node.span);
        let name = written.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_header = LAYOUTS.iter().any(|layout| layout.name == name);
        let help = match near(name, ["Frame", "Hex", "File", "At", "Repeat"]) {
            _ if is_header => format!("write `Frame([{name}(..), ..])`"),
            Some(near) => format!("did you mean `{near}`?"),
            None => "write `Frame([Eth(), ..])`, `Hex(\"..\")` or `File(\"x.pcap\")`".to_owned(),
        };
        self.advise(node.span, "bad-value", "a frame is expected here", help);
        None
    }

    /// The headers of a frame, each behind one that can hold it.
    fn layers(&mut self, nodes: &[Node], span: Span) -> Option<Vec<Layer>> {
        if nodes.is_empty() || nodes.len() > LAYERS_MAX {
            let message = format!("a frame has 1 to {LAYERS_MAX} headers");
            self.advise(span, "bad-value", message, "write `Frame([Eth(), ..])`");
            return None;
        }
        let mut layers: Vec<Layer> = Vec::new();
        let mut sound = true;
        for node in nodes {
            let Some(layer) = self.layer(node) else {
                sound = false;
                continue;
            };
            // Behind one that could not be read anything may stand.
            if sound {
                let before = layers.last().map(|layer| layer.kind);
                self.follows(node, before, layer.kind);
            }
            layers.push(layer);
        }
        let bytes = FrameSpec::Layers(layers.clone()).bytes();
        if bytes > BYTES_MAX {
            let message = format!("this frame has {bytes} bytes; {BYTES_MAX} are possible");
            self.advise(span, "bad-value", message, "give it less payload");
            return None;
        }
        sound.then_some(layers)
    }

    fn follows(&mut self, node: &Node, before: Option<Kind>, kind: Kind) {
        let (message, may) = match before {
            None if kind == Kind::Eth => return,
            None => {
                (format!("a frame does not begin with `{kind}`"), "write `Eth()` first".to_owned())
            }
            Some(before) => {
                let may = followers(before);
                if may.contains(&kind) {
                    return;
                }
                let mut names: Vec<String> = may.iter().map(|kind| format!("`{kind}`")).collect();
                names.dedup();
                let help = match names.is_empty() {
                    true => format!("`{before}` ends a frame"),
                    false => format!("what can is {}", names.join(", ")),
                };
                (format!("`{kind}` cannot stand behind `{before}`"), help)
            }
        };
        self.advise(node.span, "bad-frame", message, may);
    }

    fn layer(&mut self, node: &Node) -> Option<Layer> {
        let (entry, _) = self.call(node, &[], "a header such as `Eth()`")?;
        let name = &entry.kind.text;
        let Some(layout) = LAYOUTS.iter().find(|layout| layout.name == name) else {
            let message = format!("no header is called `{name}`");
            let help = instead(name, LAYOUTS.iter().map(|layout| layout.name));
            self.problems.error(&self.text, entry.kind.span, "unknown-header", message, help);
            return None;
        };
        let mut layer = Layer { kind: layout.kind, fields: Vec::new(), tail: None };
        match (layout.kind, entry.values.as_slice(), entry.fields.as_slice()) {
            (Kind::Payload, [value], []) => layer.tail = Some(self.payload(value)?),
            (_, [], _) => {}
            (_, [value, ..], _) => {
                let message = format!("`{name}` takes no value without a key");
                let help = match layout.kind {
                    Kind::Payload => {
                        "write `Payload(100)`, `Payload(\"text\")` or `Payload(Hex(\"..\"))`"
                    }
                    _ => "write `key: value`",
                };
                self.advise(value.span, "mixed-arguments", message, help);
                return None;
            }
        }
        for field in entry.fields.iter().filter(|field| field.value.is_whole()) {
            self.header_key(layout, field, &mut layer);
        }
        Some(layer)
    }

    fn header_key(&mut self, layout: &'static Layout, written: &Written, layer: &mut Layer) {
        let (key, value) = (self.slice(written.key).to_owned(), &written.value);
        let own_tail = layout.tail.filter(|tail| tail.name == key && layout.kind != Kind::Payload);
        if let Some(tail) = own_tail {
            let bytes = self.hex_call(value, &key);
            let bytes = bytes.filter(|bytes| {
                let fits = bytes.len() <= tail.most;
                if !fits {
                    let what = format!("at most {} bytes", tail.most);
                    self.expected(value, &key, &what);
                }
                fits
            });
            layer.tail = bytes.or(layer.tail.take());
            return;
        }
        match layout.field(&key) {
            Some(field) => {
                let value = self.field_value(field, value);
                layer.fields.extend(value.map(|value| (field.name, value)));
            }
            None => {
                let message = format!("`{}` has no key `{key}`", layout.name);
                let keys =
                    layout.keys().filter(|key| layout.kind != Kind::Payload || *key != "bytes");
                let help = instead(&key, keys).or_else(|| Some("it has no keys".to_owned()));
                self.problems.error(&self.text, written.key, "unknown-key", message, help);
            }
        }
    }

    /// A value that fits its field, as the header has it.
    fn field_value(&mut self, field: &Field, node: &Node) -> Option<Value> {
        let written = self.slice(node.span).to_owned();
        let text = if matches!(node.kind, Shape::Str) { string_value(&written) } else { None };
        let word = matches!(&node.kind, Shape::Call(Call { brackets: None, .. }));
        let number = number(&written).filter(|number| *number <= field.most());
        let text = text.as_deref();
        let raw = match field.form {
            Form::Number | Form::Hex => number,
            Form::Checksum if word && written == "Good" => return Some(Value::Good),
            Form::Checksum if word && written == "Bad" => return Some(Value::Bad),
            Form::Checksum => number,
            Form::Units(unit) => {
                number.filter(|number| number % unit == 0).map(|number| number / unit)
            }
            Form::Flag => {
                ["false", "true"].iter().position(|known| *known == written).map(|n| n as u128)
            }
            Form::Mac => text.and_then(mac),
            Form::V4 => text
                .and_then(|text| text.parse::<Ipv4Addr>().ok())
                .map(|address| u128::from(u32::from(address))),
            Form::V6 => text.and_then(|text| text.parse::<Ipv6Addr>().ok()).map(u128::from),
            Form::TcpFlags => text.and_then(tcp_flags).or(number),
            Form::Words(words) => {
                let named = words.iter().find(|(name, _)| word && *name == written);
                named.map(|(_, value)| *value).or(number)
            }
        };
        if raw.is_none() {
            let help = self.other_value(field, &written);
            self.expected_or(node, field.name, &takes(field), help);
        }
        raw.map(Value::Raw)
    }

    fn other_value(&self, field: &Field, written: &str) -> Option<String> {
        let words: Vec<&str> = match field.form {
            Form::Checksum => vec!["Good", "Bad"],
            Form::Words(words) => words.iter().map(|(word, _)| *word).collect(),
            Form::Flag => vec!["true", "false"],
            _ => return None,
        };
        near(written.trim_matches('"'), words).map(|near| format!("did you mean `{near}`?"))
    }

    /// Bytes of a payload: so many, a text, or in hex.
    fn payload(&mut self, node: &Node) -> Option<Vec<u8>> {
        match &node.kind {
            Shape::Str => string_value(self.slice(node.span)).map(String::into_bytes),
            Shape::Plain => {
                let most = BYTES_MAX as u32;
                let length = self.number(node, "Payload", "a number of bytes", 0..=most)?;
                // Bytes that differ from their neighbours, in a way of their own for 64 KiB.
                Some((0..length as usize).map(|at| (at * 31 + at / 251) as u8).collect())
            }
            _ => self.hex_call(node, "Payload"),
        }
    }

    /// `Hex("00 01")`
    fn hex_call(&mut self, node: &Node, key: &str) -> Option<Vec<u8>> {
        if let Shape::Call(call) = &node.kind
            && let [text] = call.values.as_slice()
            && call.name.is_some_and(|name| self.slice(name) == "Hex")
        {
            return self.hex(text);
        }
        let what = match key {
            "Payload" => "a number of bytes, a text in quotes, or Hex(\"..\")",
            _ => "bytes such as Hex(\"01 02\")",
        };
        self.expected(node, key, what);
        None
    }

    /// Bytes in hex; blanks and colons between them do not matter.
    fn hex(&mut self, node: &Node) -> Option<Vec<u8>> {
        let text = string_value(self.slice(node.span));
        let digits: Option<Vec<u8>> = text.and_then(|text| {
            let kept = text.chars().filter(|c| !c.is_whitespace() && *c != ':');
            kept.map(|c| c.to_digit(16).map(|digit| digit as u8)).collect()
        });
        let Some(digits) = digits.filter(|digits| digits.len() % 2 == 0) else {
            self.expected(node, "Hex", "an even number of hex digits in quotes");
            return None;
        };
        if digits.len() / 2 > BYTES_MAX {
            self.expected(node, "Hex", &format!("at most {BYTES_MAX} bytes"));
            return None;
        }
        Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }
}

/// What a field takes, in words.
fn takes(field: &Field) -> String {
    let range = format!("a number from 0 to {}", field.most());
    match field.form {
        Form::Number | Form::Hex => range,
        Form::Checksum => format!("{range}, `Good` or `Bad`"),
        Form::Units(unit) => format!("{range} that is a multiple of {unit}"),
        Form::Flag => "`true` or `false`".to_owned(),
        Form::Mac => "an address such as \"02:00:00:00:00:01\"".to_owned(),
        Form::V4 => "an address such as \"192.0.2.1\"".to_owned(),
        Form::V6 => "an address such as \"2001:db8::1\"".to_owned(),
        Form::TcpFlags => format!("letters out of \"{TCP_FLAGS}\", such as \"PA\""),
        Form::Words(words) => {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            format!("{}, or a number", names.join(", "))
        }
    }
}

/// A whole number in the forms of RON.
fn number(written: &str) -> Option<u128> {
    let plain = written.replace('_', "");
    let (digits, radix) = match plain.split_at_checked(2) {
        Some(("0x", digits)) => (digits, 16),
        Some(("0b", digits)) => (digits, 2),
        Some(("0o", digits)) => (digits, 8),
        _ => (plain.as_str(), 10),
    };
    u128::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// Any link-layer address, those of groups too.
fn mac(text: &str) -> Option<u128> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
    let whole = parts.len() == 6 && parts.iter().all(is_byte);
    whole.then(|| u128::from_str_radix(&parts.concat(), 16).ok()).flatten()
}

/// Letters in any order, each once.
fn tcp_flags(text: &str) -> Option<u128> {
    let mut flags = 0;
    for letter in text.chars() {
        let bit = 1 << TCP_FLAGS.find(letter)?;
        if flags & bit != 0 {
            return None;
        }
        flags |= bit;
    }
    Some(flags)
}
