//! Numbered signal files: requests of a person to a run while no daemon answers.

use serde::{Deserialize, Serialize};

use crate::error::near_matches;
use crate::plan::TaskId;
use crate::time::Millis;

/// Folder of a run's signals, in the run's folder below the user's state.
pub const FOLDER: &str = "signals";

/// Request of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// Workers wait at their next boundary, and nothing new starts.
    Pause,
    /// Paused workers go on.
    Resume,
    /// Workers end, and nothing new starts.
    Stop,
}

/// Valid values of `type`.
const KINDS: [&str; 3] = ["pause", "resume", "stop"];

/// The content of `signals/N.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSignal {
    /// Number in the file's name.
    pub n: u32,
    /// The request.
    #[serde(rename = "type")]
    pub kind: SignalKind,
    /// Id of the task; the whole run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Name of the person.
    pub from: String,
    /// Time of the request.
    pub at: Millis,
}

/// The content of `signals/N.BY.done.json`: the result of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalDone {
    /// Number of the signal.
    pub n: u32,
    /// Who handled it: a worker's id, or `daemon` once it is recorded.
    pub by: String,
    /// Reason for a refusal; empty if it was carried out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refused: String,
    /// Time at which it was handled.
    pub at: Millis,
}

// === impl RunSignal ===

impl RunSignal {
    /// Reads the signal file with the given number.
    ///
    /// # Errors
    /// What is wrong with the file, in words; for an unknown `type`, the nearest valid one.
    pub fn parse(n: u32, text: &[u8]) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(|error| format!("it is not JSON: {error}"))?;
        if let Some(word) = value.get("type").and_then(serde_json::Value::as_str).filter(|word| !KINDS.contains(word)) {
            let near = near_matches(word, KINDS);
            let meant = if near.is_empty() { KINDS.join(", ") } else { near.join(" or ") };
            return Err(format!("no signal is called {:?}; did you mean {meant}?", crate::text::cut(word, 40)));
        }
        let signal: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if signal.n != n {
            return Err(format!("it says number {}, and its name says {n}", signal.n));
        }
        Ok(signal)
    }

    /// Returns true if the signal applies to a task.
    #[must_use]
    pub fn is_about(&self, task: &str) -> bool {
        self.task.as_ref().is_none_or(|named| named.as_str() == task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_says_number_type_sender_and_time() {
        let text = br#"{"n":3,"type":"pause","task":"1.2","from":"person","at":17}"#;

        let signal = RunSignal::parse(3, text).unwrap();

        assert_eq!((signal.kind, signal.from.as_str(), signal.at), (SignalKind::Pause, "person", Millis(17)));
        assert!(signal.is_about("1.2") && !signal.is_about("1.3"));
        assert!(RunSignal { task: None, ..signal }.is_about("1.3"));
    }

    #[test]
    fn what_is_no_signal_is_refused_with_the_reason() {
        let why = |text: &str| RunSignal::parse(1, text.as_bytes()).unwrap_err();

        assert!(why("pause").contains("not JSON"));
        assert!(why(r#"{"n":1,"type":"paus","from":"a","at":1}"#).contains("did you mean pause?"));
        assert!(why(r#"{"n":2,"type":"pause","from":"a","at":1}"#).contains("number 2"));
        assert!(why(r#"{"n":1,"type":"pause","from":"a","at":1,"run":"r"}"#).contains("run"));
        assert!(why(r#"{"n":1,"from":"a","at":1}"#).contains("type"));
    }
}
