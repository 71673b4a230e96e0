//! A stage that ends its chain and has named outputs: they count from 1, and what it sends to the next stage, which
//! there is not, is lost and shows.

use crate::own::registry;
use corelane::{Machine, Pipeline};

#[test]
fn named_outputs_count_from_one_whether_or_not_there_is_a_next_stage() {
    let text = r#"Pipeline(name: "p",
        ports: { "in": Emulated(traffic: (flows: 3, count: 1000)), "out": Emulated },
        chains: {
            "main": [Rx("in"), Sort],
            "even": [Count, Tx("out")],
            "odd": [Ring("odd"), Drop("odd")],
        })"#;
    let machine = Machine::from_ron("Machine(cores: 2)").expect("a machine");
    let plan = Pipeline::parse(text).expect("a description").plan(&registry(), &machine);
    let report = plan.unwrap_or_else(|failure| panic!("{failure}")).simulate(5).expect("a run");
    assert!(
        report.balanced == Some(true) && report.errors.is_empty(),
        "{:?} {:?}",
        report.unbalanced,
        report.errors
    );
    assert_eq!(report.ports.get("out").expect("a port").tx_packets, 750);
    assert_eq!(report.totals.dropped, 250);
}
