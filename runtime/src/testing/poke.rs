//! Changing payload bytes behind the API's back, so that a test can tell whether anyone reads them again.

use crate::packet::Packet;

impl Packet {
    /// Flips every bit of the byte at packet offset `at`, shared or not, and tells nobody: meta, sums and
    /// checksums stay as they are. False if there is no such byte.
    pub fn poke_payload(&mut self, at: u32) -> bool {
        let mut left = at;
        for part in self.chain() {
            // SAFETY: the part belongs to this packet. Writing under a shell breaks the promise that shared
            // bytes never change; callers are single-threaded tests, and bytes have no invalid values.
            unsafe {
                let part = part.as_ref();
                if left < part.len {
                    let byte = part.data.add(left as usize);
                    byte.write(!byte.read());
                    return true;
                }
                left -= part.len;
            }
        }
        false
    }
}
