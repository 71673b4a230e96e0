//! The rules of placement, checked on the finished plan with nothing of the planner's code: what must hold on any
//! machine for any pipeline.

use crate::machines::Fake;
use corelane::{PlacedActor, Placement};
use std::collections::{BTreeMap, BTreeSet};

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Auto,
    Count(usize),
    /// CPUs by actor.
    Pin(Vec<(&'static str, Vec<usize>)>),
}

impl Asked {
    pub(crate) fn ron(&self) -> String {
        match self {
            Asked::Auto => "Auto".to_owned(),
            Asked::Count(count) => format!("Count({count})"),
            Asked::Pin(pins) => {
                let pins = pins.iter().map(|(name, cpus)| format!("\"{name}\": {cpus:?}"));
                format!("Pin({{ {} }})", pins.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A placement with the machine it is on; `allowed` are the CPUs the process may use.
pub(crate) struct Checker<'a> {
    pub(crate) allowed: &'a [Fake],
    pub(crate) asked: &'a Asked,
    pub(crate) placement: &'a Placement,
    pub(crate) context: String,
}

impl Checker<'_> {
    pub(crate) fn check(&self) {
        self.names();
        self.cpus();
        self.cores();
        self.pins();
        self.rings();
        self.reasons();
        self.left_free();
    }

    fn actors(&self) -> &[PlacedActor] {
        &self.placement.actors
    }

    fn fake(&self, cpu: usize) -> &Fake {
        let found = self.allowed.iter().find(|known| known.id == cpu);
        found.unwrap_or_else(|| panic!("{}: CPU {cpu} may not be used", self.context))
    }

    fn cpu_of(&self, actor: &PlacedActor) -> usize {
        actor.cpu.unwrap_or_else(|| panic!("{}: {} has no CPU", self.context, actor.name))
    }

    fn used(&self) -> BTreeSet<usize> {
        self.actors().iter().map(|actor| self.cpu_of(actor)).collect()
    }

    /// Names are unique, and copies are numbered from 0 on.
    fn names(&self) {
        let names: BTreeSet<&str> = self.actors().iter().map(|actor| actor.name.as_str()).collect();
        assert_eq!(names.len(), self.actors().len(), "{}: names repeat", self.context);
        let mut copies: BTreeMap<&str, usize> = BTreeMap::new();
        for actor in self.actors() {
            let copy = copies.entry(&actor.actor).or_default();
            let expected = match actor.copies {
                1 => actor.actor.clone(),
                _ => format!("{}#{copy}", actor.actor),
            };
            assert_eq!(actor.name, expected, "{}", self.context);
            *copy += 1;
        }
        for actor in self.actors() {
            assert_eq!(copies[actor.actor.as_str()], actor.copies, "{}", self.context);
        }
        let rings: BTreeSet<&str> =
            self.placement.rings.iter().map(|ring| ring.name.as_str()).collect();
        assert_eq!(rings.len(), self.placement.rings.len(), "{}: ring names repeat", self.context);
    }

    /// One CPU each, an allowed one, and buffers on its node.
    fn cpus(&self) {
        for actor in self.actors() {
            let cpu = self.fake(self.cpu_of(actor));
            assert_eq!(actor.node, Some(cpu.node as u32), "{}: {}", self.context, actor.name);
        }
        if let Asked::Count(count) = self.asked {
            assert!(self.used().len() <= *count, "{}: too many CPUs", self.context);
        }
    }

    /// No core is used twice while another is free, none small while a fast one is, no node before the first is
    /// full. For what the file pins the file answers.
    fn cores(&self) {
        if matches!(self.asked, Asked::Pin(_)) {
            return;
        }
        let core = |cpu: &Fake| (cpu.package, cpu.core);
        let used = self.used();
        let busy: BTreeSet<_> = used.iter().map(|cpu| core(self.fake(*cpu))).collect();
        let idle = || self.allowed.iter().filter(|cpu| !busy.contains(&core(cpu)));
        let free = || match self.asked {
            // Asked for fewer CPUs than there are, more than one on a core is still wrong.
            Asked::Count(count) if used.len() >= *count => {
                busy.len() < used.len() && idle().next().is_some()
            }
            _ => idle().next().is_some(),
        };
        if busy.len() < used.len() {
            assert!(!free(), "{}: siblings share a core while another is idle", self.context);
        }
        if used.iter().any(|cpu| self.fake(*cpu).small) {
            let fast = idle().any(|cpu| !cpu.small);
            assert!(!fast, "{}: a small core is used while a fast one is idle", self.context);
        }
        if matches!(self.asked, Asked::Auto) && free() {
            used.iter().for_each(|cpu| self.lane(*cpu));
        }
        let nodes: BTreeSet<usize> = used.iter().map(|cpu| self.fake(*cpu).node).collect();
        let cores_of = |node: usize| {
            let cpus = self.allowed.iter().filter(|cpu| cpu.node == node);
            cpus.map(core).collect::<BTreeSet<_>>().len()
        };
        let fits = self.allowed.iter().map(|cpu| cpu.node).any(|node| cores_of(node) >= used.len());
        if fits {
            assert_eq!(nodes.len(), 1, "{}: two nodes where one has cores enough", self.context);
        }
    }

    /// On one CPU while another core is idle are only copies of one number, each of another actor: they have the
    /// same queues of the ports between them.
    fn lane(&self, cpu: usize) {
        let here = self.actors().iter().filter(|actor| actor.cpu == Some(cpu));
        let ends = here.clone().map(|actor| actor.name.rsplit_once('#').map(|(_, copy)| copy));
        let numbers: BTreeSet<Option<&str>> = ends.collect();
        let shares = here.count() > 1;
        let lane = numbers.len() == 1 && !numbers.contains(&None);
        assert!(lane || !shares, "{}: actors share CPU {cpu} for no reason", self.context);
    }

    /// What is pinned is where the file has it, copy by copy, and others keep away while they can.
    fn pins(&self) {
        let Asked::Pin(pins) = self.asked else { return };
        let pinned: BTreeSet<usize> = pins.iter().flat_map(|(_, cpus)| cpus.clone()).collect();
        let elsewhere = self.allowed.iter().any(|cpu| !pinned.contains(&cpu.id));
        for (name, cpus) in pins {
            let copies = self.actors().iter().filter(|actor| actor.actor == *name);
            let on: Vec<usize> = copies.map(|actor| self.cpu_of(actor)).collect();
            assert_eq!(&on, cpus, "{}: {name}", self.context);
        }
        for actor in self.actors() {
            let by_file = pins.iter().any(|(name, _)| *name == actor.actor);
            if !by_file && elsewhere {
                let apart = !pinned.contains(&self.cpu_of(actor));
                assert!(apart, "{}: {} is on a pinned CPU", self.context, actor.name);
            }
            assert_eq!(by_file, actor.why.starts_with("pinned by the file"), "{}", self.context);
        }
    }

    /// Each pair of copies on the two sides of a ring has one ring; who reads and who feeds them exists.
    fn rings(&self) {
        let base = |name: &str| {
            let actor = self.actors().iter().find(|actor| actor.name == name);
            actor.unwrap_or_else(|| panic!("{}: no actor {name}", self.context))
        };
        let mut pairs: BTreeMap<(&str, &str), BTreeSet<(&str, &str)>> = BTreeMap::new();
        for ring in &self.placement.rings {
            let (from, to) = (base(&ring.from), base(&ring.to));
            let pair = pairs.entry((&from.actor, &to.actor)).or_default();
            assert!(
                pair.insert((&ring.from, &ring.to)),
                "{}: {} is there twice",
                self.context,
                ring.name
            );
        }
        let copies =
            |actor: &str| self.actors().iter().filter(|known| known.actor == actor).count();
        for ((from, to), rings) in pairs {
            let expected = copies(from) * copies(to);
            assert_eq!(rings.len(), expected, "{}: rings {from} -> {to}", self.context);
        }
    }

    /// What reasons say about cores, CPUs and partners is so.
    fn reasons(&self) {
        for actor in self.actors() {
            let cpu = self.cpu_of(actor);
            let here = self.actors().iter().filter(|other| other.cpu == Some(cpu)).count();
            let mates: Vec<usize> = self
                .used()
                .into_iter()
                .filter(|other| {
                    let (one, other) = (self.fake(*other), self.fake(cpu));
                    one.id != cpu && (one.package, one.core) == (other.package, other.core)
                })
                .collect();
            let says = |part: &str| actor.why.contains(part);
            let context = format!("{}: {} says \"{}\"", self.context, actor.name, actor.why);
            assert_eq!(says("own physical core"), here == 1 && mates.is_empty(), "{context}");
            assert_eq!(says(&format!("shares cpu {cpu} with {}", here - 1)), here > 1, "{context}");
            let numbers = format!("{} actors, {} CPU", self.actors().len(), self.used().len());
            assert!(here == 1 || says(&numbers), "{context}");
            assert_eq!(
                says("SMT sibling of cpu ") || says("shares its core with cpu "),
                !mates.is_empty(),
                "{context}"
            );
            let cores: BTreeSet<_> =
                self.allowed.iter().map(|cpu| (cpu.package, cpu.core)).collect();
            let asked = if let Asked::Count(count) = self.asked { *count } else { 0 };
            assert!(
                !says("more actors than cores") || self.actors().len() > cores.len(),
                "{context}"
            );
            assert!(!says("more CPUs asked for than cores") || asked > cores.len(), "{context}");
            for mate in mates {
                assert!(says(&format!("cpu {mate}")), "{context}");
            }
            assert_eq!(says("a small core"), self.fake(cpu).small, "{context}");
            let nodes: BTreeSet<usize> = self.allowed.iter().map(|cpu| cpu.node).collect();
            if let Some((_, node)) = actor.why.split_once("node ") {
                let number: String = node.chars().take_while(char::is_ascii_digit).collect();
                assert_eq!(number, self.fake(cpu).node.to_string(), "{context}");
                assert!(nodes.len() > 1, "{context}");
            }
            let copies = match actor.copies {
                1 => "1 copy: ".to_owned(),
                copies => format!("{copies} copies: "),
            };
            assert!(actor.why_copies.starts_with(&copies), "{context}: {}", actor.why_copies);
            self.nearness(actor, &context);
        }
    }

    fn nearness(&self, actor: &PlacedActor, context: &str) {
        let Some((_, named)) = actor.why.split_once("same L3 cache as ") else { return };
        let cpu = self.fake(self.cpu_of(actor));
        for name in named.split(" and ") {
            let partners = self.actors().iter().filter(|other| other.actor == name);
            let joined: Vec<&PlacedActor> = partners
                .filter(|other| {
                    let ends = (&actor.name, &other.name);
                    self.placement.rings.iter().any(|ring| {
                        (&ring.from, &ring.to) == ends || (&ring.to, &ring.from) == ends
                    })
                })
                .collect();
            assert!(!joined.is_empty(), "{context}: {name} is no partner");
            for other in joined {
                assert_eq!(self.fake(self.cpu_of(other)).l3, cpu.l3, "{context}");
            }
        }
    }

    /// Every CPU is used or left free, once, and what is called a sibling is one.
    fn left_free(&self) {
        let mut all: Vec<usize> = self.used().into_iter().collect();
        let core = |cpu: usize| (self.fake(cpu).package, self.fake(cpu).core);
        let busy: BTreeSet<_> = self.used().into_iter().map(core).collect();
        for (cpus, reason) in &self.placement.left_free {
            all.extend(cpus);
            for cpu in cpus {
                let sibling = reason == "SMT siblings of used cores";
                assert_eq!(busy.contains(&core(*cpu)), sibling, "{}: {cpu} {reason}", self.context);
            }
        }
        all.sort_unstable();
        let expected: Vec<usize> = self.allowed.iter().map(|cpu| cpu.id).collect();
        assert_eq!(all, expected, "{}: CPUs used or left free", self.context);
    }
}
