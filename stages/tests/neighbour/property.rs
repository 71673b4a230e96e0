//! Whatever happens in whatever order: nothing is lost, and packets of one next hop keep their order.

use crate::rig::{ANSWERS, Context, NEXT, SECOND, arp, packet, stage, to_v4};
use corelane_runtime::testing::Harness;
use proptest::prelude::*;

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    /// Packets for some of eight neighbours.
    Packets(Vec<u8>),
    /// A neighbour answers, or announces itself.
    Answer(u8),
    /// A neighbour asks.
    Question(u8),
    /// Time passes, in tenths of a second.
    Wait(u64),
    /// The next stage takes so many packets a call.
    Room(usize),
    /// Buffers are out, or there again.
    Withhold(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => prop::collection::vec(0..8u8, 1..12).prop_map(Event::Packets),
        3 => (0..8u8).prop_map(Event::Answer),
        1 => (0..8u8).prop_map(Event::Question),
        4 => (0..30u64).prop_map(Event::Wait),
        1 => (0..400u64).prop_map(Event::Wait),
        2 => prop_oneof![1..4usize, Just(200)].prop_map(Event::Room),
        1 => any::<bool>().prop_map(Event::Withhold),
    ]
}

fn ip(neighbour: u8) -> [u8; 4] {
    [192, 0, 2, 100 + neighbour]
}

fn mac(neighbour: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, neighbour]
}

/// Both halves, as the plan puts them: they share what is learned.
struct Rig {
    receiving: Harness,
    sending: Harness,
    sent: Vec<(u8, u32)>,
    number: u32,
    asked: u64,
}

impl Rig {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Packets(neighbours) => {
                for &neighbour in neighbours {
                    let frame = to_v4(ip(neighbour), &self.number.to_be_bytes());
                    self.number += 1;
                    let made = packet(&mut self.sending, &frame);
                    self.sending.push(made);
                }
                self.sending.step();
            }
            Event::Answer(neighbour) => self.hear(2, *neighbour),
            Event::Question(neighbour) => self.hear(1, *neighbour),
            Event::Wait(tenths) => {
                let until = self.sending.now + tenths * SECOND / 10;
                self.sending.advance(until);
                self.receiving.advance(until);
                self.sending.step();
            }
            Event::Room(room) => self.sending.set_room(*room),
            Event::Withhold(on) => {
                let all = [u32::MAX / 2; 3];
                self.sending.buffers.withhold(if *on { all } else { [0; 3] });
            }
        }
        self.collect();
    }

    fn hear(&mut self, operation: u8, neighbour: u8) {
        let frame = arp(operation, mac(neighbour), ip(neighbour), [192, 0, 2, 1]);
        let made = packet(&mut self.receiving, &frame);
        self.receiving.feed([made], &[]);
        self.receiving.assert_balanced();
        let answers = self.receiving.take_from(ANSWERS);
        assert_eq!(answers.len(), usize::from(operation == 1));
        self.receiving.release(answers);
        assert!(self.receiving.take_from(NEXT).is_empty());
    }

    /// Takes what was sent: questions for some neighbour, packets for the right one.
    fn collect(&mut self) {
        self.sending.assert_balanced();
        for sent in self.sending.take_from(NEXT) {
            let frame = self.sending.unpack(sent);
            if frame[12..14] == [8, 6] {
                self.asked += 1;
                continue;
            }
            let neighbour = frame[33] - 100;
            assert_eq!(frame[..6], mac(neighbour));
            let number = u32::from_be_bytes(frame[34..38].try_into().expect("four bytes"));
            self.sent.push((neighbour, number));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost_and_order_is_kept(events in prop::collection::vec(event(), 1..60)) {
        let mut context = Context::default();
        let mut rig = Rig {
            receiving: stage(&mut context, "side: Receive"),
            sending: stage(&mut context, "side: Transmit, hold: 20, hold_each: 6"),
            sent: Vec::new(),
            number: 0,
            asked: 0,
        };
        let mut pushed = 0;
        for event in &events {
            // The input of the harness is as bounded as an actor's.
            if let Event::Packets(packets) = event {
                if pushed + packets.len() > 200 || rig.sending.buffers.starved() {
                    continue;
                }
                pushed += packets.len();
            }
            if matches!(event, Event::Packets(_)) {
                rig.sending.buffers.withhold([0; 3]);
            }
            rig.happen(event);
        }
        rig.sending.buffers.withhold([0; 3]);
        rig.sending.set_room(200);
        rig.sending.drain();
        rig.collect();
        let dropped = ["unresolved", "queue_full", "no_route", "no_buffer"]
            .map(|reason| rig.sending.dropped(reason).packets);
        prop_assert_eq!(dropped[2..].iter().sum::<u64>(), 0);
        let sent = rig.sent.len() as u64;
        prop_assert_eq!(sent + dropped.iter().sum::<u64>(), u64::from(rig.number));
        prop_assert_eq!(rig.sending.counter("asked"), rig.asked);
        for neighbour in 0..8 {
            let numbers = rig.sent.iter().filter(|(to, _)| *to == neighbour);
            let numbers: Vec<u32> = numbers.map(|(_, number)| *number).collect();
            prop_assert!(numbers.is_sorted(), "{neighbour}: {numbers:?}");
        }
        rig.sending.finish();
        rig.receiving.finish();
    }

    #[test]
    fn no_bytes_panic_or_get_lost(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20),
        heads in prop::collection::vec(0..5usize, 20),
        split in prop::collection::vec(1..8usize, 1..4),
    ) {
        let mut harness = stage(&mut Context::default(), "side: Both");
        let heads = heads.iter().map(|&head| match head {
            0 => vec![0; 6],
            1 => [&[0; 12][..], &[8, 0, 0x45]].concat(),
            2 => [&[1; 12][..], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat(),
            3 => {
                let mut head = to_v4([0; 4], b"")[..12].to_vec();
                head.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255]);
                head
            }
            _ => Vec::new(),
        });
        let frames: Vec<Vec<u8>> =
            frames.into_iter().zip(heads).map(|(rest, head)| [head, rest].concat()).collect();
        let packets: Vec<_> = frames.iter().map(|frame| packet(&mut harness, frame)).collect();
        harness.feed(packets, &split);
        harness.advance(10 * SECOND);
        harness.assert_balanced();
        harness.finish();
    }
}
