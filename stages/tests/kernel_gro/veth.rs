//! A veth pair whose far end joins what it receives, with a packet socket at each end.
//!
//! It promises to give back every frame that the far end delivered for a stream, in order, and knows nothing of
//! what is in them but the destination address.

use corelane_runtime::testing::namespace::{Namespace, missing};
use corelane_runtime::testing::skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, eth, recvfrom,
    sendto, socket_with,
};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// How long the far end keeps merges open after its last poll, ns. Longer than any pause between two frames that
/// does not come from the scheduler.
const FLUSH_NS: u32 = 5_000_000;
/// When a stream that has not come out whole counts as lost.
const PATIENCE: Duration = Duration::from_millis(500);
/// The destination that `FrameBuilder` writes.
const DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 0xb];

/// Two namespaces and the pair between them.
pub(crate) struct Wire {
    near: OwnedFd,
    far: OwnedFd,
    /// The near interface, as a packet socket knows it.
    out: SocketAddrAny,
    buffer: Vec<u8>,
    _namespaces: [Namespace; 2],
}

impl Wire {
    /// `None`, and a skip by name, where there can be no such thing.
    pub(crate) fn new(test: &str) -> Option<Wire> {
        if let Some(missing) = missing(&["ip", "ethtool"]) {
            skip(test, &missing);
            return None;
        }
        let (near, far) = (Namespace::new(test)?, Namespace::new(test)?);
        // IPv6 would speak by itself on both ends.
        for namespace in [&near, &far] {
            namespace.run("sysctl -q -w net.ipv6.conf.default.disable_ipv6=1");
        }
        let queues = "mtu 9000 numtxqueues 1 numrxqueues 1";
        let pair = format!("type veth peer name far {queues} netns {}", far.name());
        near.ip(&format!("link add near {queues} {pair}"));
        far.run("ethtool -K far gro on rx-udp-gro-forwarding on");
        // The time may only be written through the file system of the namespace.
        let set = far
            .command("sh")
            .args(["-c", &format!("echo {FLUSH_NS} > /sys/class/net/far/gro_flush_timeout")])
            .status();
        assert!(set.is_ok_and(|status| status.success()), "no flush timeout");
        far.ip("link set far up");
        near.ip("link set near up");
        near.ip("address add 192.0.2.1/24 dev near");
        // A socket for VXLAN is what makes the kernel look into it.
        far.ip("address add 192.0.2.2/24 dev far");
        far.ip("link add tunnel type vxlan id 42 local 192.0.2.2 dstport 4789 dev far");
        far.ip("link set tunnel up");
        let (near_socket, far_socket) = (near.within(packets), far.within(packets));
        let out = near.within(|| interface(&near_socket));
        let buffer = vec![0; 1 << 17];
        let _namespaces = [near, far];
        Some(Wire { near: near_socket, far: far_socket, out, buffer, _namespaces })
    }

    /// Sends the frames and gives what the far end made of them, until `whole` says that it has all come.
    ///
    /// # Panics
    ///
    /// If it never does.
    pub(crate) fn pass(
        &mut self,
        frames: &[Vec<u8>],
        whole: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Vec<Vec<u8>> {
        while self.receive(Duration::ZERO).is_some() {}
        for frame in frames {
            let sent = sendto(&self.near, frame, SendFlags::empty(), &self.out);
            assert_eq!(sent, Ok(frame.len()), "not sent");
        }
        let deadline = Instant::now() + PATIENCE;
        let mut received = Vec::new();
        while !whole(&received) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(frame) = self.receive(left) else {
                panic!("only {} frames came of {}", received.len(), frames.len())
            };
            received.push(frame);
        }
        received
    }

    /// The next frame to our destination.
    fn receive(&mut self, patience: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = Timespec::try_from(left).expect("a short time");
            let ready = poll(&mut [PollFd::new(&self.far, PollFlags::IN)], Some(&wait));
            if ready.expect("poll") == 0 {
                return None;
            }
            let (_, len, _) =
                recvfrom(&self.far, &mut self.buffer[..], RecvFlags::TRUNC).expect("a frame");
            let frame = &self.buffer[..len];
            if frame.starts_with(&DESTINATION) {
                return Some(frame.to_vec());
            }
        }
    }
}

/// A packet socket that sees everything in this namespace.
fn packets() -> OwnedFd {
    let (family, kind) = (AddressFamily::PACKET, SocketType::RAW);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(family, kind, flags, Some(eth::ALL)).expect("root may open packet sockets")
}

/// The address of the only interface that is up here: where a request for a neighbour leaves.
fn interface(socket: &OwnedFd) -> SocketAddrAny {
    let asking = UdpSocket::bind("192.0.2.1:0").expect("an address");
    asking.send_to(b"anybody", "192.0.2.99:9").expect("it is on the link");
    let wait = Timespec::try_from(PATIENCE).expect("a short time");
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait)).expect("poll");
    let (_, _, address) =
        recvfrom(socket, &mut [0_u8; 2048][..], RecvFlags::empty()).expect("a request");
    address.expect("packet sockets say where a frame came by")
}
