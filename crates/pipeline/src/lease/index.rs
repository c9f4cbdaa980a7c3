//! Index of globs by the prefix of their paths: overlapping globs have related prefixes.

use std::collections::BTreeMap;
use std::ops::Bound;

use switchboard_protocol::event::Lsn;

use crate::paths::Pattern;

/// Patterns with their leases. If two patterns share a file, the stem of one begins with that of the other. Patterns
/// that overlap with a given one therefore have a stem that is a prefix of its stem, or begins with it.
#[derive(Debug, Clone, Default)]
pub(super) struct GlobIndex {
    by_stem: BTreeMap<String, Vec<(Pattern, Lsn)>>,
    /// Number of stems by their length in bytes.
    lengths: BTreeMap<usize, usize>,
}

// === impl GlobIndex ===

impl GlobIndex {
    pub(super) fn insert(&mut self, pattern: Pattern, token: Lsn) {
        let stem = pattern.stem();
        let length = stem.len();
        let entries = self.by_stem.entry(stem).or_default();
        if entries.is_empty() {
            *self.lengths.entry(length).or_default() += 1;
        }
        entries.push((pattern, token));
    }

    pub(super) fn remove(&mut self, pattern: &Pattern, token: Lsn) {
        let stem = pattern.stem();
        let Some(entries) = self.by_stem.get_mut(&stem) else { return };
        entries.retain(|(other, owner)| *owner != token || other != pattern);
        if !entries.is_empty() {
            return;
        }
        self.by_stem.remove(&stem);
        if let Some(count) = self.lengths.get_mut(&stem.len()) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&stem.len());
            }
        }
    }

    /// Returns the leases on exactly this pattern.
    pub(super) fn at(&self, pattern: &Pattern) -> impl Iterator<Item = Lsn> {
        let entries = self.by_stem.get(&pattern.stem()).into_iter().flatten();
        entries.filter(|(other, _)| other == pattern).map(|(_, token)| *token).collect::<Vec<_>>().into_iter()
    }

    /// Returns all patterns that may overlap with a pattern, and some that don't.
    pub(super) fn near(&self, pattern: &Pattern) -> impl Iterator<Item = &(Pattern, Lsn)> {
        let stem = pattern.stem();
        let above: Vec<_> =
            self.lengths.range(..stem.len()).filter_map(|(length, _)| self.by_stem.get(stem.get(..*length)?)).collect();
        let from: (Bound<&str>, Bound<&str>) = (Bound::Included(stem.as_str()), Bound::Unbounded);
        let below: Vec<_> = self
            .by_stem
            .range::<str, _>(from)
            .take_while(|(other, _)| other.starts_with(&stem))
            .map(|(_, all)| all)
            .collect();
        above.into_iter().chain(below).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    #[test]
    fn looks_at_the_same_few_patterns_however_many_there_are() {
        let looked_at = |folders: u64| {
            let mut index = GlobIndex::default();
            for n in 0..folders {
                index.insert(pattern(&format!("crates/part_{n:05}/src/**")), n);
            }
            index.insert(pattern("**/Cargo.lock"), folders);
            ["crates/part_00003/src/lib.rs", "docs/**", "crates/part_00007/**/*.rs"]
                .map(|text| index.near(&pattern(text)).count())
        };

        assert_eq!(looked_at(10), looked_at(10_000));
    }

    #[test]
    fn what_is_taken_out_is_not_found_any_more() {
        let mut index = GlobIndex::default();
        index.insert(pattern("src/**"), 1);
        index.insert(pattern("src/**"), 2);

        index.remove(&pattern("src/**"), 1);
        let left: Vec<_> = index.near(&pattern("src/a.rs")).map(|(_, token)| *token).collect();
        index.remove(&pattern("src/**"), 2);

        assert_eq!(left, [2]);
        assert!(index.by_stem.is_empty() && index.lengths.is_empty());
    }
}
