//! Files that no grammar reads: their comments, told line by line, and the brackets of a plan that nobody filled in.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::found::{Placeholder, Weight};

/// How a kind of file begins a comment.
const MARKERS: &[(&str, &[&str])] = &[
    ("#", &["yaml", "yml", "toml", "tf", "hcl", "nix", "r", "pl", "pm", "mk", "cmake", "jl", "ex", "exs", "conf"]),
    ("//", &["scala", "zig", "groovy", "gradle", "proto", "sol", "less", "scss", "jsonc", "json5", "v", "hx"]),
    ("--", &["sql", "lua", "hs", "elm", "adb", "ads"]),
    ("<!--", &["html", "htm", "xml", "vue", "svelte", "xhtml"]),
];
/// Files without an ending whose comments begin with `#`.
const NAMED: [&str; 4] = ["Dockerfile", "Makefile", "GNUmakefile", "Containerfile"];

static BRACKETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)\[(?i:(?:project|task|date|reason|description)(?: (?:name|title|description|here))?)\]")
        .expect("a constant pattern")
});

/// Returns what begins a comment in a file of this name.
pub(super) fn marker(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if NAMED.contains(&name) {
        return Some("#");
    }
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    MARKERS.iter().find(|(_, endings)| endings.contains(&ending.as_str())).map(|(marker, _)| *marker)
}

/// Lists the comments of a text: a marker at the start of a line or behind a space, to the end of the line.
pub(super) fn comments(text: &[u8], marker: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let at = line
            .windows(marker.len())
            .enumerate()
            .position(|(at, part)| part == marker.as_bytes() && (at == 0 || line[at - 1].is_ascii_whitespace()));
        found.extend(at.map(|at| start + at..start + line.len()));
        start += line.len();
    }
    found
}

/// Finds the brackets of a plan's template.
pub(super) fn of_plan(path: &str, text: &[u8]) -> Vec<Placeholder> {
    if !path.ends_with(".swarm/plan.md") {
        return Vec::new();
    }
    let found = BRACKETS.find_iter(text).filter(|found| text.get(found.end()) != Some(&b'('));
    found
        .map(|found| Placeholder {
            weight: Weight::Blocks,
            rule: "placeholder/plan-bracket".into(),
            what: "the plan's template was not filled in",
            range: found.range(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_what_only_looks_like_one() {
        let text = b"# one\nurl: http://x/#two\nkey: 1 # three\n";

        let seen: Vec<&[u8]> = comments(text, "#").into_iter().map(|range| text[range].trim_ascii()).collect();

        assert_eq!(seen, [b"# one".as_slice(), b"# three"]);
        assert_eq!((marker("a/b.SQL"), marker("Dockerfile"), marker("a.bin")), (Some("--"), Some("#"), None));
    }
}
