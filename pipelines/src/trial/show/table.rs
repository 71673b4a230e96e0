//! Three frames side by side: sent, expected, received, header by header.
//!
//! Headers stand in a row with those of their kind, from the innermost out, so that a frame that got or lost a tunnel
//! is still beside the one it came of. A header that is the same in all is one line.

use super::super::outcome::{FrameMismatch, LayerView};
use crate::shown::visible;
use std::fmt::{self, Write};

/// Columns of the name of a field, and of each value.
const NAME: usize = 17;
const VALUE: usize = 20;
/// Names of the columns.
const HEADS: [&str; 3] = ["sent", "expected", "received"];
const EXPECTED: usize = 1;
const RECEIVED: usize = 2;

/// Headers that stand in a row: the number of each in its frame.
struct Row {
    layer: String,
    cells: [Option<usize>; 3],
}

/// Writes the frames of a mismatch.
pub(super) fn write(mismatch: &FrameMismatch, out: &mut dyn Write) -> fmt::Result {
    let frames = [&mismatch.sent, &mismatch.expected, &mismatch.received];
    let frames = frames.map(|frame| frame.as_deref().unwrap_or_default());
    let heads = HEADS.map(|head| format!("{head:<VALUE$} "));
    writeln!(out, "{}", format!("  {:NAME$} {}", "", heads.concat()).trim_end())?;
    let different = mismatch.first.as_ref().map(|first| (first.depth, first.layer.as_str()));
    for row in rows(&frames) {
        let views = [0, 1, 2].map(|column| {
            let number: Option<usize> = row.cells[column];
            number.and_then(|number| frames[column].get(number))
        });
        // The header that the first difference is in stands here.
        let is_it = |column: usize| {
            different.is_some_and(|(depth, layer)| {
                row.cells[column] == Some(depth) && row.layer == layer
            })
        };
        let field = mismatch.first.as_ref().filter(|_| is_it(EXPECTED) || is_it(RECEIVED));
        let field = field.and_then(|first| first.field.as_deref());
        layer(&row.layer, &views, field, out)?;
    }
    Ok(())
}

fn layer(
    name: &str,
    views: &[Option<&LayerView>; 3],
    different: Option<&str>,
    out: &mut dyn Write,
) -> fmt::Result {
    let mut fields: Vec<&str> = Vec::new();
    for (field, _) in views.iter().flatten().flat_map(|view| view.fields.iter()) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    let value = |column: usize, field: &str| {
        views[column].and_then(|view| view.fields.get(field)).map(String::as_str)
    };
    let is_wrong = |field: &&str| {
        different == Some(*field)
            || value(EXPECTED, field).is_some_and(|expected| {
                let words = ["Good", "Bad"].contains(&expected);
                !words && value(RECEIVED, field) != Some(expected)
            })
    };
    let is_odd = |field: &&str| value(0, field) != value(RECEIVED, field) || is_wrong(field);
    if views.iter().all(Option::is_some) && !fields.iter().any(is_odd) {
        return writeln!(out, "  {name:NAME$} the same");
    }
    let there = views.map(|view| if view.is_some() { "" } else { "-" });
    let cells = there.map(|there| format!("{there:<VALUE$} ")).concat();
    writeln!(out, "{}", format!("  {name:NAME$} {cells}").trim_end())?;
    for field in fields {
        let mark = if is_wrong(&field) { '*' } else { ' ' };
        line(mark, field, &[0, 1, 2].map(|column| value(column, field)), out)?;
    }
    Ok(())
}

/// One field; values that are too wide stand below each other.
fn line(mark: char, field: &str, values: &[Option<&str>; 3], out: &mut dyn Write) -> fmt::Result {
    let width = NAME - 2;
    let shown = values.map(|value| visible(value.unwrap_or_default()));
    if shown.iter().all(|value| value.chars().count() <= VALUE) {
        let cells = shown.map(|value| format!("{value:<VALUE$} ")).concat();
        return writeln!(out, "{}", format!("  {mark} {field:width$} {cells}").trim_end());
    }
    writeln!(out, "  {mark} {field}")?;
    for (head, value) in HEADS.iter().zip(shown).filter(|(_, value)| !value.is_empty()) {
        let most = 80 - 6 - 10;
        let cut = value.chars().count() > most;
        let value: String = value.chars().take(if cut { most - 3 } else { most }).collect();
        writeln!(out, "      {head:9} {value}{}", if cut { "..." } else { "" })?;
    }
    Ok(())
}

/// The rows of a table, in the order of headers.
fn rows(frames: &[&[LayerView]; 3]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for column in [RECEIVED, EXPECTED, 0] {
        let names: Vec<&str> = frames[column].iter().map(|view| view.layer.as_str()).collect();
        rows = merged(rows, &names, column);
    }
    rows
}

/// Puts a frame beside the others: as many headers as possible in rows of their kind, innermost first.
fn merged(rows: Vec<Row>, names: &[&str], column: usize) -> Vec<Row> {
    // best[r][n]: pairs among the first r rows and the first n names.
    let mut best = vec![vec![0_usize; names.len() + 1]; rows.len() + 1];
    for (r, row) in rows.iter().enumerate() {
        for (n, name) in names.iter().enumerate() {
            best[r + 1][n + 1] = match row.layer == *name {
                true => best[r][n] + 1,
                false => best[r][n + 1].max(best[r + 1][n]),
            };
        }
    }
    let (mut r, mut n) = (rows.len(), names.len());
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let mut merged = Vec::new();
    while r > 0 || n > 0 {
        let same = r > 0
            && n > 0
            && best[r][n] == best[r - 1][n - 1] + 1
            && rows[r - 1].as_ref().is_some_and(|row| row.layer == names[n - 1]);
        if same || (r > 0 && (n == 0 || best[r - 1][n] >= best[r][n - 1])) {
            if let Some(mut row) = rows[r - 1].take() {
                row.cells[column] = same.then(|| n - 1);
                merged.push(row);
            }
            r -= 1;
            n -= usize::from(same);
        } else {
            let mut cells = [None; 3];
            cells[column] = Some(n - 1);
            merged.push(Row { layer: names[n - 1].to_owned(), cells });
            n -= 1;
        }
    }
    merged.reverse();
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_that_came_off_leaves_the_rest_in_its_rows() {
        let view = |name: &&str| LayerView { layer: (*name).to_owned(), ..LayerView::default() };
        let frame = |names: &[&str]| names.iter().map(view).collect::<Vec<_>>();
        let outer = frame(&["Eth", "Ipv4", "Udp", "Vxlan", "Eth", "Ipv4", "Tcp"]);
        let inner = frame(&["Eth", "Ipv4", "Tcp"]);
        let rows = rows(&[&outer, &inner, &inner]);
        let cells: Vec<_> = rows.iter().map(|row| (row.layer.as_str(), row.cells)).collect();
        assert_eq!(cells[3], ("Vxlan", [Some(3), None, None]));
        assert_eq!(cells[4], ("Eth", [Some(4), Some(0), Some(0)]));
        assert_eq!(cells[6], ("Tcp", [Some(6), Some(2), Some(2)]));
        assert_eq!(cells.len(), 7);
    }
}
