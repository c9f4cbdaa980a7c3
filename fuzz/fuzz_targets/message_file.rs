//! Any bytes as a message file and as a result file.
#![no_main]

use switchboard_files::{MessageFile, Origin, ResultFile, is_unfinished};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = is_unfinished(bytes);
    let _ = ResultFile::parse(bytes);
    for origin in [Origin::Inbox("Coder 1"), Origin::Send("Lead")] {
        if let Ok(file) = MessageFile::parse(bytes, origin) {
            assert!(!file.id.as_str().contains('/') && file.payload.len() <= bytes.len());
            let _ = (file.carried(), file.expires_at());
        }
    }
});
