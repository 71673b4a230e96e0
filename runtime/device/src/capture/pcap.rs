//! Classic pcap: one header, then records.
//!
//! It promises to read the three layouts in use (microseconds, nanoseconds, Kuznetzov's), in both byte
//! orders, and to stop at the first record that does not fit. Frames with a frame check sequence keep
//! it. Captured and original length are taken in the order of version 2.4; the swapped order that some
//! files of versions below 2.4 have, of the early 1990s, is not looked for.

use super::error::{Fault, Refusal};
use super::format::{
    ByteOrder, MAX_CAPTURED, PCAP_HEADER_LEN, PCAP_LINK_MASK, PCAP_MAGIC_MODIFIED, PCAP_MAGIC_NS,
    PCAP_MAGIC_US, PCAP_MODIFIED_RECORD_LEN, PCAP_RECORD_LEN, PCAP_VERSION_MAJOR,
};
use super::interface::{Clock, Interface};
use super::link::LinkType;
use super::reader::{Frame, Position};
use super::source::ReadAt;
use super::window::Window;

/// How the records of a classic file lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    order: ByteOrder,
    record_len: usize,
    clock: Clock,
}

/// The layout that a file's first four bytes announce, if they are classic pcap's.
pub(super) fn detect(bytes: &[u8]) -> Option<Layout> {
    [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| {
        let (record_len, clock) = match order.u32(bytes, 0)? {
            PCAP_MAGIC_US => (PCAP_RECORD_LEN, Clock::MICROSECONDS),
            PCAP_MAGIC_NS => (PCAP_RECORD_LEN, Clock::NANOSECONDS),
            PCAP_MAGIC_MODIFIED => (PCAP_MODIFIED_RECORD_LEN, Clock::MICROSECONDS),
            _ => return None,
        };
        Some(Layout { order, record_len, clock })
    })
}

impl Layout {
    /// The one interface of the file.
    pub(super) fn interface(self, bytes: &[u8]) -> Result<Interface, Refusal> {
        let Some(header) = bytes.get(..PCAP_HEADER_LEN) else {
            let fault = Fault::HeaderCut { needed: PCAP_HEADER_LEN, left: bytes.len() };
            return Err(Refusal::Header(fault));
        };
        let word = |at| self.order.u32(header, at).unwrap_or(0);
        let half = |at| self.order.u16(header, at).unwrap_or(0);
        let (major, minor) = (half(4), half(6));
        if major != PCAP_VERSION_MAJOR {
            return Err(Refusal::Header(Fault::Version { major, minor }));
        }
        Ok(Interface {
            link: LinkType(word(20) & PCAP_LINK_MASK),
            snaplen: word(16),
            clock: self.clock,
        })
    }

    /// The record at `position`, which moves behind it; `None` at the end of the file.
    pub(super) fn next<'w, S: ReadAt>(
        self,
        window: &'w mut Window<S>,
        position: &mut Position,
    ) -> Option<Result<Frame<'w>, Fault>> {
        position.offset = position.offset.max(PCAP_HEADER_LEN as u64);
        if window.left(position.offset) == 0 {
            return None;
        }
        Some(self.record(window, position.offset).inspect(|frame| {
            position.offset += (self.record_len + frame.data.len()) as u64;
        }))
    }

    /// The record that begins at `at`.
    fn record<S: ReadAt>(self, window: &mut Window<S>, at: u64) -> Result<Frame<'_>, Fault> {
        let left = window.left(at);
        let header = window.get(at, self.record_len)?;
        if header.len() < self.record_len {
            return Err(Fault::HeaderCut { needed: self.record_len, left });
        }
        let word = |at| self.order.u32(header, at).unwrap_or(0);
        let (seconds, fraction, captured, orig_len) = (word(0), word(4), word(8), word(12));
        if captured > MAX_CAPTURED {
            return Err(Fault::CapturedOverLimit { captured });
        }
        let end = self.record_len + captured as usize;
        if end > left {
            return Err(Fault::CapturedOverFile { captured, left: left - self.record_len });
        }
        Ok(Frame {
            time_ns: self.clock.pair_to_ns(seconds, fraction),
            orig_len,
            interface: 0,
            data: window.get(at, end)?.get(self.record_len..).unwrap_or_default(),
        })
    }
}
