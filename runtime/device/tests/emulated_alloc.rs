//! A warmed-up emulated NIC allocates nothing: not for lists, not for made frames, not while joining.

#![allow(clippy::unwrap_used, reason = "what tests call is a test, too")]

use corelane_device::emulated::{
    Emulated, EmulatedConfig, FrameSize, Generate, Order, Overlay, OverlayKind, Protocol, Traffic,
};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Buffers, Burst, HomeConfig};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Progress, StageContext, Tally};
use corelane_runtime::testing::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn bulk() -> Generate {
    Generate {
        flows: 8,
        size: FrameSize::Bytes(1518),
        protocol: Protocol::TcpBulk,
        order: Order::Trains(4),
        ..Generate::default()
    }
}

/// Moves packets from the receive to the transmit side; returns allocations after the first rounds.
fn allocations_of(caps: Caps, generate: Generate) -> u64 {
    let rx = Traffic::Generate(generate);
    let config = EmulatedConfig { caps, rx, ..EmulatedConfig::new("nic") };
    let mut port = Emulated::open(config).unwrap();
    let (mut rx, mut tx) = (port.open_rx().unwrap(), port.open_tx().unwrap());
    let home = HomeConfig { name: "nic".into(), shells: 0, small: 128, large: 128, node: None };
    let mut buffers = Buffers::new(&home).unwrap();
    let mut tally = Tally::new(0, 0);
    let mut burst = Burst::new();
    let mut before = 0;
    for round in 0..200 {
        if round == 50 {
            before = allocations();
        }
        let mut ctx = StageContext::new(round, &mut buffers, &mut tally);
        let progress = rx.rx(&mut burst, 32, &mut ctx);
        assert!(matches!(progress, Progress::Worked(_)), "{progress:?}");
        tx.tx(&mut burst, &mut ctx);
        assert!(burst.is_empty());
    }
    let after = allocations();
    assert_eq!((port.refusals().total(), tx.report().drops), (0, vec![]));
    after - before
}

#[test]
fn a_warm_nic_allocates_nothing() {
    assert!(allocations() > 0, "the counting allocator is in place");
    let imix = Generate { flows: 100, size: FrameSize::Imix, ..Generate::default() };
    assert_eq!(allocations_of(Caps::MULTI_PART, imix.clone()), 0);
    let reports = Caps::all() - Caps::RX_HW_GRO;
    assert_eq!(allocations_of(reports, imix.clone()), 0);
    let tunnel = Some(Overlay { checksum: true, ..Overlay::new(OverlayKind::Vxlan, 42) });
    assert_eq!(allocations_of(reports, Generate { tunnel, ..imix }), 0);
    assert_eq!(allocations_of(reports, bulk()), 0);
    assert_eq!(allocations_of(Caps::all(), bulk()), 0);
}
