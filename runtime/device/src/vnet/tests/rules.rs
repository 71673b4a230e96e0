//! The rules for headers as tables, one violated at a time.

use super::super::{Agreed, Flags, GsoType, Request, Unsayable, VnetError, read, write};
use super::*;
use corelane_runtime::packet::{Csum, MetaFlags, SegFlags, SegKind, Segmentation};

/// Fields: flags, type, hdr_len, gso_size, csum_start, csum_offset, 10 bytes of no matter, outer_th, inner_nh.
const NONE: &str = "00000000 0000 0000";
/// 3000 bytes in segments of 1448, behind 34 bytes.
const TSO4: &str = "01 01 3600 a805 2200 1000";
const TSO6: &str = "01 04 4a00 a805 3600 1000";
const USO4: &str = "01 05 2a00 a805 2200 0600";
/// VXLAN over IPv4 around TCP over IPv4: outer UDP at 34, inner IP at 64, inner TCP at 84.
const TUNNEL: &str = "01 21 6800 a805 5400 1000 00000000000000000000 2200 4000";

fn all(header: &str, frame: &[u8]) -> Result<Request, VnetError> {
    read(&hex(header), frame, frame.len() as u32, Agreed::all())
}

#[test]
fn the_usual_headers_say_what_they_say() {
    let cut = |kind, count| {
        let flags = SegFlags::empty();
        Some(Segmentation { kind, gso_size: 1448, count, flags })
    };
    let request = |partial: [Option<Partial>; 2], segmentation| {
        let tunnel_port = partial[1].map(|_| 4789);
        Request { partial, segmentation, tunnel_port, ..Request::default() }
    };
    let cases: [(&str, Vec<u8>, Request); 9] = [
        (NONE, tcp4(), Request::default()),
        ("01 00 0000 0000 2200 1000", tcp4(), request([partial(34, 50), None], None)),
        (TSO4, tcp4(), request([partial(34, 50), None], cut(SegKind::Tcp4, 3))),
        (TSO6, tcp6(), request([partial(54, 70), None], cut(SegKind::Tcp6, 3))),
        (USO4, udp4(), request([partial(34, 40), None], cut(SegKind::Udp4, 3))),
        // CWR.
        (
            "01 81 3600 a805 2200 1000",
            tcp4(),
            request([partial(34, 50), None], cut(SegKind::Tcp4, 3)),
        ),
        // Fits into one segment.
        ("01 01 3600 b80b 2200 1000", tcp4(), request([partial(34, 50), None], None)),
        (
            TUNNEL,
            vxlan(false, &tcp4(), 0),
            request([None, partial(84, 100)], cut(SegKind::Tcp4, 3)),
        ),
        (
            "09 21 6800 a805 5400 1000 00000000000000000000 2200 4000",
            vxlan(false, &tcp4(), 1),
            request([partial(34, 40), partial(84, 100)], cut(SegKind::Tcp4, 3)),
        ),
    ];
    for (header, frame, expected) in cases {
        assert_eq!(all(header, &frame), Ok(expected), "{header}");
    }
}

/// A header with the fields of a tunnel.
macro_rules! inside {
    ($front:literal, $outer:literal, $inner:literal) => {
        concat!($front, " 00000000000000000000 ", $outer, " ", $inner)
    };
}

/// What is wrong, the header, the frame behind it, and the name of it.
type Broken = (&'static str, &'static str, fn() -> Vec<u8>, VnetError);

const FLAGS: [Broken; 7] = [
    ("a runt", NONE, || vec![0; 13], VnetError::Runt),
    ("joined segments", "04", tcp4, VnetError::Flags),
    ("an unknown flag", "10", tcp4, VnetError::Flags),
    ("a tunnel's flag alone", "08", tcp4, VnetError::Flags),
    ("a tunnel's flag on plain TCP", "09 01 3600 a805 2200 1000", tcp4, VnetError::Flags),
    ("UDP with CWR", "01 85 2a00 a805 2200 0600", udp4, VnetError::Ecn),
    ("nothing with CWR", "01 80 3600 a805 2200 1000", tcp4, VnetError::Ecn),
];

const CHECKSUMS: [Broken; 9] = [
    ("a field behind the frame", "01 00 0000 0000 e40b 1000", tcp4, VnetError::ChecksumPlace),
    ("a start in Ethernet", "01 00 0000 0000 0d00 1000", tcp4, VnetError::ChecksumPlace),
    ("a start in IP", "01 00 0000 0000 2100 1000", tcp4, VnetError::ChecksumPlace),
    ("a sum over 65535", "01 00 0000 0000 ffff ffff", tcp4, VnetError::ChecksumPlace),
    ("no checksum", "00 01 3600 a805 2200 1000", tcp4, VnetError::GsoChecksum),
    ("a checksum found right", "02 01 3600 a805 2200 1000", tcp4, VnetError::GsoChecksum),
    ("UDP without checksum", "00 05 2a00 a805 2200 0600", udp4, VnetError::GsoChecksum),
    ("TCP with UDP's field", "01 01 3600 a805 2200 0600", tcp4, VnetError::GsoChecksum),
    ("UDP with TCP's field", "01 05 2a00 a805 2200 1000", udp4, VnetError::GsoChecksum),
];

const CUTS: [Broken; 11] = [
    ("type 2", "01 02 3600 a805 2200 1000", tcp4, VnetError::GsoType),
    ("UFO", "01 03 2a00 a805 2200 0600", udp4, VnetError::GsoType),
    ("type 31", "01 1f 3600 a805 2200 1000", tcp4, VnetError::GsoType),
    ("TCPv4 on IPv6", "01 01 3600 a805 3600 1000", tcp6, VnetError::GsoType),
    ("TCPv6 on IPv4", "01 04 3600 a805 2200 1000", tcp4, VnetError::GsoType),
    ("an unknown Ethernet type", TSO4, odd_ethernet, VnetError::GsoType),
    ("size 0", "01 01 3600 0000 2200 1000", tcp4, VnetError::GsoSize),
    ("size 65535", "01 01 3600 ffff 2200 1000", tcp4, VnetError::GsoSize),
    ("more than 128 datagrams", "01 05 2a00 1700 2200 0600", udp4, VnetError::GsoSize),
    ("a TCP header of 16 bytes", TSO4, short_tcp, VnetError::Truncated),
    ("TCP that ends early", TSO4, cut_tcp, VnetError::Truncated),
];

const TUNNELS: [Broken; 11] = [
    (
        "both families",
        inside!("01 61 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "the other family",
        inside!("01 41 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "around nothing",
        inside!("01 20 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::GsoType,
    ),
    (
        "around UFO",
        inside!("01 23 6800 a805 5400 0600", "2200", "4000"),
        in_vxlan,
        VnetError::GsoType,
    ),
    (
        "no checksum",
        inside!("00 21 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::GsoChecksum,
    ),
    (
        "found right",
        inside!("03 21 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::Flags,
    ),
    (
        "outer UDP in IP",
        inside!("01 21 6800 a805 5400 1000", "2100", "4000"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "inner IP in UDP",
        inside!("01 21 6800 a805 5400 1000", "3900", "4000"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "inner IP behind all",
        inside!("01 21 6800 a805 5400 1000", "2200", "ff0f"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "inner TCP in IP",
        inside!("01 21 6800 a805 5300 1000", "2200", "4000"),
        in_vxlan,
        VnetError::Tunnel,
    ),
    (
        "another version inside",
        inside!("01 24 6800 a805 5400 1000", "2200", "4000"),
        in_vxlan,
        VnetError::GsoType,
    ),
];

fn in_vxlan() -> Vec<u8> {
    vxlan(false, &tcp4(), 0)
}

fn odd_ethernet() -> Vec<u8> {
    [&ethernet(0x1234)[..], &tcp4()[14..]].concat()
}

fn short_tcp() -> Vec<u8> {
    let mut frame = tcp4();
    frame[34 + 12] = 0x40;
    frame
}

fn cut_tcp() -> Vec<u8> {
    plain(false, &tcp(0, 0)[..18], 6, 0)
}

#[test]
fn each_rule_that_is_broken_has_its_name() {
    let all_of_them = FLAGS.iter().chain(&CHECKSUMS).chain(&CUTS).chain(&TUNNELS);
    for &(what, header, frame, expected) in all_of_them {
        assert_eq!(all(header, &frame()), Err(expected), "{what}");
    }
}

#[test]
fn what_was_not_agreed_on_is_refused() {
    let gap = "00000000000000000000";
    let tunnel = format!("01 21 6800 a805 5400 1000 {gap} 2200 4000");
    let outer = format!("09 21 6800 a805 5400 1000 {gap} 2200 4000");
    let cwr = "01 81 3600 a805 2200 1000".to_owned();
    let cases = [
        (Agreed::CSUM, "01 00 0000 0000 2200 1000".to_owned(), tcp4(), VnetError::Flags),
        (Agreed::TSO4, TSO4.to_owned(), tcp4(), VnetError::GsoType),
        (Agreed::TSO6, TSO6.to_owned(), tcp6(), VnetError::GsoType),
        (Agreed::USO4, USO4.to_owned(), udp4(), VnetError::GsoType),
        (Agreed::TSO_ECN, cwr, tcp4(), VnetError::Ecn),
        (Agreed::TUNNEL, tunnel, vxlan(false, &tcp4(), 0), VnetError::Tunnel),
        (Agreed::TUNNEL_CSUM, outer, vxlan(false, &tcp4(), 1), VnetError::Flags),
    ];
    for (bit, header, frame, expected) in cases {
        let len = frame.len() as u32;
        assert!(read(&hex(&header), &frame, len, Agreed::all()).is_ok(), "{header}");
        assert_eq!(read(&hex(&header), &frame, len, Agreed::all() - bit), Err(expected), "{bit:?}");
    }
}

#[test]
fn a_checksum_that_was_found_right_is_that_of_the_outermost_level() {
    let good = |header: &str| all(header, &tcp4()).map(|request| request.good);
    assert_eq!(good("02"), Ok([true, false]));
    assert_eq!(good("0a"), Ok([true, true]));
    // Unfinished is what it is, whatever else is said.
    let both = all("03 00 0000 0000 2200 1000", &tcp4()).expect("a request");
    assert_eq!((both.good, both.partial), ([false; 2], [partial(34, 50), None]));
}

#[test]
fn what_there_are_no_words_for_is_refused() {
    use Unsayable::{ChecksumPlace, Count, HeaderChecksum, Segments};
    let mut buffers = buffers();
    let (one, two) = (layers(false, None, L4::Tcp), layers(false, Some(false), L4::Tcp));
    let frame = tcp4();
    let around = vxlan(false, &frame, 0);
    let tso = all(TSO4, &frame).expect("a request");
    let mut check = |frame: &[u8], layers, request: &Request, change: fn(&mut Packet), expected| {
        let mut made = packet(&mut buffers, frame, request, layers);
        assert!(write(&made).is_ok());
        change(&mut made);
        assert_eq!(write(&made), Err(expected));
        buffers.release(made);
    };
    check(&frame, one, &tso, |packet| packet.meta_mut().l3[0] = Csum::Partial, HeaderChecksum);
    check(&frame, one, &tso, |packet| packet.meta_mut().partial[0].field = 40, ChecksumPlace);
    check(&frame, one, &tso, |packet| packet.meta_mut().partial[0].start = 9999, ChecksumPlace);
    check(&frame, one, &tso, |packet| packet.meta_mut().l4[0] = Csum::Unknown, ChecksumPlace);
    for flag in [SegFlags::FIXED_ID, SegFlags::PAD_LAST, SegFlags::PARTIAL] {
        let mut made = packet(&mut buffers, &frame, &tso, one);
        made.set_segmentation(Segmentation { flags: flag, ..made.segmentation() });
        assert_eq!(write(&made), Err(Segments));
        buffers.release(made);
    }
    let mut check = |frame: &[u8], layers, request: &Request, change: fn(&mut Packet), expected| {
        let mut made = packet(&mut buffers, frame, request, layers);
        assert!(write(&made).is_ok());
        change(&mut made);
        assert_eq!(write(&made), Err(expected));
        buffers.release(made);
    };
    let count = |packet: &mut Packet| {
        packet.set_segmentation(Segmentation { count: 2, ..packet.segmentation() });
    };
    check(&frame, one, &tso, count, Count);
    let inside = all(TUNNEL, &around).expect("a request");
    let deeper = |packet: &mut Packet| packet.meta_mut().flags |= MetaFlags::DEEPER;
    check(&around, two, &inside, deeper, Unsayable::Tunnel);
    let gre = |packet: &mut Packet| packet.meta_mut().layers.tunnel = Tunnel::Gre;
    check(&around, two, &inside, gre, Unsayable::Tunnel);
    check(&around, two, &inside, |packet| packet.data_mut().unwrap()[40] = 1, Unsayable::Tunnel);
}

#[test]
fn names_of_drops_are_few_and_errors_say_what_is_wrong() {
    for error in VnetError::ALL {
        assert!(["runt", "bad_vnet_header"].contains(&error.drop_name()));
        assert!(error.to_string().len() > 10);
    }
    let numbers: Vec<usize> = VnetError::ALL.iter().map(|&error| error as usize).collect();
    assert_eq!(numbers, (0..VnetError::ALL.len()).collect::<Vec<_>>());
    assert_eq!((Flags::NEEDS_CSUM.bits(), GsoType::TCP4.with(GsoType::ECN).0), (1, 0x81));
}
