//! What each capability means, for people who meet it in a table.
//!
//! The words are the first sentence of the capabilities' own documentation; a test holds the two together.

/// Every capability, as written in descriptions, and what it means.
const MEANINGS: &[(&str, &str)] = &[
    ("rx_ip", "Receive: reports whether the IPv4 header checksum is right"),
    ("rx_tcp", "Receive: reports whether the TCP checksum is right"),
    ("rx_udp", "Receive: reports whether the UDP checksum is right"),
    ("rx_complete", "Receive: gives the sum of the whole IP datagram"),
    ("rx_hash", "Receive: gives a flow hash"),
    ("rx_hw_gro", "Receive: joins TCP segments so that cutting gives exactly the received frames"),
    ("rx_lro", "Receive: joins TCP segments so that only the byte stream is kept"),
    ("rx_sctp", "Receive: reports whether the SCTP CRC is right"),
    ("rx_outer_ip", "Receive: reports whether the outer IPv4 header checksum of a tunnel is right"),
    ("rx_outer_udp", "Receive: reports whether the outer UDP checksum of a tunnel is right"),
    ("rx_vlan_strip", "Receive: takes the VLAN tag off and reports it"),
    ("rx_timestamp", "Receive: gives the time of arrival"),
    (
        "rx_partial",
        "Receive: may hand over packets whose checksum was never finished (virtio, tap, veth)",
    ),
    ("tx_ip", "Transmit: fills the IPv4 header checksum"),
    ("tx_tcp4", "Transmit: finishes partial TCP checksums over IPv4"),
    ("tx_tcp6", "Transmit: finishes partial TCP checksums over IPv6"),
    ("tx_udp4", "Transmit: finishes partial UDP checksums over IPv4"),
    ("tx_udp6", "Transmit: finishes partial UDP checksums over IPv6"),
    ("tx_generic", "Transmit: finishes any partial checksum given its start and field"),
    ("tx_sctp", "Transmit: fills SCTP CRCs"),
    ("tx_outer_ip", "Transmit: fills the outer IPv4 header checksum of a tunnel"),
    (
        "tx_outer_udp",
        "Transmit: finishes the partial outer UDP checksum of a tunnel along with the inner checksum that it covers",
    ),
    ("tso4", "Transmit: cuts TCP over IPv4, IDs counting up"),
    ("tso6", "Transmit: cuts TCP over IPv6"),
    ("tso_fixed_id", "Transmit: cuts TCP over IPv4 with one and the same ID"),
    ("tso_ecn", "Transmit: cuts TCP that has CWR, which stays on the first segment (RFC 3168)"),
    (
        "tso_cwr_all",
        "Transmit: repeats CWR on every segment (accurate ECN), instead of leaving it on the first",
    ),
    ("tso_pad", "Transmit: pads a short last segment to the 60 bytes of the smallest frame"),
    ("uso4", "Transmit: cuts UDP over IPv4 into equal datagrams"),
    ("uso6", "Transmit: cuts UDP over IPv6 into equal datagrams"),
    ("ufo", "Transmit: cuts UDP over IPv4 into IP fragments"),
    ("multi_part", "Transmit: takes packets of several parts"),
    ("vlan_insert", "Transmit: puts a VLAN tag in"),
    (
        "gso_partial",
        "Transmit: cuts TCP in any tunnel behind headers that it copies as they are (GSO_PARTIAL of Linux)",
    ),
    (
        "tso_vxlan",
        "Transmit: cuts TCP inside VXLAN, over IPv4 or IPv6, the outer UDP checksum being 0",
    ),
    (
        "tso_vxlan_csum",
        "Transmit: cuts TCP inside VXLAN and finishes the partial outer UDP checksum of each segment",
    ),
    ("tso_geneve", "Transmit: cuts TCP inside Geneve, as `TSO_VXLAN` does inside VXLAN"),
    (
        "tso_geneve_csum",
        "Transmit: cuts TCP inside Geneve and finishes the partial outer UDP checksum of each segment",
    ),
    ("tso_gre", "Transmit: cuts TCP inside GRE without checksum, as `TSO_VXLAN` does inside VXLAN"),
    ("tso_gre_csum", "Transmit: cuts TCP inside GRE and fills the GRE checksum"),
    ("tso_ipip", "Transmit: cuts TCP inside IP in IP, as `TSO_VXLAN` does inside VXLAN"),
];

/// What a capability means, one sentence without a full stop; empty for one that does not exist.
pub(super) fn meaning(name: &str) -> &'static str {
    let known = MEANINGS.iter().find(|(known, _)| *known == name);
    known.map_or("", |(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::offload::Caps;

    #[test]
    fn every_capability_means_what_its_documentation_says() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = root.join("../runtime/src/offload/caps.rs");
        let source = std::fs::read_to_string(path).expect("the capabilities");
        for (name, _) in Caps::all().iter_names() {
            let before = source.split(&format!("const {name} = 1 <<")).next().expect("text");
            let lines: Vec<&str> = before.trim_end().lines().rev().map(str::trim).collect();
            let words = lines.iter().map_while(|line| line.strip_prefix("/// "));
            let mut words: Vec<&str> = words.collect();
            words.reverse();
            let documented = words.join(" ");
            let (first, _) = documented.split_once(". ").unwrap_or((&documented, ""));
            assert_eq!(meaning(&name.to_lowercase()), first.trim_end_matches('.'), "{name}");
        }
        assert_eq!(MEANINGS.len(), Caps::all().iter().count());
    }
}
