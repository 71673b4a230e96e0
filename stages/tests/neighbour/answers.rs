//! What is answered, learned and passed: RFC 826, RFC 5227, RFC 4861 sections 7.1 and 7.2.

use crate::rig::{
    Context, EVERYBODY, ME_HEX, SECOND, arp, both, hex, icmp6_sum, nd, out, stage, through, to_v4,
    to_v6,
};

const HOST: [u8; 6] = [2, 0, 0, 0, 0, 7];
const HOST_HEX: &str = "020000000007";
/// Solicited-node multicast of 2001:db8::1.
const GROUP_MAC: &str = "3333ff000001";
const TARGET: &str = "20010db8000000000000000000000001";

#[test]
fn a_request_for_an_own_address_is_answered_to_the_byte() {
    let mut harness = both("");
    let request = hex(
        "ffffffffffff 020000000007 0806 0001 0800 06 04 0001 020000000007 c0000207 000000000000 c0000201",
    );
    let [next, answers] = through(&mut harness, std::slice::from_ref(&request));
    assert!(next.is_empty());
    let reply = "020000000007 020000000001 0806 0001 0800 06 04 0002 020000000001 c0000201 020000000007 c0000207";
    assert_eq!(answers, [hex(reply)]);
    assert_eq!(harness.counters(), [("answered", 1), ("learned", 1)]);
    // Padded as the wire has it, it is the same question.
    let mut padded = request;
    padded.resize(60, 0xa5);
    assert_eq!(through(&mut harness, &[padded])[1], [hex(reply)]);
    // Who asked is known.
    let [next, _] = through(&mut harness, &[to_v4([192, 0, 2, 7], b"x")]);
    assert_eq!(next[0][..12], hex(&format!("{HOST_HEX}{ME_HEX}")));
    harness.finish();
}

#[test]
fn a_probe_is_answered_and_teaches_nothing() {
    let mut harness = both("");
    let probe = arp(1, HOST, [0; 4], [198, 51, 100, 1]);
    let [next, answers] = through(&mut harness, &[probe]);
    assert!(next.is_empty());
    assert_eq!(answers[0][22..32], hex(&format!("{ME_HEX} c6336401")));
    assert_eq!(harness.counters(), [("answered", 1)]);
    harness.finish();
}

#[test]
fn what_is_for_others_passes_untouched() {
    let mut harness = both("");
    let mut other_kind = arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 1]);
    other_kind[15] = 6; // IEEE 802
    let mut tagged = arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 1]);
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    let frames = [
        arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 8]),
        arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 7]),
        other_kind,
        tagged,
        hex(&format!("{ME_HEX} {HOST_HEX} 0806 0001")),
        nd(
            &format!("3333ff000002{HOST_HEX}"),
            "2001:db8::7",
            "ff02::1:ff00:2",
            255,
            "8700 0000 00000000 20010db8000000000000000000000002 0101 020000000007",
        ),
        hex(&format!("{ME_HEX} {HOST_HEX} 86dd 6000")),
    ];
    let [next, answers] = through(&mut harness, &frames);
    assert_eq!(next, frames);
    assert!(answers.is_empty());
    assert_eq!(harness.counters(), [], "nobody was learned from");
    harness.finish();
}

#[test]
fn who_claims_an_own_address_is_counted() {
    let mut harness = both("");
    let conflict = arp(1, HOST, [192, 0, 2, 1], [192, 0, 2, 1]);
    let looped = arp(1, crate::rig::ME, [192, 0, 2, 1], [192, 0, 2, 1]);
    let advert = nd(
        &format!("333300000001{HOST_HEX}"),
        "2001:db8::1",
        "ff02::1",
        255,
        &format!("8800 0000 20000000 {TARGET} 0201 {HOST_HEX}"),
    );
    let frames = [conflict, looped, advert];
    let [next, answers] = through(&mut harness, &frames);
    assert_eq!((next.as_slice(), answers.len()), (&frames[..], 0));
    assert_eq!(harness.counters(), [("conflicts", 2)]);
    harness.finish();
}

fn solicitation(link: &str) -> Vec<u8> {
    let message = format!("8700 0000 00000000 {TARGET} {link}");
    nd(&format!("{GROUP_MAC}{HOST_HEX}"), "2001:db8::7", "ff02::1:ff00:1", 255, &message)
}

#[test]
fn a_solicitation_is_answered_to_the_byte() {
    let mut harness = both("");
    let [next, answers] = through(&mut harness, &[solicitation(&format!("0101 {HOST_HEX}"))]);
    assert!(next.is_empty());
    let advertisement = "020000000007 020000000001 86dd 60000000 0020 3a ff \
         20010db8000000000000000000000001 20010db8000000000000000000000007 \
         8800 0000 60000000 20010db8000000000000000000000001 0201 020000000001";
    let mut expected = hex(advertisement);
    let sum = icmp6_sum(&expected[22..], 32);
    expected[56..58].copy_from_slice(&(!sum).to_be_bytes());
    assert_eq!(answers, [expected]);
    assert_eq!(harness.counters(), [("answered", 1), ("learned", 1)]);
    let [next, _] = through(&mut harness, &[to_v6("2001:db8::7", b"x")]);
    assert_eq!(next[0][..12], hex(&format!("{HOST_HEX}{ME_HEX}")));
    harness.finish();
}

#[test]
fn a_host_without_an_address_yet_is_answered_by_all_nodes() {
    let mut harness = both("");
    let message = format!("8700 0000 00000000 {TARGET}");
    let probe = nd(&format!("{GROUP_MAC}{HOST_HEX}"), "::", "ff02::1:ff00:1", 255, &message);
    let [next, answers] = through(&mut harness, &[probe]);
    assert!(next.is_empty());
    assert_eq!(answers[0][..12], hex(&format!("333300000001{ME_HEX}")));
    assert_eq!(answers[0][38..54], "ff02::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    assert_eq!(answers[0][58..62], [0x20, 0, 0, 0], "override, not solicited");
    assert_eq!(harness.counters(), [("answered", 1)]);
    harness.finish();
}

/// RFC 4861, section 7.1.1: what must be silently discarded is not believed, and is somebody else's.
#[test]
fn messages_that_break_a_rule_are_not_believed() {
    let mut harness = both("");
    let option = format!("0101 {HOST_HEX}");
    let message = format!("8700 0000 00000000 {TARGET} {option}");
    let ethernet = format!("{GROUP_MAC}{HOST_HEX}");
    let group = "ff02::1:ff00:1";
    let good = solicitation(&option);
    let edited = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[at] = value;
        frame
    };
    let frames = [
        nd(&ethernet, "2001:db8::7", group, 254, &message),
        edited(57, good[57] ^ 1),
        nd(&ethernet, "2001:db8::7", group, 255, &message.replace("8700", "8701")),
        nd(&ethernet, "2001:db8::7", group, 255, &message.replace("0101 02", "0100 02")),
        nd(&ethernet, "2001:db8::7", group, 255, &message.replace(TARGET, &"ff".repeat(16))),
        nd(&ethernet, "2001:db8::7", group, 255, "8700 0000 00000000 2001"),
        nd(&ethernet, "::", group, 255, &message),
        nd(&ethernet, "::", "2001:db8::1", 255, &message[..message.len() - option.len()]),
        // A length that points past the frame.
        edited(19, 200),
        // A solicited advertisement to everybody.
        nd(
            &format!("333300000001{HOST_HEX}"),
            "2001:db8::7",
            "ff02::1",
            255,
            &format!("8800 0000 60000000 20010db8000000000000000000000007 0201 {HOST_HEX}"),
        ),
    ];
    let [next, answers] = through(&mut harness, &frames);
    assert_eq!((next.as_slice(), answers.len()), (&frames[..], 0));
    assert_eq!(harness.counters(), [("invalid", frames.len() as u64)]);
    harness.finish();
}

#[test]
fn an_answer_nobody_asked_for_teaches_nothing() {
    let mut harness = both("");
    let reply = arp(2, HOST, [192, 0, 2, 7], [192, 0, 2, 1]);
    let announced = arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 7]);
    let [next, answers] = through(&mut harness, &[reply, announced.clone()]);
    assert_eq!((next, answers.len()), (vec![announced], 0));
    assert_eq!(harness.counters(), []);
    let [next, _] = through(&mut harness, &[to_v4([192, 0, 2, 7], b"x")]);
    assert_eq!(next[0][..6], hex(EVERYBODY), "it has to be asked for");
    harness.advance(10 * SECOND);
    out(&mut harness);
    harness.finish();
}

#[test]
fn one_who_is_known_may_move() {
    let mut harness = both("");
    let moved = [2, 0, 0, 0, 0, 9];
    let first = arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 1]);
    through(&mut harness, &[first, arp(1, moved, [192, 0, 2, 7], [192, 0, 2, 7])]);
    let [next, _] = through(&mut harness, &[to_v4([192, 0, 2, 7], b"x")]);
    assert_eq!(next[0][..6], moved);
    assert_eq!(harness.counter("learned"), 2);
    // An advertisement that does not override leaves things as they are (section 7.2.5).
    through(&mut harness, &[solicitation(&format!("0101 {HOST_HEX}"))]);
    let advert = |flags: &str| {
        let message =
            format!("8800 0000 {flags}000000 20010db8000000000000000000000007 0201 020000000009");
        nd(&format!("{ME_HEX}020000000009"), "2001:db8::7", "2001:db8::1", 255, &message)
    };
    through(&mut harness, &[advert("40")]);
    let [next, _] = through(&mut harness, &[to_v6("2001:db8::7", b"x")]);
    assert_eq!(next[0][..6], HOST);
    through(&mut harness, &[advert("60")]);
    let [next, _] = through(&mut harness, &[to_v6("2001:db8::7", b"x")]);
    assert_eq!(next[0][..6], moved);
    harness.finish();
}

#[test]
fn without_a_way_back_it_learns_all_the_same() {
    let mut context = Context::default();
    context.mute = true;
    let mut receiving = stage(&mut context, "side: Receive");
    let mut sending = stage(&mut context, "side: Transmit");
    let request = arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 1]);
    let [next, answers] = through(&mut receiving, std::slice::from_ref(&request));
    assert_eq!((next.len(), answers.len()), (0, 0));
    assert_eq!(receiving.counters(), [("unanswered", 1), ("learned", 1)]);
    // The halves share what is learned; the sending one answers nobody.
    let [next, answers] = through(&mut sending, &[to_v4([192, 0, 2, 7], b"x"), request.clone()]);
    assert_eq!((next[0][..6].to_vec(), answers.len()), (HOST.to_vec(), 0));
    assert_eq!(next[1], request);
    receiving.finish();
    sending.finish();
}
