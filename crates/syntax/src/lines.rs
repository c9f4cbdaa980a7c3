//! Lines of a file: where they begin, and which of them a change touched.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use switchboard_protocol::finding::Span;

/// Positions where the lines of a text begin.
pub struct Lines {
    starts: Vec<usize>,
}

/// Lines that differ from the base, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// All lines: the file is new.
    All,
    /// No lines: the file is unchanged.
    None,
    /// The lines in these hunks, in order.
    Hunks(Vec<Hunk>),
}

/// Lines that the change replaced, and their replacement; either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Line range in the base.
    pub before: Range<u32>,
    /// Line range in the file.
    pub after: Range<u32>,
}

// === impl Lines ===

impl Lines {
    /// Finds the lines of a text.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the line of a byte position, from 0.
    #[must_use]
    pub fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the bytes of a line, without its end.
    #[must_use]
    pub fn bytes<'a>(&self, text: &'a [u8], line: usize) -> &'a [u8] {
        let from = self.starts.get(line).copied().unwrap_or(text.len()).min(text.len());
        let to = self.starts.get(line + 1).copied().unwrap_or(text.len()).min(text.len());
        text[from..to].strip_suffix(b"\n").map_or(&text[from..to], |line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Returns the byte position where a line begins.
    #[must_use]
    pub fn start(&self, line: usize) -> Option<usize> {
        self.starts.get(line).copied()
    }

    /// Returns lines and columns of a byte range, for people.
    #[must_use]
    pub fn span(&self, text: &[u8], range: &Range<usize>) -> Span {
        let (start_line, start_column) = self.place(text, range.start);
        let (end_line, end_column) = self.place(text, range.end.max(range.start));
        Span { start_line, start_column, end_line, end_column }
    }

    fn place(&self, text: &[u8], at: usize) -> (u32, u32) {
        let at = at.min(text.len());
        let line = self.line_of(at);
        let before = text.get(self.starts[line]..at).unwrap_or_default();
        let column = before.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count() + 1;
        (u32::try_from(line + 1).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }
}

// === impl Touched ===

impl Touched {
    /// Compares two texts line by line, ignoring the kind of line end.
    #[must_use]
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        let mut input = InternedInput::default();
        input.update_before(split(before));
        input.update_after(split(after));
        let diff = Diff::compute(Algorithm::Histogram, &input);
        Self::Hunks(diff.hunks().map(|hunk| Hunk { before: hunk.before, after: hunk.after }).collect())
    }

    /// Returns whether a change touches these lines or their neighbours.
    #[must_use]
    pub fn is_near(&self, lines: &Range<usize>) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Hunks(hunks) => hunks.iter().any(|hunk| {
                let (from, to) = (hunk.after.start as usize, hunk.after.end as usize);
                from <= lines.end && lines.start <= to
            }),
        }
    }

    /// Returns whether a line was changed or added.
    #[must_use]
    pub fn holds(&self, line: usize) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Hunks(hunks) => {
                hunks.iter().any(|hunk| (hunk.after.start as usize..hunk.after.end as usize).contains(&line))
            }
        }
    }

    /// Returns the position of the base's line `line` in the file, if the change left it alone.
    #[must_use]
    pub fn moved(&self, line: usize) -> Option<usize> {
        let Self::Hunks(hunks) = self else {
            return matches!(self, Self::None).then_some(line);
        };
        let mut shift = 0_i64;
        for hunk in hunks {
            if line < hunk.before.start as usize {
                break;
            }
            if line < hunk.before.end as usize {
                return None;
            }
            shift = i64::from(hunk.after.end) - i64::from(hunk.before.end);
        }
        usize::try_from(i64::try_from(line).ok()? + shift).ok()
    }
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = "ab\näöü x\n".as_bytes();
        let at = text.iter().position(|byte| *byte == b'x').unwrap();

        let span = Lines::new(text).span(text, &(at..at + 1));

        assert_eq!((span.start_line, span.start_column, span.end_column), (2, 5, 6));
    }

    #[test]
    fn line_ends_make_no_change() {
        assert_eq!(Touched::between(b"a\r\nb\r\n", b"a\nb\n"), Touched::Hunks(vec![]));
    }

    #[test]
    fn a_change_touches_its_lines_and_their_neighbours() {
        let touched = Touched::between(b"1\n2\n3\n4\n5\n6\n", b"1\n2\n3\nX\n5\n6\n");

        let near: Vec<usize> = (0..6).filter(|line| touched.is_near(&(*line..line + 1))).collect();

        assert_eq!(near, [2, 3, 4]);
    }

    #[test]
    fn lines_below_an_insertion_move_down() {
        let touched = Touched::between(b"1\n2\n3\n", b"0\n0\n1\nX\n3\n");

        assert_eq!([touched.moved(0), touched.moved(1), touched.moved(2)], [Some(2), None, Some(4)]);
    }
}
