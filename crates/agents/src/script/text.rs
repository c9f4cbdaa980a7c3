//! The format of scripts, and the placeholders in their texts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result};

/// Maximum size of a script in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// A script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Description for readers of the script.
    #[serde(default)]
    pub about: String,
    /// Sections; the first one that fits a prompt is played.
    pub sections: Vec<Section>,
}

/// Steps for a prompt that fits its conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Only for this task; for any when left out.
    #[serde(default)]
    pub task: Option<String>,
    /// Only for this attempt; for any when left out.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// Only for this step of a team: `review`, `tests` …; the worker that makes the change has no step. For any when left out.
    #[serde(default)]
    pub step: Option<String>,
    /// Only if the prompt contains these words; for any when left out.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Only for the prompt with this number in the session; the first when left out.
    #[serde(default = "one")]
    pub turn: u32,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

/// Properties of a prompt by which a section is chosen.
#[derive(Debug, Clone, Copy)]
pub struct PromptKey<'a> {
    /// Task of the prompt.
    pub task: &'a str,
    /// Step of a team.
    pub step: Option<&'a str>,
    /// Attempt number.
    pub attempt: u32,
    /// Number of the prompt in its session.
    pub turn: u32,
    /// Text of the prompt.
    pub prompt: &'a str,
}

/// One step. Texts may hold `{{name}}` and `{{name.field}}`: what an earlier step saved, `task`, `attempt` and `agent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Sends text to the client.
    Say {
        /// Text to send.
        text: String,
    },
    /// Sends text that is not true, for instance that work is done.
    Lie {
        /// Text to send.
        text: String,
    },
    /// Writes a file.
    Write {
        /// Path inside the work tree.
        path: String,
        /// Complete content of the file.
        content: String,
    },
    /// Adds to the end of a file.
    Append {
        /// Path inside the work tree.
        path: String,
        /// Text to add.
        content: String,
    },
    /// Replaces every occurrence of a text in a file; fails if there is none.
    Replace {
        /// Path inside the work tree.
        path: String,
        /// Text to find.
        find: String,
        /// Replacement text.
        with: String,
    },
    /// Deletes a file.
    Delete {
        /// Path inside the work tree.
        path: String,
    },
    /// Runs a command in the work tree; an exit code other than 0 is a failure.
    Shell {
        /// Program and arguments.
        argv: Vec<String>,
        /// Name under which the output is saved.
        #[serde(default)]
        save_as: Option<String>,
    },
    /// Calls a tool of the MCP server that the session was given.
    Mcp {
        /// Name of the tool.
        tool: String,
        /// Arguments of the tool.
        #[serde(default)]
        args: Value,
        /// Name under which the answer is saved.
        #[serde(default)]
        save_as: Option<String>,
    },
    /// Waits for a message, acknowledges it, and saves it.
    WaitMail {
        /// Only from this sender.
        #[serde(default)]
        from: Option<String>,
        /// Time limit in seconds, after which the step fails.
        #[serde(default = "half_a_minute")]
        timeout_s: u64,
        /// Name under which the message is saved.
        #[serde(default = "mail")]
        save_as: String,
    },
    /// Replies to the message of the last `wait_mail`.
    Reply {
        /// Text of the reply.
        text: String,
    },
    /// Asks for permission and waits for the answer.
    AskPermission {
        /// Purpose of the permission.
        title: String,
        /// File that would be edited; if left out, the question is about a command.
        #[serde(default)]
        path: Option<String>,
        /// What a refusal does: fail, or leave out the next step.
        #[serde(default)]
        on_reject: OnReject,
    },
    /// Waits.
    SleepMs {
        /// Duration in milliseconds.
        ms: u64,
    },
    /// Reports the cost, as a total of the session.
    Cost {
        /// Cost in US dollars.
        usd: f64,
    },
    /// Reports tokens without a cost.
    Tokens {
        /// Input tokens since the last report.
        input: u64,
        /// Output tokens since the last report.
        output: u64,
    },
    /// Fails: the turn ends with an error.
    Fail {
        /// Error message.
        message: String,
    },
    /// Declines: the turn ends as refused.
    Refuse {
        /// Reason for the refusal.
        message: String,
    },
    /// Ends the process in the middle of the turn.
    Exit {
        /// Exit code of the process.
        code: u8,
    },
    /// Kills the process with SIGKILL in the middle of the turn.
    Die {},
    /// Hangs until it is cancelled.
    Hang {},
    /// Ignores cancels and SIGTERM from here on.
    IgnoreStop {},
    /// Writes bytes that are not valid protocol.
    Garbage {},
    /// Writes one very long line of valid protocol.
    LongLine {
        /// Approximate length in bytes.
        bytes: usize,
    },
    /// Writes the beginning of a line and ends the process.
    HalfLine {},
    /// Writes many short updates.
    Flood {
        /// Number of updates.
        lines: u32,
    },
}

/// Effect of a refused permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReject {
    /// The turn ends with an error.
    #[default]
    Fail,
    /// The next step is left out.
    Skip,
}

fn one() -> u32 {
    1
}

fn half_a_minute() -> u64 {
    30
}

fn mail() -> String {
    "mail".to_owned()
}

// === impl Script ===

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// [`Error::Script`] with line and column.
    pub fn read(path: &Path) -> Result<Self> {
        let why = |e: std::io::Error| Error::Script { why: e.to_string() };
        if std::fs::metadata(path).map_err(why)?.len() > MAX_BYTES {
            return Err(Error::Script { why: "it is too long".to_owned() });
        }
        Self::parse(&std::fs::read(path).map_err(why)?)
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).map_err(|e| Error::Script { why: e.to_string() })
    }

    /// Returns the section for a prompt, if there is one.
    #[must_use]
    pub fn section(&self, asked: &PromptKey<'_>) -> Option<&Section> {
        let PromptKey { task, step, attempt, turn, prompt } = *asked;
        self.sections.iter().find(|section| {
            section.task.as_deref().is_none_or(|wanted| wanted == task)
                && section.step.as_deref().is_none_or(|wanted| Some(wanted) == step)
                && section.attempt.is_none_or(|wanted| wanted == attempt)
                && section.prompt.as_deref().is_none_or(|wanted| prompt.contains(wanted))
                && section.turn == turn
        })
    }
}

/// Replaces the placeholders in a text; fails for a name that is not saved.
pub(super) fn fill(text: &str, values: &Value) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        out.push_str(before);
        let value = name.trim().split('.').try_fold(values, |value, part| value.get(part));
        match value {
            Some(Value::String(text)) => out.push_str(text),
            Some(value) => out.push_str(&value.to_string()),
            None => return Err(format!("nothing was saved as {}", crate::beginning(name, 80))),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Like [`fill`], for every text inside a value.
pub(super) fn fill_value(value: &Value, values: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text, values)?),
        Value::Array(items) => items.iter().map(|item| fill_value(item, values)).collect::<Result<_, _>>()?,
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, value)| Ok((name.clone(), fill_value(value, values)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain.clone(),
    })
}

/// Parses task and attempt from the first line of a prompt: `Task 1.1 of "…", attempt 2.`
pub(super) fn headline(prompt: &str) -> Option<(String, u32)> {
    let line = prompt.lines().next()?;
    let (task, rest) = line.strip_prefix("Task ")?.split_once(" of ")?;
    let (_, attempt) = rest.rsplit_once("attempt ")?;
    Some((task.to_owned(), attempt.trim_end_matches('.').parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_section_that_fits_task_attempt_and_turn_counts() {
        let script = Script::parse(
            br#"{"sections":[{"task":"a","attempt":1,"steps":[{"do":"hang"}]},
                {"task":"a","steps":[{"do":"die"}]},{"turn":2,"steps":[]}]}"#,
        )
        .unwrap();

        let first = |task, attempt, turn| {
            script.section(&PromptKey { task, step: None, attempt, turn, prompt: "Do it." }).map(|s| s.steps.first())
        };
        assert_eq!(first("a", 1, 1), Some(Some(&Step::Hang {})));
        assert_eq!(first("a", 2, 1), Some(Some(&Step::Die {})));
        assert_eq!(first("b", 1, 2), Some(None));
        assert_eq!(first("b", 1, 1), None);
    }

    #[test]
    fn a_section_may_want_words_of_the_prompt() {
        let script =
            Script::parse(br#"{"sections":[{"prompt":"once more","steps":[{"do":"die"}]},{"steps":[]}]}"#).unwrap();

        let steps = |prompt| {
            script.section(&PromptKey { task: "a", step: None, attempt: 1, turn: 1, prompt }).map(|s| s.steps.len())
        };
        assert_eq!((steps("Do it once more."), steps("Do it.")), (Some(1), Some(0)));
    }

    /// Returns the names that an error about an unknown one lists.
    fn listed(error: &str) -> Vec<String> {
        let (_, names) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn every_part_of_a_script_refuses_a_key_that_does_not_exist_and_a_value_of_a_wrong_type() {
        let read = |script: Value| {
            let error = Script::parse(script.to_string().as_bytes()).unwrap_err();
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        };
        let section = |key: &str, value: Value| {
            let mut section = json!({ "steps": [] });
            section[key] = value;
            read(json!({ "sections": [section] }))
        };
        let step = |kind: &str, key: &str, value: Value| section("steps", json!([{ "do": kind, key: value }]));

        for key in listed(&read(json!({ "sections": [], "zz": 1 }))) {
            assert!(read(json!({ key.clone(): { "no": 1 } })).contains("invalid type"), "{key}");
        }
        for key in listed(&section("zz", json!(1))) {
            assert!(section(&key, json!({ "no": 1 })).contains("invalid type"), "{key}");
        }
        let kinds = listed(&step("zz", "text", json!("a")));
        assert!(kinds.len() > 10, "{kinds:?}");
        for kind in kinds {
            let unknown = step(&kind, "zz", json!(1));
            assert!(unknown.contains("zz"), "{kind}: {unknown}");
            // The arguments of a tool may have any names.
            let keys = if unknown.contains("there are no fields") { Vec::new() } else { listed(&unknown) };
            for key in keys.iter().filter(|key| *key != "args") {
                let wrong = step(&kind, key, json!({ "no": 1 }));
                assert!(wrong.contains("invalid type") || wrong.contains("unknown variant"), "{kind}.{key}: {wrong}");
            }
        }
    }

    #[test]
    fn a_bad_script_is_refused_with_its_place() {
        for bad in [
            "",
            "{}",
            r#"{"sections":[{"steps":[{"do":"fly"}]}]}"#,
            r#"{"sections":[{"steps":[{"do":"say","txt":""}]}]}"#,
        ] {
            let error = Script::parse(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line"), "{bad}: {error}");
        }
    }

    #[test]
    fn saved_values_are_put_in_and_missing_ones_are_failures() {
        let values = json!({ "mail": { "payload": "$1 {{x}}", "n": 7 } });

        assert_eq!(fill("<{{mail.payload}}|{{ mail.n }}>", &values).unwrap(), "<$1 {{x}}|7>");
        assert_eq!(fill("no {{end", &values).unwrap(), "no {{end");
        assert!(fill("{{nobody}}", &values).is_err());
        assert_eq!(fill_value(&json!([{ "a": "{{mail.n}}" }]), &values).unwrap(), json!([{ "a": "7" }]));
    }

    #[test]
    fn the_headline_of_a_prompt_names_task_and_attempt() {
        let prompt = "Task 1.2 of \"Plan of attempt 9\", attempt 3.\n\nDo it.";

        assert_eq!(headline(prompt), Some(("1.2".to_owned(), 3)));
        assert_eq!(headline("Hello"), None);
    }
}
