//! `parts` and `Use`: copies in place, counted through, and what is wrong with them told once.

use crate::support::{machine, plan, problems, registry, shown, with_chains};
use corelane::{Overrides, Pipeline};

/// A file with these parts and chains.
fn file(parts: &str, chains: &str) -> String {
    with_chains(chains).replace("chains:", &format!("parts: {{{parts}}}, chains:"))
}

fn found(parts: &str, chains: &str) -> Vec<[String; 4]> {
    shown(&problems(&file(parts, chains)))
}

fn rows(rows: &[[&str; 4]]) -> Vec<[String; 4]> {
    rows.iter().map(|row| row.map(str::to_owned)).collect()
}

#[test]
fn a_part_means_what_its_stages_in_its_place_mean() {
    let parts = r#""wash": [ChecksumValidate(name: "one", on_bad: Drop), Use("count")], "count": [Count, Count(on_panic: Drop)]"#;
    let used = file(parts, r#""m": [Rx("in"), Use("wash"), Gro, Use(part: "count"), Tx("out")]"#);
    let written = with_chains(
        r#""m": [Rx("in"), ChecksumValidate(name: "one", on_bad: Drop), Count, Count(on_panic: Drop), Gro,
                 Count, Count(on_panic: Drop), Tx("out")]"#,
    );
    let hash = |text: &str| plan(text, &Overrides::default()).unwrap().hash().to_owned();
    assert_eq!(hash(&used), hash(&written));
    // Places in the plan count what was put in.
    let twice = written.replace("Gro,", "Gso,");
    assert_ne!(hash(&used), hash(&twice));
}

/// Whoever writes two stages of one name is told; of one that is written once there may be several.
#[test]
fn a_named_stage_of_a_part_used_twice_is_one_of_that_name() {
    let part = r#""p": [Count(name: "c")]"#;
    assert_eq!(found(part, r#""m": [Rx("in"), Use("p"), Use("p"), Tx("out")]"#), rows(&[]));
    let chains = r#""m": [Rx("in"), Use("p"), Count(name: "c"), Tx("out")]"#;
    let message = "there is a stage named `c` already";
    let expected = ["duplicate-name", "\"c\"", message, "give each a name of its own"];
    assert_eq!(found(part, chains), rows(&[expected]));
}

#[test]
fn a_part_may_begin_and_end_a_chain() {
    let parts = r#""in": [Rx("in"), Count], "out": [Gso, Tx("out")]"#;
    let found = found(parts, r#""m": [Use("in"), Use("out")]"#);
    assert_eq!(found, rows(&[]));
}

#[test]
fn a_mistake_in_a_part_used_twice_is_told_once_where_the_part_has_it() {
    let parts = r#""p": [Cuont, Gro(flows: 3)]"#;
    let chains = r#""m": [Rx("in"), Use("p"), Tx("out")], "n": [Rx("in"), Use("p"), Tx("out")]"#;
    let expected = [
        ["unknown-stage", "Cuont", "no stage is called `Cuont`", "did you mean `Count`?"],
        ["bad-value", "3", "`Gro`: `flows`: 3 is not a power of two from 1 to 16384", ""],
    ];
    assert_eq!(found(parts, chains), rows(&expected));
}

#[test]
fn what_a_part_does_to_a_chain_is_told_where_the_chain_uses_it() {
    let parts = r#""end": [Count, Tx("out")], "start": [Rx("in")], "both": [Tx("out"), Count]"#;
    let after = "nothing comes here: `Tx` before it ends the chain";
    let help = "take it out, or put it in front of `Tx`";
    let no_end = "chain `m` ends here, but `Count` passes packets on";
    let end = "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`";
    let source = "`Rx` brings packets in, so it stands first in a chain";
    let cases = [
        (r#"[Rx("in"), Use("end"), Count, Drop]"#, ["after-the-end", "Count", after, help]),
        (r#"[Rx("in"), Tx("out"), Use("end")]"#, ["after-the-end", "Use(\"end\")", after, help]),
        (r#"[Rx("in"), Use("count")]"#, ["no-end", "Use(\"count\")", no_end, end]),
        (
            r#"[Use("start"), Use("start"), Drop]"#,
            ["misplaced", "Use(\"start\")", source, "give it a chain of its own"],
        ),
        // Inside one use, the place in the part.
        (r#"[Rx("in"), Use("both")]"#, ["after-the-end", "Count", after, help]),
    ];
    for (chain, expected) in cases {
        let all = format!("{parts}, \"count\": [Count]");
        let found = found(&all, &format!("\"m\": {chain}"));
        let errors = found.into_iter().filter(|problem| !problem[0].starts_with("unused"));
        assert_eq!(errors.collect::<Vec<_>>(), rows(&[expected]), "{chain}");
    }
}

#[test]
fn parts_that_are_wrong_are_told() {
    let chain = r#""m": [Rx("in"), Use("p"), Tx("out")]"#;
    let circle = "parts use each other in a circle: p -> q -> p";
    let cases = [
        (
            r#""p": [Use("q")], "q": [Use("p")]"#,
            ["circle", "Use(\"p\")", circle, "take out one of the uses"],
        ),
        (
            r#""p": [Count], "q": [Count]"#,
            [
                "unused-part",
                "\"q\"",
                "part `q` is used nowhere",
                "write `Use(\"q\")` in a chain, or leave it out",
            ],
        ),
        (
            r#""wash": [Count], "p": [Use("wahs")]"#,
            [
                "no-such-part",
                "\"wahs\"",
                "`Use` names part `wahs`, which is not in this file",
                "did you mean `wash`?",
            ],
        ),
        (
            r#""p": [Count], "p": [Drop]"#,
            [
                "duplicate-name",
                "\"p\"",
                "there are two parts called `p`",
                "the first one is on line 4; keep one",
            ],
        ),
        (
            r#""p": [Count], "q": [Cuont, Use("p")]"#,
            ["unknown-stage", "Cuont", "no stage is called `Cuont`", "did you mean `Count`?"],
        ),
    ];
    for (parts, expected) in cases {
        let found = found(parts, chain);
        assert!(found.contains(&expected.map(str::to_owned)), "{parts}: {found:?}");
        assert!(found.len() <= 2, "{parts}: {found:?}");
        let others = found.iter().filter(|problem| **problem != expected.map(str::to_owned));
        let mut others = others.map(|problem| problem[0].as_str());
        assert!(others.all(|code| code == "unused-part"), "{parts}: {found:?}");
    }
}

#[test]
fn a_named_ring_in_a_part_used_twice_is_one_actor_too_many() {
    let chains = r#""m": [Rx("in"), Use("p"), Tx("out")], "n": [Rx("in"), Use("p"), Tx("out")]"#;
    let help = "write `Ring` without a name in a part that is used more than once";
    let expected = ["duplicate-actor", "\"r\"", "there is an actor `r` already", help];
    assert_eq!(found(r#""p": [Ring("r"), Count]"#, chains), rows(&[expected]));
    assert_eq!(found(r#""p": [Ring, Count]"#, chains), rows(&[]));
}

/// Parts of parts multiply: what they make is bounded, and so is how deep they go.
#[test]
fn parts_that_multiply_are_refused() {
    let mut parts = String::from("\"p0\": []");
    for level in 1..60 {
        let below = level - 1;
        parts += &format!(", \"p{level}\": [Use(\"p{below}\"), Use(\"p{below}\")]");
    }
    let text = file(&parts, r#""m": [Rx("in"), Use("p59"), Tx("out")]"#);
    let codes: Vec<String> = shown(&problems(&text)).into_iter().map(|[code, ..]| code).collect();
    assert_eq!(codes, ["too-many-stages"]);
    let mut parts = String::from("\"p0\": [Count]");
    for level in 1..20_000 {
        parts += &format!(", \"p{level}\": [Use(\"p{}\")]", level - 1);
    }
    let text = file(&parts, r#""m": [Rx("in"), Use("p19999"), Tx("out")]"#);
    let problems = Pipeline::parse(&text).unwrap().plan(&registry(), &machine()).err().unwrap();
    assert!(problems.to_string().contains("parts are nested deeper than 64"));
}
