//! Cutting with numbers nobody should give, at sizes where buffers run short, and from several threads.

use crate::toys::{bytes_of, frame, home, hush, pattern};
use corelane_runtime::packet::{Buffers, Class, CutError, CutPlan, Packet, SMALL_ROOM};
use corelane_runtime::stage::{StageContext, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn cut(
    packet: &mut Packet,
    header: u32,
    bytes: u32,
    plan: &mut CutPlan,
    buffers: &mut Buffers,
) -> Packet {
    let mut tally = Tally::default();
    let mut ctx = StageContext::new(0, buffers, &mut tally);
    ctx.segment_of(packet, header, bytes, 1, plan).expect("reserved")
}

fn count_of(packet: &mut Packet, segments: u16) {
    let mut request = packet.segmentation();
    request.count = segments;
    packet.set_segmentation(request);
}

/// Whatever the numbers, a cut is refused before it has touched the packet.
#[test]
fn absurd_cuts_are_refused_and_change_nothing() {
    hush();
    let absurd = [
        (20, 0),
        (20, 80),
        (20, 81),
        (20, u32::MAX),
        (u32::MAX, 10),
        (u32::MAX - 4, 10),
        (100, 1),
        (101, 1),
    ];
    for (header, bytes) in absurd {
        let mut buffers = home(8, 8, 0);
        let mut packet = frame(&mut buffers, 20, 80, 5);
        count_of(&mut packet, 4);
        let mut tally = Tally::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
            ctx.segment_of(&mut packet, header, bytes, 1, &mut CutPlan::default()).is_ok()
        }));
        assert!(!matches!(result, Ok(true)), "header {header}, payload {bytes}: was cut");
        assert_eq!(bytes_of(&packet), pattern(100, 5), "header {header}, payload {bytes}");
        assert_eq!((packet.payload_len(), packet.segments()), (80, 4));
        assert_eq!(tally.created.packets, 0);
        buffers.release(packet);
        assert_eq!(buffers.outstanding(), [0; 3], "header {header}, payload {bytes}");
    }
}

/// A header longer than any headroom, in front of pieces that have none of their own.
#[test]
fn a_header_longer_than_the_headroom_is_repeated_whole() {
    for header in [255_u32, 256, 257, 900, SMALL_ROOM] {
        let mut buffers = home(8, 16, 2);
        let mut head = frame(&mut buffers, header as usize, 500, 1);
        head.mark_piece();
        let mut more = frame(&mut buffers, 0, 400, 2);
        more.mark_piece();
        let mut tally = Tally::default();
        StageContext::new(0, &mut buffers, &mut tally).absorb(&mut head, more, 400);
        let mut plan = CutPlan::reserve(&head, header, 1, true, &mut buffers).expect("room");
        let guard: Vec<Packet> = std::iter::from_fn(|| buffers.alloc(Class::Small)).collect();
        let first = cut(&mut head, header, 500, &mut plan, &mut buffers);
        plan.finish(&mut buffers);
        let headers = pattern(header as usize + 500, 1)[..header as usize].to_vec();
        assert_eq!(bytes_of(&first), pattern(header as usize + 500, 1), "header {header}");
        assert_eq!(bytes_of(&head), [headers, pattern(400, 2)].concat(), "header {header}");
        guard.into_iter().chain([first, head]).for_each(|packet| buffers.release(packet));
        assert_eq!(buffers.outstanding(), [0; 3], "header {header}");
    }
}

/// No buffer holds such a header, so the plan says so at once and for good.
#[test]
fn a_header_that_no_buffer_holds_is_refused_by_the_plan() {
    let mut buffers = home(64, 64, 2);
    let header = SMALL_ROOM + 1;
    let packet = frame(&mut buffers, header as usize, 500, 1);
    let plan = CutPlan::reserve(&packet, header, 100, false, &mut buffers);
    assert_eq!(plan.err(), Some(CutError::TooMany));
    let plan = CutPlan::reserve(&packet, packet.len() + 1, 100, false, &mut buffers);
    assert_eq!(plan.err(), Some(CutError::TooMany), "nor is one that is not there");
    buffers.release(packet);
}

/// A packet's own parts cannot come home before it is cut; waiting for them would be waiting for ever.
#[test]
fn a_cut_that_would_need_its_own_buffers_is_refused_and_does_not_wait() {
    let mut buffers = home(8, 4, 0);
    let packet = frame(&mut buffers, 20, 1800, 1);
    let plan = CutPlan::reserve(&packet, 20, 600, false, &mut buffers);
    assert_eq!(plan.err(), Some(CutError::TooMany), "3 cuts, 4 headers, 4 buffers, one in use");
    let plan = CutPlan::reserve(&packet, 20, 900, false, &mut buffers).expect("3 headers");
    plan.finish(&mut buffers);
    buffers.release(packet);
}

/// A stage that panics drops its plan without finishing it.
#[test]
fn a_plan_that_is_dropped_gives_its_buffers_back() {
    let mut buffers = home(8, 8, 0);
    for _ in 0..20 {
        let packet = frame(&mut buffers, 20, 1000, 1);
        let plan = CutPlan::reserve(&packet, 20, 300, false, &mut buffers).expect("free again");
        drop(plan);
        buffers.release(packet);
    }
    let all: Vec<Packet> = std::iter::from_fn(|| buffers.alloc(Class::Small)).collect();
    assert_eq!(all.len(), 8);
    all.into_iter().for_each(|packet| buffers.release(packet));
}

#[test]
fn what_was_set_aside_is_there_even_when_buffers_are_withheld() {
    let mut buffers = home(8, 8, 0);
    let mut packet = frame(&mut buffers, 20, 900, 1);
    count_of(&mut packet, 3);
    let mut plan = CutPlan::reserve(&packet, 20, 300, false, &mut buffers).expect("room");
    buffers.withhold([u32::MAX / 4; 3]);
    let first = cut(&mut packet, 20, 300, &mut plan, &mut buffers);
    let second = cut(&mut packet, 20, 300, &mut plan, &mut buffers);
    buffers.withhold([0; 3]);
    plan.finish(&mut buffers);
    [first, second, packet].into_iter().for_each(|packet| buffers.release(packet));
    assert_eq!(buffers.outstanding(), [0; 3]);
}

/// Segments that share one buffer end on several threads at once, in any order.
#[test]
fn sharers_of_a_buffer_end_on_different_threads() {
    let mut buffers = home(64, 64, 2);
    for round in 0..300 {
        let mut packet = frame(&mut buffers, 40, 20_000, round as u8);
        count_of(&mut packet, 20);
        let whole = pattern(20_040, round as u8);
        let mut plan = loop {
            match CutPlan::reserve(&packet, 40, 1000, false, &mut buffers) {
                Ok(plan) => break plan,
                Err(error) => assert_eq!(error, CutError::Wait),
            }
        };
        let mut segments = Vec::new();
        while packet.segments() > 1 {
            segments.push(cut(&mut packet, 40, 1000, &mut plan, &mut buffers));
        }
        plan.finish(&mut buffers);
        segments.push(packet);
        let mut other = segments.split_off(10);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut own = home(0, 2, 0);
                for (index, mut segment) in other.drain(..).enumerate() {
                    assert_eq!(bytes_of(&segment)[40..], whole[40 + (10 + index) * 1000..][..1000]);
                    segment.pull(40, &mut own);
                    if let Some(data) = segment.data_mut() {
                        data.fill(0);
                    }
                    own.release(segment);
                }
            });
            for (index, segment) in segments.drain(..).enumerate() {
                assert_eq!(bytes_of(&segment)[40..], whole[40 + index * 1000..][..1000]);
                buffers.release(segment);
            }
        });
    }
    assert_eq!(buffers.outstanding(), [0; 3]);
}

/// Headers must be contiguous in the first part; what lies behind it is not read in their place.
#[test]
fn a_header_that_is_not_contiguous_is_refused() {
    hush();
    let mut buffers = home(8, 8, 0);
    let mut packet = frame(&mut buffers, 0, 10, 1);
    let more = frame(&mut buffers, 0, 90, 2);
    let mut tally = Tally::default();
    let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
    ctx.absorb(&mut packet, more, 90);
    let whole = bytes_of(&packet);
    let plan = CutPlan::reserve(&packet, 20, 10, false, &mut buffers);
    assert_eq!(plan.err(), Some(CutError::TooMany));
    for bytes in [10, 79] {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
            ctx.segment_of(&mut packet, 20, bytes, 1, &mut CutPlan::default()).is_ok()
        }));
        assert!(!matches!(result, Ok(true)));
        assert_eq!(bytes_of(&packet), whole);
    }
    buffers.release(packet);
    assert_eq!(buffers.outstanding(), [0; 3]);
}
