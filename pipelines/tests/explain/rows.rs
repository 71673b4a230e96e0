//! The table, taken apart by where its columns stand: chain, stage, work, place, reason.

/// A row with a place.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The chain, in capitals.
    pub(crate) chain: String,
    /// The kind of stage.
    pub(crate) stage: String,
    /// Each kind of work it is about; none for a stage of which there is one row.
    pub(crate) works: Vec<String>,
    pub(crate) place: String,
    pub(crate) why: String,
}

/// Lines from the first chain to the bytes, as chain, label, place and reason, wrapped ones joined.
fn joined(table: &str) -> Vec<(String, String, String, String)> {
    let lines: Vec<&str> = table.lines().collect();
    let head = lines.iter().find(|line| line.ends_with("  why")).expect("a head");
    let second = head.find("where").expect("a column");
    let third = head.find("why").expect("a column");
    let column = |line: &str, from: usize, to: usize| -> String {
        line.chars().skip(from).take(to - from).collect::<String>().trim_end().to_owned()
    };
    let (mut found, mut chain) = (Vec::<(String, String, String, String)>::new(), String::new());
    let from = lines.iter().position(|line| line.ends_with("  why")).expect("a head");
    for line in lines[from..].iter().take_while(|line| !line.starts_with("BYTES")) {
        if !line.starts_with(' ') {
            chain = line.split("  ").next().unwrap_or_default().to_owned();
            continue;
        }
        let (label, place) = (column(line, 0, second), column(line, second, third));
        let why = column(line, third, usize::MAX / 2);
        let indent = label.len() - label.trim_start().len();
        let more = label.is_empty() || indent >= 8 || indent == 4 && !label.contains(" + ");
        match found.last_mut().filter(|_| more && place.is_empty()) {
            Some(last) => {
                last.1.push_str(&format!(" {}", label.trim()));
                last.3.push_str(&format!(" {why}"));
            }
            None => found.push((chain.clone(), label, place, why)),
        }
    }
    let squeeze = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    found
        .into_iter()
        .map(|(chain, label, place, why)| {
            let indent = label.len() - label.trim_start().len();
            (chain, format!("{:indent$}{}", "", squeeze(label)), place, squeeze(why))
        })
        .collect()
}

/// Rows that say where something is done.
pub(crate) fn read(table: &str) -> Vec<Row> {
    let mut stage = String::new();
    let mut found = Vec::new();
    for (chain, label, place, why) in joined(table) {
        let work = label.starts_with("      ");
        if !work {
            let name =
                label.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " +".contains(c));
            stage = name.split('(').next().unwrap_or_default().to_owned();
        }
        if place.is_empty() {
            continue;
        }
        let works = if work { works(label.trim()) } else { Vec::new() };
        found.push(Row { chain, stage: stage.clone(), works, place, why });
    }
    assert!(found.len() > 20, "a table with few rows:\n{table}");
    found
}

/// Names with a comma in them.
const ONE_NAME: [&str; 2] =
    ["in other tunnels, fragments, behind ipv6 extensions", "inner tcp, udp"];

/// `tcp, udp over ipv4, ipv6` are four.
fn works(text: &str) -> Vec<String> {
    let each = text.split("; ").flat_map(|part| match part.split_once(" over ") {
        None if ONE_NAME.contains(&part) => vec![part.to_owned()],
        None => part.split(", ").map(str::to_owned).collect::<Vec<_>>(),
        Some((upper, lower)) => upper
            .split(", ")
            .flat_map(|upper| lower.split(", ").map(move |lower| format!("{upper} over {lower}")))
            .collect(),
    });
    each.collect()
}
