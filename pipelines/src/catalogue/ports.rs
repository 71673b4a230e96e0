//! What there is to say of ports. Ports are read by hand, so that a test holds these lists against the reader.

use super::{Entry, Key, Sort};
use corelane_runtime::stage::spec::KeyInfo;

const fn key(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    doc: &'static str,
) -> KeyInfo {
    KeyInfo { name, kind, default: Some(default), doc }
}

/// Keys that every port has.
pub const PORT_KEYS: &[KeyInfo] = &[
    key("queues", "Auto | whole number", "Auto", "queues in each direction"),
    key("mtu", "whole number of bytes", "none", "most bytes of an IP packet; none: no limit"),
    key(
        "mac",
        "MAC address in quotes",
        "none",
        "its link-layer address, from which headers written here come",
    ),
    key(
        "addresses",
        "list of prefixes in quotes",
        "[]",
        "its IP addresses; `Neighbour` is added, answers for them and finds next hops; they need a `mac`",
    ),
    key(
        "gateway",
        "IP address in quotes",
        "none",
        "next hop of packets that are for none of its networks; a list of two: one of each family",
    ),
    key(
        "rss",
        "(fields: [Ip, Port], symmetric: true)",
        "none",
        "what it spreads packets by; nothing acts on it yet",
    ),
    key("on_full", "Wait | Drop", "Wait", "what happens to packets that it has no room for"),
    key(
        "promiscuous",
        "true | false",
        "false",
        "whether it takes packets for other addresses; nothing acts on it yet",
    ),
    key(
        "caps",
        "None | All | list | name | file",
        "as it is",
        "what the plan takes it to be able to do",
    ),
    key("verify", "true | false", "false", "whether what it claims is tried before the run"),
    key(
        "takeover",
        "true | false",
        "false",
        "whether it may take an interface over; nothing acts on it yet",
    ),
];

const PCAP: &[KeyInfo] = &[
    key("read", "file in quotes", "none", "where packets come from: pcap or pcapng"),
    key("write", "file in quotes", "none", "where packets go"),
    key("loop", "true | false", "false", "whether what is read begins again at its end"),
];

const EMULATED: &[KeyInfo] = &[
    key("traffic", "(flows: .., size: .., count: ..)", "none", "the frames that come from it"),
    key("read", "file", "none", "a capture that it receives, in the place of traffic"),
    key("write", "file", "none", "a capture of what it sends, written when the run ends"),
    key("stall", "list of (time, time)", "[]", "times of the run in which it sends nothing"),
    key("fail", "list of (capability, moment)", "[]", "capabilities that it loses during the run"),
    key("vxlan_ports", "list of UDP ports", "of its record", "where it looks for VXLAN; 4 at most"),
    key(
        "geneve_ports",
        "list of UDP ports",
        "of its record",
        "where it looks for Geneve; 4 at most",
    ),
];

const TAP: &[KeyInfo] = &[
    KeyInfo {
        name: "name",
        kind: "text of 1 to 15 bytes",
        default: None,
        doc: "the interface of this host; one that is not there is made",
    },
    key(
        "namespace",
        "name or path in quotes",
        "none",
        "network namespace to open it in; none: that of the process",
    ),
    key("up", "true | false", "true", "whether it is brought up"),
    key("persist", "true | false", "false", "whether it stays when the run has ended"),
    key("must_exist", "true | false", "false", "whether it has to be there already"),
];

fn entry(
    name: &'static str,
    summary: &'static str,
    subject: Option<&'static str>,
    keys: &[KeyInfo],
    example: &str,
) -> Entry {
    Entry {
        sort: Sort::Port,
        name,
        summary,
        doc: "",
        place: "under `ports`; `Rx` and `Tx` name it",
        subject,
        keys: keys.iter().map(Key::of).collect(),
        common_keys: PORT_KEYS.iter().map(Key::of).collect(),
        outputs: Vec::new(),
        drops: Vec::new(),
        counters: Vec::new(),
        sharing: "a queue for each copy",
        example: example.to_owned(),
    }
}

/// Every kind of port.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        entry(
            "Pcap",
            "Reads and writes capture files.",
            Some("read"),
            PCAP,
            "Pcap(read: \"in.pcap\", write: \"out.pcapng\")",
        ),
        entry(
            "Emulated",
            "A NIC in memory, with any capabilities and traffic of its own making.",
            None,
            EMULATED,
            "Emulated(caps: All, traffic: (flows: 16, size: 1518, protocol: TcpBulk, count: 1000))",
        ),
        entry(
            "Tap",
            "An interface of this host: what the host sends by it is received, what is sent comes in there.",
            Some("name"),
            TAP,
            "Tap(\"tap0\")",
        ),
    ]
}
