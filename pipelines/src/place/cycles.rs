//! No circle of rings that wait: an actor in one could wait for itself, and the run would never end.
//!
//! Chains form no circle and a ring only says where a packet changes actors, so the planner makes none; this
//! check looks at the finished plan and does not rely on that. Rings that drop instead of waiting may form one.

use super::Plan;
use corelane_runtime::Error;
use corelane_runtime::edge::OnFull;

/// Refuses a plan in which actors wait for each other in a circle.
pub(super) fn check(plan: &Plan) -> Result<(), Error> {
    let waits = plan.rings.iter().filter(|ring| ring.on_full == OnFull::Wait);
    let edges: Vec<(usize, usize)> = waits.map(|ring| (ring.from, ring.to.0)).collect();
    let Some(cycle) = cycle(plan.actors.len(), &edges) else { return Ok(()) };
    let name = |actor: &usize| plan.actors[*actor].name.as_str();
    let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
    let message = format!(
        "wait for each other in a circle: {}; let one of them drop what does not fit (`on_full: DropNewest`)",
        names.join(" -> ")
    );
    Err(Error::user("actors", message))
}

/// The nodes of some circle, in order, if there is one.
fn cycle(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut next = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        next[from].push(to);
    }
    // Without those that nothing comes to, again and again: what is left has a circle behind every node.
    let mut before = vec![0; nodes];
    edges.iter().for_each(|&(_, to)| before[to] += 1);
    let mut free: Vec<usize> = (0..nodes).filter(|&node| before[node] == 0).collect();
    let mut gone = vec![false; nodes];
    while let Some(node) = free.pop() {
        gone[node] = true;
        for &to in &next[node] {
            before[to] -= 1;
            if before[to] == 0 {
                free.push(to);
            }
        }
    }
    // Every node left has one before it that is left too: going backwards comes round.
    let mut way = vec![(0..nodes).find(|&node| !gone[node])?];
    loop {
        let at = *way.last()?;
        let &(from, _) = edges.iter().find(|&&(from, to)| to == at && !gone[from])?;
        if let Some(start) = way.iter().position(|&node| node == from) {
            let mut circle = way.split_off(start);
            circle.reverse();
            return Some(circle);
        }
        way.push(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{plan, with_chains};
    use crate::place::PlannedRing;
    use proptest::prelude::*;

    #[test]
    fn a_circle_of_waiting_rings_is_refused_and_named() {
        let chains = r#""m": [Rx("in"), Ring("a"), Count, Ring("b"), Drop]"#;
        let mut plan = plan(&with_chains(chains)).unwrap();
        assert!(check(&plan).is_ok());
        let back = PlannedRing {
            name: "back".to_owned(),
            from: 2,
            to: (1, 0),
            capacity: 1,
            on_full: OnFull::Wait,
            place: None,
            reason: String::new(),
        };
        plan.rings.push(back);
        let error = check(&plan).expect_err("a circle").to_string();
        assert!(error.starts_with("actors: wait for each other in a circle: "), "{error}");
        assert!(error.contains("a -> b -> a;") || error.contains("b -> a -> b;"), "{error}");
        plan.rings[2].on_full = OnFull::DropNewest;
        assert!(check(&plan).is_ok(), "what drops does not wait");
    }

    proptest! {
        /// Against the plain definition: a node that can be reached from itself.
        #[test]
        fn a_circle_is_found_exactly_where_a_node_reaches_itself(
            edges in prop::collection::vec((0..8_usize, 0..8_usize), 0..14),
        ) {
            let mut reach = [[false; 8]; 8];
            edges.iter().for_each(|&(from, to)| reach[from][to] = true);
            for via in 0..8 {
                for from in 0..8 {
                    for to in 0..8 {
                        reach[from][to] |= reach[from][via] && reach[via][to];
                    }
                }
            }
            let found = cycle(8, &edges);
            prop_assert_eq!(found.is_some(), (0..8).any(|node| reach[node][node]));
            for (at, &node) in found.iter().flatten().enumerate() {
                let circle = found.as_ref().unwrap();
                prop_assert!(edges.contains(&(node, circle[(at + 1) % circle.len()])));
            }
        }
    }
}
