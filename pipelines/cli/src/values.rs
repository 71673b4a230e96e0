//! How values on the command line are read: assignments, times, numbers of CPUs.
//!
//! A value that cannot be read is told what to write instead. Whether it makes sense for the pipeline at hand
//! is not known here.

use std::time::Duration;

/// CPU numbers, each once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

/// `NAME=VALUE`; a value may hold further equals signs.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Longer than anything runs, and short enough that no clock overflows.
const TIME_MAX: Duration = Duration::from_secs(1_000_000_000);

/// A number and a unit.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit: 500ms, 10s, 2min".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = number * factor;
    if seconds > TIME_MAX.as_secs_f64() {
        return Err(format!("at most {}s are possible", TIME_MAX.as_secs()));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Shorter periods would make a report most of the work.
const PERIOD_MIN: Duration = Duration::from_millis(10);

/// As [`time`], for what is done again and again.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    match time(text)? {
        short if short < PERIOD_MIN => {
            Err(format!("at least {}ms are needed", PERIOD_MIN.as_millis()))
        }
        period => Ok(period),
    }
}

/// How many CPUs.
pub(crate) fn cores(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number of CPUs, at least 1".to_owned()),
        Ok(cores) => Ok(cores),
    }
}

/// More than any machine has; keeps a slip of the finger from filling memory.
const CPU_MAX: usize = 65_536;

/// Numbers and ranges of CPUs.
pub(crate) fn cpus(text: &str) -> Result<CpuList, String> {
    let wrong = || "write CPU numbers and ranges: 2-5,7".to_owned();
    let number = |text: &str| {
        text.trim().parse::<usize>().ok().filter(|&cpu| cpu < CPU_MAX).ok_or_else(wrong)
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(CpuList(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        for wrong in ["10", "s", "", "-1s", "1h", "1e400s", "nans", "10000000000000000000s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_period_is_not_too_short() {
        assert_eq!(period("10ms"), Ok(Duration::from_millis(10)));
        for wrong in ["0s", "9.9ms", "-1s"] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpu_lists_are_sorted_and_each_cpu_is_there_once() {
        assert_eq!(cpus("7,2-4,3"), Ok(CpuList(vec![2, 3, 4, 7])));
        for wrong in ["", "5-2", "a", "1-", "99999999", "1,,2"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(assignment("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(assignment("a="), Ok(("a".into(), String::new())));
        assert!(assignment("a").is_err() && assignment("=a").is_err());
    }
}
