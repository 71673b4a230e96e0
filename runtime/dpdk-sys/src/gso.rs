//! librte_gso, and the checksums it leaves to its callers.

use super::ffi;
use super::{Error, Kind, Packets, Pool};

/// Cuts packets.
#[derive(Clone, Debug)]
pub struct Cutter {
    /// Buffers for headers.
    direct: Pool,
    /// Buffers that point into the packet that is cut.
    indirect: Pool,
    kind: Kind,
    /// Bytes of a whole segment, headers included.
    size: u16,
}

impl Cutter {
    /// Cuts packets of that kind into segments of `size` bytes, headers included.
    pub fn new(direct: &Pool, indirect: &Pool, kind: Kind, size: u16) -> Cutter {
        Cutter { direct: direct.clone(), indirect: indirect.clone(), kind, size }
    }

    /// `rte_gso_segment` of the first of `packets`, which keeps the bytes: the segments, put behind `out`, point into
    /// it. The number of segments; 0 where the library says there is nothing to do.
    ///
    /// # Errors
    /// Where it is refused: too little room, too few buffers.
    #[inline]
    pub fn cut(&self, packets: &Packets, out: &mut Packets) -> Result<usize, Error> {
        let Some(packet) = packets.first() else { return Ok(0) };
        let have = out.len();
        let (room, free) = out.room();
        let free = free.min(usize::from(u16::MAX)) as u16;
        let (direct, indirect) = (self.direct.raw(), self.indirect.raw());
        let kind = self.kind as i32;
        // SAFETY: a living mbuf and pools; segments are written to room for as many, and are handed over.
        let code = unsafe {
            let code = ffi::cl_gso_cut(packet, kind, direct, indirect, self.size, room, free);
            out.set_len(have + code.max(0) as usize);
            code
        };
        usize::try_from(code).map_err(|_| Error(format!("rte_gso_segment says {code}")))
    }

    /// All checksums of segments: IPv4 headers by `rte_ipv4_cksum`, TCP by `rte_ipv4_udptcp_cksum_mbuf`.
    #[inline]
    pub fn fill(&self, segments: &mut Packets) {
        let (raw, n) = segments.parts();
        // SAFETY: `n` segments of this cutter, whose headers are in one piece and their own.
        unsafe { ffi::cl_fill(raw, n, self.kind as i32) };
    }
}
