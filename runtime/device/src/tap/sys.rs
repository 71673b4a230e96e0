//! The system calls of a tap that the standard library has no name for, each behind a safe function.
//!
//! Nothing is decided here: errors are those of the system. Reading and writing frames needs none of this; a file
//! does that.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Longest name of an interface.
pub(super) const NAME_MAX: usize = libc::IFNAMSIZ - 1;

/// `struct ifreq`: a name, and what is asked or answered about it.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IfReq {
    name: [u8; libc::IFNAMSIZ],
    pub(super) data: [u8; 24],
}

const _: () = assert!(size_of::<IfReq>() == size_of::<libc::ifreq>());

impl IfReq {
    /// About the interface of this name, which is cut to what fits.
    pub(super) fn new(name: &str) -> IfReq {
        let mut request = IfReq::default();
        let len = name.len().min(NAME_MAX);
        request.name[..len].copy_from_slice(&name.as_bytes()[..len]);
        request
    }

    /// The name, which the system may have filled in.
    pub(super) fn name(&self) -> String {
        let len = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..len]).into_owned()
    }
}

/// Questions and orders about an interface, put to any socket of its namespace.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    Flags,
    SetFlags,
    Mtu,
    SetMtu,
    SetAddress,
    Index,
}

/// Asks, or orders; the answer is in `request`.
pub(super) fn interface(socket: impl AsFd, about: About, request: &mut IfReq) -> io::Result<()> {
    let number = match about {
        About::Flags => libc::SIOCGIFFLAGS,
        About::SetFlags => libc::SIOCSIFFLAGS,
        About::Mtu => libc::SIOCGIFMTU,
        About::SetMtu => libc::SIOCSIFMTU,
        About::SetAddress => libc::SIOCSIFHWADDR,
        About::Index => libc::SIOCGIFINDEX,
    };
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: these calls read and write one `struct ifreq`, which `request` is as long as.
    checked(unsafe { libc::ioctl(fd, number as libc::Ioctl, std::ptr::from_mut(request)) })
}

/// Makes a file of `/dev/net/tun` a queue of an interface; its name is in `request` then.
pub(super) fn set_iff(file: &File, request: &mut IfReq) -> io::Result<()> {
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `request` is as long as.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, std::ptr::from_mut(request)) })
}

/// What of the queue is set to a number that is read from memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// Bytes of the header in front of each frame.
    HeaderSize,
    /// Whether its fields are little-endian.
    LittleEndian,
}

/// Sets it.
pub(super) fn set_number(file: &File, what: Number, value: i32) -> io::Result<()> {
    let number = match what {
        Number::HeaderSize => libc::TUNSETVNETHDRSZ,
        Number::LittleEndian => libc::TUNSETVNETLE,
    };
    // SAFETY: both read one `int`.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), number, std::ptr::from_ref(&value)) })
}

/// Says what the reading side finishes itself; bits as [`crate::vnet::Agreed`] has them.
pub(super) fn set_offload(file: &File, bits: u32) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    checked(unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(bits))
    })
}

/// Whether the interface outlives the last of its files.
pub(super) fn set_persist(file: &File, persists: bool) -> io::Result<()> {
    // SAFETY: TUNSETPERSIST takes its argument by value.
    checked(unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST, libc::c_ulong::from(persists))
    })
}

/// Moves this thread, and nothing else, into the network namespace that a file stands for.
pub(super) fn enter_namespace(file: &File) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
