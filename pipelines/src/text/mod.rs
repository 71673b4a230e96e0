//! RON text with positions: what stands where in a description, before anything is typed.
//!
//! [`tree`] splits text into names, arguments, lists and maps, each with its place; [`params`] puts the values
//! of parameters in; [`Mapped`] remembers where each byte of a rewritten text came from, so that every
//! message points into the file as its author wrote it.
//!
//! Knows no stage, port or key. Values are not judged here: `ron` does that later, on the slice of each one.

pub(crate) mod params;
mod scan;
pub(crate) mod tree;

#[cfg(test)]
mod tests;

use std::ops::Range;

/// A range of bytes in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start, end: end.max(start) }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The same, `by` bytes further on.
    pub(crate) fn moved(self, by: usize) -> Span {
        Span::new(self.start + by, self.end + by)
    }

    /// From the start of one to the end of the other.
    pub(crate) fn to(self, other: Span) -> Span {
        Span::new(self.start, other.end)
    }
}

/// A stretch of a rewritten text and where it came from.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: usize,
    origin: Span,
    /// Copied byte by byte; otherwise the whole stretch stands for the whole origin.
    exact: bool,
}

/// Text put together from pieces of another, which remembers where each came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapped {
    text: String,
    pieces: Vec<Piece>,
}

impl Mapped {
    /// The text itself.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the bytes of `source` at `span`.
    pub(crate) fn copy(&mut self, source: &str, span: Span) {
        self.copy_from(source, span, 0);
    }

    /// Adds the bytes of `source` at `span`, where `source` itself stands at `base` of what places count in.
    pub(crate) fn copy_from(&mut self, source: &str, span: Span, base: usize) {
        self.pieces.push(Piece { at: self.text.len(), origin: span.moved(base), exact: true });
        self.text.push_str(source.get(span.range()).unwrap_or_default());
    }

    /// Adds text that stands in for what is at `origin`.
    pub(crate) fn insert(&mut self, text: &str, origin: Span) {
        self.pieces.push(Piece { at: self.text.len(), origin, exact: false });
        self.text.push_str(text);
    }

    /// Where a range of this text came from.
    pub(crate) fn origin(&self, span: Span) -> Span {
        let start = self.origin_of(span.start, |piece, into| {
            piece.origin.start + if piece.exact { into } else { 0 }
        });
        let last = span.end.max(span.start + 1) - 1;
        let end = self.origin_of(last, |piece, into| {
            if piece.exact { piece.origin.start + into + 1 } else { piece.origin.end }
        });
        Span::new(start, if span.end == span.start { start } else { end })
    }

    fn origin_of(&self, at: usize, place: impl Fn(&Piece, usize) -> usize) -> usize {
        let next = self.pieces.partition_point(|piece| piece.at <= at);
        match next.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) => place(piece, at - piece.at),
            None => self.pieces.first().map_or(0, |piece| piece.origin.start),
        }
    }
}
