//! Finds a few hundred short words in a text: one lookup of a bit for every byte, and a comparison where it is set.
//!
//! An automaton over the same words is several times slower: its table does not fit the first cache.

use std::ops::Range;

/// Number of bits of a byte's class: 63 classes, and one for all bytes that are in no word.
const CLASS: u32 = 6;
/// Number of sequences of three classes.
const THREES: usize = 1 << (3 * CLASS);

/// Words of at least three bytes in lower case, found in any case.
pub(crate) struct Keywords {
    /// Words, sorted by their first three bytes.
    words: Vec<&'static str>,
    classes: [u8; 256],
    /// One bit for each sequence of three classes, set if a word begins with it.
    begins: Box<[u64; THREES / 64]>,
    /// Number of beginnings before those of each element of `begins`.
    before: Box<[u16; THREES / 64]>,
    /// One group for each beginning, in the same order.
    groups: Vec<Group>,
}

/// Words with the same first three bytes.
#[derive(Clone)]
struct Group {
    words: Range<usize>,
    /// Bits of the classes of the words' fourth bytes; all bits if a word has no fourth byte.
    fourth: u64,
}

// === impl Keywords ===

impl Keywords {
    /// Builds the search from words without duplicates.
    pub(crate) fn new(mut words: Vec<&'static str>) -> Self {
        let mut classes = [0_u8; 256];
        let mut next = 0;
        for byte in words.iter().flat_map(|word| word.bytes()) {
            if classes[usize::from(byte)] == 0 {
                next += 1;
                classes[usize::from(byte)] = next;
                classes[usize::from(byte.to_ascii_uppercase())] = next;
            }
        }
        debug_assert!(u32::from(next) < 1 << CLASS, "a class fits its bits");
        let three = |word: &str| threes(&classes, word.as_bytes());
        words.sort_by_key(|word| three(word));
        let mut begins = Box::new([0_u64; THREES / 64]);
        let mut groups: Vec<Group> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let three = three(word);
            let fourth = word.as_bytes().get(3).map_or(u64::MAX, |byte| 1 << classes[usize::from(*byte)]);
            match groups.last_mut() {
                Some(group) if begins[three / 64] >> (three % 64) & 1 == 1 => {
                    group.words.end = at + 1;
                    group.fourth |= fourth;
                }
                Some(_) | None => groups.push(Group { words: at..at + 1, fourth }),
            }
            begins[three / 64] |= 1 << (three % 64);
        }
        let mut before = Box::new([0_u16; THREES / 64]);
        for at in 1..before.len() {
            before[at] = before[at - 1] + u16::try_from(begins[at - 1].count_ones()).unwrap_or(u16::MAX);
        }
        Self { words, classes, begins, before, groups }
    }

    /// Returns the words in the order of their indices.
    pub(crate) fn words(&self) -> &[&'static str] {
        &self.words
    }

    /// Calls `found` with position and index of each word, by position; stops when it returns `false`.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize) -> bool) {
        let mut from = 2;
        while let Some((end, three)) = self.next(text, from) {
            from = end + 1;
            let (at, group) = (end - 2, self.group(three));
            let fourth = text.get(from).map_or(0, |byte| self.classes[usize::from(*byte)]);
            if group.fourth >> fourth & 1 == 0 {
                continue;
            }
            for word in group.words.clone() {
                let name = self.words[word].as_bytes();
                let part = text[at..].get(..name.len());
                if part.is_some_and(|part| part.eq_ignore_ascii_case(name)) && !found(at, word) {
                    return;
                }
            }
        }
    }

    /// Returns the words with a beginning whose bit is set: the number of set bits before it is the index of its group.
    fn group(&self, three: usize) -> &Group {
        let bits = self.begins[three / 64] & ((1 << (three % 64)) - 1);
        &self.groups[usize::from(self.before[three / 64]) + bits.count_ones() as usize]
    }

    /// Finds the next position at or after `from` where the third byte of a word may be.
    #[inline(never)]
    fn next(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let rest = text.get(from..)?;
        let mut three = threes(&self.classes, text.get(from - 2..from)?);
        for (offset, byte) in rest.iter().enumerate() {
            three = (three << CLASS | usize::from(self.classes[usize::from(*byte)])) & (THREES - 1);
            if self.begins[three / 64] >> (three % 64) & 1 == 1 {
                return Some((from + offset, three));
            }
        }
        None
    }
}

/// Joins the classes of the first three bytes to one number.
fn threes(classes: &[u8; 256], text: &[u8]) -> usize {
    text.iter().take(3).fold(0, |three, byte| three << CLASS | usize::from(classes[usize::from(*byte)]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 8] = ["key", "keys", "token", "ken", "://", "eyj", "oke", "_ke"];

    proptest! {
        #[test]
        fn every_word_is_found_wherever_it_stands(text in "([keytonsj_:/KEY é]|token|Key){0,30}") {
            let keywords = Keywords::new(WORDS.to_vec());
            let mut found = Vec::new();
            keywords.each(text.as_bytes(), |at, word| { found.push((at, keywords.words()[word])); true });
            let small = text.to_ascii_lowercase();
            let mut expected: Vec<(usize, &str)> =
                WORDS.iter().flat_map(|word| (0..small.len()).filter(|at| small.as_bytes()[*at..].starts_with(word.as_bytes())).map(|at| (at, *word)).collect::<Vec<_>>()).collect();

            expected.sort_unstable();
            found.sort_unstable();

            prop_assert_eq!(found, expected);
        }
    }
}
