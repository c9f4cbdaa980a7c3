//! A short version of what `fuzz/` does for hours: any bytes as input, findings inside the text as output.

use std::io::Cursor;

use proptest::prelude::*;
use switchboard_checks::{Limits, look_at, read_output, serve};
use switchboard_grammars::Language;

/// A path of each language, and of each kind of file that `secretscan` distinguishes.
const PATHS: &[&str] = &[
    "a.sh",
    "a.c",
    "a.cs",
    "a.cpp",
    "a.css",
    "a.dart",
    "a.go",
    "a.ini",
    "a.java",
    "a.js",
    "a.kt",
    "a.php",
    "a.ps1",
    "a.py",
    "a.regex",
    "a.rb",
    "a.rs",
    "a.swift",
    "a.ts",
    "a.tsx",
    "a.yaml",
    ".env",
    "Cargo.lock",
    "a.md",
    "de.po",
    "a.sql",
    "Dockerfile",
    ".swarm/plan.md",
    "package.json",
    "tsconfig.json",
    "a.json5",
    "a.jsonl",
    "a.toml",
    "a.xml",
    "a.html",
    "a.scss",
    "a.vue",
    "a.svelte",
    "a.tf",
    ".github/workflows/a.yml",
];
/// Fragments of code and of credentials that a parser reacts to, cut and joined in any order.
const FRAGMENTS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "\\",
    "\n",
    "\n    ",
    ";",
    ",",
    ":",
    "=",
    "=>",
    "->",
    "::",
    "&&",
    "@",
    "#",
    "$",
    "${",
    "*",
    "**",
    "..",
    "...",
    "/*",
    "*/",
    "//",
    "<!--",
    "\"\"\"",
    "in ",
    "out ",
    " as ",
    "<T>(",
    "{{",
    "}}",
    "{%",
    "%}",
    "\n#if A\n",
    "\n#else\n",
    "\n#endif\n",
    "\n<script>\n",
    "</script>",
    "<![CDATA[",
    "- ",
    ": ",
    "\n---\n",
    "&a ",
    "*a",
    "<<E\n",
    "RUN ",
    "\nFROM a\n",
    "$$",
    "@\"",
    "R\"(",
    ">`",
    "::(",
    "! important",
    "function ",
    "class ",
    "def ",
    "async ",
    "await ",
    "return ",
    "import ",
    "package ",
    "const ",
    "let ",
    "try ",
    "if ",
    "for ",
    "switch ",
    "case ",
    "0x",
    "99999999999",
    "1L",
    "é",
    "\u{0}",
    "\u{feff}",
    "password",
    "token=",
    "eyJ",
    "ghp_",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "://a:",
    "Bearer ",
    "x",
    "Y",
];

/// Fragments of the output of compilers, linters and test runners.
const OUTPUT: &[&str] = &[
    "src/a.rs:1:2: error: x\n",
    "a.ts(3,4): error TS2304: y\n",
    "[ERROR] A.java:[1,2] z\n",
    "error[E0001]: w\n",
    "  --> a.rs:1:2\n",
    "/w/a.js\n",
    "  1:2  error  x  rule\n",
    "test result: ok. 3 passed; 0 failed; 99999999999999999999 ignored\n",
    "test a::b ... FAILED\n",
    "Tests: 1 failed, 2 passed, 3 total\n",
    "=== 5 passed, 1 failed in 0.1s ===\n",
    "--- FAIL: TestX (0.00s)\n",
    "ok 1 - a\n",
    "Ran 3 tests in 0.1s\nFAILED (failures=1)\n",
    "\n",
    ":",
    "\t",
    "0",
];

fn inside(path: &str, text: &[u8], before: Option<&[u8]>) -> Result<(), TestCaseError> {
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    for finding in look_at(path, text, before) {
        let span = finding.span;
        prop_assert!(span.start_line >= 1 && span.end_line as usize <= lines, "{path}: {span:?} of {lines}");
        prop_assert!((span.start_line, span.start_column) <= (span.end_line, span.end_column), "{path}: {span:?}");
        prop_assert_eq!(&finding.path, path);
    }
    Ok(())
}

#[test]
fn every_language_is_among_the_paths() {
    let missing: Vec<_> = Language::ALL
        .iter()
        .filter(|language| !PATHS.iter().any(|path| Language::of(path, b"") == Some(**language)))
        .collect();

    assert!(missing.is_empty(), "{missing:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_fragments_are_looked_at(path in 0..PATHS.len(), fragments in prop::collection::vec(0..FRAGMENTS.len(), 0..60), cut in 0..60_usize) {
        let text: Vec<u8> = fragments.iter().flat_map(|piece| FRAGMENTS[*piece].bytes()).collect();
        let before = &text[..cut.min(text.len())];

        inside(PATHS[path], &text, Some(before))?;
        inside(PATHS[path], &text, None)?;
    }

    #[test]
    fn any_bytes_are_looked_at(path in 0..PATHS.len(), text in prop::collection::vec(any::<u8>(), 0..300)) {
        inside(PATHS[path], &text, None)?;
    }

    #[test]
    fn any_output_is_read(fragments in prop::collection::vec((0..OUTPUT.len(), 0..4_usize), 0..60)) {
        let text: String = fragments.iter().map(|(piece, cut)| &OUTPUT[*piece][*cut.min(&OUTPUT[*piece].len())..]).collect();

        let (findings, _totals) = read_output(&text);

        prop_assert!(findings.len() <= 200);
    }

    #[test]
    fn any_line_is_answered(line in prop::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 1..200)) {
        let mut answers = Vec::new();
        let asked = [b"x", &line[..], b"\n"].concat();

        serve(Cursor::new(asked), &mut answers, &Limits::default()).map_err(|error| TestCaseError::fail(error.to_string()))?;

        prop_assert_eq!(answers.iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
