//! The frames a device is probed with, and the right answers: fixed bytes, worked out apart from this program.
//!
//! Headers are in hex; byte n of the payload is 7 n + 3. Payloads are cut at 512 bytes, as devices refuse to cut
//! into very small pieces. A test holds every answer against another crate's parser and checksums.

mod plain;
mod tunnels;

use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Meta, Partial, SegFlags, SegKind};

/// Everything a transmit unit is asked.
pub(super) fn sent() -> impl Iterator<Item = &'static Sent> {
    plain::PLAIN.iter().chain(tunnels::TUNNELS)
}

/// A packet to be sent with a request, and the frames that belong on the wire.
#[derive(Debug)]
pub(super) struct Sent {
    /// What it tries.
    pub(super) bit: Caps,
    /// What it must do as well for the question to make sense.
    pub(super) with: Caps,
    /// The checksums to be finished; the fields hold sums of pseudo headers.
    pub(super) asks: Asks,
    /// How it is to be cut, if it is: kind, payload bytes of a segment, and how segments differ.
    pub(super) cut: Option<(SegKind, u16, SegFlags)>,
    /// Its headers.
    pub(super) header: &'static str,
    /// Bytes of payload behind them.
    pub(super) payload: usize,
    /// The frames it must become.
    pub(super) back: &'static [Back],
}

/// Checksums that a packet asks for, the outer level first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    /// Of TCP, UDP or GRE.
    pub(super) l4: [Option<Partial>; 2],
    /// The level whose IPv4 header has none yet.
    pub(super) header: Option<usize>,
}

impl Asks {
    /// The one of a packet of one level.
    const fn outermost(start: u16, field: u16) -> Asks {
        Asks { l4: [Some(Partial { start, field }), None], header: None }
    }

    /// That inside a tunnel.
    const fn inner(start: u16, field: u16) -> Asks {
        Asks { l4: [None, Some(Partial { start, field })], header: None }
    }

    /// Those of both levels, start and field of each.
    const fn both(outer: (u16, u16), inner: (u16, u16)) -> Asks {
        let outer = Partial { start: outer.0, field: outer.1 };
        let inner = Partial { start: inner.0, field: inner.1 };
        Asks { l4: [Some(outer), Some(inner)], header: None }
    }

    /// That of the IPv4 header of a level.
    const fn header(level: usize) -> Asks {
        Asks { l4: [None, None], header: Some(level) }
    }

    /// Writes the request into `meta`.
    pub(super) fn mark(&self, meta: &mut Meta) {
        for (level, partial) in self.l4.iter().enumerate() {
            if let Some(partial) = partial {
                meta.request(level, *partial);
            }
        }
        if let Some(level) = self.header {
            meta.l3[level] = Csum::Partial;
        }
    }

    /// The innermost of those of TCP, UDP or GRE.
    pub(super) fn innermost(&self) -> Option<Partial> {
        self.l4[1].or(self.l4[0])
    }
}

/// A frame on the wire.
#[derive(Debug)]
pub(super) struct Back {
    /// Its headers.
    pub(super) header: &'static str,
    /// Bytes of the packet's payload, which go on where those of the frame before ended.
    pub(super) payload: usize,
    /// Zeros behind.
    pub(super) padding: usize,
}

/// `n` bytes of payload from `from` on.
pub(super) fn payload(from: usize, n: usize) -> impl Iterator<Item = u8> {
    (from..from + n).map(|at| (at * 7 + 3) as u8)
}

impl Sent {
    /// The bytes of the packet.
    pub(super) fn packet(&self) -> Vec<u8> {
        hex(self.header).chain(payload(0, self.payload)).collect()
    }

    /// The bytes of the frames.
    pub(super) fn frames(&self) -> Vec<Vec<u8>> {
        let mut from = 0;
        let frame = |back: &Back| {
            let payload = payload(from, back.payload);
            from += back.payload;
            hex(back.header).chain(payload).chain(vec![0; back.padding]).collect()
        };
        self.back.iter().map(frame).collect()
    }
}

/// Pairs of hex digits as bytes; the tables below hold nothing else.
fn hex(digits: &'static str) -> impl Iterator<Item = u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    digits.as_bytes().chunks(2).map(move |pair| digit(pair[0]) << 4 | digit(pair[1]))
}
