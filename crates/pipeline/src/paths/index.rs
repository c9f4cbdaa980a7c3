//! Index of declared paths: finds overlapping declarations without comparing all pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::Pattern;

/// Declared paths and their owners (numbers of tasks).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PathIndex {
    /// By path with a slash after each part, so that what a folder contains follows it.
    literal: BTreeMap<String, Vec<usize>>,
    globs: Vec<(Pattern, usize)>,
}

impl PathIndex {
    pub(crate) fn insert(&mut self, pattern: &Pattern, owner: usize) {
        if pattern.is_literal() {
            self.literal.entry(pattern.folder().to_owned()).or_default().push(owner);
        } else {
            self.globs.push((pattern.clone(), owner));
        }
    }

    /// Returns the owners of declarations that overlap with any of these, except `owner`, in ascending order.
    pub(crate) fn rivals(&self, patterns: &[Pattern], owner: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        if self.literal.is_empty() && self.globs.is_empty() {
            return found;
        }
        for pattern in patterns {
            self.literal_rivals(pattern, &mut found);
            found.extend(self.globs.iter().filter(|(glob, _)| glob.overlaps(pattern)).map(|(_, owner)| *owner));
        }
        found.remove(&owner);
        found
    }

    fn literal_rivals(&self, pattern: &Pattern, found: &mut BTreeSet<usize>) {
        let folder = pattern.folder();
        for above in ancestors(folder) {
            found.extend(self.literal.get(above).into_iter().flatten());
        }
        let exact = pattern.is_literal();
        for (path, owners) in self.in_folder(folder) {
            if exact || Pattern::parse(path).is_ok_and(|path| path.overlaps(pattern)) {
                found.extend(owners);
            }
        }
    }

    /// Returns a folder and what it contains.
    fn in_folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a String, &'a Vec<usize>)> {
        let from = (Bound::Included(folder), Bound::Unbounded);
        self.literal.range::<str, _>(from).take_while(move |(path, _)| path.starts_with(folder))
    }
}

/// Returns the path itself and all folders above it, including the root (an empty text).
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(path.match_indices('/').map(|(at, _)| &path[..=at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_same_rivals_as_comparing_all_pairs() {
        let declared = [
            "src/a.rs",
            "src",
            "src/a",
            "src/ab.rs",
            "src/*.rs",
            "**/a.rs",
            "lib/x/y.rs",
            "lib/x",
            "lib/*/y.rs",
            ".",
            "src0",
            "src/a.rs/deep",
            "*",
        ];
        let patterns: Vec<_> = declared.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        let mut index = PathIndex::default();
        patterns.iter().enumerate().for_each(|(owner, pattern)| index.insert(pattern, owner));

        for (owner, pattern) in patterns.iter().enumerate() {
            let expected: BTreeSet<_> =
                (0..patterns.len()).filter(|other| *other != owner && patterns[*other].overlaps(pattern)).collect();
            assert_eq!(index.rivals(std::slice::from_ref(pattern), owner), expected, "{}", declared[owner]);
        }
    }
}
