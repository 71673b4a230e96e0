//! One row: a case, both times, their ratio, and whether each side's result was right.
//!
//! It promises that every JSON line has the same keys, whatever there is to say, and that the table says no more than
//! the lines do.

use super::stats::{Estimate, estimate, median, ratios};
use serde::Serialize;
use std::io::{self, Write};

/// What was found out about one case. Times are medians, in `unit`; `None` where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What is compared: `ring`, `gro light`, ...
    pub bench: String,
    /// In which case.
    pub case: String,
    /// corelane's figure.
    pub ours: Option<f64>,
    /// The rival's figure.
    pub rival: Option<f64>,
    /// Of both figures: less is better.
    pub unit: String,
    /// Rival over ours, median of the pairs: above 1 ours is faster. `None` where the rival does nothing, and for
    /// ceilings, which nothing can be faster than.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Pairs of windows.
    pub rounds: usize,
    /// Who the rival is.
    pub rival_name: String,
    /// How either side was compiled.
    pub flags: String,
    /// Whether corelane's result is what the slow look says it must be.
    pub correct_ours: Option<bool>,
    /// Whether the rival's is.
    pub correct_rival: Option<bool>,
    /// Of a ceiling: the part of it that ours reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_ceiling: Option<f64>,
}

/// Names of a row.
#[derive(Clone, Debug, Default)]
pub struct Title {
    /// [`Row::bench`].
    pub bench: String,
    /// [`Row::case`].
    pub case: String,
    /// [`Row::unit`].
    pub unit: String,
    /// [`Row::rival_name`].
    pub rival_name: String,
    /// [`Row::flags`].
    pub flags: String,
}

impl Row {
    /// A row with nothing measured yet.
    pub fn new(title: Title) -> Row {
        let Title { bench, case, unit, rival_name, flags } = title;
        Row {
            bench,
            case,
            ours: None,
            rival: None,
            unit,
            ratio: None,
            low: None,
            high: None,
            rounds: 0,
            rival_name,
            flags,
            correct_ours: None,
            correct_rival: None,
            of_ceiling: None,
        }
    }

    /// Fills in times of windows taken in turn; none of the rival's where it does nothing.
    pub fn measured(mut self, ours: &[f64], rival: &[f64]) -> Row {
        self.rounds = ours.len();
        self.ours = figure(ours);
        self.rival = figure(rival);
        if !rival.is_empty() {
            let Estimate { median, low, high } = estimate(&ratios(ours, rival));
            (self.ratio, self.low, self.high) =
                (Some(rounded(median)), Some(rounded(low)), Some(rounded(high)));
        }
        self
    }

    /// The rival is a ceiling: there is no ratio, but a part of it.
    pub fn into_ceiling(mut self) -> Row {
        self.of_ceiling = self.ratio.take();
        (self.low, self.high) = (None, None);
        self
    }

    /// What was found out about the results of either side.
    pub fn judged(mut self, ours: Option<bool>, rival: Option<bool>) -> Row {
        (self.correct_ours, self.correct_rival) = (ours, rival);
        self
    }

    /// Writes it as one line.
    ///
    /// # Errors
    /// What writing says.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self).map_err(io::Error::from)?;
        out.write_all(b"\n")
    }

    /// The line of the table.
    pub fn text(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), plain);
        let ratio = match (self.ratio, self.low, self.high, self.of_ceiling) {
            (Some(ratio), Some(low), Some(high), _) => format!("{ratio:.2} ({low:.2}-{high:.2})"),
            (.., Some(part)) => format!("{:.0} % of it", part * 100.0),
            _ => "-".to_owned(),
        };
        let told = |right: Option<bool>| match right {
            Some(true) => "right",
            Some(false) => "WRONG",
            None => "-",
        };
        format!(
            "{:<12} {:<44} {:>9} {:>9}  {:<20} {:<6} {:<6} {}",
            self.bench,
            self.case,
            number(self.ours),
            number(self.rival),
            ratio,
            told(self.correct_ours),
            told(self.correct_rival),
            self.rival_name,
        )
    }

    /// The heading over [`Row::text`].
    pub fn heading() -> String {
        format!(
            "{:<12} {:<44} {:>9} {:>9}  {:<20} {:<6} {:<6} {}",
            "bench", "case", "ours", "rival", "ratio (95 %)", "ours", "rival", "rival is"
        )
    }
}

fn figure(times: &[f64]) -> Option<f64> {
    (!times.is_empty()).then(|| rounded(median(times)))
}

/// Four digits that mean something.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

fn plain(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const KEYS: [&str; 13] = [
        "bench",
        "case",
        "ours",
        "rival",
        "unit",
        "ratio",
        "low",
        "high",
        "rounds",
        "rival_name",
        "flags",
        "correct_ours",
        "correct_rival",
    ];

    fn title() -> Title {
        Title {
            bench: "ring".to_owned(),
            case: "\"quoted\"".to_owned(),
            unit: "ns/object".to_owned(),
            rival_name: "rte_ring".to_owned(),
            flags: "-O3".to_owned(),
        }
    }

    fn parsed(row: &Row) -> Value {
        let mut line = Vec::new();
        row.write(&mut line).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        assert!(!line.contains(&b'\n'), "one row is one line");
        // The order that a reader sees is that of the struct.
        let text = String::from_utf8(line).unwrap();
        let places: Vec<_> =
            KEYS.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn sorted(mut keys: Vec<&str>) -> Vec<&str> {
        keys.sort_unstable();
        keys
    }

    #[test]
    fn a_line_has_every_key_and_no_other() {
        let times = [2.0; 9];
        let rows = [
            Row::new(title()),
            Row::new(title()).measured(&times, &[3.0; 9]).judged(Some(true), Some(false)),
            Row::new(title()).measured(&times, &[]),
        ];
        for row in &rows {
            assert_eq!(sorted(keys(&parsed(row))), sorted(KEYS.to_vec()));
        }
        let line = parsed(&rows[1]);
        assert_eq!((line["ours"].as_f64(), line["rival"].as_f64()), (Some(2.0), Some(3.0)));
        assert_eq!(line["ratio"], 1.5);
        assert_eq!((line["low"].as_f64(), line["high"].as_f64()), (Some(1.5), Some(1.5)));
        assert_eq!(line["rounds"], 9);
        assert_eq!((&line["correct_ours"], &line["correct_rival"]), (&true.into(), &false.into()));
        assert_eq!(line["case"], "\"quoted\"");
    }

    #[test]
    fn a_rival_that_does_nothing_has_no_ratio() {
        let line = parsed(&Row::new(title()).measured(&[2.0; 9], &[]));
        assert_eq!(line["ours"], 2.0);
        for key in ["rival", "ratio", "low", "high"] {
            assert!(line[key].is_null(), "{key}");
        }
    }

    #[test]
    fn a_ceiling_has_a_part_in_the_place_of_a_ratio() {
        let row = Row::new(title()).measured(&[4.0; 9], &[1.0; 9]).into_ceiling();
        let line = parsed(&row);
        let all: Vec<&str> = KEYS.into_iter().chain(["of_ceiling"]).collect();
        assert_eq!(sorted(keys(&line)), sorted(all));
        assert_eq!(line["of_ceiling"], 0.25);
        for key in ["ratio", "low", "high"] {
            assert!(line[key].is_null(), "{key}");
        }
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!(rounded(1234.56), 1235.0);
        assert_eq!(rounded(0.012_345_6), 0.012_35);
        assert_eq!(rounded(0.0), 0.0);
    }
}
