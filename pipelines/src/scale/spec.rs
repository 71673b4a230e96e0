//! What a description says of measuring it: `scale: (cores: [1, 2], sweep: { "size": [64, Imix] }, ..)`; and what is
//! done where it says nothing.
//!
//! Values only. The loader reads them; whether the plans can be made is found when they are made.

use corelane_runtime::topology::Machine;
use serde::Serialize;
use std::time::Duration;

/// What the description says; `None`: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScaleSpec {
    pub(crate) cores: Option<Vec<usize>>,
    pub(crate) sweep: Vec<Sweep>,
    pub(crate) warm_up: Option<Duration>,
    pub(crate) measure: Option<Duration>,
    pub(crate) rounds: Option<u32>,
}

/// A parameter, and the values it is given in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Its name.
    pub parameter: String,
    /// Its values, as `--set` takes them.
    pub values: Vec<String>,
}

/// What is measured, how long and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scaling {
    /// How many CPUs, step by step, rising.
    pub cores: Vec<usize>,
    /// Values of parameters: each of the first with each of the second, and so on.
    #[serde(skip)]
    pub sweep: Vec<Sweep>,
    /// How long a pipeline runs before it is measured.
    #[serde(rename = "warm_up_s", serialize_with = "seconds")]
    pub warm_up: Duration,
    /// How long it is measured.
    #[serde(rename = "measure_s", serialize_with = "seconds")]
    pub measure: Duration,
    /// How often each step is measured.
    pub rounds: u32,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// Before each window, where nothing is said.
const WARM_UP: Duration = Duration::from_millis(200);
/// Each window, where nothing is said.
const MEASURE: Duration = Duration::from_secs(1);
/// Rounds, where nothing is said.
const ROUNDS: u32 = 5;

/// Shortest window: reading the books at its ends takes a tenth of a millisecond or so.
pub(crate) const MEASURE_MIN: Duration = Duration::from_millis(10);
/// Longest warm-up, and longest window.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(24 * 3600);
/// Most rounds.
pub(crate) const ROUNDS_MAX: u32 = 1000;
/// Most steps: numbers of CPUs times combinations of values.
pub(crate) const STEPS_MAX: usize = 1000;

impl Scaling {
    /// What is said, and the defaults for the rest: powers of two up to the CPUs of the machine, and those; no sweep;
    /// windows of 1 s after 200 ms, 5 rounds.
    pub(crate) fn of(spec: &ScaleSpec, machine: &Machine) -> Scaling {
        Scaling {
            cores: spec.cores.clone().unwrap_or_else(|| powers_up_to(machine.cpus.len())),
            sweep: spec.sweep.clone(),
            warm_up: spec.warm_up.unwrap_or(WARM_UP),
            measure: spec.measure.unwrap_or(MEASURE),
            rounds: spec.rounds.unwrap_or(ROUNDS),
        }
    }

    /// Every combination of values of the swept parameters, the last one changing fastest; one without values where
    /// nothing is swept.
    pub(crate) fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for Sweep { parameter, values } in &self.sweep {
            let with = |before: &Vec<(String, String)>| -> Vec<Vec<(String, String)>> {
                let each = values.iter().map(|value| {
                    let mut with = before.clone();
                    with.push((parameter.clone(), value.clone()));
                    with
                });
                each.collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }
}

/// 1, 2, 4 and so on, and the number itself.
fn powers_up_to(most: usize) -> Vec<usize> {
    let most = most.max(1);
    let mut cores: Vec<usize> = std::iter::successors(Some(1_usize), |n| n.checked_mul(2))
        .take_while(|&n| n < most)
        .collect();
    cores.push(most);
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_means_powers_of_two_up_to_the_machine() {
        let cores = [0, 1, 2, 3, 4, 6, 8].map(powers_up_to);
        let expected: [&[usize]; 7] =
            [&[1], &[1], &[1, 2], &[1, 2, 3], &[1, 2, 4], &[1, 2, 4, 6], &[1, 2, 4, 8]];
        assert_eq!(cores, expected.map(<[usize]>::to_vec));
    }

    #[test]
    fn each_value_meets_each() {
        let sweep = |parameter: &str, values: &[&str]| Sweep {
            parameter: parameter.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let spec = ScaleSpec {
            sweep: vec![sweep("size", &["64", "Imix"]), sweep("flows", &["1", "9"])],
            ..ScaleSpec::default()
        };
        let scaling = Scaling::of(&spec, &Machine::of(Vec::new(), "test"));
        let all = scaling.combinations();
        let shown: Vec<String> = all
            .iter()
            .map(|sets| sets.iter().map(|(k, v)| format!("{k}={v} ")).collect::<String>())
            .collect();
        assert_eq!(
            shown,
            ["size=64 flows=1 ", "size=64 flows=9 ", "size=Imix flows=1 ", "size=Imix flows=9 "]
        );
        let nothing = Scaling { sweep: Vec::new(), ..scaling };
        assert_eq!(nothing.combinations(), [[]]);
    }
}
