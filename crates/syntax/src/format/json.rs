//! JSON as `serde_json` reads it; where a file's readers allow comments and trailing commas, as `jsonc-parser` does.

use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use crate::balance::{Quoting, unbalanced};
use crate::problem::{Kind, Problem};

/// Additions to JSON that a file's readers allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Dialect {
    /// No additions.
    Strict,
    /// Comments, and with them trailing commas; a file without comments is read as [`Dialect::Strict`].
    Unknown,
    /// Comments and trailing commas.
    Commented,
    /// One value a line.
    Lines,
    /// JSON5: only its brackets and quotes are checked.
    Five,
}

/// Files whose only reader is strict.
const STRICT: [&str; 7] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "composer.json",
    "composer.lock",
    "bower.json",
    "lerna.json",
];
/// Files whose reader allows comments, by the beginning of their names.
const COMMENTED: [&str; 16] = [
    "tsconfig",
    "jsconfig",
    ".eslintrc",
    ".babelrc",
    ".swcrc",
    ".jshintrc",
    ".jscsrc",
    "devcontainer",
    "api-extractor",
    "turbo",
    "deno",
    "tslint",
    "angular",
    "appsettings",
    "biome",
    "renovate",
];

// === impl Dialect ===

impl Dialect {
    /// Returns the dialect of a file by its name; `None` if it is no JSON.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if STRICT.contains(&name) {
            return Some(Self::Strict);
        }
        let is_commented = COMMENTED.iter().any(|start| name.starts_with(start))
            || [".vscode/", ".devcontainer/"].iter().any(|folder| path.contains(folder));
        let ending = match name.rsplit_once('.') {
            Some((_, ending)) => ending.to_ascii_lowercase(),
            None => return None,
        };
        Some(match ending.as_str() {
            "json" if is_commented => Self::Commented,
            "json" | "webmanifest" | "geojson" | "ipynb" | "har" | "avsc" => Self::Unknown,
            "jsonc" | "code-workspace" => Self::Commented,
            "jsonl" | "ndjson" => Self::Lines,
            "json5" => Self::Five,
            _ => return None,
        })
    }
}

/// Finds the first position that is no valid JSON.
pub(super) fn problem(path: &str, text: &str, dialect: Dialect) -> Option<Problem> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let plain = &text[mark..];
    let failed = |error: &serde_json::Error| Some(of(text, plain, mark, error));
    let read = |plain: &str| serde_json::from_str::<IgnoredAny>(plain).err();
    if plain.trim().is_empty() {
        return if dialect == Dialect::Strict { failed(&read(plain)?) } else { None };
    }
    match dialect {
        Dialect::Strict => failed(&read(plain)?),
        Dialect::Five => unbalanced(text.as_bytes(), Quoting::Json5),
        Dialect::Lines => broken_line(text, plain, mark),
        Dialect::Commented => commented(text, plain, mark).err(),
        Dialect::Unknown => {
            let error = read(plain)?;
            if commented(text, plain, mark).is_ok_and(|has_comments| has_comments) {
                return None;
            }
            // Files with one value a line may also end in `.json`.
            let is_lines = plain.lines().filter(|line| !line.trim().is_empty()).nth(1).is_some()
                && broken_line(text, plain, mark).is_none();
            if is_lines || is_broken_on_purpose(path) { None } else { failed(&error) }
        }
    }
}

/// Returns whether a file is deliberately broken test data for a JSON parser: it lies in a test folder and its name
/// says so. The name alone is not enough: any broken file could have it.
fn is_broken_on_purpose(path: &str) -> bool {
    const TESTS: [&str; 7] = ["test", "tests", "__tests__", "testdata", "fixtures", "__fixtures__", "spec"];
    const WORDS: [&str; 3] = ["invalid", "malformed", "broken"];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(|folder| TESTS.contains(&folder)) && WORDS.iter().any(|word| name.contains(word))
}

fn broken_line(text: &str, plain: &str, mark: usize) -> Option<Problem> {
    let mut start = 0;
    for line in plain.split_inclusive('\n') {
        if !line.trim().is_empty()
            && let Err(error) = serde_json::from_str::<IgnoredAny>(line)
        {
            return Some(of(text, line, mark + start, &error));
        }
        start += line.len();
    }
    None
}

/// Returns the problem that `serde_json` reports. Its messages hold no text of the file.
fn of(text: &str, part: &str, start: usize, error: &serde_json::Error) -> Problem {
    let before: usize = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    // The columns count bytes; the byte before the mistake is the first.
    let at = (start + before + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or_default().to_owned();
    Problem::at(text.as_bytes(), at, Kind::Stated(what))
}

/// Reads JSON with comments and trailing commas, without the parser's other additions. Returns whether there is a
/// comment.
fn commented(text: &str, plain: &str, mark: usize) -> Result<bool, Problem> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Separate, tokens: false };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let stated = |at: usize, what: String| Problem::at(text.as_bytes(), at.min(text.len()), Kind::Stated(what));
    match parse_to_ast(plain, &collect, &options) {
        Ok(read) if read.value.is_none() => Err(stated(text.len(), "there is no value".to_owned())),
        Ok(read) => Ok(read.comments.is_some_and(|comments| !comments.is_empty())),
        Err(error) => Err(stated(mark + error.range().start, error.kind().to_string().to_lowercase())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, text: &str) -> Option<(usize, String)> {
        let found = problem(path, text, Dialect::of(path).unwrap())?;
        Some((found.lines.start + 1, found.message("JSON")))
    }

    #[test]
    fn a_broken_manifest_is_found_with_its_line() {
        let text = "{\n  \"name\": \"a\",\n  \"main\": \"b\"\n  \"bin\": {}\n}\n";

        assert_eq!(place("package.json", text), Some((4, "expected `,` or `}`".into())));
        assert_eq!(place("package.json", "{\"a\": [1, 2}"), Some((1, "expected `,` or `]`".into())));
        assert_eq!(place("package.json", ""), Some((1, "EOF while parsing a value".into())));
        assert!(place("package.json", "{ /* no */ }").is_some());
        assert_eq!(
            place("tsconfig.json", "{\n  // why\n  \"a\": 1\n  \"b\": 2\n}"),
            Some((3, "expected comma".into()))
        );
        assert_eq!(place("tsconfig.json", "// nothing\n"), Some((2, "there is no value".into())));
    }

    #[test]
    fn additions_are_allowed_where_the_readers_allow_them() {
        for (path, text) in [
            ("tsconfig.base.json", "{\n  // why\n  \"a\": [1, 2,],\n}"),
            ("data.json", "{ \"a\": 1 /* b */, }"),
            ("x.jsonc", "[1, /* , */ ]"),
            (".vscode/settings.json", "{\"a\": \"//\",}"),
            ("log.ndjson", "{\"a\":1}\n\n{\"a\":2}\n"),
            ("log.json", "{\"a\":1}\n{\"a\":2}\n"),
            ("a.json5", "{ a: 'b', }"),
            ("a.json", "\u{feff}{}\n"),
            ("tests/data/invalid-comma.json", "{,}"),
        ] {
            assert_eq!(place(path, text), None, "{path}");
        }
        for (path, text) in [
            ("data.json", "{ \"a\": 1, }"),
            ("src/invalid.json", "{,}"),
            ("tests/data/plain.json", "{,}"),
            ("tsconfig.json", "{ \"a\": 1 \"b\": 2 }"),
            ("log.ndjson", "{\"a\":1}\n{\"a\":}\n"),
            ("a.json5", "{ a: 'b', "),
        ] {
            assert!(place(path, text).is_some(), "{path}");
        }
    }
}
