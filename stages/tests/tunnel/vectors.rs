//! The vectors in `vectors.txt`, read.

const TEXT: &str = include_str!("vectors.txt");

/// An ICMP echo of no bytes, to which the vectors refer.
pub(crate) const IN: &str =
    "fe71d883724fbeb6f4e1494a08004500001c0001000040013ede1e0000011e0000020000ffff00000000";

/// The fields of all vectors of a kind.
pub(crate) fn of(kind: &str) -> Vec<Vec<&'static str>> {
    let lines = TEXT.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let fields = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    let found: Vec<_> =
        fields.filter(|fields| fields[0] == kind).map(|f| f[1..].to_vec()).collect();
    assert!(!found.is_empty(), "no vectors of kind {kind}");
    found
}

/// The bytes that a vector writes.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let p64: String = (0..64).map(|byte| format!("{byte:02x}")).collect();
    let text = text.replace("{P64}", &p64).replace("{IN}", IN);
    assert!(text.len().is_multiple_of(2), "{text}");
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
