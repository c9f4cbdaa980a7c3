//! Keeps the start and the end of a stream that may be endless.

use std::collections::VecDeque;

/// The first and the last bytes of what was pushed.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Ends {
    /// Keeps at most `bytes`, half of them from the start.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { half: bytes / 2, ..Self::default() }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let fits = chunk.len().min(self.half - self.head.len());
        let (head, rest) = chunk.split_at(fits);
        self.head.extend_from_slice(head);
        let skipped = rest.len().saturating_sub(self.half);
        let surplus = (self.tail.len() + rest.len() - skipped).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(&rest[skipped..]);
        self.dropped += (skipped + surplus) as u64;
    }

    /// Tells whether something is missing in the middle.
    pub(crate) fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Gives the bytes, without a mark where some are missing.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.head.extend(self.tail);
        self.head
    }

    /// Gives the text; what is missing is counted in its middle, broken characters are replaced.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.dropped == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        format!(
            "{}\n[… {} bytes left out …]\n{}",
            String::from_utf8_lossy(whole_start(&self.head)),
            self.dropped,
            String::from_utf8_lossy(whole_end(&tail)),
        )
    }
}

/// Drops a character that was cut at the end.
fn whole_start(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(broken) if broken.error_len().is_none() => &bytes[..broken.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

/// Drops a character that was cut at the start.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_both_ends_and_counts_what_is_missing() {
        let mut ends = Ends::new(8);

        ends.push(b"abcdef");
        ends.push(b"ghijklm");

        assert_eq!(ends.text(), "abcd\n[… 5 bytes left out …]\njklm");
    }

    #[test]
    fn never_shows_half_a_character() {
        let mut ends = Ends::new(8);

        ends.push("äöüäöüäöü€€€€€€€€€€".as_bytes());

        assert!(!ends.text().contains('\u{fffd}'), "{}", ends.text());
    }

    proptest! {
        #[test]
        fn is_bounded_and_loses_no_count(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20), keep in 0usize..64) {
            let mut ends = Ends::new(keep);

            for chunk in &chunks {
                ends.push(chunk);
            }

            let all: usize = chunks.iter().map(Vec::len).sum();
            let dropped = ends.dropped;
            let kept = ends.bytes();
            prop_assert!(kept.len() <= keep);
            prop_assert_eq!(kept.len() as u64 + dropped, all as u64);
        }
    }
}
