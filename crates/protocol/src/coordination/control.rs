//! Controls: what a message to the coordinator, or a control message to the address of a worker, asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Failure, near_matches};
use crate::id::{RunId, WorkerId};

/// What somebody asks of the coordinator. `unit` is `RUN`, `RUN/TASK`, or `TASK` of the newest run; the address of a worker names it already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// Its workers wait at their next boundary, alive, and nothing new starts.
    Pause {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// A pause is over.
    Resume {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Its workers are ended, and it is stopped.
    Stop {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// Milliseconds between asking an agent to end and killing its group; at most ten minutes, five seconds if nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
    /// As a stop without grace.
    Cancel {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// What it may cost from now on.
    Budget {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The ceiling in millionths of a US dollar; without it the ceiling is lifted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<u64>,
    },
    /// The trees of its workers are put on what was merged meanwhile.
    Rebase {
        /// Which unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// The worker is told something: with its next turn, or when it looks.
    Prompt {
        /// Which unit: a task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// What.
        text: String,
    },
    /// How it stands; changes nothing.
    Status {
        /// Which unit; a worker's own if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// The unit's worker says that its work is done: it ends with its present turn, and its change goes to the gates as ever.
    CompleteTask {
        /// The task; a worker's own if left out.
        #[serde(default, alias = "unit", skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// What was done.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
    },
    /// The slice's tasks are paused until a person resumes them.
    BlockSlice {
        /// The slice; of a worker, the one that its task is in. Only its own task is blocked then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slice: Option<String>,
        /// Why.
        reason: String,
    },
}

/// Words that `type` may be.
const CONTROLS: [&str; 10] =
    ["pause", "resume", "stop", "cancel", "budget", "rebase", "prompt", "status", "complete-task", "block-slice"];

/// What became of a control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlReply {
    /// The run.
    pub run: RunId,
    /// `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// The tasks that it is about, as they stood when it was taken: those that are named, else those of the run with a worker. At most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitStatus>,
}

/// How a unit stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitStatus {
    /// The task.
    pub unit: String,
    /// Its state, in the words of `get_run`.
    pub state: String,
    /// Its worker, while it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// `pausing` or `paused`; `budget` where it waits for a ceiling to be raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// Attempts so far.
    pub attempts: u32,
    /// What its workers have cost, in millionths of a US dollar.
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

    /// Writes the unit that the address of a control message names into its payload.
    ///
    /// # Errors
    /// `request.bad-args` where the payload is no control, or names a unit itself.
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

    /// The unit that it names, if it does; that of [`Self::CompleteTask`] and [`Self::BlockSlice`] is called otherwise.
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

    /// Its `type`.
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

    /// The verb that does the same: who may not call that, may not send this. Workers are asked another way about their own unit.
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
