//! Frames and what is written of them as people read them: header by header, field by field.

use super::dissect::dissect;
use super::layout::{Field, Kind};
use super::outcome::LayerView;
use super::spec::{Layer, Value};

/// Bytes of a payload that are shown.
const SHOWN: usize = 8;
/// Of those, how many in front of the place that matters.
const BEFORE: usize = 2;

/// A frame that is there; of its payload the bytes around `focus`, counted from the start of the frame.
pub(crate) fn of_frame(frame: &[u8], like: &[Kind], focus: Option<usize>) -> Vec<LayerView> {
    let layers = dissect(frame, like);
    let view = |seen: &super::dissect::Seen| {
        let header = frame.get(seen.at..seen.at + seen.len).unwrap_or_default();
        let mut view = LayerView { layer: seen.kind.to_string(), ..LayerView::default() };
        for field in
            seen.kind.layout().fields.iter().filter(|field| is_told(seen.kind, field, header))
        {
            if let Some(raw) = field.get(seen.kind, header) {
                *view.fields.entry(field.name) = field.shown(raw);
            }
        }
        let focus = focus.and_then(|focus| focus.checked_sub(seen.at));
        tail(seen.kind, header, focus, &mut view);
        view
    };
    layers.iter().map(view).collect()
}

/// What is written of a frame.
pub(crate) fn of_layers(layers: &[Layer], focus: Option<usize>) -> Vec<LayerView> {
    let mut at = 0;
    let mut views = Vec::new();
    for layer in layers {
        let layout = layer.kind.layout();
        let mut view = LayerView { layer: layer.kind.to_string(), ..LayerView::default() };
        for field in layout.fields {
            let shown = match layer.value(field.name) {
                Some(Value::Raw(raw)) => field.shown(raw),
                Some(Value::Good) => "Good".to_owned(),
                Some(Value::Bad) => "Bad".to_owned(),
                None => continue,
            };
            *view.fields.entry(field.name) = shown;
        }
        let bytes = layer.tail.as_deref().unwrap_or_default();
        match (layer.kind, &layer.tail) {
            (Kind::Payload, Some(_)) => {
                tail(layer.kind, bytes, focus.and_then(|focus| focus.checked_sub(at)), &mut view);
            }
            (_, Some(_)) => *view.fields.entry(tail_name(layer.kind)) = hex(bytes),
            (_, None) => {}
        }
        at += layout.len + bytes.len();
        views.push(view);
    }
    views
}

/// Whether a field means something in this header: fields of messages that share a place are told apart by the
/// type of the message.
fn is_told(kind: Kind, field: &Field, header: &[u8]) -> bool {
    let message = header.first().copied().unwrap_or(0);
    match (kind, field.name) {
        (Kind::Icmp, "mtu") => message == 3,
        (Kind::Icmp, "id" | "seq") => matches!(message, 0 | 8),
        (Kind::Icmp6, "mtu") => message == 2,
        (Kind::Icmp6, "id" | "seq") => matches!(message, 128 | 129),
        (Kind::Icmp6, "flags") => message == 136,
        _ => true,
    }
}

fn tail_name(kind: Kind) -> &'static str {
    kind.layout().tail.map_or("bytes", |tail| tail.name)
}

/// Options, a body, or the payload from around the place that matters.
fn tail(kind: Kind, header: &[u8], focus: Option<usize>, view: &mut LayerView) {
    let bytes = header.get(kind.layout().len..).unwrap_or_default();
    if !matches!(kind, Kind::Payload | Kind::Trailer) {
        if kind.layout().tail.is_some() && !bytes.is_empty() {
            *view.fields.entry(tail_name(kind)) = hex(bytes);
        }
        return;
    }
    *view.fields.entry("length") = bytes.len().to_string();
    let from = focus.map_or(0, |focus| focus.saturating_sub(BEFORE));
    let shown = bytes.get(from..).unwrap_or_default();
    let shown = shown.get(..SHOWN).unwrap_or(shown);
    *view.fields.entry(&format!("from {from}")) = hex(shown);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
