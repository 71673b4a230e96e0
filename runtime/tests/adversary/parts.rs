//! Parts and homes: what safe calls can do to one packet, and who comes home when.

use crate::toys::{bytes_of, frame, home, pattern};
use corelane_runtime::packet::{Class, SMALL_ROOM, SegFlags, SegKind, Segmentation, Units};
use corelane_runtime::stage::{StageContext, Tally};

#[test]
fn a_lone_shell_is_an_empty_packet() {
    let mut buffers = home(2, 2, 0);
    let mut shell = buffers.alloc(Class::Shell).expect("there are two");
    assert_eq!(shell.data(), b"");
    assert_eq!(shell.data_mut().map(|data| data.len()), Some(0));
    assert!(shell.append_bytes(b"") && !shell.append_bytes(b"x"));
    shell.push(4, &mut buffers).expect("room").copy_from_slice(b"head");
    assert_eq!(bytes_of(&shell), b"head");
    buffers.release(shell);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn a_push_beyond_the_headroom_finds_room_or_changes_nothing() {
    let mut buffers = home(0, 4, 0);
    let mut packet = frame(&mut buffers, 0, 100, 1);
    packet.push(1000, &mut buffers).expect("a header of 1000 bytes fits a small buffer").fill(9);
    assert_eq!(packet.len(), 1100);
    assert_eq!(bytes_of(&packet), [vec![9; 1000], pattern(100, 1)].concat());
    for _ in 0..3 {
        let parts = packet.part_count();
        assert!(packet.push(SMALL_ROOM + 257, &mut buffers).is_err());
        assert_eq!(packet.part_count(), parts, "a push that fails leaves nothing behind");
    }
    buffers.release(packet);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn a_payload_is_one_piece_wherever_its_header_went() {
    let mut buffers = home(0, 4, 0);
    let mut packet = frame(&mut buffers, 40, 100, 1);
    packet.set_payload_sum(7);
    packet.pull(40, &mut buffers);
    // A header too long for what is left of the headroom goes into a part of its own.
    packet.push(300, &mut buffers).expect("room").fill(0);
    packet.mark_piece();
    assert_eq!(packet.pieces().count(), 1, "marked once more, it is still one piece");
    assert_eq!(packet.payload_sum(), Some(7), "and its sum is still known");
    packet.set_payload_sum(9);
    assert_eq!(packet.pieces().map(|piece| piece.sum).collect::<Vec<_>>(), [Some(9)]);
    buffers.release(packet);
}

/// Short segments that were joined lie within the bytes that are looked at for headers.
#[test]
fn gathering_headers_leaves_boundaries_in_their_parts() {
    let mut buffers = home(0, 8, 0);
    let mut packet = frame(&mut buffers, 54, 10, 1);
    packet.set_payload_sum(1);
    for sum in [2, 3] {
        let mut more = frame(&mut buffers, 0, 10, 1);
        more.set_payload_sum(sum);
        let mut tally = Tally::new(0, 0);
        StageContext::new(0, &mut buffers, &mut tally).absorb(&mut packet, more, 10);
    }
    let (kind, flags) = (SegKind::Udp4, SegFlags::BY_PARTS);
    packet.set_segmentation(Segmentation { kind, gso_size: 10, count: 3, flags });
    let before = bytes_of(&packet);
    packet.pull_up(256, &mut buffers).expect("nothing to do");
    assert!(packet.data().len() >= 54, "headers are contiguous");
    let sums: Vec<_> = packet.pieces().map(|piece| piece.sum).collect();
    assert_eq!(sums, [Some(1), Some(2), Some(3)]);
    assert_eq!(bytes_of(&packet), before);
    buffers.release(packet);
}

#[test]
fn books_that_do_not_balance_show_as_huge_numbers_and_do_not_panic() {
    let one = Units { packets: 1, segments: 1, bytes: 1 };
    let wrapped = Units::default() - one;
    assert_eq!(wrapped + one, Units::default());
}

#[test]
fn a_home_outlives_whoever_still_holds_its_parts() {
    let mut short = home(0, 4, 0);
    let mut long = home(0, 1, 0);
    let packet = frame(&mut short, 0, 50, 3);
    let other = frame(&mut short, 0, 60, 4);
    drop(short);
    assert_eq!(bytes_of(&packet), pattern(50, 3));
    long.release(packet);
    long.flush();
    assert_eq!(bytes_of(&other), pattern(60, 4));
    drop(other);
    assert_eq!(long.outstanding(), [0; 3]);
}

#[test]
fn parts_go_home_from_any_thread_while_their_owner_allocates() {
    let mut buffers = home(0, 64, 0);
    let (send, receive) = std::sync::mpsc::sync_channel(16);
    let freer = std::thread::spawn(move || {
        let mut own = home(0, 1, 0);
        for (index, packet) in receive.into_iter().enumerate() {
            if index % 3 == 0 {
                drop(packet)
            } else {
                own.release(packet)
            }
            if index % 7 == 0 {
                own.flush();
            }
        }
    });
    let mut made = 0;
    while made < 20_000 {
        if let Some(packet) = buffers.receive(b"to and fro") {
            send.send(packet).expect("the other thread lives");
            made += 1;
        }
    }
    drop(send);
    freer.join().expect("joined");
    assert_eq!(buffers.outstanding(), [0; 3]);
    assert_eq!(buffers.implicit().packets, 20_000_u64.div_ceil(3));
}
