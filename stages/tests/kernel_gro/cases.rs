//! Streams of a few frames, case by case: what both make of them, or what each does and why.
//!
//! The cases are those of the kernel's own GRO tests and the ones in which the two are known to differ.

use crate::groups::{Groups, find, kernel, ours};
use crate::segment::{Around, Segment, Sent, d, p};
use crate::veth::Wire;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, Extension, Ipv4, Tcp, Udp};

const V4: bool = false;
const V6: bool = true;

/// Runs cases over one pair, and says of each that fails what came out.
struct Table {
    wire: Wire,
    failed: Vec<String>,
}

impl Table {
    fn new(test: &str) -> Option<Table> {
        Some(Table { wire: Wire::new(test)?, failed: Vec::new() })
    }

    /// Both make this of it, byte for byte.
    fn same(&mut self, name: &str, segments: &[Segment], expected: &str) {
        self.case(name, segments, expected, &[expected]);
    }

    /// `Gro` makes `expected` of it and the kernel one of `theirs`. The reason is for the reader.
    fn differs(
        &mut self,
        name: &str,
        segments: &[Segment],
        expected: &str,
        theirs: &[&str],
        _why: &str,
    ) {
        assert!(!theirs.contains(&expected), "{name}: that is no difference");
        self.case(name, segments, expected, theirs);
    }

    /// Both make `expected` of it, or the kernel `other` where it lacks something. The reason is for the reader.
    fn unless(
        &mut self,
        name: &str,
        segments: &[Segment],
        expected: &str,
        other: &str,
        _why: &str,
    ) {
        self.case(name, segments, expected, &[expected, other]);
    }

    fn case(&mut self, name: &str, segments: &[Segment], expected: &str, theirs: &[&str]) {
        let sent: Vec<Sent> = segments.iter().enumerate().map(|(at, s)| s.build(at)).collect();
        let ours = ours(&sent);
        let known = |groups: &Groups| theirs.contains(&groups.shown().as_str());
        let kernel = kernel(&mut self.wire, &sent, known);
        let shown = (ours.shown(), kernel.shown());
        if shown.0 != expected || !theirs.contains(&shown.1.as_str()) {
            self.failed.push(format!(
                "{name}: Gro {} (not {expected}), the kernel {} (not {theirs:?})",
                shown.0, shown.1
            ));
        } else if shown.0 == shown.1 && ours != kernel {
            self.failed
                .push(format!("{name}: other bytes\nGro    {ours:02x?}\nkernel {kernel:02x?}"));
        }
    }

    fn finish(self) {
        assert!(self.failed.is_empty(), "\n{}", self.failed.join("\n"));
    }
}

/// `count` segments of 100 bytes one behind the other.
fn run(v6: bool, count: u32) -> Vec<Segment> {
    (0..count).map(|at| p(v6, at * 100, 100)).collect()
}

/// The same with a change to one of them.
fn run_but(
    v6: bool,
    count: u32,
    index: usize,
    change: impl FnOnce(Segment) -> Segment,
) -> Vec<Segment> {
    let mut segments = run(v6, count);
    let changed = change(segments[index].clone());
    segments[index] = changed;
    segments
}

#[test]
fn tcp_data_and_flags() {
    let Some(mut table) = Table::new("kernel_gro_tcp_data_and_flags") else { return };
    for v6 in [V4, V6] {
        table.same("data_same", &run(v6, 2), "0+1");
        table.same("data_lrg_sml", &[p(v6, 0, 100), p(v6, 100, 50), p(v6, 150, 50)], "0+1 2");
        table.same("data_lrg_1byte", &[p(v6, 0, 100), p(v6, 100, 1)], "0+1");
        table.same("data_sml_lrg", &[p(v6, 0, 50), p(v6, 50, 100)], "0 1");
        table.same("single", &run(v6, 1), "0");
        table.same("ack", &[p(v6, 0, 0), p(v6, 0, 0).tcp(|tcp| tcp.ack = 101)], "0 1");
        let ack = run_but(v6, 4, 2, |s| s.edit(|s| (s.len, s.tcp.ack) = (0, 101)));
        table.same("an ACK between", &ack, "0+1 2 3");
        table.same("a gap", &[p(v6, 0, 100), p(v6, 200, 100), p(v6, 300, 100)], "0 1+2");
        let order = [p(v6, 100, 100), p(v6, 0, 100), p(v6, 200, 100)];
        table.same("out of order", &order, "0 1 2");
        let again = [p(v6, 0, 100), p(v6, 100, 100), p(v6, 100, 100), p(v6, 200, 100)];
        table.same("a retransmission", &again, "0+1 2+3");
        let wrap = [p(v6, 0, 100), p(v6, 100, 100)]
            .map(|s| s.tcp(|tcp| tcp.seq = tcp.seq.wrapping_sub(200)));
        table.same("sequence numbers wrap", &wrap, "0+1");
        table.same("flags_psh", &run_but(v6, 5, 2, |s| s.flags(TcpFlags::PSH)), "0+1+2 3+4");
        table.same("FIN with data", &run_but(v6, 3, 2, |s| s.flags(TcpFlags::FIN)), "0+1+2");
        for flag in [TcpFlags::SYN, TcpFlags::RST, TcpFlags::URG] {
            let segments = run_but(v6, 5, 2, |s| s.flags(flag).edit(|s| s.len = 0));
            table.same("flags_syn, _rst, _urg", &segments, "0+1 2 3+4");
        }
        let ece = run_but(v6, 4, 2, |s| s.flags(TcpFlags::ECE));
        table.same("ECE on one", &ece, "0+1 2 3");
    }
    table.finish();
}

#[test]
fn tcp_headers() {
    let Some(mut table) = Table::new("kernel_gro_tcp_headers") else { return };
    for v6 in [V4, V6] {
        table.same("tcp_seq", &[p(v6, 0, 100), p(v6, 101, 100)], "0 1");
        table.same("tcp_ack", &run_but(v6, 2, 1, |s| s.tcp(|tcp| tcp.ack = 101)), "0 1");
        let stamped = |value| move |tcp: &mut Tcp| tcp.options = Tcp::timestamps(value, 0);
        let mut stamps: Vec<Segment> = run(v6, 3).into_iter().map(|s| s.tcp(stamped(0))).collect();
        stamps[2] = stamps[2].clone().tcp(stamped(100));
        table.same("tcp_ts", &stamps, "0+1 2");
        let other = [8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1];
        stamps[2] = stamps[2].clone().tcp(|tcp| tcp.options = other.to_vec());
        table.same("the same option behind its padding", &stamps, "0+1 2");
        let wscale = run_but(v6, 3, 2, |s| s.tcp(|tcp| tcp.options = vec![1, 3, 3, 0]));
        table.same("tcp_opt", &wscale, "0+1 2");
        let ports = run_but(v6, 3, 1, |s| s.edit(|s| (s.flow, s.tcp.src_port) = (1, 1501)));
        table.same("another flow between, a gap in the first", &ports, "0 2 / 1");
        let mut two = run(v6, 2);
        two.extend(run(v6, 2).into_iter().map(|s| s.edit(|s| (s.flow, s.tcp.dst_port) = (1, 80))));
        two.swap(1, 2);
        table.same("two flows in turn", &two, "0+2 / 1+3");
        let window = run_but(v6, 3, 1, |s| s.tcp(|tcp| tcp.window = 1000));
        table.same("another window", &window, "0 1 2");
        table.differs(
            "another urgent pointer without URG",
            &run_but(v6, 3, 1, |s| s.tcp(|tcp| tcp.urgent = 5)),
            "0 1 2",
            &["0+1+2"],
            "the kernel does not look at it, and cutting could not give it back",
        );
        let push = run_but(v6, 3, 0, |s| s.flags(TcpFlags::PSH));
        table.same("PSH on the first", &push, "0 1+2");
        table.differs(
            "flags_cwr",
            &run_but(v6, 5, 1, |s| s.flags(TcpFlags::CWR))
                .into_iter()
                .enumerate()
                .map(|(at, s)| if at == 2 { s.flags(TcpFlags::CWR) } else { s })
                .collect::<Vec<_>>(),
            "0 1+2 3+4",
            &["0 1 2 3+4", "0 1+2+3+4"],
            "kernels from 6.15 merge nothing with CWR, those before let a CWR head take others, those of 2026 \
             merge equal ones, as Gro does, which records that every segment carries it",
        );
    }
    table.finish();
}

#[test]
fn checksums_and_padding() {
    let Some(mut table) = Table::new("kernel_gro_checksums_and_padding") else { return };
    let why = "the kernel passes what is wrong at once and keeps holding the flow, which puts it before what came \
               earlier; Gro keeps the order of a flow";
    for v6 in [V4, V6] {
        for what in [Checksum::Wrong, Checksum::Partial] {
            table.differs(
                "tcp_csum",
                &run_but(v6, 2, 1, |s| s.checksum(what)),
                "0 1",
                &["1 0"],
                why,
            );
            let between = run_but(v6, 4, 2, |s| s.checksum(what));
            table.differs("wrong or unfinished between", &between, "0+1 2 3", &["2 0+1 3"], why);
            let datagrams = [d(v6, 100), d(v6, 100).checksum(what)];
            table.differs("a datagram that is wrong", &datagrams, "0 1", &["1 0"], why);
        }
    }
    table.differs(
        "a header sum that is wrong",
        &run_but(V4, 4, 2, |s| s.ip4(|ip| ip.checksum = Checksum::Wrong)),
        "0+1 2 3",
        &["2 0+1 3"],
        why,
    );
    table.differs(
        "the shortest frames, padded",
        &[p(V4, 0, 100), p(V4, 100, 1).pad()],
        "0+1",
        &["0 1"],
        "the kernel joins no frame that is longer than IP says; Gro takes zeros up to 60 bytes for what they are \
         and pads again when it cuts, so that the last small segment of a block joins",
    );
    table.differs(
        "an IPv4 header with options",
        &run(V4, 3)
            .into_iter()
            .map(|s| s.ip4(|ip| ip.options = vec![7, 4, 4, 0]))
            .collect::<Vec<_>>(),
        "0+1+2",
        &["0 1 2"],
        "the kernel has no path for options; where they are equal, each segment can have them back",
    );
    table.finish();
}

#[test]
fn ip_headers() {
    let Some(mut table) = Table::new("kernel_gro_ip_headers") else { return };
    for v6 in [V4, V6] {
        let tos =
            |value| move |s: Segment| s.edit(|s| (s.ip4.tos, s.ip6.traffic_class) = (value, value));
        table.same("ip_ecn", &run_but(v6, 2, 1, tos(2)), "0 1");
        table.same("ip_tos", &run_but(v6, 2, 1, tos(0xf0)), "0 1");
        let ttl = |s: Segment| s.edit(|s| (s.ip4.ttl, s.ip6.hop_limit) = (7, 7));
        table.same("ip_ttl", &run_but(v6, 2, 1, ttl), "0 1");
        let why = "a kernel without 802.1Q looks behind no tag";
        let tagged = |tci| move |s: Segment| s.edit(|s| s.vlan = Some(tci));
        let all: Vec<_> = run(v6, 3).into_iter().map(tagged(100)).collect();
        table.unless("one VLAN", &all, "0+1+2", "0 1 2", why);
        let mut other = all.clone();
        other[2] = other[2].clone().edit(|s| (s.vlan, s.flow) = (Some(101), 1));
        table.unless("another VLAN", &other, "0+1 / 2", "0 1 / 2", why);
    }
    let ids = |ids: &[u16], df: bool| -> Vec<Segment> {
        let count = ids.len() as u32;
        let id = |(s, id): (Segment, &u16)| s.id(*id).ip4(|ip| ip.dont_fragment = df);
        run(V4, count).into_iter().zip(ids).map(id).collect()
    };
    for df in [true, false] {
        table.same("ip_id_inc", &ids(&[8, 9, 10], df), "0+1+2");
        table.same("ip_id_inc_fixed", &ids(&[8, 9, 9], df), "0+1 2");
        table.same("ip_id_fixed_inc", &ids(&[8, 8, 9], df), "0+1 2");
        table.same("IDs wrap", &ids(&[65_535, 0, 1], df), "0+1+2");
        table.same("an ID is left out", &ids(&[8, 10, 11], df), "0 1+2");
    }
    table.same("ip_id_df1_fixed", &ids(&[8, 8, 8], true), "0+1+2");
    table.same("ip_id_df0_fixed", &ids(&[8, 8, 8], false), "0+1+2");
    let mut mixed = ids(&[8, 9], true);
    mixed[1] = mixed[1].clone().ip4(|ip| ip.dont_fragment = false);
    table.same("DF on one", &mixed, "0 1");
    let label = run_but(V6, 2, 1, |s| s.ip6(|ip| ip.flow_label = 5));
    table.same("another flow label", &label, "0 1");
    let extended = |value: u8| {
        move |s: Segment| {
            s.ip6(|ip| ip.extensions = vec![Extension::Destination(vec![1, 4, value, 0, 0, 0])])
        }
    };
    let all: Vec<_> = run(V6, 2).into_iter().map(extended(0)).collect();
    table.same("ip_v6ext_same", &all, "0+1");
    let mut other = all.clone();
    other[1] = other[1].clone().edit(|s| s.flow = 0);
    other[1] = extended(0x11)(other[1].clone());
    table.same("ip_v6ext_diff", &other, "0 1");
    table.finish();
}

#[test]
fn fragments() {
    let Some(mut table) = Table::new("kernel_gro_fragments") else { return };
    let why = "the kernel sees no flow in a fragment and passes it at once, before what it holds of the same one; \
               Gro lets go of all between those addresses first";
    let first = |s: Segment| s.ip4(|ip| ip.more_fragments = true);
    table.differs("ip_frag4", &run_but(V4, 3, 1, first), "0 1 2", &["1 0 2"], why);
    table.differs("ip_frag4, behind two", &run_but(V4, 4, 2, first), "0+1 2 3", &["2 0+1 3"], why);
    let atomic = |s: Segment| {
        let fragment = Extension::Fragment { offset: 0, more: false, id: 1 };
        s.ip6(|ip| ip.extensions = vec![fragment])
    };
    table.differs("ip_frag6", &run_but(V6, 4, 2, atomic), "0+1 2 3", &["2 0+1 3"], why);
    table.finish();
}

#[test]
fn datagrams() {
    let Some(mut table) = Table::new("kernel_gro_datagrams") else { return };
    for v6 in [V4, V6] {
        let all = |lens: &[usize]| lens.iter().map(|len| d(v6, *len)).collect::<Vec<_>>();
        table.same("equal", &all(&[100, 100, 100]), "0+1+2");
        table.same("the last is shorter", &all(&[100, 100, 60, 100]), "0+1+2 3");
        table.same("a longer one", &all(&[100, 120, 120]), "0 1+2");
        table.same("one alone", &all(&[100]), "0");
        let none = |s: Segment| s.checksum(Checksum::Value(0));
        let sums: Vec<_> = all(&[100, 100]).into_iter().map(none).collect();
        table.same("no checksums", &sums, "0 1");
        let mut ports = all(&[100, 100, 100]);
        ports[1] = ports[1].clone().datagram(|udp| udp.src_port = 9).edit(|s| s.flow = 1);
        table.same("another flow between", &ports, "0+2 / 1");
        let mut ttl = all(&[100, 100]);
        ttl[1] = ttl[1].clone().edit(|s| (s.ip4.ttl, s.ip6.hop_limit) = (7, 7));
        table.same("another TTL", &ttl, "0 1");
        let many = vec![d(v6, 40); 130];
        let shown = |range: std::ops::Range<usize>| {
            range.map(|at| at.to_string()).collect::<Vec<_>>().join("+")
        };
        let expected = [shown(0..64), shown(64..128), shown(128..130)].join(" ");
        table.same("64 at most", &many, &expected);
    }
    table.finish();
}

#[test]
fn sizes() {
    let Some(mut table) = Table::new("kernel_gro_sizes") else { return };
    // The tables of the kernel's tests: an MTU of 4096, and the largest IP packet there is.
    for (v6, mss, rest) in [(V4, 4056, 599), (V6, 4036, 899)] {
        let stream = |rest: usize| -> Vec<Segment> {
            let full = (0..16).map(|at| p(v6, at * mss, mss as usize));
            full.chain([p(v6, 16 * mss, rest), p(v6, 17 * mss, rest)]).collect()
        };
        let full = (0..16).map(|at| at.to_string()).collect::<Vec<_>>().join("+");
        table.same("large_max", &stream(rest), &format!("{full}+16 17"));
        table.same("large_rem", &stream(rest + 1), &format!("{full} 16 17"));
    }
    table.finish();
}

#[test]
fn tunnels() {
    let Some(mut table) = Table::new("kernel_gro_tunnels") else { return };
    let order = "what is wrong is not put before what came earlier, in a tunnel either";
    let outer =
        |checksum: Checksum| Udp { src_port: 50_000, dst_port: 4789, checksum, length: None };
    for v6 in [V4, V6] {
        for checksum in [Checksum::Value(0), Checksum::Right] {
            let around = Around::Vxlan(outer(checksum), 42);
            let all: Vec<_> = (0..3)
                .map(|at| p(v6, at * 100, 100).id(8 + at as u16).inside(around.clone()))
                .collect();
            table.same("vxlan", &all, "0+1+2");
            let mut other = all.clone();
            other[2] = other[2].clone().inside(Around::Vxlan(outer(checksum), 43));
            other[2].flow = 1;
            table.same("another network", &other, "0+1 / 2");
            let mut other = all.clone();
            other[2] = other[2].clone().checksum(Checksum::Wrong);
            table.differs("wrong inside, at the end", &other, "0+1 2", &["2 0+1"], order);
        }
        let ip = |s: Segment, at: u16| s.inside(Around::Ip(Ipv4 { id: at, ..Ipv4::default() }));
        let all: Vec<_> = run(v6, 3).into_iter().zip(8..).map(|(s, at)| ip(s, at)).collect();
        table.same("ip in ip", &all, "0+1+2");
        let all: Vec<_> = run(v6, 3).into_iter().map(|s| s.inside(Around::Gre(Some(7)))).collect();
        table.same("gre with a key", &all, "0+1+2");
    }
    let mut mixed: Vec<_> = run(V4, 2);
    mixed[0] = mixed[0].clone().inside(Around::Vxlan(outer(Checksum::Right), 42));
    mixed[1] = mixed[1].clone().inside(Around::Vxlan(outer(Checksum::Value(0)), 42));
    table.same("one with an outer checksum and one without", &mixed, "0 1");
    table.finish();
}

#[test]
fn what_comes_out_is_found_by_payload_alone() {
    let sent: Vec<Sent> = run(V4, 3).iter().enumerate().map(|(at, s)| s.build(at)).collect();
    let bytes: Vec<Vec<u8>> = sent.iter().map(|sent| sent.bytes.clone()).collect();
    let joined = [&bytes[0][..], &sent[1].payload].concat();
    assert_eq!(
        find(&sent, &[joined.clone(), bytes[2].clone()]).map(|g| g.shown()),
        Some("0+1 2".into())
    );
    assert_eq!(
        find(&sent, &[bytes[2].clone(), joined.clone()]).map(|g| g.shown()),
        Some("2 0+1".into())
    );
    assert_eq!(find(&sent, &[joined]), None, "one is missing");
    assert_eq!(find(&sent, &[bytes.clone(), bytes].concat()), None, "all came twice");
}
