//! Frames from headers: what nobody says follows from the headers around it, or is the default.
//!
//! Lengths, the numbers of protocols and checksums are right unless they are written; what is written is sent as
//! it is, however wrong.

use super::layout::{Field, GRE_OPTIONAL, Kind, selector};
use super::spec::{Layer, Value};
use super::sums::{pseudo, sum, with_pseudo};

/// The bytes of a frame.
pub(crate) fn build(layers: &[Layer]) -> Vec<u8> {
    let mut frame = Vec::new();
    for index in (0..layers.len()).rev() {
        let mut bytes = header(layers, index, &frame);
        bytes.append(&mut frame);
        frame = bytes;
    }
    frame
}

/// The header of a layer in front of `body`, checksum and all.
fn header(layers: &[Layer], index: usize, body: &[u8]) -> Vec<u8> {
    let mut bytes = without_checksum(layers, index, body.len());
    checksum(layers, index, &mut bytes, body);
    bytes
}

/// The same without a checksum, unless it is written.
fn without_checksum(layers: &[Layer], index: usize, body: usize) -> Vec<u8> {
    let layer = &layers[index];
    let (kind, layout) = (layer.kind, layer.kind.layout());
    let mut bytes = vec![0; layout.len];
    bytes.extend(layer.tail.iter().flatten());
    if let Some(tail) = layout.tail {
        bytes.resize(bytes.len().next_multiple_of(tail.unit), 0);
    }
    if kind == Kind::Gre {
        let optional = GRE_OPTIONAL.iter().filter(|(name, _)| has_optional(layer, name));
        bytes.resize(bytes.len() + 4 * optional.count(), 0);
    }
    // In the order of the header: the flags of GRE decide where its other fields are.
    for field in layout.fields {
        let value = match layer.value(field.name) {
            Some(Value::Raw(value)) => Some(value),
            Some(Value::Good | Value::Bad) => None,
            None => default(layers, index, field, bytes.len(), body),
        };
        if let Some(value) = value {
            field.put(kind, &mut bytes, value);
        }
    }
    bytes
}

/// Whether an optional field of GRE is there: the flags say so, or it is written.
fn has_optional(layer: &Layer, name: &str) -> bool {
    match layer.value("flags") {
        Some(Value::Raw(flags)) => {
            GRE_OPTIONAL.iter().any(|(known, bit)| *known == name && flags & bit != 0)
        }
        _ => layer.value(name).is_some(),
    }
}

/// What a field is that nobody says; `None`: it is left as it is.
fn default(
    layers: &[Layer],
    index: usize,
    field: &Field,
    header: usize,
    body: usize,
) -> Option<u128> {
    let layer = &layers[index];
    let next = layers.get(index + 1).map(|layer| layer.kind);
    if let Some((name, value)) = next.and_then(|next| selector(layer.kind, next))
        && name == field.name
    {
        return Some(value);
    }
    Some(match (layer.kind, field.name) {
        (Kind::Ipv4 | Kind::Tcp, "header_length") => (header / 4) as u128,
        (Kind::Ipv4 | Kind::Udp, "length") => u128::from((header + body) as u16),
        (Kind::Ipv6, "length") => u128::from(body as u16),
        (Kind::HopByHop | Kind::Routing | Kind::Destination, "length") => {
            (header / 8).saturating_sub(1) as u128
        }
        // No next header (RFC 8200 section 4.7).
        (kind, "next") if kind.is_extension() || kind == Kind::Ipv6 => 59,
        (Kind::Geneve, "options_length") => ((header - 8) / 4) as u128,
        (Kind::Gre, "flags") => {
            let there = GRE_OPTIONAL.iter().filter(|(name, _)| layer.value(name).is_some());
            there.map(|(_, bit)| *bit).sum()
        }
        // They share a place with others: only what is written is put there.
        (Kind::Icmp | Kind::Icmp6, "id" | "seq" | "mtu" | "flags") => return None,
        (Kind::Gre, "checksum" | "key" | "sequence") => return None,
        _ => field.default,
    })
}

/// Fills in the checksum of a header, unless it is written.
fn checksum(layers: &[Layer], index: usize, header: &mut [u8], body: &[u8]) {
    let layer = &layers[index];
    let Some(field) = layer.kind.layout().field("checksum") else { return };
    let is_there = field.place(layer.kind, header).is_some();
    if matches!(layer.value("checksum"), Some(Value::Raw(_))) || !is_there {
        return;
    }
    let total = match with_pseudo(layer.kind) {
        _ if layer.kind == Kind::Ipv4 => sum(&[header]),
        None => sum(&[header, body]),
        Some(protocol) => {
            let is_ip = |layer: &Layer| matches!(layer.kind, Kind::Ipv4 | Kind::Ipv6);
            let Some(ip) = layers[..index].iter().rposition(is_ip) else { return };
            let addresses = without_checksum(layers, ip, 0);
            let length = header.len() + body.len();
            sum(&[&pseudo(&addresses, layers[ip].kind, length, protocol), header, body])
        }
    };
    let right = match !total {
        // A sender of UDP says 0 for none (RFC 768).
        0 if layer.kind == Kind::Udp => 0xffff,
        right => right,
    };
    let value = match layer.value("checksum") {
        Some(Value::Bad) => wrong(right),
        _ => right,
    };
    field.put(layer.kind, header, u128::from(value));
}

/// A checksum that is wrong, and not 0: that means none, or is the same sum as 0xffff.
fn wrong(right: u16) -> u16 {
    match right {
        0xfffe | 0xffff => 1,
        right => right + 1,
    }
}

#[cfg(test)]
mod tests;
