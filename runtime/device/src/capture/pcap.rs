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
    pub(super) fn next<'a>(
        self,
        bytes: &'a [u8],
        position: &mut Position,
    ) -> Option<Result<Frame<'a>, Fault>> {
        position.offset = position.offset.max(PCAP_HEADER_LEN);
        let rest = bytes.get(position.offset..).filter(|rest| !rest.is_empty())?;
        Some(self.record(rest).inspect(|frame| {
            position.offset += self.record_len + frame.data.len();
        }))
    }

    /// The record that `rest`, all that is left of the file, begins with.
    fn record(self, rest: &[u8]) -> Result<Frame<'_>, Fault> {
        let Some((header, rest)) = rest.split_at_checked(self.record_len) else {
            return Err(Fault::HeaderCut { needed: self.record_len, left: rest.len() });
        };
        let word = |at| self.order.u32(header, at).unwrap_or(0);
        let captured = word(8);
        if captured > MAX_CAPTURED {
            return Err(Fault::CapturedOverLimit { captured });
        }
        let data = rest
            .get(..captured as usize)
            .ok_or(Fault::CapturedOverFile { captured, left: rest.len() })?;
        Ok(Frame {
            time_ns: self.clock.pair_to_ns(word(0), word(4)),
            orig_len: word(12),
            interface: 0,
            data,
        })
    }
}
