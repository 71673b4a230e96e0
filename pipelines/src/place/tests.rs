//! Plans of small files: which actors, which rings, what is added, where it runs, how big its pools are.

use super::{Plan, PlannedTarget};
use crate::fixture::{machine, plan, registry, with_chains};
use crate::{Failure, Machine, Pipeline, Registry};
use corelane_runtime::Error;
use corelane_runtime::packet::HomeConfig;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, StageConfig, StageInfo, StageSpec,
};
use proptest::prelude::*;

fn of(chains: &str) -> Plan {
    plan(&with_chains(chains)).expect("a plan")
}

fn error(text: &str, machine: &Machine, registry: &Registry) -> String {
    let planned = Pipeline::parse(text).map_err(Failure::from);
    let planned = planned.and_then(|pipeline| pipeline.plan(registry, machine));
    planned.err().expect("no plan").to_string()
}

/// Actors with the stages in them: `main: Rx Count`.
fn actors(plan: &Plan) -> Vec<String> {
    let kinds = |nodes: &[super::PlannedNode]| {
        let ids: Vec<&str> = nodes.iter().map(|node| plan.stages[node.stage].id.as_str()).collect();
        ids.join(" ")
    };
    plan.actors.iter().map(|actor| format!("{}: {}", actor.name, kinds(&actor.nodes))).collect()
}

fn rings(plan: &Plan) -> Vec<String> {
    let name = |actor: usize| &plan.actors[actor].name;
    let rings = plan.rings.iter();
    rings.map(|ring| format!("{}: {} -> {}", ring.name, name(ring.from), name(ring.to.0))).collect()
}

#[test]
fn a_ring_ends_an_actor_and_begins_the_next() {
    let plan =
        of(r#""main": [Rx("in"), Count, Ring("cut"), Gso, ChecksumFill, Ring, Count, Drop]"#);
    let expected = ["main: main.0 main.1", "cut: main.3 main.4", "main/2: main.6 main.7"];
    assert_eq!(actors(&plan), expected);
    assert_eq!(rings(&plan), ["cut: main -> cut", "main/2: cut -> main/2"]);
    assert_eq!(plan.rings[0].capacity, 1024);
}

#[test]
fn a_chain_entered_through_an_output_runs_where_it_is_entered() {
    let plan = of(
        r#""a": [Rx("in"), Fork("c"), Ring("r"), Fork("c"), Drop], "c": [Count, Ring("s"), Drop("x")]"#,
    );
    let expected = ["a: a.0 a.1 c.0", "r: a.3 c.0 a.4", "s: c.2"];
    let found = actors(&plan);
    assert_eq!(found.len(), 3);
    for (found, expected) in found.iter().zip(expected) {
        let words = |text: &str| {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(words(found), words(expected));
    }
    // One ring for each that feeds the actor, told apart by where they come from.
    let mut found = rings(&plan);
    found.sort();
    assert_eq!(found, ["r: a -> r", "s from a: a -> s", "s from r: r -> s"]);
}

#[test]
fn finishing_steps_stand_before_a_port_unless_the_file_has_them() {
    let cases = [
        (r#""m": [Rx("in"), Tx("out")]"#, "m: m.0 m.+Gso m.+ChecksumFill m.1"),
        (r#""m": [Rx("in"), Gso, Tx("out")]"#, "m: m.0 m.1 m.+ChecksumFill m.2"),
        (r#""m": [Rx("in"), Gso, ChecksumFill, Count, Tx("out")]"#, "m: m.0 m.1 m.2 m.3 m.4"),
        (
            r#""m": [Rx("in"), Gso, ChecksumFill, Gro, Tx("out")]"#,
            "m: m.0 m.1 m.2 m.3 m.+Gso m.+ChecksumFill m.4",
        ),
        (r#""m": [Rx("in"), ChecksumFill, Gso, Tx("out")]"#, "m: m.0 m.1 m.2 m.+ChecksumFill m.3"),
        (r#""m": [Rx("in"), Gro, Drop]"#, "m: m.0 m.1 m.2"),
    ];
    for (chains, expected) in cases {
        assert_eq!(actors(&of(chains)), [expected], "{chains}");
    }
    let added = of(cases[0].0).stages.into_iter().filter(|stage| stage.added);
    let places: Vec<usize> = added.map(|stage| stage.index).collect();
    assert_eq!(places, [1, 1], "an added stage has the index of the stage it stands before");
}

#[test]
fn what_a_chain_is_entered_with_counts_too() {
    let plan = of(r#""m": [Rx("in"), Gso, ChecksumFill, Fork("plain"), Gro, Fork("joined"), Drop],
           "plain": [Tx("out")], "joined": [Tx("out")]"#);
    let ids: Vec<&str> = plan.stages.iter().map(|stage| stage.id.as_str()).collect();
    assert!(!ids.iter().any(|id| id.starts_with("plain.+")), "{ids:?}");
    assert!(ids.contains(&"joined.+Gso") && ids.contains(&"joined.+ChecksumFill"), "{ids:?}");
}

#[test]
fn a_path_from_what_joins_to_a_port_is_refused_where_nobody_can_cut() {
    let bare = Registry::new()
        .with_spec(corelane_stages::rx::RxSpec)
        .with_spec(corelane_stages::gro::GroSpec)
        .with_spec(corelane_stages::tx::TxSpec);
    let joined = with_chains(r#""m": [Rx("in"), Gro, Tx("out")]"#);
    let expected = "port out: packets are joined on the way to it, but no stage `Gso` is registered to cut them";
    assert_eq!(error(&joined, &machine(4), &bare), expected);
    let plain = with_chains(r#""m": [Rx("in"), Tx("out")]"#);
    let plan = Pipeline::parse(&plain).unwrap().plan(&bare, &machine(4)).unwrap();
    assert_eq!(actors(&plan), ["m: m.0 m.1"]);
}

#[test]
fn nodes_lead_only_to_nodes_behind_them() {
    let plan = of(r#""m": [Rx("in"), Fork("b"), Fork("c"), Tx("out")],
           "b": [Fork("c"), Count, Drop], "c": [Count, Drop("end")]"#);
    for actor in &plan.actors {
        for (at, node) in actor.nodes.iter().enumerate() {
            for target in &node.targets {
                assert!(!matches!(target, PlannedTarget::Node(to) if *to <= at));
            }
        }
    }
}

fn cpus(text: &str, machine: &Machine) -> Vec<Option<usize>> {
    let plan = Pipeline::parse(text).unwrap().plan(&registry(), machine).unwrap();
    plan.actors().map(|(_, cpu)| cpu).collect()
}

#[test]
fn actors_take_cores_before_siblings_and_share_where_there_are_too_few() {
    let three = with_chains(r#""m": [Rx("in"), Ring("a"), Count, Ring("b"), Drop]"#);
    let all = |cpus: [usize; 3]| cpus.map(Some).to_vec();
    assert_eq!(cpus(&three, &machine(4)), all([0, 2, 1]));
    assert_eq!(cpus(&three, &machine(1)), all([0, 0, 0]));
    let counted = three.replace("chains:", "cores: Count(2), chains:");
    // Two copies of the first, which may have any number of queues; the others share with them in turn.
    let four = [0, 2, 0, 2].map(Some).to_vec();
    assert_eq!(cpus(&counted, &machine(4)), four);
    let single = counted.replace("Emulated(traffic", "Emulated(queues: 1, traffic");
    assert_eq!(cpus(&single, &machine(4)), all([0, 2, 0]));
    let pinned = three.replace("chains:", "cores: Pin({\"a\": 2, \"m\": [3]}), chains:");
    assert_eq!(cpus(&pinned, &machine(4)), all([3, 2, 0]));
    assert_eq!(cpus(&three, &Machine::of(vec![], "test")), [None; 3]);
}

#[test]
fn cpus_that_are_not_there_are_refused() {
    let text = with_chains(r#""m": [Rx("in"), Drop]"#);
    let with = |cores: &str| text.replace("chains:", &format!("cores: {cores}, chains:"));
    let cases = [
        (
            "Count(5)",
            "cores: 5 CPUs are asked for, but this process may use 2; ask for fewer, allow more (taskset), or plan \
             for another machine (--topology) (description:4:11)",
        ),
        (
            "Pin({\"m\": 7})",
            "cores: `m` is pinned to CPU 7, which this process may not use; pin it to one of 0, 1, or plan for \
             another machine (--topology) (description:4:11)",
        ),
        (
            "Pin({\"m.Gro\": 1})",
            "cores: no actor is called `m.Gro`; the actors are m (description:4:11)",
        ),
    ];
    for (cores, expected) in cases {
        assert_eq!(error(&with(cores), &machine(2), &registry()), expected);
    }
}

#[test]
fn pools_hold_all_that_may_be_in_use() {
    let plan = of(r#""m": [Rx("in"), Count, Ring(name: "r", capacity: 100), Drop]"#);
    let home = &plan.actors[0].home;
    // Three bursts of 256, and the ring with its stash.
    let packets = 3 * 256 + 100 + 256;
    assert!(home.small >= packets, "{home:?}");
    assert!(home.small < 2 * packets && home.large >= 64, "{home:?}");
    assert_eq!(plan.actors[1].home.large, 0, "nothing comes in there");
    let joining = of(r#""m": [Rx("in"), Gro, Ring("r"), Gso, Tx("out")]"#);
    assert!(joining.actors[0].home.small >= 16_384, "{:?}", joining.actors[0].home);
    assert!(joining.actors[1].home.shells >= 2048, "{:?}", joining.actors[1].home);
}

/// Changes payload, so that it may need a copy of every packet.
struct Edits;

const EDITS: StageInfo = StageInfo {
    name: "Edits",
    summary: "Changes payload.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &[],
    counters: &[],
};

impl StageSpec for Edits {
    fn info(&self) -> &'static StageInfo {
        &EDITS
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(EditsConfig))
    }
}

struct EditsConfig;

impl StageConfig for EditsConfig {
    fn traits(&self) -> Traits {
        Traits { edits_payload: true, ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Err(Error::user("Edits", "it is only planned"))
    }
}

#[test]
fn pools_hold_the_copies_that_editing_needs() {
    let editing = registry().with_spec(Edits);
    let homes = |chains: &str| {
        let pipeline = Pipeline::parse(&with_chains(chains)).expect("a description");
        let plan = pipeline.plan(&editing, &machine(4)).expect("a plan");
        plan.actors.into_iter().map(|actor| actor.home).collect::<Vec<_>>()
    };
    let both = |stage: &str| {
        homes(&format!(
            r#""m": [Rx("in"), Ring("r"), {stage}, Ring(name: "s", capacity: 100), Drop]"#
        ))
    };
    let (plain, edited) = (both("Count"), both("Edits"));
    // The burst of the stage, the ring behind it with its stash, and the burst at the end.
    let copies = 256 + 100 + 256 + 256;
    assert_eq!(edited[1].small, plain[1].small + copies);
    assert_eq!((plain[1].large, edited[1].large), (0, 512), "a frame may be longer than 2 KiB");
    for other in [0, 2] {
        let sizes = |homes: &[HomeConfig]| (homes[other].small, homes[other].large);
        assert_eq!(sizes(&edited), sizes(&plain), "copies are of its own actor");
    }
    // Where packets come in too, both must fit.
    let (plain, edited) =
        (homes(r#""m": [Rx("in"), Count, Drop]"#), homes(r#""m": [Rx("in"), Edits, Drop]"#));
    assert_eq!(edited[0].small, plain[0].small + 2 * 256);
    // Two in different chains share what is behind both.
    let forked = |stage: &str| {
        let chains = format!(
            r#""m": [Rx("in"), Fork("b"), {stage}, Ring("r"), Drop], "b": [{stage}, Drop("b")]"#
        );
        homes(&chains)[0].small
    };
    assert_eq!(forked("Edits"), forked("Count") + 2 * 2 * 256 + 1024 + 256);
    // Of a joined packet every part.
    let joined = homes(r#""m": [Rx("in"), Gro, Ring("r"), Edits, Gso, Drop]"#);
    assert!(joined[1].small >= 16_384, "{:?}", joined[1]);
}

#[test]
fn a_pool_too_small_for_copies_is_refused_with_the_sum() {
    let text = with_chains(r#""m": [Rx("in"), Edits, Drop]"#);
    let small = text.replace("chains:", "pools: (small: 1279), chains:");
    let editing = registry().with_spec(Edits);
    let expected = "pool of actor m: 1279 small buffers are given, but 1280 packets must fit \
                    (brought in: 768 in bursts = 768; copied to be changed: 512 in bursts = 512; together \
                    768 + 512 = 1280); write `small: 1280`, or put fewer stages between two rings \
                    (description:4:11)";
    assert_eq!(error(&small, &machine(1), &editing), expected);
    let enough = Pipeline::parse(&small.replace("1279", "1280")).expect("a description");
    assert!(enough.plan(&editing, &machine(1)).is_ok());
}

#[test]
fn a_pool_that_is_too_small_or_too_large_is_refused_with_the_sum() {
    let text = with_chains(r#""m": [Rx("in"), Ring(name: "r", capacity: 100), Drop]"#);
    let small = text.replace("chains:", "pools: (small: 800), chains:");
    let expected = "pool of actor m: 800 small buffers are given, but 868 packets must fit \
                    (512 in bursts + 356 in ring r and its stash = 868); \
                    write `small: 868`, or give its rings less capacity (description:4:11)";
    assert_eq!(error(&small, &machine(1), &registry()), expected);
    let enough = text.replace("chains:", "pools: (small: 868), chains:");
    let plan = plan(&enough).unwrap();
    assert_eq!(plan.actors[0].home.small, 868);
    let huge = text.replace("capacity: 100", "capacity: 1048576");
    let message = error(&huge, &machine(1), &registry());
    assert!(message.contains("more than the 1073741824 bytes"), "{message}");
    assert!(message.ends_with("give its rings less capacity"), "{message}");
}

#[test]
fn the_key_that_makes_a_pool_too_large_is_named() {
    let text = with_chains(r#""m": [Rx("in"), Drop]"#);
    for key in ["shells", "small", "large"] {
        let huge = text.replace("chains:", &format!("pools: ({key}: 4294967295), chains:"));
        let expected = format!(
            "pool of actor m: with `{key}: 4294967295` under `pools` it has more than the \
             1073741824 bytes a pool may have; give it less (description:4:11)"
        );
        assert_eq!(error(&huge, &machine(1), &registry()), expected);
    }
    let small = text.replace("chains:", "pools: (small: 10), chains:");
    let message = error(&small, &machine(1), &registry());
    assert!(!message.contains("less capacity"), "there is no ring: {message}");
}

#[test]
fn a_file_has_one_writer() {
    let text = |bad: &str| {
        let chains = format!(r#""m": [Rx("in"), Fork("b"), Tx("out")], "b": [Count, Tx("{bad}")]"#);
        let pcap = |name: &str| format!("\"{name}\": Pcap(write: \"{name}.pcap\")");
        with_chains(&chains).replace("\"out\": Emulated()", &[pcap("out"), pcap("bad")].join(", "))
    };
    assert!(plan(&text("bad")).is_ok());
    let message = error(&text("out"), &machine(1), &registry());
    assert!(message.starts_with("port out: is written by "), "{message}");
    assert!(message.ends_with("a file of its own (description:3:8)"), "{message}");
    let planned = plan(&text("bad")).unwrap();
    let files: Vec<_> = planned.files().iter().filter(|file| file.written).collect();
    let files: Vec<_> = files.iter().map(|file| (&*file.what, file.path.to_str())).collect();
    let writes =
        [("what port out writes", Some("out.pcap")), ("what port bad writes", Some("bad.pcap"))];
    assert_eq!(files, writes);
}

#[test]
fn equal_plans_have_equal_hashes_and_others_do_not() {
    let text = with_chains(r#""m": [Rx("in"), Count, Drop]"#);
    let hash = |text: &str| plan(text).unwrap().hash().to_owned();
    let same = hash(&text);
    assert_eq!(same.len(), 8);
    assert_eq!(hash(&text), same);
    let others = [
        text.replace("Count", "Gso"),
        text.replace("count: 1000", "count: 1001"),
        text.replace("\"test\"", "\"tset\""),
        text.replace("Count", "Count(on_panic: Stop)"),
        text.replace("Count", "Ring, Count"),
        text.replace("Count", "Count(name: \"n\")"),
        text.replace("Emulated()", "Emulated(mtu: 1400)"),
        text.replace("chains:", "hash_seed: 7, chains:"),
        text.replace("chains:", "pools: (large: 70), chains:"),
        text.replace("chains:", "cores: Pin({\"m\": 3}), chains:"),
    ];
    for other in others {
        assert_ne!(hash(&other), same, "{other}");
    }
}

proptest! {
    /// Whatever chains are made of, every stage of the file is in some actor, and every ring has two ends.
    #[test]
    fn no_stage_is_lost(steps in prop::collection::vec(0..3_usize, 1..12)) {
        let words = ["Count", "Gso", "Count, Ring"];
        let chain: Vec<&str> = steps.iter().map(|&step| words[step]).collect();
        let chains = format!(r#""m": [Rx("in"), {}, Count, Drop]"#, chain.join(", "));
        let plan = of(&chains);
        let placed: usize = plan.actors.iter().map(|actor| actor.nodes.len()).sum();
        prop_assert_eq!(placed, steps.len() + 3);
        let rings = steps.iter().filter(|&&step| step == 2).count();
        prop_assert_eq!(plan.rings.len(), rings);
        prop_assert_eq!(plan.actors.len(), rings + 1);
        for (at, ring) in plan.rings.iter().enumerate() {
            prop_assert_eq!((ring.from, ring.to), (at, (at + 1, 0)));
        }
    }
}
