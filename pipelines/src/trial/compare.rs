//! Frames held against what was expected of them, and the first byte where they differ.
//!
//! A frame that is expected whole is compared byte by byte; of one that is written header by header only what is
//! written is compared, and headers behind the last one written are not looked at.

use super::dissect::{Seen, around, dissect, field_at};
use super::layout::{Field, Kind};
use super::outcome::{Difference, LayerView};
use super::spec::{Layer, Value};
use super::{sums, view};

/// A frame that is expected.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// These bytes.
    Exactly(Vec<u8>),
    /// Headers that say this.
    Like(Vec<Layer>),
}

impl Wanted {
    /// The kinds of its headers.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        match self {
            Wanted::Exactly(frame) => dissect(frame, &[]).iter().map(|seen| seen.kind).collect(),
            Wanted::Like(layers) => layers.iter().map(|layer| layer.kind).collect(),
        }
    }

    /// It as people read it.
    pub(crate) fn view(&self, focus: Option<usize>) -> Vec<LayerView> {
        match self {
            Wanted::Exactly(frame) => view::of_frame(frame, &[], focus),
            Wanted::Like(layers) => view::of_layers(layers, focus),
        }
    }

    /// Where a frame begins to differ from it; `None`: nowhere.
    pub(crate) fn difference(&self, received: &[u8]) -> Option<Difference> {
        match self {
            Wanted::Exactly(expected) => of_bytes(expected, received),
            Wanted::Like(layers) => of_layers(layers, received),
        }
    }
}

/// Where a field stands in a frame.
#[derive(Clone, Copy)]
struct InFrame {
    depth: usize,
    seen: Seen,
}

impl InFrame {
    fn difference(
        self,
        byte: usize,
        field: &str,
        expected: String,
        received: String,
    ) -> Difference {
        Difference {
            byte,
            layer: self.seen.kind.to_string(),
            depth: self.depth,
            field: (!field.is_empty()).then(|| field.to_owned()),
            expected,
            received,
        }
    }
}

fn of_bytes(expected: &[u8], received: &[u8]) -> Option<Difference> {
    if expected == received {
        return None;
    }
    let byte = expected.iter().zip(received).take_while(|(a, b)| a == b).count();
    let layers = dissect(expected, &[]);
    let (Some(a), Some(b)) = (expected.get(byte), received.get(byte)) else {
        let last =
            layers.last().copied().unwrap_or(Seen { kind: Kind::Eth, at: 0, len: 0, end: 0 });
        let place = InFrame { depth: layers.len().saturating_sub(1), seen: last };
        let bytes = |frame: &[u8]| format!("{} bytes", frame.len());
        let said = place.difference(byte, "end", bytes(expected), bytes(received));
        return Some(said);
    };
    let (depth, seen) = around(&layers, byte)?;
    let place = InFrame { depth, seen };
    let header = |frame: &'_ [u8]| {
        frame.get(seen.at..(seen.at + seen.len).min(frame.len())).map(<[u8]>::to_vec)
    };
    let (ours, theirs) = (header(expected)?, header(received)?);
    let bit = (byte - seen.at) * 8 + (a ^ b).leading_zeros() as usize;
    let field = field_at(seen.kind, &ours, bit);
    let shown = |header: &[u8]| {
        let raw = field.and_then(|field| Some((field, field.get(seen.kind, header)?)));
        raw.map(|(field, raw)| field.shown(raw))
    };
    let name = field.map_or(tail_name(seen.kind), |field| field.name);
    let plain = |byte: &u8| format!("{byte:#04x}");
    Some(match (shown(&ours), shown(&theirs)) {
        (Some(ours), Some(theirs)) => place.difference(byte, name, ours, theirs),
        _ => place.difference(byte, name, plain(a), plain(b)),
    })
}

fn of_layers(layers: &[Layer], received: &[u8]) -> Option<Difference> {
    let kinds: Vec<Kind> = layers.iter().map(|layer| layer.kind).collect();
    let found = dissect(received, &kinds);
    for (depth, layer) in layers.iter().enumerate() {
        let seen = found.get(depth).copied();
        if let Some(seen) = seen.filter(|seen| seen.kind == layer.kind) {
            let place = InFrame { depth, seen };
            if let Some(difference) = of_layer(layer, place, received, &found) {
                return Some(difference);
            }
            continue;
        }
        if layer.kind == Kind::Payload && layer.tail.as_ref().is_none_or(Vec::is_empty) {
            continue; // nothing is there, and nothing need be
        }
        let at = seen.map_or(received.len(), |seen| seen.at);
        let place = InFrame { depth, seen: Seen { kind: layer.kind, at, len: 0, end: at } };
        let there = seen.map_or_else(|| "nothing".to_owned(), |seen| seen.kind.to_string());
        return Some(place.difference(at, "", layer.kind.to_string(), there));
    }
    None
}

/// The first field of a header that is not as written.
fn of_layer(layer: &Layer, place: InFrame, frame: &[u8], found: &[Seen]) -> Option<Difference> {
    let seen = place.seen;
    let header = frame.get(seen.at..seen.at + seen.len).unwrap_or_default();
    let mut differences: Vec<Difference> = Vec::new();
    for (name, value) in &layer.fields {
        let Some(field) = layer.kind.layout().field(name) else { continue };
        let difference = match value {
            Value::Raw(raw) => of_field(field, *raw, place, header),
            Value::Good | Value::Bad => of_checksum(field, *value, place, frame, found),
        };
        differences.extend(difference);
    }
    differences.extend(of_tail(layer, place, header));
    differences.into_iter().min_by_key(|difference| difference.byte)
}

fn of_field(field: &Field, raw: u128, place: InFrame, header: &[u8]) -> Option<Difference> {
    let seen = place.seen;
    match (field.place(seen.kind, header), field.get(seen.kind, header)) {
        (Some(at), Some(there)) if there != raw => {
            // The highest bit that differs, counted from the start of the field.
            let bit = (there ^ raw).leading_zeros() as usize + field.bits - 128;
            let byte = seen.at + (at + bit) / 8;
            Some(place.difference(byte, field.name, field.shown(raw), field.shown(there)))
        }
        (Some(_), Some(_)) => None,
        _ => {
            let nothing = "nothing".to_owned();
            Some(place.difference(seen.at, field.name, field.shown(raw), nothing))
        }
    }
}

fn of_checksum(
    field: &Field,
    value: Value,
    place: InFrame,
    frame: &[u8],
    found: &[Seen],
) -> Option<Difference> {
    let seen = place.seen;
    let header = frame.get(seen.at..seen.at + seen.len).unwrap_or_default();
    let is_right = sums::is_right(frame, found, place.depth);
    let wanted = if value == Value::Good { "Good" } else { "Bad" };
    let there = field.get(seen.kind, header).map(|raw| field.shown(raw));
    let at = field.place(seen.kind, header).unwrap_or(0) / 8;
    let word = if is_right { "right" } else { "wrong" };
    let there = there.map_or("nothing".to_owned(), |there| format!("{there}, {word}"));
    (is_right != (value == Value::Good))
        .then(|| place.difference(seen.at + at, field.name, wanted.to_owned(), there))
}

/// What stands behind the fields of a header; a payload is nothing else.
fn tail_name(kind: Kind) -> &'static str {
    kind.layout().tail.filter(|_| kind != Kind::Payload).map_or("", |tail| tail.name)
}

/// Options, a body or a payload that is not as written.
fn of_tail(layer: &Layer, place: InFrame, header: &[u8]) -> Option<Difference> {
    let (wanted, layout) = (layer.tail.as_ref()?, layer.kind.layout());
    let tail = layout.tail?;
    let mut wanted = wanted.clone();
    wanted.resize((layout.len + wanted.len()).next_multiple_of(tail.unit) - layout.len, 0);
    let there = header.get(layout.len..).unwrap_or_default();
    let same = wanted.iter().zip(there).take_while(|(a, b)| a == b).count();
    let byte = place.seen.at + layout.len + same;
    let name = tail_name(layer.kind);
    match (wanted.get(same), there.get(same)) {
        (None, None) => None,
        (Some(a), Some(b)) => {
            Some(place.difference(byte, name, format!("{a:#04x}"), format!("{b:#04x}")))
        }
        _ => {
            let bytes = |length: usize| format!("{length} bytes");
            Some(place.difference(byte, name, bytes(wanted.len()), bytes(there.len())))
        }
    }
}
