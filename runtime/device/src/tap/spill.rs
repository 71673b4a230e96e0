//! Buffers for the next packet: a small one, and a large one for what does not fit.
//!
//! A read offers the small buffer and, behind it, the large one from the place on where the small one ends. What fits
//! the small one stays in it; of more, the beginning is copied to the front of the large one. So any packet lies in one
//! piece, and only superpackets pay for it, two kilobytes each. Buffers are the actor's: they are taken when a queue is
//! polled and are back, or packets, when the call ends.

use crate::vnet;
use corelane_runtime::packet::{Buffers, Class, Packet, SMALL_ROOM};
use std::fs::File;
use std::io::{self, IoSliceMut, Read};

/// Room behind the buffers: a frame that reaches into it is longer than they are.
const BEYOND: usize = 64;

#[derive(Default)]
pub(super) struct Spill {
    small: Option<Packet>,
    large: Option<Packet>,
}

impl Spill {
    /// Takes what is missing; false where it cannot be had. A home without large buffers is one that no superpackets
    /// are meant for.
    pub(super) fn refill(&mut self, buffers: &mut Buffers) -> bool {
        let has_large = buffers.capacity()[Class::Large as usize] > 0;
        if has_large && self.large.is_none() {
            self.large = buffers.alloc(Class::Large);
        }
        if self.small.is_none() && self.large.is_some() == has_large {
            self.small = buffers.alloc(Class::Small);
        }
        self.small.is_some() && self.large.is_some() == has_large
    }

    pub(super) fn give_back(&mut self, buffers: &mut Buffers) {
        let packets = self.small.take().into_iter().chain(self.large.take());
        packets.for_each(|packet| buffers.release(packet));
    }

    /// Reads one frame and its header; how many bytes there were, of both.
    pub(super) fn read(
        &mut self,
        mut file: &File,
        header: &mut [u8; vnet::SIZE],
    ) -> io::Result<usize> {
        let mut beyond = [0; BEYOND];
        let small = self.small.as_mut().map(Packet::room_mut).unwrap_or_default();
        let large = self.large.as_mut().map(Packet::room_mut).unwrap_or_default();
        let rest = large.get_mut(SMALL_ROOM as usize..).unwrap_or_default();
        file.read_vectored(&mut [
            IoSliceMut::new(header),
            IoSliceMut::new(small),
            IoSliceMut::new(rest),
            IoSliceMut::new(&mut beyond),
        ])
    }

    /// Makes a packet of the first `len` bytes of the frame that was read; `None` where they are more than both
    /// buffers hold.
    pub(super) fn packet(&mut self, len: usize) -> Option<Packet> {
        let n = u32::try_from(len).ok()?;
        if n <= SMALL_ROOM {
            return self.small.take_if(|small| small.extend(n));
        }
        let front = self.small.as_mut().map(Packet::room_mut).unwrap_or_default();
        self.large.take_if(|large| {
            let room = large.room_mut();
            if len > room.len() {
                return false;
            }
            room[..front.len()].copy_from_slice(front);
            large.extend(n)
        })
    }
}
