//! Changes one byte in a copy of the record, to show that verification finds it.

use std::fs;
use std::path::{Path, PathBuf};

use switchboard_protocol::error::Failure;

/// A change to a copy of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    /// Path of the copy.
    pub(super) path: PathBuf,
    /// Sequence number of the event that holds the byte.
    pub(super) lsn: u64,
    kind: String,
    from: char,
    to: char,
}

// === impl Damage ===

impl Damage {
    /// Describes the change in a sentence.
    pub(super) fn description(&self) -> String {
        let Self { lsn, kind, from, to, .. } = self;
        format!("Now one byte is changed in a copy of the record: {from:?} to {to:?} in event {lsn}, {kind}.")
    }
}

/// Copies `record.jsonl` to `damaged.jsonl` and changes one letter in it: in the first verdict that refused a change,
/// which is the most likely target of a forger, or in the last event.
///
/// # Errors
/// `io.denied` when a file can't be read or written, `store.corrupt` when the record has no event.
pub(super) fn damage(folder: &Path) -> Result<Damage, Failure> {
    let denied = |path: &Path, error: std::io::Error| {
        Failure::new("io.denied", "the record can't be copied").at(path.display().to_string()).because(&error)
    };
    let record = folder.join("record.jsonl");
    let text = fs::read_to_string(&record).map_err(|error| denied(&record, error))?;
    let (changed, damage) = change(&text, folder.join("damaged.jsonl"))
        .ok_or_else(|| Failure::new("store.corrupt", "the record has no event").at(record.display().to_string()))?;
    fs::write(&damage.path, changed).map_err(|error| denied(&damage.path, error))?;
    Ok(damage)
}

fn change(text: &str, path: PathBuf) -> Option<(String, Damage)> {
    let refusal = r#""verdict":"fail""#;
    let mut start = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        if let Some(at) = line.find(refusal) {
            found = Some((line, start + at + refusal.len() - "fail\"".len()));
            break;
        }
        if let Some(at) = line.find(r#""kind":""#) {
            found = Some((line, start + at + r#""kind":""#.len()));
        }
        start += line.len();
    }
    let (line, at) = found?;
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    let from = text[at..].chars().next()?;
    let to = if from == 'p' { 'q' } else { 'p' };
    let changed = format!("{}{to}{}", &text[..at], &text[at + from.len_utf8()..]);
    let kind = event["kind"].as_str()?.to_owned();
    Some((changed, Damage { path, lsn: event["lsn"].as_u64()?, kind, from, to }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_of_the_refusal_is_changed_and_no_other() {
        let text = "{\"format\":\"x\"}\n{\"lsn\":1,\"kind\":\"a\"}\n{\"lsn\":2,\"kind\":\"gate_reported\",\"facts\":{\"verdict\":\"fail\"}}\n";

        let (changed, damage) = change(text, PathBuf::new()).unwrap();

        let differences = text.bytes().zip(changed.bytes()).filter(|(a, b)| a != b).count();
        assert_eq!((differences, changed.len(), damage.lsn), (1, text.len(), 2));
        assert!(changed.contains(r#""verdict":"pail""#), "{changed}");
    }

    #[test]
    fn without_a_refusal_the_last_event_is_changed() {
        let text = "{\"format\":\"x\"}\n{\"lsn\":1,\"kind\":\"a\"}\n{\"lsn\":2,\"kind\":\"b\"}\n";

        let (_, damage) = change(text, PathBuf::new()).unwrap();

        assert_eq!((damage.lsn, damage.kind.as_str()), (2, "b"));
        assert!(change("{\"format\":\"x\"}\n", PathBuf::new()).is_none());
    }
}
