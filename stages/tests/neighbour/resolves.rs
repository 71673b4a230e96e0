//! Whom packets are sent to, and what becomes of those that wait.

use crate::rig::{
    EVERYBODY, ME, ME_HEX, NEXT, SECOND, arp, both, hex, nd, out, packet, through, to_v4, to_v6,
};
use corelane_runtime::packet::{SegFlags, SegKind, Segmentation};
use corelane_runtime::testing::Harness;

const HOST: [u8; 6] = [2, 0, 0, 0, 0, 7];
const IP: [u8; 4] = [192, 0, 2, 7];

/// The last byte of each frame that is no question.
fn marks(frames: &[Vec<u8>]) -> Vec<u8> {
    frames
        .iter()
        .filter(|frame| frame[12..14] != [8, 6])
        .map(|frame| frame[frame.len() - 1])
        .collect()
}

fn questions(frames: &[Vec<u8>]) -> Vec<&Vec<u8>> {
    frames.iter().filter(|frame| frame[12..14] == [8, 6]).collect()
}

fn heard(harness: &mut Harness) -> Vec<Vec<u8>> {
    let [next, _] = through(harness, &[arp(2, HOST, IP, [192, 0, 2, 1])]);
    next
}

#[test]
fn an_unknown_neighbour_is_asked_for_and_packets_wait_in_order() {
    let mut harness = both("");
    let frames: Vec<_> = (0..5).map(|n| to_v4(IP, &[n])).collect();
    let [next, _] = through(&mut harness, &frames);
    let question = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c0000201 000000000000 c0000207";
    assert_eq!(next, [hex(question)]);
    harness.advance(SECOND / 2);
    assert!(heard(&mut harness).is_empty(), "the answer itself ends here");
    harness.advance(SECOND / 2 + 1_000_000);
    let [next, _] = out(&mut harness);
    assert_eq!(marks(&next), [0, 1, 2, 3, 4]);
    for frame in &next {
        assert_eq!(frame[..12], [HOST, ME].concat());
    }
    let [next, _] = through(&mut harness, &[to_v4(IP, &[9])]);
    assert_eq!(marks(&next), [9]);
    assert_eq!(harness.deadline(), None, "nothing is left to do");
    let counters = [("learned", 1), ("resolved", 6), ("waited", 5), ("asked", 1)];
    assert_eq!(harness.counters(), counters);
    harness.finish();
}

#[test]
fn a_packet_never_overtakes_those_that_wait_for_the_same_next_hop() {
    let mut harness = both("");
    through(&mut harness, &[to_v4(IP, &[0]), to_v4(IP, &[1])]);
    // The answer and the next packet in one burst, before anything was looked at again.
    let [next, _] = through(&mut harness, &[arp(2, HOST, IP, [192, 0, 2, 1]), to_v4(IP, &[2])]);
    assert_eq!(marks(&next), [0, 1, 2]);
    harness.finish();
}

#[test]
fn other_next_hops_do_not_wait() {
    let mut harness = both("static: { \"192.0.2.9\": \"02:00:00:00:00:09\" }");
    let [next, _] = through(&mut harness, &[to_v4(IP, &[0]), to_v4([192, 0, 2, 9], &[1])]);
    assert_eq!((marks(&next), questions(&next).len()), (vec![1], 1));
    assert_eq!(next[1][..6], [2, 0, 0, 0, 0, 9]);
    harness.advance(4 * SECOND);
    out(&mut harness);
    harness.finish();
}

#[test]
fn nobody_answers_three_questions_and_the_packets_are_dropped() {
    let mut harness = both("");
    through(&mut harness, &[to_v4(IP, &[0]), to_v4(IP, &[1])]);
    for (second, asked, dropped) in [(1, 2, 0), (2, 3, 0), (3, 3, 2)] {
        harness.advance(second * SECOND - 1);
        assert_eq!(out(&mut harness)[NEXT].len(), 0, "before second {second}");
        harness.advance(second * SECOND);
        let [next, _] = out(&mut harness);
        assert_eq!(questions(&next).len(), next.len());
        assert_eq!(harness.counter("asked"), asked, "second {second}");
        assert_eq!(harness.dropped("unresolved").packets, dropped, "second {second}");
    }
    assert_eq!(harness.deadline(), None);
    // The next packet asks anew.
    let [next, _] = through(&mut harness, &[to_v4(IP, &[2])]);
    assert_eq!(questions(&next).len(), 1);
    harness.finish();
}

#[test]
fn the_oldest_makes_room() {
    let mut harness = both("hold: 4, hold_each: 3");
    let frames: Vec<_> = (0..5).map(|n| to_v4(IP, &[n])).collect();
    through(&mut harness, &frames);
    assert_eq!(harness.dropped("queue_full").packets, 2);
    let others: Vec<_> = (5..7).map(|n| to_v4([192, 0, 2, 8], &[n])).collect();
    through(&mut harness, &others);
    assert_eq!(harness.dropped("queue_full").packets, 3, "the oldest of all");
    through(&mut harness, &[arp(2, HOST, IP, [192, 0, 2, 1])]);
    harness.advance(1_000_000);
    assert_eq!(marks(&out(&mut harness)[NEXT]), [3, 4]);
    let other = arp(2, HOST, [192, 0, 2, 8], [192, 0, 2, 1]);
    through(&mut harness, &[other]);
    harness.advance(2_000_000);
    assert_eq!(marks(&out(&mut harness)[NEXT]), [5, 6]);
    harness.finish();
}

#[test]
fn more_neighbours_than_may_wait_are_asked_for_one_after_the_other() {
    let mut harness = both("hold: 4, hold_each: 4");
    let frames: Vec<_> = (0..100).map(|n| to_v4([192, 0, 2, 100 + n], &[n])).collect();
    let [next, _] = through(&mut harness, &frames);
    assert_eq!(questions(&next).len(), 100);
    assert_eq!(harness.dropped("queue_full").packets, 96);
    harness.advance(5 * SECOND);
    assert_eq!(harness.dropped("unresolved").packets, 4);
    out(&mut harness);
    harness.finish();
}

#[test]
fn groups_and_everybody_need_no_question() {
    let mut harness = both("");
    let cases = [
        (to_v4([224, 0, 0, 251], b"x"), "01005e0000fb"),
        (to_v4([239, 255, 128, 1], b"x"), "01005e7f8001"),
        (to_v4([255; 4], b"x"), EVERYBODY),
        (to_v4([192, 0, 2, 255], b"x"), EVERYBODY),
        (to_v6("ff02::1:ff00:2", b"x"), "3333ff000002"),
    ];
    for (frame, expected) in cases {
        let [next, _] = through(&mut harness, std::slice::from_ref(&frame));
        let mut sent = frame;
        sent[..12].copy_from_slice(&hex(&format!("{expected}{ME_HEX}")));
        assert_eq!(next, [sent]);
    }
    harness.finish();
}

#[test]
fn what_is_on_no_network_goes_to_the_gateway_or_nowhere() {
    let gateways =
        "static: { \"192.0.2.254\": \"02:00:00:00:00:fe\", \"fe80::fe\": \"02:00:00:00:06:fe\" }";
    let mut harness = both(gateways);
    let frames = [to_v4([203, 0, 113, 9], b"x"), to_v6("2001:db8:ffff::1", b"x")];
    let [next, _] = through(&mut harness, &frames);
    assert_eq!(next[0][..6], [2, 0, 0, 0, 0, 0xfe]);
    assert_eq!(next[1][..6], [2, 0, 0, 0, 6, 0xfe]);
    // Both hosts of a network of two are hosts (RFC 3021); a link-local address is on the link.
    let [next, _] =
        through(&mut harness, &[to_v4([198, 51, 100, 0], b"x"), to_v6("fe80::9", b"x")]);
    let question = questions(&next);
    assert_eq!(question[0][28..42], hex("c6336401 000000000000 c6336400"));
    assert_eq!(next[1][..6], hex("3333ff000009"));
    let [next, _] = through(&mut harness, &[to_v4([0; 4], b"x"), to_v6("::", b"x")]);
    assert!(next.is_empty());
    assert_eq!(harness.dropped("no_route").packets, 2);
    harness.advance(5 * SECOND);
    out(&mut harness);
    harness.finish();
}

#[test]
fn a_solicitation_goes_to_the_group_of_the_address_and_its_answer_is_heeded() {
    let mut harness = both("");
    let [next, _] = through(&mut harness, &[to_v6("2001:db8::12:3456", &[5])]);
    let message = "8700 0000 00000000 20010db8000000000000000000123456 0101 020000000001";
    let asked = nd("3333ff123456 020000000001", "2001:db8::1", "ff02::1:ff12:3456", 255, message);
    assert_eq!(next, [asked]);
    let answer = nd(
        "020000000001 020000000007",
        "2001:db8::12:3456",
        "2001:db8::1",
        255,
        "8800 0000 60000000 20010db8000000000000000000123456 0201 020000000007",
    );
    let [next, _] = through(&mut harness, &[answer]);
    assert!(next.is_empty());
    harness.advance(1_000_000);
    let [next, _] = out(&mut harness);
    assert_eq!((next[0][..6].to_vec(), next[0].last()), (HOST.to_vec(), Some(&5)));
    harness.finish();
}

#[test]
fn an_old_answer_is_used_and_asked_for_again() {
    let mut harness = both("");
    through(&mut harness, &[arp(1, HOST, IP, [192, 0, 2, 1])]);
    harness.advance(30 * SECOND);
    assert_eq!(through(&mut harness, &[to_v4(IP, &[1])])[NEXT].len(), 1, "still believed");
    harness.advance(31 * SECOND);
    let [next, _] = through(&mut harness, &[to_v4(IP, &[2]), to_v4(IP, &[3])]);
    assert_eq!((marks(&next), questions(&next).len()), (vec![2, 3], 1));
    assert_eq!(questions(&next)[0][..6], HOST, "of that neighbour alone");
    harness.advance(31 * SECOND + SECOND / 2);
    heard(&mut harness);
    harness.advance(33 * SECOND);
    let [next, _] = through(&mut harness, &[to_v4(IP, &[4])]);
    assert_eq!((marks(&next), questions(&next).len()), (vec![4], 0), "believed again");
    // Without an answer it is forgotten after three questions, and packets wait.
    harness.advance(70 * SECOND);
    through(&mut harness, &[to_v4(IP, &[5])]);
    harness.advance(73 * SECOND);
    assert_eq!(questions(&out(&mut harness)[NEXT]).len(), 2);
    let [next, _] = through(&mut harness, &[to_v4(IP, &[6])]);
    assert_eq!((marks(&next).len(), questions(&next)[0][..6].to_vec()), (0, hex(EVERYBODY)));
    harness.advance(80 * SECOND);
    out(&mut harness);
    harness.finish();
}

#[test]
fn what_is_known_for_good_stays() {
    let mut harness = both("static: { \"192.0.2.7\": \"02:00:00:00:00:77\" }");
    through(&mut harness, &[arp(1, HOST, IP, [192, 0, 2, 1])]);
    harness.advance(1000 * SECOND);
    let [next, _] = through(&mut harness, &[to_v4(IP, &[1])]);
    assert_eq!((next.len(), next[0][..6].to_vec()), (1, vec![2, 0, 0, 0, 0, 0x77]));
    harness.finish();
}

#[test]
fn what_has_an_address_or_none_to_go_by_passes_untouched() {
    let mut harness = both("");
    let mut addressed = to_v4(IP, &[1]);
    addressed[..6].copy_from_slice(&[4; 6]);
    let mut other = to_v4(IP, &[1]);
    other[12..14].copy_from_slice(&[0x88, 0xcc]);
    let frames = [addressed, other, vec![0; 13], vec![0; 6], vec![0; 3]];
    assert_eq!(through(&mut harness, &frames)[NEXT], frames);
    assert_eq!(harness.counters(), [("not_ip", 3)]);
    // Behind tags the address is found.
    let mut tagged = to_v4([224, 0, 0, 1], &[1]);
    tagged.splice(12..12, [0x88, 0xa8, 0, 7, 0x81, 0, 0, 5]);
    assert_eq!(through(&mut harness, &[tagged])[NEXT][0][..6], hex("01005e000001"));
    harness.finish();
}

#[test]
fn a_superpacket_waits_as_one_packet_of_many_segments() {
    let mut harness = both("");
    let mut super_packet = packet(&mut harness, &to_v4(IP, &[7; 300]));
    super_packet.set_segmentation(Segmentation {
        kind: SegKind::Tcp4,
        gso_size: 100,
        count: 3,
        flags: SegFlags::empty(),
    });
    harness.feed([super_packet], &[]);
    out(&mut harness);
    heard(&mut harness);
    harness.advance(1_000_000);
    let mut sent = harness.take_from(NEXT);
    let sent_one = sent.pop().expect("it left");
    assert_eq!((sent_one.segments(), sent_one.is_super()), (3, true));
    harness.release([sent_one]);
    harness.finish();
}

/// A header that a copy sees is written anew, and the copy stays as it is.
#[test]
fn nothing_that_others_see_is_written() {
    let mut harness = both("static: { \"192.0.2.7\": \"02:00:00:00:00:07\" }");
    let frame = to_v4(IP, b"shared");
    let whole = packet(&mut harness, &frame);
    let copy = whole.share(0, whole.len(), &mut harness.buffers).expect("a copy");
    harness.feed([whole], &[]);
    let [next, _] = out(&mut harness);
    assert_eq!(next[0][..12], [HOST, ME].concat());
    assert_eq!(harness.unpack(copy), frame);
    harness.finish();
}

#[test]
fn without_room_questions_and_packets_wait_and_none_is_lost() {
    let mut harness = both("");
    harness.set_room(0);
    for n in 0..3 {
        let waiting = packet(&mut harness, &to_v4(IP, &[n]));
        harness.push(waiting);
    }
    harness.step();
    assert_eq!(harness.waiting(), 3, "nothing was taken");
    harness.set_room(1);
    for _ in 0..20 {
        harness.step();
        let now = harness.now;
        harness.advance(now + 1_000_000);
    }
    assert_eq!(questions(&out(&mut harness)[NEXT]).len(), 1);
    heard(&mut harness);
    for _ in 0..5 {
        let now = harness.now;
        harness.advance(now + 1_000_000);
    }
    assert_eq!(marks(&out(&mut harness)[NEXT]), [0, 1, 2]);
    harness.finish();
}

#[test]
fn when_nothing_more_comes_what_waits_has_one_second_left() {
    let mut harness = both("");
    harness.advance(5 * SECOND);
    through(&mut harness, &[to_v4(IP, &[0])]);
    harness.drain();
    assert!((6 * SECOND..6 * SECOND + 10_000_000).contains(&harness.now), "{}", harness.now);
    assert_eq!(harness.dropped("unresolved").packets, 1);
    out(&mut harness);
    harness.finish();
}
