//! Requests of a worker to its project, made by calling a verb or at the end of its answer. A request by itself changes nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Failure;
use crate::plan::TaskId;
use crate::schema::JsonSchema;
use crate::text::cut;

/// Maximum length of a note or description, in bytes.
pub const MAX_ACTION_TEXT: usize = 2000;

/// Maximum number of files, and of tasks, in a proposal.
pub const MAX_ACTION_NAMES: usize = 20;

/// Maximum length of a file name, in bytes.
const MAX_FILE: usize = 200;

/// State of a task as its worker reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// The worker continues.
    Working,
    /// The worker considers its work done; the gates decide.
    Done,
    /// The worker can't continue without help.
    Stuck,
}

// === impl StepState ===

impl StepState {
    /// Returns the state as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Done => "done",
            Self::Stuck => "stuck",
        }
    }
}

/// A request of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerAction {
    /// Reports the state of the worker's own task.
    ReportStep {
        /// State of the task.
        state: StepState,
        /// Explanation in a sentence or two.
        note: String,
        /// The answer that the step asks for, where it is the step's verdict. The facts hold only `true`; the answer itself is in the event's body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Value>,
    },
    /// Proposes a task, which a person may add to a plan.
    ProposeTask {
        /// What the task is to do.
        description: String,
        /// Files that the task would change.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Tasks that have to be done before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after: Vec<TaskId>,
    },
}

// === impl WorkerAction ===

impl WorkerAction {
    /// Rejects texts that are empty, too long or contain control characters, and lists that are too long.
    ///
    /// # Errors
    /// `request.bad-args` with the field.
    pub fn check(&self) -> Result<(), Failure> {
        let bad = |field: &str, what: String| Err(Failure::new("request.bad-args", what).at(field));
        let (field, text) = match self {
            Self::ReportStep { note, .. } => ("note", note),
            Self::ProposeTask { description, .. } => ("description", description),
        };
        if text.trim().is_empty() || text.len() > MAX_ACTION_TEXT {
            return bad(field, format!("{field} has {} bytes, and from 1 to {MAX_ACTION_TEXT} are wanted", text.len()));
        }
        if !is_plain(text) {
            return bad(field, format!("{field} has control characters"));
        }
        let Self::ProposeTask { files, after, .. } = self else { return Ok(()) };
        if files.len().max(after.len()) > MAX_ACTION_NAMES {
            let field = if files.len() > MAX_ACTION_NAMES { "files" } else { "after" };
            return bad(field, format!("{field} has more than {MAX_ACTION_NAMES} names"));
        }
        match files.iter().find(|file| file.is_empty() || file.len() > MAX_FILE || !is_plain(file)) {
            Some(file) => bad("files", format!("{:?} is no name of a file", cut(file, 60))),
            None => Ok(()),
        }
    }

    /// Returns the action shortened to fit an event's facts; the event's body holds the whole action.
    #[must_use]
    pub fn fitted(&self) -> Self {
        match self {
            Self::ReportStep { state, note, answer } => Self::ReportStep {
                state: *state,
                note: cut(note, 160),
                answer: answer.is_some().then_some(Value::Bool(true)),
            },
            Self::ProposeTask { description, files, after } => Self::ProposeTask {
                description: cut(description, 160),
                files: files.iter().take(2).map(|file| cut(file, 80)).collect(),
                after: after.iter().take(3).cloned().collect(),
            },
        }
    }
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> WorkerAction {
        WorkerAction::ReportStep { state: StepState::Done, note: text.to_owned(), answer: None }
    }

    fn proposal(files: usize, after: usize, file: &str) -> WorkerAction {
        WorkerAction::ProposeTask {
            description: "do it".to_owned(),
            files: vec![file.to_owned(); files],
            after: vec![TaskId::new("1.1").unwrap(); after],
        }
    }

    #[test]
    fn texts_and_lists_have_bounds() {
        let field = |action: &WorkerAction| action.check().err().map(|failure| failure.place);

        assert_eq!(field(&note("x")), None);
        assert_eq!(field(&note(&"x".repeat(MAX_ACTION_TEXT))), None);
        for bad in [" \n", &"x".repeat(MAX_ACTION_TEXT + 1), "a\u{1b}[31m"] {
            assert_eq!(field(&note(bad)).as_deref(), Some("note"), "{bad:?}");
        }
        assert_eq!(field(&proposal(MAX_ACTION_NAMES, MAX_ACTION_NAMES, "src/a.rs")), None);
        assert_eq!(field(&proposal(MAX_ACTION_NAMES + 1, 0, "a")).as_deref(), Some("files"));
        assert_eq!(field(&proposal(0, MAX_ACTION_NAMES + 1, "a")).as_deref(), Some("after"));
        assert_eq!(field(&proposal(1, 0, &"x".repeat(MAX_FILE))), None);
        for bad in ["", "a\nb\u{7}", &"x".repeat(MAX_FILE + 1)] {
            assert_eq!(field(&proposal(1, 0, bad)).as_deref(), Some("files"), "{bad:?}");
        }
    }

    #[test]
    fn an_action_is_one_key_with_its_fields() {
        let text = r#"{"report_step":{"state":"stuck","note":"no network"}}"#;

        let action: WorkerAction = serde_json::from_str(text).unwrap();

        let expected =
            WorkerAction::ReportStep { state: StepState::Stuck, note: "no network".to_owned(), answer: None };
        assert_eq!((serde_json::to_string(&action).unwrap().as_str(), action), (text, expected));
    }
}
