//! CRC32c (Castagnoli, reflected polynomial 0x82F63B78), as SCTP uses it (RFC 9260 appendix A).
//!
//! It promises the standard value: initial and final complement, bits reflected ("123456789" gives
//! 0xE3069283). It does not place the value in a packet: SCTP stores it least significant byte
//! first and computes it over a zeroed field.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[n][b]` is the register after byte `b` and then `n` zero bytes, which lets eight bytes go
/// in at once.
static TABLES: [[u32; 256]; 8] = tables();

/// The CRC32c of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(bytes);
    crc.finish()
}

/// A CRC32c taken piece by piece, for packets in several parts.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c {
    register: u32,
}

impl Crc32c {
    /// A CRC over nothing yet.
    pub const fn new() -> Crc32c {
        Crc32c { register: !0 }
    }

    /// Takes the bytes that follow those taken before.
    pub fn update(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.register = take_eight(self.register, u64::from_le_bytes(*word));
        }
        for &byte in rest {
            let index = (self.register as u8 ^ byte) as usize;
            self.register = TABLES[0][index] ^ (self.register >> 8);
        }
    }

    /// The CRC32c of all bytes taken so far. More may follow.
    pub const fn finish(self) -> u32 {
        !self.register
    }
}

impl Default for Crc32c {
    fn default() -> Crc32c {
        Crc32c::new()
    }
}

fn take_eight(register: u32, word: u64) -> u32 {
    let bytes = (word ^ u64::from(register)).to_le_bytes();
    let mut next = 0;
    for (position, &byte) in bytes.iter().enumerate() {
        next ^= TABLES[7 - position][byte as usize];
    }
    next
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        tables[0][byte] = eight_shifts(byte as u32);
        let mut n = 1;
        while n < 8 {
            let before: u32 = tables[n - 1][byte];
            tables[n][byte] = eight_shifts(before & 0xff) ^ (before >> 8);
            n += 1;
        }
        byte += 1;
    }
    tables
}

const fn eight_shifts(byte: u32) -> u32 {
    let mut register = byte;
    let mut bit = 0;
    while bit < 8 {
        let feedback = if register & 1 == 1 { POLYNOMIAL } else { 0 };
        register = (register >> 1) ^ feedback;
        bit += 1;
    }
    register
}
