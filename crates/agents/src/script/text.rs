//! What a script may say, and where its texts take values from.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result};

/// Longest script in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// A script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A sentence for whoever reads the script.
    #[serde(default)]
    pub about: String,
    /// What to do when; the first one that fits counts.
    pub sections: Vec<Section>,
}

/// What to do with one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Only for this task; for any when left out.
    #[serde(default)]
    pub task: Option<String>,
    /// Only for this attempt; for any when left out.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// Only for this step of a team: `review`, `tests` …; whoever makes the change is in none. For any when left out.
    #[serde(default)]
    pub step: Option<String>,
    /// Only where the prompt holds these words; for any when left out.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Only for this prompt of the session; the first when left out.
    #[serde(default = "one")]
    pub turn: u32,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// What a section is chosen by.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The task.
    pub task: &'a str,
    /// The step of a team.
    pub step: Option<&'a str>,
    /// The attempt.
    pub attempt: u32,
    /// The number of the prompt in its session.
    pub turn: u32,
    /// The prompt.
    pub prompt: &'a str,
}

/// One thing to do. Texts may hold `{{name}}` and `{{name.field}}`: what an earlier step saved, `task`, `attempt` and `agent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Says something.
    Say {
        /// The words.
        text: String,
    },
    /// Says something that is not so: that work is done, for instance.
    Lie {
        /// The words.
        text: String,
    },
    /// Writes a file.
    Write {
        /// Inside the work tree.
        path: String,
        /// All of it.
        content: String,
    },
    /// Adds to the end of a file.
    Append {
        /// Inside the work tree.
        path: String,
        /// What to add.
        content: String,
    },
    /// Replaces every occurrence of a text in a file; that there is none is a failure.
    Replace {
        /// Inside the work tree.
        path: String,
        /// What to look for.
        find: String,
        /// What to put there.
        with: String,
    },
    /// Deletes a file.
    Delete {
        /// Inside the work tree.
        path: String,
    },
    /// Runs a command in the work tree; an exit code other than 0 is a failure.
    Shell {
        /// Program and arguments.
        argv: Vec<String>,
        /// Name for its output.
        #[serde(default)]
        save_as: Option<String>,
    },
    /// Calls a tool of the MCP server that the session was given.
    Mcp {
        /// Its name.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        args: Value,
        /// Name for its answer.
        #[serde(default)]
        save_as: Option<String>,
    },
    /// Waits for a message, acknowledges it, and saves it.
    WaitMail {
        /// Only from this sender.
        #[serde(default)]
        from: Option<String>,
        /// How long; then it is a failure.
        #[serde(default = "half_a_minute")]
        timeout_s: u64,
        /// Name for the message.
        #[serde(default = "mail")]
        save_as: String,
    },
    /// Answers the message that was waited for last.
    Reply {
        /// The words.
        text: String,
    },
    /// Asks for permission and waits for the answer.
    AskPermission {
        /// What for.
        title: String,
        /// The file that it would edit; a command where none is named.
        #[serde(default)]
        path: Option<String>,
        /// When it is refused: fail, or leave out the next step.
        #[serde(default)]
        on_reject: OnReject,
    },
    /// Waits.
    SleepMs {
        /// Milliseconds.
        ms: u64,
    },
    /// Reports use, as totals of the session.
    Cost {
        /// US dollars.
        usd: f64,
    },
    /// Reports tokens, and no price.
    Tokens {
        /// Tokens read since the last report.
        input: u64,
        /// Tokens written since.
        output: u64,
    },
    /// Gives up: the turn ends with an error.
    Fail {
        /// Why.
        message: String,
    },
    /// Declines: the turn ends as refused.
    Refuse {
        /// Why.
        message: String,
    },
    /// Ends the process in the middle of the turn.
    Exit {
        /// Its exit code.
        code: u8,
    },
    /// Kills the process with SIGKILL in the middle of the turn.
    Die {},
    /// Does nothing any more, until it is cancelled.
    Hang {},
    /// From here on, neither a cancel nor SIGTERM ends it.
    IgnoreStop {},
    /// Writes bytes that are no protocol.
    Garbage {},
    /// Writes one very long line of valid protocol.
    LongLine {
        /// About so many bytes.
        bytes: usize,
    },
    /// Writes the beginning of a line and ends the process.
    HalfLine {},
    /// Writes many short updates.
    Flood {
        /// How many.
        lines: u32,
    },
}

/// What a refused permission does.
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

    /// The section for a prompt, if there is one.
    #[must_use]
    pub fn section(&self, asked: &Asked<'_>) -> Option<&Section> {
        let Asked { task, step, attempt, turn, prompt } = *asked;
        self.sections.iter().find(|section| {
            section.task.as_deref().is_none_or(|wanted| wanted == task)
                && section.step.as_deref().is_none_or(|wanted| Some(wanted) == step)
                && section.attempt.is_none_or(|wanted| wanted == attempt)
                && section.prompt.as_deref().is_none_or(|wanted| prompt.contains(wanted))
                && section.turn == turn
        })
    }
}

/// Puts values into a text; a name that nothing was saved under is a failure.
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

/// As [`fill`], for every text inside a value.
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

/// Task and attempt from the first line of a prompt: `Task 1.1 of "…", attempt 2.`
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
            script.section(&Asked { task, step: None, attempt, turn, prompt: "Do it." }).map(|s| s.steps.first())
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
            script.section(&Asked { task: "a", step: None, attempt: 1, turn: 1, prompt }).map(|s| s.steps.len())
        };
        assert_eq!((steps("Do it once more."), steps("Do it.")), (Some(1), Some(0)));
    }

    /// The names that an error about an unknown one lists.
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
            // What a tool is called with may be anything.
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
