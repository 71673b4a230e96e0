//! Finding out what a kernel takes, by writing it.
//!
//! The interface that is written to is one of its own, never up and gone at the end: the kernel judges the header
//! (EINVAL) before it finds the interface down (EIO), so nothing gets anywhere. A header of a kind that does not exist is
//! written too: a kernel that takes it judges nothing, and its answers are worth nothing.

use super::facts::{self, PLAIN, TUNNEL, TUNNEL_CSUM, USO};
use super::open::open_for_probing;
use crate::vnet::{Flags, GsoType, Header};
use corelane_runtime::Error;
use corelane_runtime::offload::{Answer, Caps, Facts, Reason};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::OnceLock;

const SIZE: u16 = 100;
const PAYLOAD: usize = 250;
const NO_KIND: GsoType = GsoType(7);

/// What taps of this kernel take, tried out once a process; limits are those of the kernel, an MTU is not among them.
///
/// # Errors
/// Where no interface may be made here, or what comes back makes no sense.
pub fn probe() -> Result<Facts, Error> {
    static FOUND: OnceLock<Result<Facts, Error>> = OnceLock::new();
    FOUND.get_or_init(try_out).clone()
}

fn try_out() -> Result<Facts, Error> {
    let failed = |error: io::Error| {
        Error::system("taps of this kernel", format!("an interface to try them on: {error}"))
    };
    let file = open_for_probing().map_err(failed)?;
    let plain = takes(&file, &Trial::tcp4(GsoType::TCP4)).map_err(failed)?;
    let anything = takes(&file, &Trial::tcp4(NO_KIND)).map_err(failed)?;
    if anything || !plain {
        let text = "the kernel takes headers that mean nothing, or none at all";
        return Err(Error::system("taps of this kernel", text));
    }
    let mut granted = PLAIN - (Caps::TSO6 | Caps::TSO_ECN);
    let mut refused = Caps::empty();
    for (caps, trial) in trials() {
        match takes(&file, &trial).map_err(failed)? {
            true => granted |= caps,
            false => refused |= caps,
        }
    }
    let why = "the kernel refused a packet that asks for it; Linux cuts UDP since 6.2, inside UDP tunnels since 6.17";
    let why = why.to_owned();
    Ok(facts::of(
        granted.without_orphans(),
        vec![Reason { caps: refused, answer: Answer::No, why }],
    ))
}

fn trials() -> [(Caps, Trial); 6] {
    [
        (Caps::TSO6, Trial::tcp6()),
        (Caps::TSO_ECN, Trial::tcp4(GsoType::TCP4.with(GsoType::ECN))),
        (USO & Caps::USO4, Trial::udp4()),
        (USO & Caps::USO6, Trial::udp6()),
        (TUNNEL, Trial::tunnel(Flags::empty())),
        (TUNNEL_CSUM, Trial::tunnel(Flags::TUNNEL_CSUM)),
    ]
}

/// Whether the kernel finds nothing wrong with it.
fn takes(mut file: &File, trial: &Trial) -> io::Result<bool> {
    let header = trial.header.to_bytes();
    let slices = [IoSlice::new(&header), IoSlice::new(&trial.frame)];
    match file.write_vectored(&slices).map(|bytes| bytes > 0) {
        Ok(taken) => Ok(taken),
        Err(error) => match error.raw_os_error() {
            Some(libc::EIO) => Ok(true),
            Some(libc::EINVAL) => Ok(false),
            _ => Err(error),
        },
    }
}

/// A packet that asks for something.
struct Trial {
    header: Header,
    frame: Vec<u8>,
}

/// A frame as it grows.
#[derive(Default)]
struct Frame(Vec<u8>);

impl Frame {
    fn at(&self) -> u16 {
        self.0.len() as u16
    }

    fn ethernet(mut self, kind: u16) -> Frame {
        self.0.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        self.0.extend(kind.to_be_bytes());
        self
    }

    /// IPv4 with `len` bytes behind it, its own checksum left 0: nobody gets as far as looking.
    fn ipv4(mut self, protocol: u8, len: u16) -> Frame {
        self.0.extend([0x45, 0]);
        self.0.extend((len + 20).to_be_bytes());
        self.0.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        self
    }

    fn ipv6(mut self, protocol: u8, len: u16) -> Frame {
        self.0.extend([0x60, 0, 0, 0]);
        self.0.extend(len.to_be_bytes());
        self.0.extend([protocol, 64]);
        for host in [1, 2] {
            self.0.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
        self
    }

    fn tcp(mut self) -> Frame {
        self.0.extend([0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        self.payload()
    }

    fn udp(mut self, port: u16, len: u16) -> Frame {
        self.0.extend([0, 1]);
        self.0.extend(port.to_be_bytes());
        self.0.extend(len.to_be_bytes());
        self.0.extend([0, 0]);
        self
    }

    fn payload(mut self) -> Frame {
        self.0.extend([0; PAYLOAD]);
        self
    }
}

const TCP: u16 = 20 + PAYLOAD as u16;
const UDP: u16 = 8 + PAYLOAD as u16;

impl Trial {
    fn new(gso_type: GsoType, csum_start: u16, csum_offset: u16, frame: Frame) -> Trial {
        let header = Header {
            flags: Flags::NEEDS_CSUM,
            gso_type,
            gso_size: SIZE,
            csum_start,
            csum_offset,
            ..Header::default()
        };
        Trial { header, frame: frame.0 }
    }

    fn tcp4(gso_type: GsoType) -> Trial {
        let frame = Frame::default().ethernet(0x0800).ipv4(6, TCP);
        Trial::new(gso_type, frame.at(), 16, frame.tcp())
    }

    fn tcp6() -> Trial {
        let frame = Frame::default().ethernet(0x86dd).ipv6(6, TCP);
        Trial::new(GsoType::TCP6, frame.at(), 16, frame.tcp())
    }

    fn udp4() -> Trial {
        let frame = Frame::default().ethernet(0x0800).ipv4(17, UDP);
        Trial::new(GsoType::UDP, frame.at(), 6, frame.udp(2, UDP).payload())
    }

    fn udp6() -> Trial {
        let frame = Frame::default().ethernet(0x86dd).ipv6(17, UDP);
        Trial::new(GsoType::UDP, frame.at(), 6, frame.udp(2, UDP).payload())
    }

    /// TCP over IPv4 in VXLAN over IPv4.
    fn tunnel(flags: Flags) -> Trial {
        const INSIDE: u16 = 14 + 20 + TCP;
        let outer = Frame::default().ethernet(0x0800).ipv4(17, 16 + INSIDE);
        let outer_th_offset = outer.at();
        let mut frame = outer.udp(4789, 16 + INSIDE);
        frame.0.extend([8, 0, 0, 0, 0, 0, 1, 0]);
        let frame = frame.ethernet(0x0800);
        let inner_nh_offset = frame.at();
        let frame = frame.ipv4(6, TCP);
        let kind = GsoType::TCP4.with(GsoType::TUNNEL4);
        let mut trial = Trial::new(kind, frame.at(), 16, frame.tcp());
        trial.header.flags |= flags;
        trial.header.outer_th_offset = outer_th_offset;
        trial.header.inner_nh_offset = inner_nh_offset;
        trial
    }
}
