//! A stage that ends its chain has named outputs only: they count from 0 where its role is to end chains, and from 1
//! where it says so of itself, as if there were a next stage.

use crate::own::registry;
use corelane::{Machine, Pipeline};

#[test]
fn named_outputs_of_a_stage_that_ends_its_chain_get_what_it_sends() {
    for stage in ["Sort", "Deal"] {
        let text = format!(
            r#"Pipeline(name: "p",
        ports: {{ "in": Emulated(traffic: (flows: 3, count: 1000)), "out": Emulated }},
        chains: {{
            "main": [Rx("in"), {stage}],
            "even": [Count, Tx("out")],
            "odd": [Ring("odd"), Drop("odd")],
        }})"#
        );
        let machine = Machine::from_ron("Machine(cores: 2)").expect("a machine");
        let plan = Pipeline::parse(&text).expect("a description").plan(&registry(), &machine);
        let report = plan.unwrap_or_else(|failure| panic!("{failure}")).simulate(5).expect("a run");
        assert!(
            report.balanced == Some(true) && report.errors.is_empty(),
            "{stage}: {:?} {:?}",
            report.unbalanced,
            report.errors
        );
        assert_eq!(report.ports.get("out").expect("a port").tx_packets, 750, "{stage}");
        assert_eq!(report.totals.dropped, 250, "{stage}");
    }
}
