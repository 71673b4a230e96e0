//! The key `scale`: how a pipeline is measured on more and more cores, read key by key, every mistake at its place.
//!
//! Whether a plan can be made for each number of cores and each value is found when it is made.

use super::Loader;
use crate::error::instead;
use crate::scale::spec::{MEASURE_MIN, ROUNDS_MAX, STEPS_MAX, ScaleSpec, Sweep, TIME_MAX};
use crate::text::params::string_value;
use crate::text::tree::{Call, Kind, Node};
use corelane_stages::config::Nanoseconds;
use std::time::Duration;

const KEYS: [&str; 5] = ["cores", "sweep", "warm_up", "measure", "rounds"];
/// No Linux has more CPUs.
const CORES_MAX: u32 = 8192;

impl Loader {
    /// What is to be measured; `pipeline` is all of the file.
    pub(super) fn scale(&mut self, node: &Node, pipeline: &Call) -> ScaleSpec {
        let mut spec = ScaleSpec::default();
        let call = match &node.kind {
            Kind::Call(call) if call.name.is_none() => call,
            _ => {
                self.expected(node, "scale", "keys and values: (cores: [1, 2], rounds: 5)");
                return spec;
            }
        };
        if let Some(value) = call.values.iter().find(|value| value.is_whole()) {
            let message = "`scale` takes no value without a key";
            self.advise(value.span, "mixed-arguments", message, "write `cores: [1, 2]`");
        }
        for field in call.fields.iter().filter(|field| field.value.is_sound()) {
            let (key, value) = (self.slice(field.key).to_owned(), &field.value);
            match key.as_str() {
                "cores" => spec.cores = self.scale_cores(value),
                "sweep" => spec.sweep = self.sweep(value, pipeline),
                "warm_up" => spec.warm_up = self.window(value, &key, Duration::ZERO),
                "measure" => spec.measure = self.window(value, &key, MEASURE_MIN),
                "rounds" => {
                    spec.rounds = self.number(value, &key, "a number of rounds", 1..=ROUNDS_MAX);
                }
                unknown => {
                    let message = format!("`scale` has no key `{unknown}`");
                    let help = instead(unknown, KEYS);
                    self.problems.error(&self.text, field.key, "unknown-key", message, help);
                }
            }
        }
        self.too_many_steps(node, &spec);
        spec
    }

    /// Numbers of CPUs, in rising order whatever the order of the file.
    fn scale_cores(&mut self, node: &Node) -> Option<Vec<usize>> {
        let Kind::List(nodes) = &node.kind else {
            self.expected(node, "cores", "a list of numbers of CPUs: [1, 2, 4]");
            return None;
        };
        if nodes.is_empty() {
            self.advise(node.span, "bad-value", "`cores` is empty", "write `cores: [1, 2]`");
        }
        let mut cores = Vec::new();
        for node in nodes {
            let number = self.number(node, "cores", "numbers of CPUs", 1..=CORES_MAX);
            let Some(number) = number.and_then(|number| usize::try_from(number).ok()) else {
                continue;
            };
            if cores.contains(&number) {
                let message = format!("{number} CPUs are in the list already");
                self.advise(node.span, "bad-value", message, "keep one of them");
                continue;
            }
            cores.push(number);
        }
        cores.sort_unstable();
        (!cores.is_empty()).then_some(cores)
    }

    fn window(&mut self, node: &Node, key: &str, least: Duration) -> Option<Duration> {
        let time: Nanoseconds = self.value(node, key, "a time such as \"500ms\"")?;
        let time = Duration::from_nanos(time.0);
        if time < least || time > TIME_MAX {
            let hours = TIME_MAX.as_secs() / 3600;
            let what = match least.is_zero() {
                true => format!("a time of at most {hours} hours"),
                false => format!("a time from {}ms to {hours} hours", least.as_millis()),
            };
            self.expected(node, key, &what);
            return None;
        }
        Some(time)
    }

    fn sweep(&mut self, node: &Node, pipeline: &Call) -> Vec<Sweep> {
        let params = self.defaults(pipeline);
        let mut sweeps: Vec<Sweep> = Vec::new();
        for (key, value) in self.entries(node, "sweep", "\"size\": [64, 1518]") {
            let Some(name) = self.name(key) else { continue };
            let Some((_, is_text)) = params.iter().find(|(known, _)| *known == name.text) else {
                let message = format!("the file has no parameter `{}`", name.text);
                let help = instead(&name.text, params.iter().map(|(name, _)| name.as_str()));
                self.problems.error(&self.text, key.span, "bad-set", message, help);
                continue;
            };
            let Kind::List(nodes) = &value.kind else {
                self.expected(value, "sweep", "a list of values for each parameter: [64, 1518]");
                continue;
            };
            if nodes.is_empty() {
                let message = format!("no value is given for parameter `{}`", name.text);
                self.advise(value.span, "bad-value", message, "leave the parameter out");
                continue;
            }
            let values = nodes.iter().map(|node| self.swept(node, *is_text)).collect();
            sweeps.push(Sweep { parameter: name.text, values });
        }
        sweeps
    }

    /// A value as it would be set on the command line.
    fn swept(&self, node: &Node, is_text: bool) -> String {
        let written = self.slice(node.span);
        match node.kind {
            Kind::Str if is_text => string_value(written).unwrap_or_default(),
            _ => written.to_owned(),
        }
    }

    /// The parameters that the file has, and whether the default of each is a text.
    fn defaults(&self, pipeline: &Call) -> Vec<(String, bool)> {
        let field = pipeline.fields.iter().find(|field| self.slice(field.key) == "params");
        let Some(Kind::Map(entries)) = field.map(|field| &field.value.kind) else {
            return Vec::new();
        };
        let entries = entries.iter().filter_map(|(key, default)| {
            let is_text = matches!(default.kind, Kind::Str);
            Some((string_value(self.slice(key.span))?, is_text))
        });
        entries.collect()
    }

    fn too_many_steps(&mut self, node: &Node, spec: &ScaleSpec) {
        let cores = spec.cores.as_ref().map_or(1, Vec::len);
        let steps =
            spec.sweep.iter().fold(cores, |steps, sweep| steps.saturating_mul(sweep.values.len()));
        if steps > STEPS_MAX {
            let message = format!("`scale` has {steps} steps; {STEPS_MAX} are possible");
            self.advise(node.span, "too-many-entries", message, "sweep fewer values at once");
        }
    }
}
