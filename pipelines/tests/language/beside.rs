//! What is given beside the file, `--port` and `--caps`: which keys stay, and how mistakes in it are told.

use crate::support::{plan, problems_with, shown};
use corelane::{Overrides, Problems};

const FILE: &str = r#"Pipeline(name: "test", params: { "size": 300 }, ports: {
    "wan": Dpdk(pci: "0000:03:00.0", mtu: 1400, mac: "02:00:00:00:00:01"),
    "lan": Emulated(mtu: 1500),
}, chains: { "m": [Rx("wan"), Tx("lan")] })"#;

fn given(ports: &[(&str, &str)], caps: &[(&str, &str)]) -> Overrides {
    let own = |list: &[(&str, &str)]| {
        list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    Overrides { sets: Vec::new(), ports: own(ports), caps: own(caps) }
}

fn problems(ports: &[(&str, &str)], caps: &[(&str, &str)]) -> Problems {
    problems_with(FILE, &given(ports, caps))
}

/// Each row: `--port`, `--caps`, and the one error: code, what is underlined, message, help.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], [&'a str; 4]);

const SOUND: (&str, &str) = ("wan", "Emulated(traffic: (size: \"$size\"))");

const ROWS: &[Row<'static>] = &[
    (
        &[SOUND, ("wna", "Emulated")],
        &[],
        [
            "no-such-port",
            "",
            "--port wna: no port of this file has that name",
            "did you mean `wan`?",
        ],
    ),
    (
        &[SOUND],
        &[("lna", "All")],
        [
            "no-such-port",
            "",
            "--caps lna: no port of this file has that name",
            "did you mean `lan`?",
        ],
    ),
    (
        &[SOUND],
        &[("lan", "mlx6-like")],
        [
            "bad-value",
            "",
            "--caps lan: `caps`: no record is called `mlx6-like`",
            "did you mean `mlx5-like`?",
        ],
    ),
    (
        &[("wan", "Emulated(traffic: (sise: 5))")],
        &[],
        [
            "unknown-key",
            "",
            "--port wan: `traffic` of `Emulated` has no key `sise`",
            "did you mean `size`?",
        ],
    ),
    (
        &[("wan", "Emulated(mtu: 5)")],
        &[],
        [
            "bad-value",
            "",
            "--port wan: `mtu` takes a number of bytes from 68 to 65535, not `5`",
            "",
        ],
    ),
    (
        &[("wan", "Emulatde")],
        &[],
        [
            "unknown-port-kind",
            "",
            "--port wan: no kind of port is called `Emulatde`",
            "did you mean `Emulated`?",
        ],
    ),
    (
        &[("wan", "AfXdp(\"t0\")")],
        &[],
        [
            "not-yet",
            "",
            "--port wan: kind of port `AfXdp` does not exist yet in this version",
            "there are `Pcap`, `Emulated`, `Tap`",
        ],
    ),
    (&[("wan", "Emulated(")], &[], ["syntax", "", "--port wan: this `(` is never closed", ""]),
    (
        &[("wan", "Emulated() x")],
        &[],
        ["syntax", "", "--port wan: nothing may follow the end of the value", ""],
    ),
    (
        &[("wan", "\"Emulated\"")],
        &[],
        [
            "bad-value",
            "",
            "--port wan: a port such as `Pcap(read: \"x.pcap\")` is expected here",
            "write `Emulated` without quotes",
        ],
    ),
    (
        &[("wan", "Emulated(traffic: (size: \"$sise\"))")],
        &[],
        [
            "unknown-parameter",
            "",
            "--port wan: no parameter is called `sise`",
            "did you mean `size`?",
        ],
    ),
];

#[test]
fn mistakes_are_told_by_the_name_of_the_option() {
    for (ports, caps, expected) in ROWS {
        let found = problems(ports, caps);
        let errors = shown(&found).into_iter().filter(|problem| !problem[0].starts_with("unused"));
        let expected = expected.map(str::to_owned);
        assert_eq!(errors.collect::<Vec<_>>(), [expected], "{ports:?} {caps:?}\n{found}");
        let error = found.list.iter().find(|problem| !problem.code.starts_with("unused"));
        assert!(error.unwrap().place.is_none(), "it has no place in the file");
    }
}

#[test]
fn what_is_replaced_is_not_looked_at_and_what_is_given_last_counts() {
    // `Dpdk` does not exist yet, but nobody asks for it.
    let found =
        problems(&[("wan", "Emulatde"), SOUND], &[("lan", "none of these"), ("lan", "All")]);
    assert!(found.list.is_empty(), "{found}");
}

#[test]
fn common_keys_stay_and_give_way() {
    let hash = |text: &str, port: &str| {
        plan(text, &given(&[("wan", port)], &[])).unwrap().hash().to_owned()
    };
    let as_if = |port: &str| {
        let dpdk = "Dpdk(pci: \"0000:03:00.0\", mtu: 1400, mac: \"02:00:00:00:00:01\")";
        let text = FILE.replace(dpdk, port).replace("params: { \"size\": 300 }, ", "");
        plan(&text, &Overrides::default()).unwrap().hash().to_owned()
    };
    let kept = "Emulated(traffic: (), mtu: 1400, mac: \"02:00:00:00:00:01\")";
    assert_eq!(hash(FILE, "Emulated(traffic: ())"), as_if(kept));
    assert_eq!(
        hash(FILE, "Emulated(mtu: 1300, traffic: ())"),
        as_if(&kept.replace("1400", "1300"))
    );
    assert_ne!(as_if(kept), as_if(&kept.replace("1400", "1300")));
}

/// What the file says for the port that was replaced is not meant for the one in its place.
#[test]
fn a_key_without_effect_is_told_of_where_it_was_written_for_that_port() {
    let told = |port: &str| {
        let found = problems(&[("wan", port)], &[]);
        assert_eq!(found.errors(), 0, "{found}");
        let found = shown(&found).into_iter().filter(|problem| !problem[0].starts_with("unused"));
        found.collect::<Vec<_>>()
    };
    assert_eq!(told("Pcap(\"x.pcap\")"), Vec::<[String; 4]>::new());
    let own = told("Pcap(read: \"x.pcap\", mac: \"02:00:00:00:00:02\")");
    let message =
        "--port wan: `mac` has no effect on `Pcap`: nothing leaves by a capture that is only read";
    assert_eq!(own, [["no-effect", "", message, "leave it out"].map(str::to_owned)]);
}

/// The name of the port stands in messages about its device too, which come later.
#[test]
fn capabilities_given_beside_the_file_go_before_those_in_it() {
    let text = FILE.replace("mtu: 1500", "mtu: 1500, caps: \"nobody-knows\"");
    let found = problems_with(&text, &given(&[SOUND], &[("lan", "i40e-like")]));
    assert!(found.list.is_empty(), "{found}");
    let found = problems_with(&text, &given(&[SOUND], &[]));
    assert_eq!(found.errors(), 1, "{found}");
}

/// A value that stands in the file as a parameter only is told by the option that gave it.
#[test]
fn a_value_that_was_set_says_so() {
    let file = r#"Pipeline(name: "x", params: { "hold": "20us", "caps": None }, ports: {
        "in": Emulated(traffic: (), caps: "$caps"),
    }, chains: { "m": [Rx("in"), Gro(hold: "$hold"), Drop] })"#;
    let told = |name: &str, value: &str| {
        let set = Overrides::sets([(name.to_owned(), value.to_owned())]);
        shown(&problems_with(file, &set))
            .into_iter()
            .map(|[.., message, _]| message)
            .collect::<Vec<String>>()
    };
    let expected: [Vec<String>; 2] = [
        vec!["`Gro`: `hold` takes a time such as \"50us\", not `\"20\"` (from --set hold)".to_owned()],
        vec![
            "--set caps=i40e-like: not a RON value: nothing may follow the end of the value; a text has quotes: \
             --set 'caps=\"i40e-like\"'"
                .to_owned(),
        ],
    ];
    assert_eq!([told("hold", "20"), told("caps", "i40e-like")], expected);
    assert_eq!(told("caps", "\"i40e-like\""), Vec::<String>::new());
}

/// What stands in a port that another is given in place of needs no values; its common keys stay, and do.
#[test]
fn what_nobody_reads_needs_no_parameter() {
    let file = r#"Pipeline(name: "x", params: { "file": Required("a capture"), "mtu": Required("a size") }, ports: {
        "in": Pcap("$file", mtu: "$mtu"),
    }, chains: { "m": [Rx("in"), Drop] })"#.replace("\"$file\"", "read: \"$file\"");
    let told = |ports: &[(&str, &str)]| {
        let found = shown(&problems_with(&file, &given(ports, &[])));
        found.into_iter().map(|[.., message, _]| message).collect::<Vec<_>>()
    };
    let both = ["parameter `file` must be set: a capture", "parameter `mtu` must be set: a size"];
    assert_eq!(told(&[]), both);
    assert_eq!(told(&[("in", "Emulated(traffic: ())")]), both[1..]);
    assert_eq!(told(&[("in", "Pcap(\"$file\")")]), both);
}
