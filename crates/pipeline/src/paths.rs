//! Declared paths: files, folders and globs relative to the repository's root, and whether two of them can mean the same file.
//!
//! A folder includes everything below it. If a glob is too complex to decide, two patterns count as overlapping.

mod access;
mod index;
mod segment;

pub(crate) use access::{ClaimIndex, Claims, reasons};
pub(crate) use index::PathIndex;

use segment::Segment;

/// Why a path is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsafePath {
    /// The path is empty.
    #[error("it is empty")]
    Empty,
    /// The path is longer than [`switchboard_protocol::plan::MAX_PATH_BYTES`].
    #[error("it is longer than 400 bytes")]
    TooLong,
    /// The path begins at the root of the file system, a drive or a home folder.
    #[error("it is absolute")]
    Absolute,
    /// The path contains `..`.
    #[error("it holds `..`")]
    Parent,
    /// The path or one of its parts begins with `-`, so that it could be read as an option.
    #[error("it begins with `-`")]
    Option,
    /// The path contains NUL or another control character.
    #[error("it holds a control character")]
    Control,
}

/// A declared path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Normalised path, with a slash after each part.
    text: String,
    /// Length of the leading parts without wildcards, in bytes of the text.
    literal: usize,
    segments: Vec<Segment>,
}

impl Pattern {
    /// Parses a declared path. Reads `\` as `/`, and drops `./`, repeated slashes and a trailing `/`.
    ///
    /// # Errors
    /// When the path could leave the repository or be read as an option.
    pub fn parse(declared: &str) -> Result<Self, UnsafePath> {
        check(declared)?;
        let normal = declared.replace('\\', "/");
        let parts = normal.split('/').filter(|part| !part.is_empty() && *part != ".");
        let (text, segments): (String, Vec<_>) = parts.map(|part| (format!("{part}/"), Segment::parse(part))).unzip();
        let literal = text.split_inclusive('/').zip(&segments).take_while(|(_, segment)| segment.is_literal());
        Ok(Self { literal: literal.map(|(part, _)| part.len()).sum(), text, segments })
    }

    /// Returns the normalised path; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.text.strip_suffix('/').unwrap_or_default()
    }

    /// Returns true if a file can match both patterns; a folder includes everything below it.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        segment::meet(&self.segments, &other.segments)
    }

    /// Returns true if a file lies in the path.
    #[must_use]
    pub fn covers(&self, file: &str) -> bool {
        let file: Vec<_> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        segment::covers(&self.segments, &file)
    }

    const fn is_literal(&self) -> bool {
        self.literal == self.text.len()
    }

    /// Returns the prefix that the paths of all its files share; for a folder, its name without the trailing slash.
    pub(crate) fn stem(&self) -> String {
        let mut stem = String::new();
        for (at, segment) in self.segments.iter().enumerate() {
            let (text, is_whole) = segment.stem();
            if at > 0 && (is_whole || !text.is_empty()) {
                stem.push('/');
            }
            stem.push_str(text);
            if !is_whole {
                break;
            }
        }
        stem
    }

    /// Returns the folder that contains all of its files, with a slash after each part; empty for the root.
    fn folder(&self) -> &str {
        &self.text[..self.literal]
    }
}

/// Checks that a declared path stays inside the repository and can't be read as an option.
///
/// # Errors
/// The first rule that the path breaks.
pub fn check(declared: &str) -> Result<(), UnsafePath> {
    let drive = |text: &str| text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
    if declared.trim().is_empty() {
        return Err(UnsafePath::Empty);
    }
    if declared.len() > switchboard_protocol::plan::MAX_PATH_BYTES {
        return Err(UnsafePath::TooLong);
    }
    if declared.chars().any(char::is_control) {
        return Err(UnsafePath::Control);
    }
    if declared.starts_with(['/', '\\', '~']) || drive(declared) {
        return Err(UnsafePath::Absolute);
    }
    let mut parts = declared.split(['/', '\\']);
    if parts.clone().any(|part| part == "..") {
        return Err(UnsafePath::Parent);
    }
    if parts.any(|part| part.starts_with('-')) {
        return Err(UnsafePath::Option);
    }
    Ok(())
}

/// Returns the files that lie in none of the declared paths; empty if none are declared.
#[must_use]
pub fn undeclared<'a>(declared: &[Pattern], files: &'a [String]) -> Vec<&'a str> {
    let covered = |file: &&str| declared.is_empty() || declared.iter().any(|pattern| pattern.covers(file));
    files.iter().map(String::as_str).filter(|file| !covered(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: &str, b: &str) -> bool {
        let (a, b) = (Pattern::parse(a).unwrap(), Pattern::parse(b).unwrap());
        assert_eq!(a.overlaps(&b), b.overlaps(&a), "{a:?} {b:?}");
        a.overlaps(&b)
    }

    #[test]
    fn the_same_file_in_other_spellings_overlaps() {
        for other in
            ["src/a.rs", "./src/a.rs", "src//a.rs", "src\\a.rs", "src", "src/", ".", "src/*.rs", "**/a.rs", "**"]
        {
            assert!(overlap("src/a.rs", other), "{other}");
        }
    }

    #[test]
    fn different_files_do_not_overlap() {
        for other in ["src/b.rs", "src/a", "src/a.rs.bak", "srcs", "src/*.ts", "*.rs", "lib/**", "src/?.ts"] {
            assert!(!overlap("src/a.rs", other), "{other}");
        }
    }

    #[test]
    fn globs_overlap_when_one_name_fits_both() {
        assert!(overlap("src/a*.rs", "src/*b.rs"));
        assert!(overlap("src/**/x/*.rs", "**/y/z.rs"));
        assert!(overlap("app/[id]/page.tsx", "app/[id]/page.tsx"));
        assert!(overlap("src/{a,b}.rs", "src/b.rs"));
        assert!(overlap("app/[id]/*", "app/*d]/page.tsx"));
        assert!(!overlap("src/a*.rs", "src/b*.rs"));
        assert!(!overlap("src/*.rs", "tests/*.rs"));
    }

    #[test]
    fn a_long_row_of_stars_is_decided_quickly() {
        let stars = "*a".repeat(150);

        assert!(overlap(&stars, &format!("{}b*", "a*".repeat(150))));
        assert!(overlap(&"**/a/".repeat(70), &"b/**/".repeat(70)));
    }

    #[test]
    fn refuses_paths_that_leave_the_repository_or_look_like_options() {
        for (bad, why) in [
            ("", UnsafePath::Empty),
            ("/etc/passwd", UnsafePath::Absolute),
            ("C:\\x", UnsafePath::Absolute),
            ("~/x", UnsafePath::Absolute),
            ("a/../b", UnsafePath::Parent),
            ("..\\b", UnsafePath::Parent),
            ("-rf", UnsafePath::Option),
            ("a/-rf", UnsafePath::Option),
            ("a\0b", UnsafePath::Control),
        ] {
            assert_eq!(Pattern::parse(bad), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn names_the_files_outside_the_declared_paths() {
        let declared = ["src/**", "app/[id]/x.ts"].map(|p| Pattern::parse(p).unwrap());
        let files = ["src/a/b.rs", "app/[id]/x.ts", "Cargo.toml"].map(str::to_owned);

        assert_eq!(undeclared(&declared, &files), ["Cargo.toml"]);
        assert!(undeclared(&[], &files).is_empty());
    }
}
