//! The interface behind a tap, as the rest of the machine sees it: up or down, its MTU, its address, what the kernel
//! dropped on the way to us. Everything here happens in the network namespace of the calling thread.

use super::sys::{About, IfReq, interface};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::net::UnixDatagram;

const UP: u16 = libc::IFF_UP as u16;
/// Hardware type of Ethernet in a socket address.
const ETHERNET: u16 = 1;

/// An interface by its name.
#[derive(Debug)]
pub(super) struct Link {
    name: String,
    /// Any socket of the namespace will do to ask.
    socket: UnixDatagram,
}

impl Link {
    pub(super) fn of(name: &str) -> io::Result<Link> {
        Ok(Link { name: name.to_owned(), socket: UnixDatagram::unbound()? })
    }

    fn call(&self, about: About, data: &[u8]) -> io::Result<[u8; 24]> {
        let mut request = IfReq::new(&self.name);
        request.data[..data.len()].copy_from_slice(data);
        interface(&self.socket, about, &mut request)?;
        Ok(request.data)
    }

    pub(super) fn exists(&self) -> bool {
        self.call(About::Index, &[]).is_ok()
    }

    /// Largest IP packet.
    pub(super) fn mtu(&self) -> io::Result<u32> {
        let data = self.call(About::Mtu, &[])?;
        Ok(u32::from_ne_bytes([data[0], data[1], data[2], data[3]]))
    }

    pub(super) fn set_mtu(&self, mtu: u32) -> io::Result<()> {
        self.call(About::SetMtu, &mtu.to_ne_bytes()).map(drop)
    }

    pub(super) fn set_address(&self, address: [u8; 6]) -> io::Result<()> {
        let mut data = [0; 8];
        data[..2].copy_from_slice(&ETHERNET.to_ne_bytes());
        data[2..].copy_from_slice(&address);
        self.call(About::SetAddress, &data).map(drop)
    }

    /// Brings it up, where it is not: that takes a right which not everybody has who may open it.
    pub(super) fn bring_up(&self) -> io::Result<()> {
        let data = self.call(About::Flags, &[])?;
        let flags = u16::from_ne_bytes([data[0], data[1]]);
        if flags & UP != 0 {
            return Ok(());
        }
        self.call(About::SetFlags, &(flags | UP).to_ne_bytes()).map(drop)
    }
}

/// How many packets the kernel had for us and dropped, because nobody read them in time.
#[derive(Debug)]
pub(super) struct Unread {
    name: String,
    /// The table of the namespace in which it was opened, wherever it is read.
    table: File,
    before: u64,
}

impl Unread {
    pub(super) fn of(name: &str) -> Option<Unread> {
        let table = File::open("/proc/thread-self/net/dev").ok()?;
        let unread = Unread { name: name.to_owned(), table, before: 0 };
        let before = unread.total()?;
        Some(Unread { before, ..unread })
    }

    /// Since it was opened.
    pub(super) fn count(&self) -> u64 {
        self.total().unwrap_or(self.before).saturating_sub(self.before)
    }

    fn total(&self) -> Option<u64> {
        let mut text = String::new();
        let mut table = &self.table;
        table.rewind().ok()?;
        table.read_to_string(&mut text).ok()?;
        dropped_on_the_way_out(&text, &self.name)
    }
}

/// The kernel sends to us, so the column is that of packets dropped on transmit.
fn dropped_on_the_way_out(table: &str, name: &str) -> Option<u64> {
    const COLUMN: usize = 11;
    let line = table.lines().find_map(|line| {
        let (interface, counts) = line.split_once(':')?;
        (interface.trim() == name).then_some(counts)
    })?;
    line.split_whitespace().nth(COLUMN)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_line_and_column_of_the_interface() {
        let table = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16\n  \
            tap0:     1       2    3    4    5     6          7         8        9      10   11   77   13    14      15         16\n";
        assert_eq!(dropped_on_the_way_out(table, "tap0"), Some(77));
        assert_eq!(dropped_on_the_way_out(table, "lo"), Some(12));
        assert_eq!(dropped_on_the_way_out(table, "tap"), None);
    }
}
