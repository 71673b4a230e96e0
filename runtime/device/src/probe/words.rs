//! What is wrong with the frames that came back, in words for whoever reads why a capability is not granted.

use super::vectors::Sent;

/// First byte, number of bytes, and what is said of a field.
type Field = (usize, usize, &'static str);

/// Fields of an IPv4 header.
const IPV4: &[Field] = &[
    (2, 2, "with another length in its IP header"),
    (4, 2, "with another IPv4 ID"),
    (10, 2, "with a wrong IPv4 header checksum"),
];
const IPV6: &[Field] = &[(4, 2, "with another length in its IP header")];
const TCP: &[Field] = &[
    (4, 4, "with another sequence number"),
    (13, 1, "with other TCP flags"),
    (16, 2, "with a wrong TCP checksum"),
];
const UDP: &[Field] =
    &[(4, 2, "with another length in its UDP header"), (6, 2, "with a wrong UDP checksum")];
/// The same around a tunnel.
const OUTER_IPV4: &[Field] = &[
    (2, 2, "with another length in its outer IP header"),
    (4, 2, "with another outer IPv4 ID"),
    (10, 2, "with a wrong outer IPv4 header checksum"),
];
const OUTER_IPV6: &[Field] = &[(4, 2, "with another length in its outer IP header")];
const OUTER_UDP: &[Field] = &[
    (4, 2, "with another length in its outer UDP header"),
    (6, 2, "with a wrong outer UDP checksum"),
];
const GRE: &[Field] = &[(4, 2, "with a wrong GRE checksum")];
/// Where the IP header is in a probe frame.
const L3: usize = 14;

/// The first difference between what came and what should have; `None`: there is none.
pub(super) fn difference(request: &Sent, came: &[Vec<u8>]) -> Option<String> {
    let frames = request.frames();
    if came.is_empty() {
        return Some("a probe frame did not come back".to_owned());
    }
    if came.len() != frames.len() {
        let (came, right) = (came.len(), frames.len());
        return Some(format!("a probe packet came back as {came} frames instead of {right}"));
    }
    let (came, right) = came.iter().zip(&frames).find(|(came, right)| came != right)?;
    if came.len() != right.len() {
        let (came, right) = (came.len(), right.len());
        return Some(format!("a probe frame came back with {came} bytes instead of {right}"));
    }
    let at = came.iter().zip(right).position(|(came, right)| came != right)?;
    Some(format!("a probe frame came back {}", field(request, right, at)))
}

/// What stands at byte `at` of a frame, and that it is wrong.
fn field(request: &Sent, frame: &[u8], at: usize) -> String {
    let header = request.packet().len() - request.payload;
    let fields = fields(request, frame);
    match fields.iter().find(|(first, len, _)| (*first..first + len).contains(&at)) {
        Some((_, _, words)) => (*words).to_owned(),
        None if at >= header => "with other payload than was sent".to_owned(),
        None => format!("with another byte {at}"),
    }
}

/// The fields of a frame, by where they are in it.
fn fields(request: &Sent, frame: &[u8]) -> Vec<Field> {
    let innermost = request.asks.innermost();
    let (outer_l4, protocol) = ip(frame, L3);
    let l4 = innermost.map_or(outer_l4, |partial| usize::from(partial.start));
    let mut placed = Vec::new();
    let mut place = |base: usize, fields: &[Field]| {
        placed.extend(fields.iter().map(|&(first, len, words)| (base + first, len, words)));
    };
    let is_v4 = |l3: usize| frame[l3] >> 4 == 4;
    if l4 > outer_l4 {
        place(L3, if is_v4(L3) { OUTER_IPV4 } else { OUTER_IPV6 });
        match protocol {
            17 => place(outer_l4, OUTER_UDP),
            47 if frame[outer_l4] & 0x80 != 0 => place(outer_l4, GRE),
            _ => {}
        }
        // Probe frames have no options inside, and nothing that looks like an IPv4 header in an IPv6 one.
        let v4 = frame[l4 - 20] == 0x45;
        place(l4 - if v4 { 20 } else { 40 }, if v4 { IPV4 } else { IPV6 });
        place(l4, TCP);
        return placed;
    }
    place(L3, if is_v4(L3) { IPV4 } else { IPV6 });
    match protocol {
        6 => place(l4, TCP),
        17 => place(l4, UDP),
        // A protocol that is not known has its checksum where the request says.
        _ => place(
            innermost.map_or(0, |sum| usize::from(sum.field)),
            &[(0, 2, "with a wrong checksum")],
        ),
    }
    placed
}

/// Where the header behind an IP header without options is, and what it is.
fn ip(frame: &[u8], l3: usize) -> (usize, u8) {
    if frame[l3] >> 4 == 4 { (l3 + 20, frame[l3 + 9]) } else { (l3 + 40, frame[l3 + 6]) }
}
