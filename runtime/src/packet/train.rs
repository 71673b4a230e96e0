//! `Train`: a packet that grows at its end, one absorbed packet after another, each in constant time.
//!
//! A packet alone would have to be walked to its last part for every packet it takes in. A train keeps hold
//! of that part, and therefore lets nobody change the chain until it is turned back into a packet. It knows
//! no header: the caller mends those when the train is complete.

use super::handle::Packet;
use super::part::Part;
use std::ptr::NonNull;

/// A packet under construction.
#[derive(Debug)]
pub struct Train {
    head: Packet,
    /// The last part of `head`. True because nothing but `absorb` changes the chain.
    last: NonNull<Part>,
}

// SAFETY: `last` points into the chain that `head` owns; they travel together, as a packet does.
unsafe impl Send for Train {}

impl Train {
    /// A train of one packet, its payload marked as one piece.
    pub fn new(mut head: Packet) -> Train {
        head.mark_piece();
        let last = last_of(&head);
        Train { head, last }
    }

    /// The packet as it is now.
    pub fn head(&self) -> &Packet {
        &self.head
    }

    /// Remembers the sum of the first packet's payload; only before another one is absorbed.
    pub fn set_payload_sum(&mut self, sum: u16) {
        debug_assert_eq!(self.head.segments(), 1);
        self.head.set_payload_sum(sum);
    }

    /// The finished packet.
    pub fn into_packet(self) -> Packet {
        self.head
    }

    /// A train of one packet, as it is.
    pub(super) fn plain(head: Packet) -> Train {
        let last = last_of(&head);
        Train { head, last }
    }

    /// Chains a packet that is payload only behind this one, and takes over its payload and segments.
    pub(crate) fn absorb(&mut self, packet: Packet, bytes: u32) {
        let segments = self.head.segments().checked_add(packet.segments());
        let segments = segments.expect("wire segments of a packet are counted in 16 bits");
        self.append(packet);
        let head = self.head.part_mut();
        head.payload += bytes;
        head.segments = segments;
    }

    /// Chains the parts of a packet behind this one's.
    pub(super) fn append(&mut self, packet: Packet) {
        let last = last_of(&packet);
        let total = packet.len();
        let parts = self.head.part_count().checked_add(packet.part_count());
        let parts = parts.expect("parts of a packet are counted in 16 bits");
        let first = packet.into_part();
        // SAFETY: `last` is the end of the chain that `head` owns, borrowed mutably; `into_part` handed the
        // other chain over, and from here on `head` owns it.
        unsafe { (*self.last.as_ptr()).next = first.as_ptr() };
        self.last = last;
        let head = self.head.part_mut();
        head.total += total;
        head.parts = parts;
    }
}

fn last_of(packet: &Packet) -> NonNull<Part> {
    packet.chain().last().unwrap_or_else(|| NonNull::from(packet.part()))
}

#[cfg(test)]
mod tests {
    use crate::packet::{Buffers, HomeConfig, Packet, Train};

    fn home() -> Buffers {
        let config = HomeConfig { name: "t".into(), shells: 4, small: 16, large: 2, node: None };
        Buffers::new(&config).unwrap()
    }

    fn bytes(packet: &Packet) -> Vec<u8> {
        packet.parts().flatten().copied().collect()
    }

    #[test]
    fn a_train_is_what_absorbing_one_by_one_gives() {
        let mut buffers = home();
        let payloads: [&[u8]; 4] = [b"first", b"2nd", b"", b"the fourth"];
        let packets = |buffers: &mut Buffers| -> Vec<Packet> {
            let make = |payload: &&[u8]| {
                let mut packet = buffers.receive(payload).unwrap();
                packet.set_layers(Default::default(), payload.len() as u32);
                packet.mark_piece();
                packet
            };
            payloads.iter().map(make).collect()
        };
        let mut plain = packets(&mut buffers).into_iter();
        let mut head = plain.next().unwrap();
        plain.for_each(|packet| {
            let len = packet.len();
            head.absorb(packet, len);
        });
        let mut joined = packets(&mut buffers).into_iter();
        let mut train = Train::new(joined.next().unwrap());
        joined.for_each(|packet| {
            let len = packet.len();
            train.absorb(packet, len);
        });
        assert_eq!(train.head().units(), head.units());
        assert_eq!(train.head().part_count(), 4);
        let packet = train.into_packet();
        assert_eq!(bytes(&packet), bytes(&head));
        assert_eq!(packet.pieces().collect::<Vec<_>>(), head.pieces().collect::<Vec<_>>());
        buffers.release(packet);
        buffers.release(head);
        assert_eq!(buffers.outstanding(), [0; 3]);
    }

    #[test]
    fn a_chain_is_absorbed_to_its_end() {
        let mut buffers = home();
        let long = vec![7; 70_000];
        let mut train = Train::new(buffers.receive(b"head").unwrap());
        train.absorb(buffers.receive(&long).unwrap(), 70_000);
        train.absorb(buffers.receive(b"tail").unwrap(), 4);
        let packet = train.into_packet();
        assert_eq!(bytes(&packet), [b"head", &long[..], b"tail"].concat());
        assert_eq!(packet.part_count(), 4);
        buffers.release(packet);
        assert_eq!(buffers.outstanding(), [0; 3]);
    }
}
