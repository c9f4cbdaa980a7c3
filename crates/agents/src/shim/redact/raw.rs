//! Removes secrets from raw output, which comes in pieces: a secret may begin in one piece and end in the next.

use aho_corasick::{AhoCorasick, MatchKind};

use super::MARK;
use crate::driver::Stream;
use crate::{Error, Result};

/// Filter of a worker's raw output on its way to the spool.
pub(in crate::shim) struct RawRedactor {
    /// Secrets and their matcher; `None` if there are none.
    secrets: Option<(AhoCorasick, Vec<String>)>,
    /// End of each stream that may be the beginning of a secret.
    held: [Vec<u8>; 2],
}

// === impl RawRedactor ===

impl RawRedactor {
    pub(super) fn new(secrets: &[String]) -> Result<Self> {
        let build = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(secrets);
        let bad = |error: aho_corasick::BuildError| Error::Spec { why: error.to_string() };
        let finder = if secrets.is_empty() { None } else { Some((build().map_err(bad)?, secrets.to_vec())) };
        Ok(Self { secrets: finder, held: [Vec::new(), Vec::new()] })
    }

    /// Takes a piece of a stream, and returns the bytes that can't be the beginning of a secret.
    pub(in crate::shim) fn piece(&mut self, stream: Stream, piece: Vec<u8>) -> Vec<u8> {
        let Some((finder, secrets)) = &self.secrets else { return piece };
        let held = &mut self.held[place(stream)];
        let text = if held.is_empty() { piece } else { [std::mem::take(held), piece].concat() };
        let open = text.len() - beginning(&text, secrets);
        let (clean, end) = replace(finder, &text, open);
        *held = text[end..].to_vec();
        clean
    }

    /// Returns the held bytes of both streams, once they have ended.
    pub(in crate::shim) fn rest(&mut self) -> Vec<u8> {
        let Some((finder, _)) = &self.secrets else { return Vec::new() };
        let rest = |held: &mut Vec<u8>| {
            let text = std::mem::take(held);
            replace(finder, &text, text.len()).0
        };
        self.held.iter_mut().flat_map(rest).collect()
    }
}

const fn place(stream: Stream) -> usize {
    match stream {
        Stream::Out => 0,
        Stream::Err => 1,
    }
}

/// Returns the number of bytes at the end of a text that may begin a secret which continues in the next piece.
fn beginning(text: &[u8], secrets: &[String]) -> usize {
    let longest = secrets.iter().map(String::len).max().unwrap_or(0).saturating_sub(1).min(text.len());
    let may_begin = |length: &usize| {
        let end = &text[text.len() - length..];
        secrets.iter().any(|secret| secret.len() > end.len() && secret.as_bytes().starts_with(end))
    };
    (1..=longest).rev().find(may_begin).unwrap_or(0)
}

/// Replaces the secrets that begin before a position, and returns where the remaining text begins.
fn replace(finder: &AhoCorasick, text: &[u8], open: usize) -> (Vec<u8>, usize) {
    let (mut clean, mut done) = (Vec::with_capacity(open), 0);
    for found in finder.find_iter(text).take_while(|found| found.start() < open) {
        clean.extend_from_slice(&text[done..found.start()]);
        clean.extend_from_slice(MARK.as_bytes());
        done = found.end();
    }
    let end = open.max(done);
    clean.extend_from_slice(&text[done..end]);
    (clean, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str]) -> RawRedactor {
        RawRedactor::new(&secrets.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    /// Redacts a text that arrives in pieces of the given size.
    fn in_pieces(text: &[u8], size: usize, secrets: &[&str]) -> Vec<u8> {
        let mut redactor = redactor(secrets);
        let mut clean: Vec<u8> =
            text.chunks(size).flat_map(|piece| redactor.piece(Stream::Out, piece.to_vec())).collect();
        clean.extend(redactor.rest());
        clean
    }

    #[test]
    fn a_secret_is_taken_out_wherever_the_pieces_are_cut() {
        let text = "a tok-12345678 b tok-123 tok-12345678tok-12345678 \u{fc} tok-1234567".as_bytes();
        let expected = "a ‹secret› b tok-123 ‹secret›‹secret› \u{fc} tok-1234567".as_bytes();

        for size in 1..=text.len() {
            let clean = in_pieces(text, size, &["tok-12345678"]);
            assert_eq!(String::from_utf8_lossy(&clean), String::from_utf8_lossy(expected), "{size}");
        }
    }

    #[test]
    fn of_secrets_that_begin_alike_the_longer_one_is_taken_out() {
        for size in 1..=20 {
            let clean = in_pieces(b"<abcdefghij> <abcdefgh>", size, &["abcdefgh", "abcdefghij"]);
            assert_eq!(String::from_utf8_lossy(&clean), "<‹secret›> <‹secret›>", "{size}");
        }
    }

    #[test]
    fn what_is_no_text_passes_unchanged() {
        let text: Vec<u8> = (0..=255).cycle().take(1000).collect();

        assert_eq!(in_pieces(&text, 7, &["tok-12345678"]), text);
        assert_eq!(in_pieces(&text, 7, &[]), text);
    }

    #[test]
    fn streams_are_looked_at_each_for_itself() {
        let mut redactor = redactor(&["tok-12345678"]);

        let first = redactor.piece(Stream::Out, b"out tok-1234".to_vec());
        let other = redactor.piece(Stream::Err, b"err\n".to_vec());
        let second = redactor.piece(Stream::Out, b"5678\n".to_vec());

        assert_eq!((first.as_slice(), other.as_slice()), (&b"out "[..], &b"err\n"[..]));
        assert_eq!(second, "‹secret›\n".as_bytes());
        assert!(redactor.rest().is_empty());
    }
}
