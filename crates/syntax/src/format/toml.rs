//! TOML, as `toml_edit` reads it.

use crate::problem::{Kind, Problem};

/// Finds the first position that is no valid TOML. The parser's message may hold text of the file; only its position is
/// used.
pub(super) fn problem(text: &str) -> Option<Problem> {
    let error = text.parse::<toml_edit::DocumentMut>().err()?;
    let at = error.span().map_or(0, |span| span.start);
    let kind = if error.message().starts_with("duplicate key") {
        Kind::Stated("a key is given twice".to_owned())
    } else {
        Kind::Unreadable
    };
    Some(Problem::at(text.as_bytes(), at, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_manifest_is_found_with_its_line() {
        let lines = |text: &str| problem(text).map(|found| found.lines.start + 1);

        assert_eq!(lines("[package]\nname = \"a\"\n"), None);
        assert_eq!(lines("[package]\nname = \"a\nversion = 1\n"), Some(2));
        assert_eq!(lines("[package\nname = \"a\"\n"), Some(1));
        assert_eq!(lines("a = 1\nb = [1, 2\nc = 3\n"), Some(3));
        assert_eq!(problem("a = 1\na = 2\n").map(|found| found.message("TOML")), Some("a key is given twice".into()));
    }
}
