//! Opening: from `/dev/net/tun` to a queue of an interface that has its header, its offloads, its MTU and is up.
//!
//! It promises the order that the kernel needs - the long header before the bits that fill it - and for every refusal
//! a sentence that says what is wrong and what to do.

use super::TapConfig;
use super::holders::holders;
use super::link::{Link, Unread};
use super::sys::{self, IfReq, NAME_MAX, Number};
use crate::vnet::{self, Agreed};
use corelane_runtime::Error;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/net/tun";

/// What is read, from most to least: each is refused as a whole by a kernel that does not know all of it.
const SETS: [Agreed; 5] = [Agreed::all(), PLAIN.union(USO), PLAIN, Agreed::CSUM, Agreed::empty()];
const USO: Agreed = Agreed::USO4.union(Agreed::USO6);
const PLAIN: Agreed = Agreed::CSUM.union(Agreed::TSO4).union(Agreed::TSO6).union(Agreed::TSO_ECN);

/// An interface with its first queue.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) interface: String,
    pub(super) file: File,
    /// What the kernel leaves to us.
    pub(super) agreed: Agreed,
    pub(super) mtu: u32,
    /// Whether it may have further queues.
    pub(super) multi_queue: bool,
    pub(super) unread: Option<Unread>,
}

/// Opens or makes the interface of a port.
pub(super) fn open(config: &TapConfig) -> Result<Opened, Error> {
    check_name(config)?;
    within(config, || {
        let existed = Link::of(&config.interface).is_ok_and(|link| link.exists());
        let (file, interface, multi_queue) = attach_first(config, existed)?;
        let failed = |what: &str, error: &io::Error| failure(config, what, error);
        prepare(&file).map_err(|error| failed("the 24-byte virtio-net header", &error))?;
        let agreed = agree(&file, config).map_err(|error| failed("offloads", &error))?;
        if config.persist {
            sys::set_persist(&file, true).map_err(|error| failed("persistence", &error))?;
        }
        let link = Link::of(&interface).map_err(|error| failed("a socket", &error))?;
        let mtu = set_up(config, &link)?;
        let unread = Unread::of(&interface);
        Ok(Opened { interface, file, agreed, mtu, multi_queue, unread })
    })
}

/// Opens one queue more.
pub(super) fn open_queue(
    config: &TapConfig,
    interface: &str,
    agreed: Agreed,
) -> Result<File, Error> {
    within(config, || {
        let failed = |error: &io::Error| failure(config, "one queue more", error);
        let file = device(config)?;
        attach(&file, interface, true).map_err(|error| refused(config, &error, true))?;
        prepare(&file)
            .and_then(|()| sys::set_offload(&file, agreed.bits()))
            .map_err(|e| failed(&e))?;
        Ok(file)
    })
}

/// Makes a queue of an interface of its own that nobody sees: not up, and gone with its file.
pub(super) fn open_for_probing() -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    attach(&file, "clprobe%d", false)?;
    prepare(&file)?;
    Ok(file)
}

fn check_name(config: &TapConfig) -> Result<(), Error> {
    let name = &config.interface;
    let wrong = |text: String| Err(Error::user(config.what(), text));
    if name.len() > NAME_MAX {
        return wrong(format!(
            "the interface name `{name}` is too long: {NAME_MAX} characters at most"
        ));
    }
    let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name == "." || name == ".." || name.contains(odd) {
        return wrong(format!("`{name}` is no name for an interface: no spaces, `/` or `:` in it"));
    }
    if config.queues == 0 || config.queues > super::QUEUES_MAX {
        let text = format!("has {} queues; give it 1 to {}", config.queues, super::QUEUES_MAX);
        return wrong(text);
    }
    Ok(())
}

/// Runs `work` in the network namespace of the port, on a thread of its own: a thread that has moved would take
/// what it starts later along.
fn within<T: Send>(
    config: &TapConfig,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let Some(namespace) = &config.namespace else { return work() };
    let path = match namespace.contains('/') {
        true => namespace.clone(),
        false => format!("/run/netns/{namespace}"),
    };
    let file = File::open(&path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "; make it with `ip netns add`, or give the path of one",
            _ => "",
        };
        Error::user(
            config.what(),
            format!("network namespace `{namespace}`: {path}: {error}{hint}"),
        )
    })?;
    let moved = || {
        sys::enter_namespace(&file).map_err(|error| {
            let hint = match error.raw_os_error() {
                Some(libc::EPERM) => "; that takes CAP_SYS_ADMIN: run as root",
                Some(libc::EINVAL) => "; it is no network namespace",
                _ => "",
            };
            let text = format!("network namespace `{namespace}` cannot be entered: {error}{hint}");
            Error::system(config.what(), text)
        })?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(moved).join()).unwrap_or_else(|_| {
        Err(Error::system(config.what(), "the thread that opens the interface panicked"))
    })
}

fn device(config: &TapConfig) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    // The standard library adds O_CLOEXEC.
    let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
    file.map_err(|error| {
        let hint = match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
                "; load the driver with `modprobe tun`, or pass the device to the container \
                 (`--device /dev/net/tun`)"
            }
            Some(libc::EACCES | libc::EPERM) => "; this user may not open it: run as root",
            _ => "",
        };
        Error::system(config.what(), format!("{DEVICE}: {error}{hint}"))
    })
}

/// With several queues where the interface can have them. One that was made for a single queue says EINVAL to that.
fn attach_first(config: &TapConfig, existed: bool) -> Result<(File, String, bool), Error> {
    let name = &config.interface;
    if config.must_exist && !existed {
        let text = format!(
            "there is no interface `{name}`; make it with `ip tuntap add dev {name} mode tap multi_queue vnet_hdr`, \
             or leave `must_exist` out"
        );
        return Err(Error::user(config.what(), text));
    }
    let others = if existed { holders(name) } else { String::new() };
    let file = device(config)?;
    let error = match attach(&file, name, true) {
        Ok(name) => {
            if !others.is_empty() {
                let port = &config.name;
                tracing::warn!(
                    port,
                    interface = name,
                    "is open{others} too, which gets a share of its flows"
                );
            }
            return Ok((file, name, true));
        }
        Err(error) => error,
    };
    let single = existed && error.raw_os_error() == Some(libc::EINVAL);
    if !single {
        return Err(refused(config, &error, existed));
    }
    match attach(&file, name, false) {
        Ok(_) if config.queues > 1 => {
            let queues = config.queues;
            let text = format!(
                "`{name}` was made for one queue and {queues} are asked for; make it anew with \
                 `ip tuntap add dev {name} mode tap multi_queue vnet_hdr`, or ask for one"
            );
            Err(Error::user(config.what(), text))
        }
        Ok(name) => {
            tracing::info!(port = config.name, interface = name, "was made for one queue");
            Ok((file, name, false))
        }
        Err(error) => Err(refused(config, &error, existed)),
    }
}

fn attach(file: &File, name: &str, multi_queue: bool) -> io::Result<String> {
    let mut flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if multi_queue {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    let mut request = IfReq::new(name);
    request.data[..2].copy_from_slice(&(flags as u16).to_ne_bytes());
    sys::set_iff(file, &mut request)?;
    Ok(request.name())
}

fn prepare(file: &File) -> io::Result<()> {
    sys::set_number(file, Number::HeaderSize, vnet::SIZE as i32)?;
    sys::set_number(file, Number::LittleEndian, 1)
}

/// The largest set that the kernel takes.
fn agree(file: &File, config: &TapConfig) -> io::Result<Agreed> {
    let sets = if config.offloads { &SETS[..] } else { &SETS[SETS.len() - 1..] };
    let mut last = Ok(Agreed::empty());
    for &set in sets {
        match sys::set_offload(file, set.bits()) {
            Ok(()) => return Ok(set),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = Err(error),
            Err(error) => return Err(error),
        }
    }
    last
}

/// Address, MTU, and up, as asked for; the MTU that it has.
fn set_up(config: &TapConfig, link: &Link) -> Result<u32, Error> {
    if let Some(address) = config.mac {
        link.set_address(address).map_err(|error| failure(config, "its MAC address", &error))?;
    }
    if let Some(mtu) = config.mtu {
        let set = link.mtu().and_then(|now| if now == mtu { Ok(()) } else { link.set_mtu(mtu) });
        set.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => Error::user(
                config.what(),
                format!("an MTU of {mtu} is refused; a tap takes 68 to 65521"),
            ),
            _ => failure(config, "its MTU", &error),
        })?;
    }
    if config.up {
        link.bring_up()
            .map_err(|error| failure(config, "the interface, to be brought up", &error))?;
    }
    link.mtu().map_err(|error| failure(config, "its MTU", &error))
}

fn failure(config: &TapConfig, what: &str, error: &io::Error) -> Error {
    let interface = &config.interface;
    let text = format!("interface `{interface}`: {what}: {error}{}", right(error));
    Error::system(config.what(), text)
}

/// What to do about a right that is missing.
fn right(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            "; that takes CAP_NET_ADMIN: run as root, or give the right to the command \
             (`setcap cap_net_admin+ep $(command -v corelane)`)"
        }
        _ => "",
    }
}

/// Why an interface was not given to us.
fn refused(config: &TapConfig, error: &io::Error, existed: bool) -> Error {
    let name = &config.interface;
    let wrong = |text: String| Error::user(config.what(), text);
    match error.raw_os_error() {
        Some(libc::EBUSY) => {
            let by = holders(name);
            wrong(format!("`{name}` is in use{by}; stop that, or give the port another interface"))
        }
        Some(libc::EINVAL) if existed => wrong(format!(
            "`{name}` is there and is no tap; give the port another name, or delete that interface"
        )),
        Some(libc::EINVAL) => wrong(format!("`{name}` is refused as a name for an interface")),
        Some(libc::E2BIG) => wrong(format!("`{name}` has all the queues that the kernel gives it")),
        _ if existed => failure(config, "cannot be attached to", error),
        _ => failure(config, "cannot be made", error),
    }
}
