//! What a stage wants of others on the way: a next hop that somebody finds out, checksums that somebody checks.

use crate::support::problems;
use corelane::Problems;

/// From `lan` into a tunnel and out by `wan`.
fn into_a_tunnel(keys: &str, stages: &str, behind: &str, lan: &str, wan: &str) -> Problems {
    problems(&format!(
        "Pipeline(name: \"b\", ports: {{ \"lan\": Emulated({lan}), \"wan\": Emulated({wan}) }}, chains: {{ \"m\": [\n\
         Rx(\"lan\"), {stages} Encap(tunnel: Vxlan(vni: 1, local: \"192.0.2.1\", remote: \"192.0.2.2\", {keys}),\n\
         oversize: [Segment]), {behind} Tx(\"wan\")] }})"
    ))
}

fn codes(problems: &Problems) -> Vec<&str> {
    problems.list.iter().map(|problem| problem.code).collect()
}

const HOP: &str = "next_hop: \"02:00:00:00:00:02\"";
const ADDRESSES: &str = "mac: \"02:00:00:00:00:01\", addresses: [\"192.0.2.1/24\"]";

#[test]
fn somebody_must_find_the_next_hop_of_a_tunnel() {
    let found = into_a_tunnel("", "", "", "", "");
    assert_eq!(codes(&found), ["no-next-hop"], "{found}");
    assert!(found.list[0].message.contains("all would go to 00:00:00:00:00:00"), "{found}");
    assert_eq!(found.list[0].place.as_ref().map(|place| place.line), Some(2));
    let help = found.list[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("next_hop:") && help.contains("`wan` `addresses:"), "{found}");
    for (keys, behind, wan) in [
        (HOP, "", ""),
        ("", "", ADDRESSES),
        // Whoever changes headers may do it.
        ("", "Rewrite(eth_dst: \"02:00:00:00:00:02\"),", ""),
    ] {
        let found = into_a_tunnel(keys, "", behind, "", wan);
        assert!(codes(&found).is_empty(), "{keys} {behind} {wan}: {found}");
    }
}

#[test]
fn what_is_cut_to_fit_must_have_been_checked() {
    let (lan, wan) = ("mtu: 9000, caps: None", "mtu: 1500");
    let found = into_a_tunnel(HOP, "", "", lan, wan);
    assert_eq!(codes(&found), ["unchecked"], "{found}");
    assert!(found.list[0].message.contains("dropped as too_big"), "{found}");
    for (stages, lan, wan) in [
        ("ChecksumValidate(on_bad: Drop),", lan, wan),
        // The port does it.
        ("", "mtu: 9000, caps: All", wan),
        // Nothing is too long.
        ("", "mtu: 1450, caps: None", wan),
    ] {
        let found = into_a_tunnel(HOP, stages, "", lan, wan);
        assert!(codes(&found).is_empty(), "{stages} {lan}: {found}");
    }
}
