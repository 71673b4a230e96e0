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
const TCP: &[Field] = &[
    (4, 4, "with another sequence number"),
    (13, 1, "with other TCP flags"),
    (16, 2, "with a wrong TCP checksum"),
];
const UDP: &[Field] =
    &[(4, 2, "with another length in its UDP header"), (6, 2, "with a wrong UDP checksum")];
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
    let l4 = usize::from(request.partial.start);
    let sum = usize::from(request.partial.field);
    let header = request.packet().len() - request.payload;
    let (ip, protocol) = match frame[12..L3] {
        [0x08, 0x00] => (IPV4, frame[L3 + 9]),
        _ => (&[][..], frame[L3 + 6]),
    };
    let transport = match protocol {
        6 => TCP,
        17 => UDP,
        _ => &[],
    };
    let placed = |base: usize, &(first, len, words): &Field| (base + first, len, words);
    let in_ip = ip.iter().map(|field| placed(L3, field));
    let in_l4 = transport.iter().map(|field| placed(l4, field));
    // A protocol that is not known has its checksum where the request says.
    let mut fields = in_ip.chain(in_l4).chain([(sum, 2, "with a wrong checksum")]);
    match fields.find(|(first, len, _)| (*first..first + len).contains(&at)) {
        Some((_, _, words)) => words.to_owned(),
        None if at >= header => "with other payload than was sent".to_owned(),
        None => format!("with another byte {at}"),
    }
}
