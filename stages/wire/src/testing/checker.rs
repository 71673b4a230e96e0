//! Packet assertions: a frame is sound, two sequences of frames are the same. A failure reads like
//! a capture tool's output.
//!
//! It promises to name the first difference by frame, header and byte. It does not forgive:
//! padding, identifications and the representation of a zero checksum all count. It compares
//! sequences as they are; order per flow or as a multiset is for the caller to arrange.

use super::dissect::{Dissection, hex};

/// One line a header: offset and fields.
pub fn describe(frame: &[u8]) -> String {
    lines(&Dissection::of(frame))
}

/// What is wrong with a frame: impossible lengths, wrong checksums (IPv4, TCP, UDP, ICMP, GRE; at
/// every level of tunnels). Empty if it is sound. Fragments and unknown protocols are not looked into.
pub fn problems(frame: &[u8]) -> Vec<String> {
    Dissection::of(frame).problems
}

/// Asserts that [`problems`] finds none.
#[track_caller]
pub fn assert_sound(frame: &[u8]) {
    let dissection = Dissection::of(frame);
    if !dissection.problems.is_empty() {
        panic!("not sound:\n  {}\n{}", dissection.problems.join("\n  "), lines(&dissection));
    }
}

/// Asserts that two sequences of frames are equal byte for byte.
#[track_caller]
pub fn assert_same_frames<A: AsRef<[u8]>, B: AsRef<[u8]>>(left: &[A], right: &[B]) {
    let pairs = left.iter().zip(right).enumerate();
    for (index, (a, b)) in pairs {
        let (a, b) = (a.as_ref(), b.as_ref());
        if a != b {
            panic!("frame {index} of {}: {}", left.len(), difference(a, b));
        }
    }
    if left.len() != right.len() {
        let common = left.len().min(right.len());
        let (side, first) = match left.get(common) {
            Some(frame) => ("left", frame.as_ref()),
            None => ("right", right[common].as_ref()),
        };
        panic!(
            "{} frames left, {} right; first one only {side}, frame {common}:\n{}",
            left.len(),
            right.len(),
            describe(first)
        );
    }
}

fn lines(dissection: &Dissection) -> String {
    let line = |piece: &super::dissect::Piece| format!("  {:>5}  {}\n", piece.at, piece.text);
    dissection.pieces.iter().map(line).collect()
}

/// The first byte that differs, the header it is in, and every header line that differs.
fn difference(left: &[u8], right: &[u8]) -> String {
    let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let (a, b) = (Dissection::of(left), Dissection::of(right));
    let mut text = format!(
        "{} bytes left, {} right, first difference at byte {same}",
        left.len(),
        right.len()
    );
    if let Some(piece) = a.pieces.iter().rev().find(|piece| piece.at <= same) {
        let name = piece.text.split(' ').next().unwrap_or_default();
        text += &format!(" ({name} + {})", same - piece.at);
    }
    let window = |frame: &[u8]| {
        let from = same.saturating_sub(4).min(frame.len());
        hex(&frame[from..(same + 12).min(frame.len())])
    };
    text += &format!(
        "\n  bytes from {}: {} | {}\n",
        same.saturating_sub(4),
        window(left),
        window(right)
    );
    text + &differing_lines(&a, &b)
}

fn differing_lines(left: &Dissection, right: &Dissection) -> String {
    let count = left.pieces.len().max(right.pieces.len());
    let mut text = String::new();
    for index in 0..count {
        let line = |side: &Dissection| {
            let piece = side.pieces.get(index)?;
            Some(format!("{:>5}  {}", piece.at, piece.text))
        };
        match (line(left), line(right)) {
            (Some(a), Some(b)) if a == b => text += &format!("    {a}\n"),
            (a, b) => {
                for (sign, line) in [('<', a), ('>', b)] {
                    if let Some(line) = line {
                        text += &format!("  {sign} {line}\n");
                    }
                }
            }
        }
    }
    text
}
