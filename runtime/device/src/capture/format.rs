//! The numbers of both capture formats, and reads of fixed width that cannot run past the end.
//!
//! It promises that every other file of this module names a field instead of repeating its number. It
//! interprets nothing: `pcap` and `pcapng` do.

use std::path::Path;

use super::error::{CaptureError, Refusal};

/// Longest captured length believed, in bytes. A larger one is damage, not a packet: the longest link
/// layer frame any capture tool writes is 128 MiB.
pub const MAX_CAPTURED: u32 = 256 << 20;

/// Longest captured length, in bytes, that libpcap and Wireshark read from an Ethernet capture, whatever
/// its header says. At a longer record their tools stop.
pub const TOOL_LIMIT: u32 = 262_144;

/// Classic pcap, times in microseconds.
pub(super) const PCAP_MAGIC_US: u32 = 0xa1b2_c3d4;
/// Classic pcap, times in nanoseconds.
pub(super) const PCAP_MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Kuznetzov's variant: microseconds, and eight more bytes in each record header.
pub(super) const PCAP_MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// Bytes of a classic file header.
pub(super) const PCAP_HEADER_LEN: usize = 24;
/// Bytes of a classic record header.
pub(super) const PCAP_RECORD_LEN: usize = 16;
/// Bytes of a record header in Kuznetzov's variant; the first 16 are the classic ones.
pub(super) const PCAP_MODIFIED_RECORD_LEN: usize = 24;
/// The only major version ever used; minor versions differ in nothing a reader of frames needs.
pub(super) const PCAP_VERSION_MAJOR: u16 = 2;
/// The minor version to write.
pub(super) const PCAP_VERSION_MINOR: u16 = 4;
/// The link type within the link word; the six bits above it tell of frame check sequences.
pub(super) const PCAP_LINK_MASK: u32 = 0x03ff_ffff;

/// Section header; reads the same in both byte orders.
pub(super) const BLOCK_SECTION: u32 = 0x0a0d_0d0a;
/// Interface description.
pub(super) const BLOCK_INTERFACE: u32 = 1;
/// Packet block: obsolete, but found in old files.
pub(super) const BLOCK_PACKET: u32 = 2;
/// Simple packet: no time, always of the section's first interface.
pub(super) const BLOCK_SIMPLE: u32 = 3;
/// Enhanced packet.
pub(super) const BLOCK_ENHANCED: u32 = 6;
/// Tells a section's byte order.
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// The only major version of pcapng.
pub(super) const PCAPNG_VERSION_MAJOR: u16 = 1;
/// Bytes of the smallest block: type, length, length again.
pub(super) const BLOCK_MIN_LEN: usize = 12;
/// Fixed bytes of a section header's body.
pub(super) const SECTION_BODY_LEN: usize = 16;
/// Fixed bytes of an interface description's body.
pub(super) const INTERFACE_BODY_LEN: usize = 8;
/// Fixed bytes before the frame in the body of an enhanced packet and of an obsolete packet block.
pub(super) const ENHANCED_BODY_LEN: usize = 20;
/// Fixed bytes before the frame in the body of a simple packet.
pub(super) const SIMPLE_BODY_LEN: usize = 4;
/// Ends a list of options.
pub(super) const OPTION_END: u16 = 0;
/// A comment, on any block.
pub(super) const OPTION_COMMENT: u16 = 1;
/// Application that wrote the section, in a section header.
pub(super) const OPTION_USER_APPLICATION: u16 = 4;
/// Resolution of times, in an interface description.
pub(super) const OPTION_TS_RESOLUTION: u16 = 9;
/// Seconds to add to times, in an interface description.
pub(super) const OPTION_TS_OFFSET: u16 = 14;

/// Which of the two formats a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap; written little endian with times in nanoseconds.
    Pcap,
    /// pcapng; written little endian as one section with one interface, times in nanoseconds.
    PcapNg,
}

impl Format {
    /// The format that a file name asks for: `.pcap` or `.pcapng`, in any case.
    ///
    /// # Errors
    /// [`CaptureError::Refused`] for any other name.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("pcap") {
            Ok(Self::Pcap)
        } else if extension.eq_ignore_ascii_case("pcapng") {
            Ok(Self::PcapNg)
        } else {
            Err(CaptureError::refused(path, Refusal::UnknownExtension))
        }
    }
}

/// Byte order of a file, or of one section of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The two bytes at `at`, or `None` where `bytes` ends before.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw = array_at(bytes, at)?;
        Some(match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        })
    }

    /// The four bytes at `at`, or `None` where `bytes` ends before.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = array_at(bytes, at)?;
        Some(match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        })
    }

    /// The eight bytes at `at`, or `None` where `bytes` ends before.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw = array_at(bytes, at)?;
        Some(match self {
            Self::Little => u64::from_le_bytes(raw),
            Self::Big => u64::from_be_bytes(raw),
        })
    }
}

/// A copy of `N` bytes.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Bytes to add to `len` to reach the next multiple of four, pcapng's unit.
pub(super) fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}
