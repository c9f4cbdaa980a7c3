//! One text of any kind through every check that looks at files: all grammars, all rules, all detectors, all comments.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// A path of each language, and of each kind of file that `secretscan` tells apart.
const PATHS: [&str; 40] = [
    "a.sh", "a.c", "a.cs", "a.cpp", "a.css", "a.dart", "a.go", "a.ini", "a.java", "a.js", "a.kt", "a.php", "a.ps1",
    "a.py", "a.regex", "a.rb", "a.rs", "a.swift", "a.ts", "a.tsx", "a.yaml", ".env", "Cargo.lock", "a.md", "de.po", "a.sql", "Dockerfile",
    "a.html", ".swarm/plan.md", "package.json", "tsconfig.json", "a.json5", "a.jsonl", "a.toml", "a.xml", "a.scss", "a.vue",
    "a.svelte", "a.tf", ".github/workflows/a.yml",
];

// The first byte chooses the path, the second where the version before ends.
fuzz_target!(|input: &[u8]| {
    let [path, cut, text @ ..] = input else { return };
    let before = &text[..usize::from(*cut).min(text.len())];
    let findings = switchboard_checks::look_at(PATHS[usize::from(*path) % PATHS.len()], text, Some(before));
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!(findings.iter().all(|finding| finding.span.end_line as usize <= lines));
});
