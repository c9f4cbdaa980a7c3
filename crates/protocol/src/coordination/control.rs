//! Control messages: requests in a message to the coordinator, or to the address of a worker.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Failure, near_matches};
use crate::id::{RunId, WorkerId};
use crate::schema::JsonSchema;

/// A request to the coordinator. `unit` is `RUN`, `RUN/TASK`, or `TASK` of the newest run; the address of a worker already names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// Pauses the unit: its workers wait, alive, at their next boundary, and nothing new starts.
    Pause {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Ends a pause.
    Resume {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Ends the unit's workers and stops the unit.
    Stop {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// Milliseconds between asking an agent to end and killing its process group; at most ten minutes, five seconds by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
    /// Stops the unit without grace.
    Cancel {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Sets the ceiling of the unit.
    Budget {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// Ceiling in millionths of a US dollar; removes the ceiling if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<u64>,
    },
    /// Rebases the trees of the unit's workers onto what was merged meanwhile.
    Rebase {
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Sends a text to the worker, with its next turn or when it reads its mail.
    Prompt {
        /// The unit, which has to be a task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The text.
        text: String,
    },
    /// Returns the state of the unit; changes nothing.
    Status {
        /// The unit; by default the worker's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Reports that the unit's work is done: the worker ends with its present turn, and its change goes to the gates as usual.
    CompleteTask {
        /// The task; by default the worker's own.
        #[serde(default, alias = "unit", skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// Summary of the work.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
    },
    /// Pauses the slice's tasks until a person resumes them.
    BlockSlice {
        /// The slice. A worker can name only the slice of its task, and only its own task is then blocked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slice: Option<String>,
        /// Reason.
        reason: String,
    },
}

/// Valid values of `type`.
const CONTROLS: [&str; 10] =
    ["pause", "resume", "stop", "cancel", "budget", "rebase", "prompt", "status", "complete-task", "block-slice"];

/// Result of a control message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlReply {
    /// Id of the run.
    pub run: RunId,
    /// State of the run: `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// The tasks concerned, with their state when the message was read: the named tasks, else the run's tasks with a worker. At most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitStatus>,
}

/// State of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitStatus {
    /// Id of the task.
    pub unit: String,
    /// State of the task, in the words of `get_run`.
    pub state: String,
    /// Id of its worker, while it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// `pausing` or `paused`; `budget` if the unit waits for a higher ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Cost of its workers so far, in millionths of a US dollar.
    pub micro_usd: u64,
}

// === impl Control ===

impl Control {
    /// Reads the payload of a message to the coordinator.
    ///
    /// # Errors
    /// `request.bad-args` with the field that is wrong, or with the nearest word for an unknown `type`.
    pub fn parse(payload: &str) -> Result<Self, Failure> {
        let hint = || format!("its `type` is one of {}", CONTROLS.join(", "));
        let bad = |what: String| Failure::new("request.bad-args", what);
        let value: Value = serde_json::from_str(payload)
            .map_err(|_| bad("the coordinator reads JSON: an object with a `type`".to_owned()).hint(hint()))?;
        let Some(word) = value.get("type").and_then(Value::as_str) else {
            return Err(bad("a message to the coordinator says its `type`".to_owned()).hint(hint()));
        };
        if !CONTROLS.contains(&word) {
            let shown = crate::text::cut(word, 40);
            let failure = bad(format!("the coordinator does not understand the type {shown:?}"));
            return Err(match near_matches(word, CONTROLS).as_slice() {
                [] => failure.hint(hint()),
                near => failure.hint(format!("did you mean {}?", near.join(" or "))),
            });
        }
        let word = word.to_owned();
        let control: Self = serde_json::from_value(value).map_err(|error| bad(format!("{word}: {error}")))?;
        if let Self::Prompt { text, .. } = &control
            && text.trim().is_empty()
        {
            return Err(bad(format!("{word}: `text` is empty")));
        }
        Ok(control)
    }

    /// Inserts the unit that the address of a control message names into the payload.
    ///
    /// # Errors
    /// `request.bad-args` if the payload is no control message or names a unit itself.
    pub fn addressed(payload: &str, unit: &str) -> Result<String, Failure> {
        let control = Self::parse(payload)?;
        let named = match &control {
            Self::CompleteTask { task, .. } => task.as_deref(),
            Self::BlockSlice { .. } => {
                let what = "block-slice is about a slice and no worker";
                return Err(Failure::new("request.bad-args", what).hint("send it to coordinator"));
            }
            Self::Pause { .. }
            | Self::Resume { .. }
            | Self::Stop { .. }
            | Self::Cancel { .. }
            | Self::Budget { .. }
            | Self::Rebase { .. }
            | Self::Prompt { .. }
            | Self::Status { .. } => control.unit(),
        };
        if let Some(named) = named {
            let what = format!("the address says {unit}, and `unit` {}", crate::text::cut(named, 60));
            return Err(Failure::new("request.bad-args", what).hint("leave `unit` out"));
        }
        let mut value: Value = serde_json::from_str(payload).unwrap_or_default();
        value["unit"] = unit.into();
        Ok(value.to_string())
    }

    /// Returns the `unit` field, if set. [`Self::CompleteTask`] and [`Self::BlockSlice`] name their unit in another field.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        match self {
            Self::Pause { unit }
            | Self::Resume { unit }
            | Self::Stop { unit, .. }
            | Self::Cancel { unit }
            | Self::Budget { unit, .. }
            | Self::Rebase { unit }
            | Self::Prompt { unit, .. }
            | Self::Status { unit } => unit.as_deref(),
            Self::CompleteTask { .. } | Self::BlockSlice { .. } => None,
        }
    }

    /// Returns the `type` of the message.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume { .. } => "resume",
            Self::Stop { .. } => "stop",
            Self::Cancel { .. } => "cancel",
            Self::Budget { .. } => "budget",
            Self::Rebase { .. } => "rebase",
            Self::Prompt { .. } => "prompt",
            Self::Status { .. } => "status",
            Self::CompleteTask { .. } => "complete-task",
            Self::BlockSlice { .. } => "block-slice",
        }
    }

    /// Returns the verb with the same effect: a caller without permission for it may not send this message. A worker's requests about its own unit
    /// follow other rules.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Pause { .. } | Self::BlockSlice { .. } => "pause_run",
            Self::Resume { .. } => "resume_run",
            Self::Stop { .. } | Self::Cancel { .. } | Self::CompleteTask { .. } => "stop_run",
            Self::Budget { .. } => "set_budget",
            Self::Rebase { .. } => "rebase_run",
            Self::Prompt { .. } => "tell_worker",
            Self::Status { .. } => "get_run",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_read_by_their_names() {
        let complete = Control::parse(r#"{"type":"complete-task","summary":"all green"}"#).unwrap();
        let block = Control::parse(r#"{"type":"block-slice","slice":"api","reason":"no schema"}"#).unwrap();
        let stop = Control::parse(r#"{"type":"stop","unit":"1.2","grace_ms":50}"#).unwrap();

        assert_eq!(complete, Control::CompleteTask { task: None, summary: "all green".to_owned() });
        assert_eq!(block, Control::BlockSlice { slice: Some("api".to_owned()), reason: "no schema".to_owned() });
        assert_eq!(stop, Control::Stop { unit: Some("1.2".to_owned()), grace_ms: Some(50) });
    }

    #[test]
    fn every_word_is_a_control_that_says_it() {
        for word in CONTROLS {
            let payload = serde_json::json!({ "type": word, "text": "t", "reason": "r" });
            let fits = |field: &str| {
                field == "type" || [("prompt", "text"), ("block-slice", "reason")].contains(&(word, field))
            };
            let payload: serde_json::Map<_, _> =
                payload.as_object().unwrap().clone().into_iter().filter(|(field, _)| fits(field)).collect();

            let control = Control::parse(&Value::Object(payload).to_string()).unwrap();

            assert_eq!(control.word(), word);
            assert_eq!(serde_json::to_value(&control).unwrap()["type"], word);
        }
    }

    #[test]
    fn what_is_not_understood_is_answered_with_what_is_near() {
        let refused = |payload: &str| Control::parse(payload).unwrap_err();

        assert_eq!(refused(r#"{"type":"complete-tsk"}"#).hint, "did you mean complete-task?");
        assert_eq!(refused(r#"{"type":"puase"}"#).hint, "did you mean pause?");
        assert!(refused(r#"{"type":"frobnicate"}"#).hint.contains("complete-task, block-slice"));
        assert!(refused("done!").what.contains("JSON"));
        assert!(refused(r#"{"kind":"complete-task"}"#).what.contains("`type`"));
        assert!(refused(r#"{"type":"block-slice"}"#).what.contains("reason"));
        assert!(refused(r#"{"type":"complete-task","sumary":"x"}"#).what.contains("sumary"));
        assert!(refused(r#"{"type":"pause","grace_ms":1}"#).what.contains("grace_ms"));
        assert!(refused(r#"{"type":"prompt","text":" "}"#).what.contains("empty"));
    }

    #[test]
    fn the_address_of_a_worker_names_the_unit_once() {
        let addressed = Control::addressed(r#"{"type":"pause"}"#, "run_1/1.2").unwrap();
        let twice = Control::addressed(r#"{"type":"pause","unit":"1.3"}"#, "run_1/1.2").unwrap_err();

        assert_eq!(Control::parse(&addressed).unwrap(), Control::Pause { unit: Some("run_1/1.2".to_owned()) });
        assert!(twice.what.contains("run_1/1.2") && twice.what.contains("1.3"));
        assert!(Control::addressed(r#"{"type":"block-slice","reason":"r"}"#, "1.2").is_err());
    }
}
