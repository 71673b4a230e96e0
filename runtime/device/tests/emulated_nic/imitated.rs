//! A device that imitates a record: its limits hold, and what it lacks it refuses.

use crate::support::*;
use corelane_device::Emulated;
use corelane_device::caps::Record;
use corelane_device::emulated::{EmulatedConfig, Refusal};
use corelane_runtime::offload::{Caps, Facts, Limits};
use corelane_runtime::packet::SegFlags;
use corelane_runtime::port::Port;

fn imitating(facts: Facts) -> Nic {
    nic_of(EmulatedConfig { imitates: Some(facts), ..EmulatedConfig::new("nic") })
}

fn profile(name: &str) -> Facts {
    Record::named(name).unwrap().facts
}

/// Sends a superpacket and returns the frames on the wire, or the one refusal.
fn cut(facts: Facts, recipe: &Recipe, gso_size: u16, flags: SegFlags) -> Result<usize, Refusal> {
    let mut nic = imitating(facts);
    let mut bench = Bench::new();
    let mut packet = bench.packet(&recipe.partial());
    recipe.mark_super(&mut packet, gso_size, flags);
    bench.send_all(&mut *nic.tx, vec![packet]);
    match Refusal::ALL.into_iter().find(|&refusal| nic.refusals.of(refusal) > 0) {
        Some(refusal) => Err(refusal),
        None => Ok(nic.wire.len()),
    }
}

#[test]
fn limits_of_a_record_hold() {
    let with = |limits: Limits| Facts { limits, ..profile("mlx5-like") };
    let recipe = Recipe::tcp(vec![1; 1000]);
    let none = SegFlags::empty();
    let usual = Limits::default();
    assert_eq!(cut(with(usual), &recipe, 100, none), Ok(10));
    for (limits, fits) in [
        (Limits { tso_bytes: 1054, ..usual }, true),
        (Limits { tso_bytes: 1053, ..usual }, false),
        (Limits { tso_segments: 10, ..usual }, true),
        (Limits { tso_segments: 9, ..usual }, false),
        (Limits { header_len: 54, ..usual }, true),
        (Limits { header_len: 53, ..usual }, false),
    ] {
        let expected = if fits { Ok(10) } else { Err(Refusal::Limits) };
        assert_eq!(cut(with(limits), &recipe, 100, none), expected, "{limits:?}");
    }
}

#[test]
fn a_profile_does_what_it_grants_and_refuses_the_rest() {
    let tcp = Recipe::tcp(vec![1; 300]);
    let udp = Recipe::udp(vec![1; 300]);
    let plain = SegFlags::empty();
    assert_eq!(cut(profile("ixgbe-like"), &tcp, 100, plain), Ok(3));
    assert_eq!(cut(profile("ixgbe-like"), &udp, 100, plain), Ok(3));
    assert_eq!(cut(profile("ixgbe-like"), &tcp, 100, SegFlags::FIXED_ID), Err(Refusal::FixedId));
    assert_eq!(cut(profile("one-queue"), &udp, 100, plain), Err(Refusal::Cutting));
    assert_eq!(cut(profile("ena-like"), &tcp, 100, plain), Err(Refusal::Cutting));
    let cwr = Recipe { flags: ACK | 0x80, ..tcp.clone() };
    assert_eq!(cut(profile("ixgbe-like"), &cwr, 100, plain), Err(Refusal::Ecn));
    assert_eq!(cut(profile("i40e-like"), &cwr, 100, plain), Ok(3));
    assert_eq!(cut(profile("i40e-like"), &cwr, 100, SegFlags::CWR_ALL), Err(Refusal::CwrAll));
}

#[test]
fn a_record_keeps_its_own_reasons_and_gains_those_of_the_emulation() {
    let imitates = Some(profile("i40e-like"));
    let port = Emulated::open(EmulatedConfig { imitates, ..EmulatedConfig::new("nic") }).unwrap();
    let caps = port.caps();
    assert!(caps.effective().contains(Caps::TSO4 | Caps::TSO_ECN));
    assert!(caps.effective().contains(Caps::TSO_VXLAN | Caps::GSO_PARTIAL));
    assert_eq!(caps.facts.limits.vxlan_ports.to_string(), "4789");
    assert_eq!(
        caps.facts.why(Caps::RX_TIMESTAMP),
        Some("the emulated device has no clock of its own")
    );
    assert_eq!(caps.facts.why(Caps::RX_OUTER_UDP), Some("status covers the innermost sum only"));
}
