//! Tries what a device claims: frames with known right answers go through it, and what comes back is compared.
//!
//! What fails is not granted, with what came back as the reason, and neither is what stands on it. Transmit units
//! are asked for every checksum and every kind of cut, inside tunnels too; receive units see frames whose checksums,
//! the outer ones of tunnels among them, are right and wrong, segments to join, and datagrams to sum. It does not
//! try hashes, UDP ports of tunnels but those registered, and whether packets may have several parts or unfinished
//! checksums; that stays as the device says.

mod emulated;
#[cfg(test)]
mod tests;
mod vectors;
mod words;

pub use emulated::emulated;

use corelane_runtime::Error;
use corelane_runtime::offload::{Answer, Caps, Reason};
use corelane_runtime::packet::{Csum, Known};
use vectors::{Sent, sent};

/// A device whose wire comes back.
trait Loopback {
    /// Gives the packet, with its request, to a transmit queue, and returns the frames that left.
    fn send(&mut self, request: &Sent) -> Result<Vec<Vec<u8>>, Error>;

    /// Has the device receive frames, and returns the packets that a receive queue handed over.
    fn receive(&mut self, frames: &[Vec<u8>]) -> Result<Vec<Seen>, Error>;
}

/// A packet that was received.
#[derive(Clone, Debug)]
struct Seen {
    bytes: Vec<u8>,
    l3: Csum,
    l4: Csum,
    known: Option<Known>,
    /// Segments and payload bytes of each, where it was joined.
    joined: Option<(u16, u16)>,
}

const WRONG_AS_GOOD: &str = "a probe frame with a wrong checksum came back as good";
const RIGHT_NOT_GOOD: &str = "a probe frame with right checksums did not come back as good";

/// What of `claims` a device does, with reasons for what it does not.
fn probe(device: &mut dyn Loopback, claims: Caps) -> Result<(Caps, Vec<Reason>), Error> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut no = |caps: Caps, why: String| match reasons.iter_mut().find(|known| known.why == why) {
        Some(reason) => reason.caps |= caps,
        None => reasons.push(Reason { caps, answer: Answer::No, why }),
    };
    let mut failed = Caps::empty();
    for request in sent().filter(|request| claims.contains(request.bit | request.with)) {
        let came = device.send(request)?;
        if let Some(why) =
            words::difference(request, &came).filter(|_| !failed.contains(request.bit))
        {
            failed |= request.bit;
            no(request.bit, why);
        }
    }
    for (bit, try_it) in RECEIVED {
        if claims.contains(*bit)
            && let Some(why) = try_it(device)?
        {
            failed |= *bit;
            no(*bit, why.to_owned());
        }
    }
    let granted = (claims - failed).without_orphans();
    for bit in claims - failed - granted {
        let missing = bit.with_implied() & !granted & !bit;
        no(bit, format!("means nothing without {}", missing.names()));
    }
    Ok((granted, reasons))
}

type Receive = fn(&mut dyn Loopback) -> Result<Option<&'static str>, Error>;

/// What receive units are shown, by the bit that it tries.
const RECEIVED: &[(Caps, Receive)] = &[
    (Caps::RX_IP, |device| {
        verdicts(device, &[Caps::TX_TCP4], |seen| seen.l3, |frame| frame[22] ^= 1)
    }),
    (Caps::RX_TCP, |device| {
        verdicts(device, &[Caps::TX_TCP4, Caps::TX_TCP6], |seen| seen.l4, corrupt_payload)
    }),
    (Caps::RX_UDP, |device| {
        verdicts(device, &[Caps::TX_UDP4, Caps::TX_UDP6], |seen| seen.l4, corrupt_payload)
    }),
    (Caps::RX_OUTER_IP, |device| {
        verdicts(device, &[Caps::TX_OUTER_IP], |seen| seen.l3, |frame| frame[22] ^= 1)
    }),
    (Caps::RX_OUTER_UDP, |device| {
        verdicts(device, &[Caps::TSO_VXLAN_CSUM], |seen| seen.l4, corrupt_payload)
    }),
    (Caps::RX_COMPLETE, sums),
    (Caps::RX_HW_GRO, joins),
];

/// A checksum no longer fits; the length stays.
fn corrupt_payload(frame: &mut [u8]) {
    if let Some(last) = frame.last_mut() {
        *last ^= 0x40;
    }
}

/// Finished frames of these kinds.
fn frames_of(bits: &[Caps]) -> Vec<Vec<u8>> {
    let requests = sent().filter(|request| bits.contains(&request.bit));
    requests.flat_map(Sent::frames).collect()
}

/// Whether the device tells right frames from those that `spoil` made wrong.
fn verdicts(
    device: &mut dyn Loopback,
    bits: &[Caps],
    verdict: fn(&Seen) -> Csum,
    spoil: fn(&mut [u8]),
) -> Result<Option<&'static str>, Error> {
    let good = frames_of(bits);
    let mut bad = good.clone();
    bad.iter_mut().for_each(|frame| spoil(frame));
    let all = |seen: &[Seen], wanted: fn(Csum) -> bool| {
        seen.len() == good.len() && seen.iter().all(|seen| wanted(verdict(seen)))
    };
    if !all(&device.receive(&bad)?, |verdict| verdict != Csum::Good) {
        return Ok(Some(WRONG_AS_GOOD));
    }
    let told = all(&device.receive(&good)?, |verdict| verdict == Csum::Good);
    Ok((!told).then_some(RIGHT_NOT_GOOD))
}

/// Whether sums that the device gives are those of the bytes.
fn sums(device: &mut dyn Loopback) -> Result<Option<&'static str>, Error> {
    let mut frames = frames_of(&[Caps::TX_TCP4, Caps::TX_UDP6]);
    // A sum is that of the bytes whether they are right or not.
    frames.iter_mut().for_each(|frame| corrupt_payload(frame));
    let seen = device.receive(&frames)?;
    let right = |seen: &Seen| {
        let Some(Known { from, sum }) = seen.known else { return false };
        let words = seen.bytes[usize::from(from).min(seen.bytes.len())..].chunks(2);
        let total: u64 = words
            .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into()))
            .sum();
        total % 0xffff == u64::from(sum) % 0xffff
    };
    let fits = seen.len() == frames.len() && seen.iter().all(right);
    Ok((!fits).then_some("the sum that came with a probe frame is not that of its bytes"))
}

/// Whether segments are handed over as they came, or joined so that cutting gives them back.
fn joins(device: &mut dyn Loopback) -> Result<Option<&'static str>, Error> {
    const LOST: &str = "probe segments that it joined cannot be cut into what was sent";
    for request in sent().filter(|request| matches!(request.bit, Caps::TSO4 | Caps::TSO6)) {
        let (frames, whole) = (request.frames(), request.packet());
        let seen = device.receive(&frames)?;
        let header = whole.len() - request.payload;
        let fits = match seen.as_slice() {
            [one] => {
                let gso_size = request.cut.map(|(_, gso_size, _)| gso_size);
                let shape = gso_size.map(|gso_size| (frames.len() as u16, gso_size));
                one.joined == shape && one.bytes.get(header..) == whole.get(header..)
            }
            many => many.iter().map(|seen| &seen.bytes).eq(&frames),
        };
        if !fits {
            return Ok(Some(LOST));
        }
    }
    Ok(None)
}
