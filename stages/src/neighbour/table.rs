//! Who is where: the neighbours of a port, in a table that all cores share.
//!
//! An answer is only learned from somebody who was asked, or is known already, or asked us: what others say
//! unasked makes no entry. So the one who asks leaves a mark first. Entries hold when they were last confirmed;
//! how old is too old is for who uses them.

use super::me::Mac;
use corelane_runtime::Time;
use corelane_runtime::shared::{Key, Put, SharedMap};
use corelane_runtime::stage::BuildContext;
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

/// Neighbours of one port; about 0.9 MB. Who has more on one link has another problem.
const CAPACITY: usize = 8192;
/// Those that asked us may fill so much of it: the rest is for those we ask.
const FOR_ASKERS: usize = CAPACITY / 4 * 3;
/// Set beside a link address; without it somebody was only asked for.
const IS_KNOWN: u64 = 1 << 48;

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Table(Arc<SharedMap>);

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its link address, last confirmed then.
    At(Mac, Time),
    /// That it was asked for.
    Asked,
    /// Nothing.
    Nobody,
}

/// What came of something heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is new, or at another place.
    Learned,
    /// It is as it was, or stays as it is.
    Kept,
    /// Nobody wanted to know.
    Unasked,
    /// There is no place for it.
    Full,
}

impl Table {
    /// The one table of a port in this run.
    pub(super) fn shared(ctx: &mut dyn BuildContext, port: &str, hash_key: u64) -> Table {
        let fresh = || Arc::new(SharedMap::new(CAPACITY, hash_key));
        let any = ctx.shared(&format!("neighbours {port}"), &mut || {
            let any: Arc<dyn Any + Send + Sync> = fresh();
            any
        });
        // Whoever else took that name for something else keeps it.
        Table(any.downcast().unwrap_or_else(|_| fresh()))
    }

    #[cfg(test)]
    pub(super) fn alone() -> Table {
        Table(Arc::new(SharedMap::new(CAPACITY, 1)))
    }

    /// Puts neighbours that are known for good.
    pub(super) fn fix(&self, all: &[(IpAddr, Mac)]) -> Result<(), String> {
        for (address, mac) in all {
            match self.0.put(&key(*address), value(mac), SharedMap::FOR_GOOD) {
                Put::Changed(old) if old != value(mac) && old[0] & IS_KNOWN != 0 => {
                    return Err(format!(
                        "has two `static` entries for {address}; keep one of them"
                    ));
                }
                Put::Full | Put::Busy => {
                    return Err(format!(
                        "has more than {CAPACITY} `static` entries; that is too many"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn look(&self, address: IpAddr) -> Known {
        match self.0.get(&key(address)) {
            Some(entry) if entry.value[0] & IS_KNOWN != 0 => {
                Known::At(mac_of(entry.value[0]), entry.seen)
            }
            Some(_) => Known::Asked,
            None => Known::Nobody,
        }
    }

    /// Leaves a mark that an answer of this neighbour is wanted. False: there is no place.
    pub(super) fn ask(&self, address: IpAddr, now: Time) -> bool {
        self.0.put_new(&key(address), [0, 0], now) != Put::Full
    }

    /// An answer, or an announcement: heeded where somebody wants to know. One that does not override leaves
    /// another link address as it is (RFC 4861, section 7.2.5).
    pub(super) fn answered(&self, address: IpAddr, mac: &Mac, overrides: bool, now: Time) -> Heard {
        match self.look(address) {
            Known::Nobody => Heard::Unasked,
            Known::At(old, _) if old != *mac && !overrides => Heard::Kept,
            Known::At(..) | Known::Asked => self.put(address, mac, now),
        }
    }

    /// That a neighbour which is known is there still, without its link address.
    pub(super) fn confirmed(&self, address: IpAddr, now: Time) {
        if let Known::At(mac, _) = self.look(address) {
            self.put(address, &mac, now);
        }
    }

    /// One who asked us, and will be answered: it wants to talk.
    pub(super) fn asker(&self, address: IpAddr, mac: &Mac, now: Time) -> Heard {
        match self.look(address) {
            Known::Nobody if self.0.len() >= FOR_ASKERS => Heard::Full,
            _ => self.put(address, mac, now),
        }
    }

    fn put(&self, address: IpAddr, mac: &Mac, now: Time) -> Heard {
        match self.0.put(&key(address), value(mac), now) {
            Put::New | Put::Changed(_) => Heard::Learned,
            Put::Same | Put::Fixed | Put::Busy => Heard::Kept,
            Put::Full => Heard::Full,
        }
    }

    /// Forgets a neighbour that no longer answers, unless it is known for good.
    pub(super) fn forget(&self, address: IpAddr) {
        if self.0.get(&key(address)).is_some_and(|entry| entry.seen != SharedMap::FOR_GOOD) {
            self.0.remove(&key(address));
        }
    }

    /// Forgets, in a part of the table, what was last confirmed before `before`.
    pub(super) fn sweep(&self, cursor: &mut usize, before: Time) {
        const BUCKETS: usize = 32;
        self.0.sweep(cursor, BUCKETS, before);
    }
}

fn key(address: IpAddr) -> Key {
    match address {
        IpAddr::V4(address) => [4, u64::from(u32::from(address)), 0],
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            [6, (bits >> 64) as u64, bits as u64]
        }
    }
}

fn value(mac: &Mac) -> [u64; 2] {
    let [a, b, c, d, e, f] = *mac;
    [u64::from_be_bytes([0, 0, a, b, c, d, e, f]) | IS_KNOWN, 0]
}

fn mac_of(word: u64) -> Mac {
    let [_, _, mac @ ..] = word.to_be_bytes();
    mac
}
