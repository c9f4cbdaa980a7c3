//! Any bytes as the body of a post: it becomes one line of JSON, or nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(line) = switchboard_daemon::http::sse::line_of(bytes) {
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let before: serde_json::Value = serde_json::from_slice(bytes).expect("it was JSON");
        let after: serde_json::Value = serde_json::from_slice(&line).expect("it is JSON");
        assert_eq!(before, after);
    }
});
