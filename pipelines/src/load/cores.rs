//! `cores: Auto | Count(4) | Pin({ "from_wan": 2..=5, "x": [6], "y": 7 })`.
//!
//! Whether the actors and the CPUs are there is not known here.

use super::Loader;
use crate::error::instead;
use crate::spec::{Cores, Word};
use crate::text::tree::{Kind, Node};

/// No Linux has a CPU of a higher number.
const CPU_MAX: u32 = 8191;
const FORMS: [&str; 3] = ["Auto", "Count", "Pin"];
const EXAMPLES: &str = "write `Auto`, `Count(2)` or `Pin({ \"actor\": 2 })`";

impl Loader {
    /// What is said, and the names of the actors in it.
    pub(super) fn cores(&mut self, node: &Node) -> Option<(Cores, Vec<Word>)> {
        let Kind::Call(call) = &node.kind else {
            self.no_cores(node, None);
            return None;
        };
        let form = call.name.map(|name| self.slice(name).to_owned());
        match (form.as_deref(), call.values.as_slice(), call.fields.as_slice()) {
            (Some("Auto"), [], []) => Some((Cores::Auto, Vec::new())),
            (Some("Count"), [count], []) => {
                let count = self.number(count, "Count", "a number of CPUs", 1..=CPU_MAX + 1)?;
                Some((Cores::Count(count as usize), Vec::new()))
            }
            (Some("Pin"), [pins], []) => Some(self.pins(pins)),
            (form, ..) => {
                self.no_cores(node, form);
                None
            }
        }
    }

    fn no_cores(&mut self, node: &Node, form: Option<&str>) {
        if !node.is_whole() {
            return; // that is noted
        }
        let unknown = form.filter(|form| !FORMS.contains(form));
        let help = unknown.and_then(|form| instead(form, FORMS));
        let help = help.filter(|help| help.starts_with("did you mean"));
        let message = "`cores` says how many CPUs there are, or which";
        self.advise(node.span, "bad-value", message, help.unwrap_or(EXAMPLES.to_owned()));
    }

    fn pins(&mut self, node: &Node) -> (Cores, Vec<Word>) {
        let (mut pins, mut names) = (Vec::new(), Vec::new());
        for (key, value) in self.entries(node, "Pin", "\"main\": 2, \"behind_ring\": [4, 5]") {
            let Some(name) = self.name(key) else { continue };
            let mut cpus = Vec::new();
            match &value.kind {
                Kind::List(nodes) => {
                    if nodes.is_empty() {
                        let message = format!("no CPU is given for actor `{}`", name.text);
                        self.advise(value.span, "bad-value", message, "leave the actor out");
                    }
                    nodes.iter().for_each(|node| self.cpus(node, &mut cpus));
                }
                _ => self.cpus(value, &mut cpus),
            }
            pins.push((name.text.clone(), cpus));
            names.push(name);
        }
        (Cores::Pin(pins), names)
    }

    /// One CPU, or a range of them.
    fn cpus(&mut self, node: &Node, cpus: &mut Vec<usize>) {
        let written = self.slice(node.span).to_owned();
        let what = "the number of a CPU";
        let range = written.split_once("..").filter(|_| matches!(node.kind, Kind::Plain));
        let Some((first, last)) = range else {
            let number = self.number(node, "Pin", what, 0..=CPU_MAX);
            number.into_iter().for_each(|cpu| self.cpu(node, cpu as usize, cpus));
            return;
        };
        let Some(last) = last.strip_prefix('=') else {
            let message = format!("`{written}` leaves open whether its end is in it");
            self.advise(node.span, "bad-value", message, format!("write `{first}..={last}`"));
            return;
        };
        let read = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu <= CPU_MAX);
        match (read(first), read(last)) {
            (Some(first), Some(last)) if first <= last => {
                (first..=last).for_each(|cpu| self.cpu(node, cpu as usize, cpus));
            }
            (Some(first), Some(last)) => {
                let message = format!("`{written}` holds no CPU");
                self.advise(node.span, "bad-value", message, format!("write `{last}..={first}`"));
            }
            _ => {
                let what = format!("ranges such as `2..=5` of CPUs from 0 to {CPU_MAX}");
                self.expected(node, "Pin", &what);
            }
        }
    }

    fn cpu(&mut self, node: &Node, cpu: usize, cpus: &mut Vec<usize>) {
        if cpus.contains(&cpu) {
            let message = format!("CPU {cpu} is given twice for one actor");
            self.advise(
                node.span,
                "bad-value",
                message,
                "each copy of an actor has a CPU of its own",
            );
            return;
        }
        cpus.push(cpu);
    }
}
