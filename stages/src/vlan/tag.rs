//! A tag put into, or taken out of, the link header: twelve bytes of addresses move, nothing else.
//!
//! It promises that meta follows, that bytes others can see are never written, and that a packet for which there
//! is no buffer is as it was.

use crate::rewrite::edit::own_headers;
use corelane_runtime::packet::{Buffers, NoBuffer, Packet, Taken};
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::vlan::VlanTag;

/// Bytes of a tag with the type that announces it.
const TAG: u32 = VlanTag::LEN as u32;
/// Bytes of both addresses.
const ADDRESSES: usize = 12;

/// The outermost tag: its control information, if there is one.
pub(super) fn outermost(packet: &Packet) -> Option<u16> {
    let header = packet.data().get(ADDRESSES..EthernetHeader::LEN + VlanTag::LEN)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    ethertype::is_vlan(word(0)).then(|| word(2))
}

/// Puts a tag in front of all others.
///
/// # Errors
/// [`NoBuffer`] where the headers must be copied and there is no buffer.
pub(super) fn push(
    packet: &mut Packet,
    tpid: u16,
    tci: u16,
    buffers: &mut Buffers,
) -> Result<(), NoBuffer> {
    let length = EthernetHeader::LEN as u32;
    own_headers(packet, length, buffers)?;
    packet.push(TAG, buffers)?;
    if let Err(error) = own_headers(packet, length + TAG, buffers) {
        packet.pull(TAG, buffers);
        return Err(error);
    }
    packet.widen_link(TAG as u16, true);
    if let Some(data) = packet.data_mut() {
        data.copy_within(TAG as usize..TAG as usize + ADDRESSES, 0);
        data[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
        data[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&tci.to_be_bytes());
    }
    Ok(())
}

/// Takes the outermost tag, which is there, and remembers it.
///
/// # Errors
/// [`NoBuffer`] where the headers must be copied and there is no buffer.
pub(super) fn pop(packet: &mut Packet, tci: u16, buffers: &mut Buffers) -> Result<(), NoBuffer> {
    own_headers(packet, EthernetHeader::LEN as u32 + TAG, buffers)?;
    if let Some(data) = packet.data_mut() {
        data.copy_within(0..ADDRESSES, TAG as usize);
    }
    let meta = packet.meta_mut();
    // A device's sum of all behind the Ethernet header has the tag in it.
    if meta
        .known()
        .is_some_and(|known| usize::from(known.from) < EthernetHeader::LEN + VlanTag::LEN)
    {
        meta.forget_known();
    }
    packet.widen_link(TAG as u16, false);
    packet.pull(TAG, buffers);
    packet.meta_mut().taken = Taken::vlan(tci);
    Ok(())
}
