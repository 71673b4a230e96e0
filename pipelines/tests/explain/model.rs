//! What is to be expected of each row: the place of each kind of work by rules of three lines, and every claim in a
//! reason against the profile's file. Knows the two pipelines of these tests, and nothing of how plans are made.

use crate::profile::Profile;
use crate::rows::Row;

/// Which capability each kind of work takes; none: no port is ever asked.
const TAKES: &[(&str, &str, Option<&str>)] = &[
    ("Rx", "flow hash", Some("rx_hash")),
    ("Rx", "joined segments", Some("rx_hw_gro")),
    ("ChecksumValidate", "outer ipv4", Some("rx_ip")),
    ("ChecksumValidate", "outer tcp", Some("rx_tcp")),
    ("ChecksumValidate", "outer udp", Some("rx_udp")),
    ("ChecksumValidate", "inner ipv4", Some("rx_ip")),
    ("ChecksumValidate", "inner tcp, udp", Some("rx_udp")),
    ("Gro", "join tcp", Some("rx_hw_gro")),
    ("Gro", "join udp", None),
    ("Gro", "check ipv4", Some("rx_ip")),
    ("Gro", "check tcp", Some("rx_tcp")),
    ("Gro", "check udp", Some("rx_udp")),
    ("Gso", "tcp over ipv4", Some("tso4")),
    ("Gso", "tcp over ipv6", Some("tso6")),
    ("Gso", "udp over ipv4", Some("uso4")),
    ("Gso", "udp over ipv6", Some("uso6")),
    ("Gso", "tcp with one id", Some("tso_fixed_id")),
    ("Gso", "udp with one id", None),
    ("Gso", "cwr on the first segment", Some("tso_ecn")),
    ("Gso", "cwr on every segment", Some("tso_cwr_all")),
    ("Gso", "padded last segment", Some("tso_pad")),
    ("Gso", "several parts", Some("multi_part")),
    ("Gso", "uneven or hidden", None),
    ("Gso", "tcp in vxlan", Some("tso_vxlan")),
    ("Gso", "tcp in vxlan with outer checksum", Some("tso_vxlan_csum")),
    ("Gso", "tcp in geneve", Some("tso_geneve")),
    ("Gso", "tcp in geneve with outer checksum", Some("tso_geneve_csum")),
    ("Gso", "tcp in gre", Some("tso_gre")),
    ("Gso", "tcp in ip in ip", Some("tso_ipip")),
    ("Gso", "one outer id", Some("tso_fixed_id")),
    ("Gso", "udp in a tunnel", None),
    ("ChecksumFill", "tcp over ipv4", Some("tx_tcp4")),
    ("ChecksumFill", "tcp over ipv6", Some("tx_tcp6")),
    ("ChecksumFill", "udp over ipv4", Some("tx_udp4")),
    ("ChecksumFill", "udp over ipv6", Some("tx_udp6")),
    ("ChecksumFill", "in other tunnels, fragments, behind ipv6 extensions", Some("tx_generic")),
    ("ChecksumFill", "inside vxlan", Some("tso_vxlan")),
    ("ChecksumFill", "inside geneve", Some("tso_geneve")),
    ("ChecksumFill", "inside gre", Some("tso_gre")),
    ("ChecksumFill", "inside ip in ip", Some("tso_ipip")),
    ("ChecksumFill", "outer udp around an unfinished one", Some("tx_outer_udp")),
    ("ChecksumFill", "not to the end of the datagram", None),
    ("ChecksumFill", "ipv4 header", None),
];

/// Why work is software's though no port was asked, or though one said yes.
const STRUCTURAL: &[&str] = &[
    "no port is asked to: ",
    "cut here: devices are asked for one ID on all segments of TCP only",
    "cut here: no device cuts segments of uneven length, or behind ipv6 extension headers",
    "cut here: devices are asked to cut TCP only inside tunnels",
    "made here: a port finishes a checksum over all to the end of the datagram",
    "made here: 20 to 60 header bytes are summed, which is cheaper than asking",
    "packets leave by `out` and `second`: ",
    "Counts packets, wire frames and bytes, and passes everything on",
    "Sends every second packet to another chain",
];

/// Why there is nothing to do.
const NOTHING: &[&str] = &[
    "ChecksumValidate has checked them",
    "no superpacket that comes here is like that",
    "has cut what was joined before",
    "nothing joins packets before this; ",
    "the port sums what it cuts; ",
    "has finished them",
    "completes checksums from what is known of the pieces",
    "complete checksums from what is known of the pieces",
    "packets come with their checksums; ",
    "; the port joins none",
];

/// Each kind of work of a row; `all of it` is every one that its stage has.
fn all_of(row: &Row) -> Vec<String> {
    if row.works != ["all of it"] {
        return row.works.clone();
    }
    let its = TAKES.iter().filter(|(stage, _, _)| *stage == row.stage);
    let its: Vec<String> = its.map(|(_, work, _)| (*work).to_owned()).collect();
    assert!(its.len() > 1, "{row:?}");
    its
}

/// Whether a device does it behind the UDP ports that it knows only.
fn is_behind_udp(work: &str) -> bool {
    work.contains(" vxlan") || work.contains(" geneve")
}

/// Whether a device that repeats headers spares most of it.
fn is_repeated(work: &str) -> bool {
    work.starts_with("tcp in ") || work == "one outer id"
}

/// What a reason says of a port.
#[derive(Debug)]
struct Claim {
    bits: Vec<String>,
    word: String,
    why: Option<String>,
}

pub(crate) struct Model {
    pub(crate) profile: Profile,
    pub(crate) ports: Vec<String>,
}

impl Model {
    /// Holds every row against the profile.
    pub(crate) fn check(&self, rows: &[Row], what: &str) {
        for (at, row) in rows.iter().enumerate() {
            let name = format!("{what}: {row:?}");
            let claims = self.claims(&row.why);
            claims.iter().for_each(|claim| self.is_true(claim, &name));
            self.limits(&row.why, &name);
            self.reason_fits(row, &claims, &name);
            let expected = |work: &String| self.expected(row, work);
            for work in &all_of(row) {
                assert_eq!(row.place, expected(work), "{work} in {name}");
            }
            if row.why.contains("the port sums what it cuts") {
                let cut = |row: &&Row| row.stage == "Gso" && row.place == "hardware";
                let chain = rows[..at].iter().filter(|other| other.chain == row.chain);
                assert!(chain.filter(cut).count() > 0, "nothing is left to the port: {name}");
            }
        }
    }

    /// `PORT: bit, bit = Word ("why")`, wherever it stands outside of quotes.
    fn claims(&self, why: &str) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut quoted = false;
        for (at, c) in why.char_indices() {
            quoted ^= c == '"';
            let Some(rest) = why[at..].strip_prefix(" = ").filter(|_| !quoted) else { continue };
            let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
            let said = rest[word.len()..].strip_prefix(" (\"");
            let said = said.and_then(|said| said.split("\")").next()).map(str::to_owned);
            let list = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_, ".contains(c);
            let before = why[..at].trim_end_matches(list);
            let bits = why[before.len()..at].split(", ").map(|bit| bit.trim().to_owned());
            let bits: Vec<String> = bits.filter(|bit| !bit.is_empty()).collect();
            if let Some(port) = before.strip_suffix(':') {
                let port = port.rsplit([' ', ';']).next().unwrap_or_default().to_owned();
                assert!(self.ports.contains(&port), "`{port}` is no port: {why}");
            }
            assert!(!bits.is_empty(), "a claim about nothing: {why}");
            claims.push(Claim { bits, word, why: said });
        }
        claims
    }

    fn is_true(&self, claim: &Claim, name: &str) {
        for bit in &claim.bits {
            let reason = self.profile.reasons.get(bit);
            let (word, why) = match (self.profile.grants(bit), reason) {
                (true, _) => ("Yes", None),
                (false, Some((word, why))) => (word.as_str(), Some(why)),
                (false, None) => ("No", None),
            };
            assert_eq!(claim.word, word, "{bit} in {name}");
            if claim.why.is_some() {
                assert_eq!(claim.why.as_ref(), why, "{bit} in {name}");
            }
        }
    }

    fn limits(&self, why: &str, name: &str) {
        for bytes in why.split(", up to ").skip(1) {
            let bytes = bytes.split(' ').next().unwrap_or_default();
            assert_eq!(bytes, self.profile.tso_bytes, "{name}");
        }
    }

    /// Hardware's reasons are capabilities that are there, software's one that is missing or a known other.
    fn reason_fits(&self, row: &Row, claims: &[Claim], name: &str) {
        let yes = claims.iter().all(|claim| claim.word == "Yes") && !claims.is_empty();
        let any_no = claims.iter().any(|claim| claim.word != "Yes");
        let structural = STRUCTURAL.iter().any(|known| row.why.starts_with(known))
            || row.why.contains(", but it finds no tunnel; ") && !self.profile.finds_tunnels();
        match row.place.as_str() {
            "hardware" => assert!(yes, "{name}"),
            "software" => assert!(any_no || structural, "{name}"),
            "both" => assert!(claims.iter().any(|claim| claim.word == "Yes"), "{name}"),
            "nothing" => assert!(NOTHING.iter().any(|known| row.why.contains(known)), "{name}"),
            other => panic!("{other} in {name}"),
        }
    }

    fn expected(&self, row: &Row, work: &str) -> &'static str {
        let known = TAKES.iter().find(|(stage, name, _)| *stage == row.stage && name == &work);
        let (_, _, bit) = known.unwrap_or_else(|| panic!("nobody expects {work} of {}", row.stage));
        if !self.comes(row, work) {
            return "nothing";
        }
        // A Gso before a fork leads to two ports, so neither is asked.
        let asked = !(row.chain == "MAIN" && row.stage == "Gso");
        let granted = bit.is_some_and(|bit| asked && self.profile.grants(bit));
        let finds = self.profile.finds_tunnels();
        match (row.stage.as_str(), work) {
            // Any tunnel may come, and each device knows some.
            ("ChecksumValidate", "inner tcp, udp") if !self.profile.grants("rx_tcp") => "software",
            ("ChecksumValidate", _) if work.starts_with("inner") => match granted && finds {
                true => "both",
                false => "software",
            },
            ("ChecksumValidate", "outer ipv4" | "outer udp") if granted && finds => {
                let outer = if work == "outer udp" { "rx_outer_udp" } else { "rx_outer_ip" };
                if self.profile.grants(outer) { "hardware" } else { "both" }
            }
            ("ChecksumFill", _)
                if work.starts_with("inside") && self.profile.grants("tx_generic") =>
            {
                "hardware"
            }
            ("Gso" | "ChecksumFill", _) if granted && is_behind_udp(work) && !self.profile.told => {
                "both"
            }
            ("Gso", _)
                if asked && !granted && is_repeated(work) && self.profile.grants("gso_partial") =>
            {
                "both"
            }
            _ if granted => "hardware",
            _ => "software",
        }
    }

    /// Whether packets come that bring this work.
    fn comes(&self, row: &Row, work: &str) -> bool {
        let joined_by_port = self.profile.grants("rx_hw_gro");
        let from_host = self.profile.grants("rx_partial");
        let tcp = work.starts_with("tcp over");
        match (row.stage.as_str(), row.chain.as_str()) {
            ("Rx", _) => work != "joined segments" || joined_by_port,
            // ChecksumValidate stands before each.
            ("Gro", _) => work.starts_with("join"),
            // Behind a Gso that cut everything nothing joins again.
            ("Gso", "MAIN") if row.why.contains("has cut what was joined") => false,
            // What the port or this host joined comes here as it is.
            ("Gso", "BAD") => match work {
                "tcp over ipv4" | "tcp over ipv6" => joined_by_port || from_host,
                "tcp with one id" | "cwr on every segment" | "padded last segment" => {
                    joined_by_port
                }
                "udp with one id" | "several parts" => false,
                _ => from_host,
            },
            // Gro joins no packets with CWR, but this host does; another Gso has cut those.
            ("Gso", "OTHER") => work != "cwr on the first segment",
            ("Gso", _) => work != "cwr on the first segment" || from_host,
            // Sums of what is cut are known, but not those of what came joined.
            ("ChecksumFill", _) => from_host || tcp && joined_by_port,
            _ => true,
        }
    }
}
