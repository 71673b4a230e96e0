//! Capture files: reading and writing pcap and pcapng, apart from any packet type.
//!
//! In the order bytes travel: [`CaptureFile`] opens a file and refuses it before the first packet if
//! any interface in it is not Ethernet; it shows [`Record`]s one by one, in a window that it reads into;
//! [`CaptureWriter`] writes frames given in pieces. `format` has the numbers of both formats, `pcap` and
//! `pcapng` one reader each, `link` the link types, `source` the file, `window` the bytes read of it,
//! `in_use` keeps one run from writing the file it reads, [`CaptureError`] says what went wrong, where, and what to do.
//!
//! On any bytes reading ends: every record before a damaged place is delivered, then one error.
//! What it does not do: decompress, follow a file that is still growing, take frame check sequences off
//! frames, keep comments and other options, or read link types other than Ethernet.
//!
//! Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.

mod error;
mod format;
mod in_use;
mod interface;
mod link;
mod pcap;
mod pcapng;
mod reader;
mod source;
mod window;
mod writer;

#[cfg(test)]
mod tests;

pub use error::{CaptureError, Fault, Refusal};
pub use format::{ByteOrder, Format, MAX_CAPTURED, TOOL_LIMIT};
pub use interface::{Clock, Interface};
pub use link::LinkType;
pub use reader::{CaptureFile, Position, Record, Records};
pub use writer::CaptureWriter;
