//! A frame taken apart into headers, as far as they are whole.
//!
//! Any bytes are taken apart: a header that does not fit, or a kind that nobody knows, is payload. Slow and plain,
//! apart from the walk that stages use.

use super::layout::{Field, GRE_OPTIONAL, Kind, follower, followers};

/// A header in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    /// First byte.
    pub(crate) at: usize,
    /// Bytes of the header itself.
    pub(crate) len: usize,
    /// Behind the last byte of what it carries.
    pub(crate) end: usize,
}

/// Deepest nesting: what is further in is payload.
const LAYERS_MAX: usize = 32;

/// Takes a frame apart. Where the bytes leave open what follows, as behind a UDP port that is nobody's, `like` says
/// what is looked for there; where it says payload, nothing else is looked for.
pub(crate) fn dissect(frame: &[u8], like: &[Kind]) -> Vec<Seen> {
    let mut found = Vec::new();
    let (mut at, mut end) = (0, frame.len());
    let mut next = Some(Kind::Eth);
    while let Some(kind) = next.filter(|_| found.len() < LAYERS_MAX) {
        let Some(len) = header_len(kind, frame.get(at..end).unwrap_or_default()) else { break };
        let header = frame.get(at..at + len).unwrap_or_default();
        end = carried_end(kind, header, at, len, end);
        found.push(Seen { kind, at, len, end });
        at += len;
        next = behind(kind, header, like.get(found.len()).copied());
    }
    rest(frame, at, end, &mut found);
    found
}

/// What no header takes up: payload within the lengths that headers tell, and what is behind them.
fn rest(frame: &[u8], at: usize, end: usize, found: &mut Vec<Seen>) {
    if end > at {
        found.push(Seen { kind: Kind::Payload, at, len: end - at, end });
    }
    if frame.len() > end.max(at) {
        let at = end.max(at);
        found.push(Seen { kind: Kind::Trailer, at, len: frame.len() - at, end: frame.len() });
    }
}

/// How long a header is; `None` where it is not whole.
fn header_len(kind: Kind, bytes: &[u8]) -> Option<usize> {
    let layout = kind.layout();
    let get = |name: &str| layout.field(name).and_then(|field| field.get(kind, bytes));
    let fixed = bytes.get(..layout.len)?;
    let len = match kind {
        Kind::Ipv4 if get("version") == Some(4) => get("header_length")? as usize * 4,
        Kind::Ipv4 => return None,
        Kind::Ipv6 if get("version") != Some(6) => return None,
        Kind::Tcp => get("header_length")? as usize * 4,
        Kind::HopByHop | Kind::Routing | Kind::Destination => (get("length")? as usize + 1) * 8,
        Kind::Geneve => 8 + get("options_length")? as usize * 4,
        Kind::Nd => bytes.len(),
        Kind::Gre => {
            let flags = u128::from(fixed[0]) << 5;
            4 + 4 * GRE_OPTIONAL.iter().filter(|(_, bit)| flags & bit != 0).count()
        }
        _ => layout.len,
    };
    (len >= layout.len && bytes.len() >= len).then_some(len)
}

/// Where what a header carries ends: where it says so, as far as there are bytes.
fn carried_end(kind: Kind, header: &[u8], at: usize, len: usize, end: usize) -> usize {
    let length = || {
        let field: &Field = kind.layout().field("length")?;
        field.get(kind, header).map(|length| length as usize)
    };
    let told = match kind {
        Kind::Ipv4 | Kind::Udp => length().filter(|length| *length >= len).map(|said| at + said),
        Kind::Ipv6 => length().filter(|length| *length > 0).map(|said| at + len + said),
        _ => None,
    };
    told.map_or(end, |told| told.min(end))
}

/// What kind of header follows.
fn behind(kind: Kind, header: &[u8], like: Option<Kind>) -> Option<Kind> {
    let get = |name: &str| kind.layout().field(name).and_then(|field| field.get(kind, header));
    // Of a datagram in pieces only the first has the header.
    let is_later_piece = matches!(kind, Kind::Ipv4 | Kind::Fragment)
        && get("offset").is_some_and(|offset| offset > 0);
    if is_later_piece {
        return None;
    }
    match like {
        Some(Kind::Payload) => None,
        Some(like) if kind == Kind::Udp && followers(kind).contains(&like) => Some(like),
        _ => follower(kind, get),
    }
}

/// The header of a frame that a byte is in, and its number.
pub(crate) fn around(layers: &[Seen], byte: usize) -> Option<(usize, Seen)> {
    let inside = |seen: &Seen| (seen.at..seen.at + seen.len).contains(&byte);
    layers.iter().copied().enumerate().find(|(_, seen)| inside(seen))
}

/// The field of a header that its bit of this number is in, and where the field begins.
pub(crate) fn field_at(kind: Kind, header: &[u8], bit: usize) -> Option<&'static Field> {
    let holds = |field: &&Field| {
        let at = field.place(kind, header);
        at.is_some_and(|at| (at..at + field.bits).contains(&bit))
    };
    kind.layout().fields.iter().find(holds)
}

#[cfg(test)]
mod tests;
