//! The output of a compiler, a linter or a test runner: any text in, a bounded list of findings out.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    let (findings, _totals) = switchboard_checks::read_output(&text);
    assert!(findings.len() <= 200);
    assert!(findings.iter().all(|finding| finding.message.chars().count() <= 500));
});
