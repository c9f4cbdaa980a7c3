//! One text of any kind through every reader of credentials: key files, headers, commands, encoded and escaped text.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// A path of each kind of file that `secretscan` tells apart.
const PATHS: [&str; 12] = [
    "a.py", "tests/a.py", "a.yaml", "tests/a.yaml", ".env", "a.sh", "Dockerfile", "a.md", "a.json", "Cargo.lock", "de.po", "a.log",
];

// The first byte chooses the path.
fuzz_target!(|input: &[u8]| {
    let [path, text @ ..] = input else { return };
    for hit in switchboard_secrets::scan(text, PATHS[usize::from(*path) % PATHS.len()]) {
        assert!(hit.range.start < hit.range.end && hit.range.end <= text.len());
        assert!(!hit.message().is_empty());
        let _prefix = hit.public_prefix(text);
    }
});
