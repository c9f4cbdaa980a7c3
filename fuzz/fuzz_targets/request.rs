//! One line to `switchboard check --serve`: an answer whatever was asked.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    // A request that names a folder would be served; here only what reads requests is meant.
    if line.contains(&b'/') || line.contains(&b'\\') {
        return;
    }
    let mut answers = Vec::new();
    switchboard_checks::serve(line, &mut answers, &switchboard_checks::Limits::default()).expect("memory can be written");
});
