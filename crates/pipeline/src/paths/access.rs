//! Conflicts between tasks on files: a writer excludes other writers and readers, readers don't exclude each other.

use std::collections::BTreeSet;

use switchboard_protocol::run::Access;

use super::{PathIndex, Pattern, UnsafePath};

/// Paths that a task declares to write and to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    writes: Vec<Pattern>,
    reads: Vec<Pattern>,
}

impl Claims {
    /// Parses declared paths.
    ///
    /// # Errors
    /// The first unsafe path, and why.
    pub(crate) fn parse(writes: &[String], reads: &[String]) -> Result<Self, (String, UnsafePath)> {
        let all = |texts: &[String]| {
            texts.iter().map(|text| Pattern::parse(text).map_err(|why| (text.clone(), why))).collect::<Result<_, _>>()
        };
        Ok(Self { writes: all(writes)?, reads: all(reads)? })
    }

    /// As [`parse`](Self::parse), but drops unsafe paths.
    pub(crate) fn of_safe(writes: &[String], reads: &[String]) -> Self {
        let safe = |texts: &[String]| texts.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        Self { writes: safe(writes), reads: safe(reads) }
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.writes.extend(more.writes);
        self.reads.extend(more.reads);
    }

    /// Returns the paths that two tasks share and at least one of them writes, each once, as this task declares it.
    pub(crate) fn shared<'a>(&'a self, other: &Self) -> Vec<(&'a str, Access, Access)> {
        let meets = |path: &Pattern, others: &[Pattern]| others.iter().any(|theirs| theirs.overlaps(path));
        let written = self.writes.iter().filter_map(|path| {
            let theirs = if meets(path, &other.writes) { Access::Write } else { Access::Read };
            (theirs == Access::Write || meets(path, &other.reads)).then_some((path.as_str(), Access::Write, theirs))
        });
        let read = self.reads.iter().filter(|path| meets(path, &other.writes));
        let mut seen = BTreeSet::new();
        let all = written.chain(read.map(|path| (path.as_str(), Access::Read, Access::Write)));
        all.filter(|(path, ..)| seen.insert(*path)).collect()
    }
}

/// Returns why a task waits for another one with which it shares these paths, by the other one's declarations.
pub(crate) fn reasons(shared: &[(&str, Access, Access)]) -> String {
    let with = |of_holder: Access, of_waiting: Access| {
        let meant = shared.iter().filter(|(_, a, b)| (*a, *b) == (of_holder, of_waiting));
        let paths: Vec<_> = meant.map(|(path, ..)| *path).collect();
        (!paths.is_empty()).then(|| paths.join(", "))
    };
    let both = with(Access::Write, Access::Write).map(|paths| format!("both write {paths}"));
    let read = with(Access::Write, Access::Read).map(|paths| format!("it writes {paths}, which this one reads"));
    let written = with(Access::Read, Access::Write).map(|paths| format!("it reads {paths}, which this one writes"));
    [both, read, written].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The claims of many tasks: finds those that conflict without comparing all pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimIndex {
    writes: PathIndex,
    reads: PathIndex,
}

impl ClaimIndex {
    pub(crate) fn insert(&mut self, claims: &Claims, owner: usize) {
        claims.writes.iter().for_each(|path| self.writes.insert(path, owner));
        claims.reads.iter().for_each(|path| self.reads.insert(path, owner));
    }

    /// Returns the owners of claims that conflict with these, except `owner`, in ascending order.
    pub(crate) fn rivals(&self, claims: &Claims, owner: usize) -> BTreeSet<usize> {
        let mut found = self.writes.rivals(&claims.writes, owner);
        if !claims.reads.is_empty() {
            found.extend(self.writes.rivals(&claims.reads, owner));
        }
        found.extend(self.reads.rivals(&claims.writes, owner));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(writes: &[&str], reads: &[&str]) -> Claims {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        Claims::parse(&texts(writes), &texts(reads)).unwrap()
    }

    #[test]
    fn a_writer_keeps_writers_and_readers_apart_and_readers_do_not_keep_each_other() {
        let all = [
            claims(&["src/a.rs"], &[]),
            claims(&["./src//"], &[]),
            claims(&["docs"], &["src/*.rs"]),
            claims(&[], &["src/a.rs", "lib"]),
            claims(&["src/b.rs"], &["docs/x.md"]),
        ];
        let mut index = ClaimIndex::default();
        all.iter().enumerate().for_each(|(owner, claims)| index.insert(claims, owner));

        let rivals = |at: usize| index.rivals(&all[at], at).into_iter().collect::<Vec<_>>();
        assert_eq!(
            [rivals(0), rivals(1), rivals(2), rivals(3), rivals(4)],
            [vec![1, 2, 3], vec![0, 2, 3, 4], vec![0, 1, 4], vec![0, 1], vec![1, 2]]
        );
        for (a, one) in all.iter().enumerate() {
            for (b, other) in all.iter().enumerate().filter(|(b, _)| *b != a) {
                assert_eq!(!one.shared(other).is_empty(), rivals(a).contains(&b), "{a} {b}");
            }
        }
    }

    #[test]
    fn what_two_have_in_common_says_what_each_does_with_it() {
        use Access::{Read, Write};
        let (one, other) =
            (claims(&["src/a.rs", "x"], &["src/b.rs", "src/a.rs", "y"]), claims(&["src/b.rs"], &["src", "y"]));

        assert_eq!(one.shared(&other), [("src/a.rs", Write, Read), ("src/b.rs", Read, Write)]);
        assert_eq!(other.shared(&one), [("src/b.rs", Write, Read), ("src", Read, Write)]);
        assert_eq!(one.shared(&one), [("src/a.rs", Write, Write), ("x", Write, Write)], "each path once");
    }

    #[test]
    fn a_path_that_is_not_safe_is_named() {
        let (text, why) = Claims::parse(&[], &["../x".to_owned()]).unwrap_err();

        assert_eq!((text.as_str(), why), ("../x", UnsafePath::Parent));
        assert_eq!(Claims::of_safe(&["/x".to_owned()], &["a".to_owned()]), claims(&[], &["a"]));
    }
}
