//! The whole command between real network stacks: two namespaces joined only by corelane over two taps.
//!
//! Everything is real but the cable: the kernel's ARP, ICMP, TCP, UDP and VXLAN on both sides, `ping` and `iperf3`
//! as users run them, and the command as a process. It makes interfaces only in namespaces of its own and is
//! skipped, by name, where those cannot be had.

mod faults;
mod field;
mod joined;
mod lane;
mod names;
mod overlay;
mod running;
mod traffic;
