//! The table against a list: the same merges, in the same order, after any operations.

use super::super::flow::{Flow, FlowKey};
use super::super::held::Held;
use super::super::segment::Segment;
use super::Table;
use corelane_runtime::packet::{Buffers, HomeConfig, Train};
use corelane_wire::testing::{FrameBuilder, Ipv4, Udp};
use proptest::collection::vec;
use proptest::prelude::*;

fn home() -> Buffers {
    let config = HomeConfig { name: "t".into(), shells: 0, small: 64, large: 0, node: None };
    Buffers::new(&config).unwrap()
}

/// The key of a flow that differs from others by its port.
fn key(port: u16, buffers: &mut Buffers) -> FlowKey {
    let udp = Udp { src_port: port, ..Udp::default() };
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(b"x").build();
    let mut packet = buffers.receive(&frame).unwrap();
    crate::rx::describe(&mut packet, 1, buffers).unwrap();
    let flow = Flow::of(&packet);
    buffers.release(packet);
    match flow {
        Flow::One(key) => key,
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Debug)]
enum Operation {
    /// Adds the flow if it is not there, else takes it.
    Toggle(u16),
    TakeOldest,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![4 => (0..20_u16).prop_map(Operation::Toggle), 1 => Just(Operation::TakeOldest)]
}

proptest! {
    #[test]
    fn a_table_is_a_list_with_a_bound(operations in vec(operation(), 0..200), seed in any::<u64>()) {
        let mut buffers = home();
        let keys: Vec<FlowKey> = (0..20).map(|port| key(port, &mut buffers)).collect();
        let mut table = Table::new(8, seed);
        let mut list: Vec<u16> = Vec::new();
        for operation in operations {
            let taken = match operation {
                Operation::Toggle(flow) => {
                    let (bucket, place) = table.find(&keys[usize::from(flow)]);
                    prop_assert_eq!(place.is_some(), list.contains(&flow));
                    match place {
                        Some(place) => {
                            list.retain(|listed| *listed != flow);
                            table.take(place)
                        }
                        None => {
                            let train = Train::new(buffers.receive(b"packet").unwrap());
                            let held = Held::new(keys[usize::from(flow)], Segment::default(), train, 0);
                            let refused = table.insert(bucket, held).err();
                            prop_assert_eq!(refused.is_some(), list.len() == 8);
                            if refused.is_none() {
                                list.push(flow);
                            }
                            refused
                        }
                    }
                }
                Operation::TakeOldest => {
                    let place = table.oldest();
                    prop_assert_eq!(place.is_some(), !list.is_empty());
                    place.and_then(|place| {
                        list.remove(0);
                        table.take(place)
                    })
                }
            };
            if let Some(held) = taken {
                buffers.release(held.train.into_packet());
            }
            prop_assert_eq!((table.len(), table.is_full()), (list.len(), list.len() == 8));
            let mut place = table.oldest();
            for flow in &list {
                let at = place.unwrap();
                prop_assert_eq!(table.get(at).unwrap().key, keys[usize::from(*flow)]);
                place = table.newer(at);
            }
            prop_assert_eq!(place, None);
        }
        while let Some(held) = table.oldest().and_then(|place| table.take(place)) {
            buffers.release(held.train.into_packet());
        }
    }
}
