//! What the rules are told: the call, who makes it, whom it is about. Never a payload or what may be a secret.

use serde::Serialize;
use serde_json::{Map, Value, json};
use switchboard_protocol::agent::AgentKind;
use switchboard_protocol::id::fold;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::Effect;

/// Texts longer than this stand in the input as their length.
const MAX_TEXT_BYTES: usize = 256;
/// Values deeper than this are left out.
const MAX_DEPTH: usize = 6;
/// Values that the input holds at most; what comes after is left out.
const MAX_VALUES: usize = 512;
/// Arguments that hold others' text, a secret, or a whole plan.
const OPAQUE: [&str; 5] = ["payload", "env", "token", "secret", "plan"];
/// Arguments by which verbs name an agent.
const NAMING: [&str; 3] = ["recipient", "agent", "name"];

/// What a caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    /// A person.
    Person,
    /// A worker of a run.
    Worker,
    /// Any other agent.
    Agent,
}

/// How a caller is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Trusted like the user.
    #[default]
    Full,
    /// In a sandbox, with its mail and the team only.
    Constrained,
}

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Caller<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub kind: CallerKind,
    /// Whether a token proves it.
    pub is_verified: bool,
    /// How it is held.
    pub isolation: Isolation,
    /// A worker's run; empty for others.
    pub run: &'a str,
    /// A worker's task; empty for others.
    pub task: &'a str,
}

/// Whom a call is about: the agent that the arguments name, else the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// The name in the form under which spellings meet.
    pub name: String,
    /// What the roster says it is; nothing when it is not registered.
    pub kind: Option<AgentKind>,
    /// Whether it is the caller.
    pub is_caller: bool,
}

/// A call to be decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input<'a> {
    /// The verb.
    pub verb: &'a str,
    /// What it does to the record.
    pub effect: Effect,
    /// Who calls.
    pub caller: Caller<'a>,
    /// Whom it is about.
    pub about: About,
    /// The arguments, bounded.
    pub args: Value,
    /// The time, in milliseconds since 1970.
    pub now: Millis,
}

/// The agent that a call's arguments name, so that its kind can be looked up for [`Input::new`].
#[must_use]
pub fn name_in(args: &Value) -> Option<&str> {
    NAMING.iter().find_map(|field| args.get(field)).and_then(Value::as_str)
}

impl<'a> Input<'a> {
    /// Describes a call. `about_kind` is what the roster says of the agent that [`name_in`] finds, or of the caller when it
    /// finds none.
    #[must_use]
    pub fn new(
        verb: &'a str,
        effect: Effect,
        caller: Caller<'a>,
        args: &Value,
        about_kind: Option<AgentKind>,
        now: Millis,
    ) -> Self {
        let own = fold(caller.name);
        let name = name_in(args).map_or_else(|| own.clone(), fold);
        let about = About { is_caller: name == own, name, kind: about_kind };
        Self { verb, effect, caller, about, args: bounded(args), now }
    }

    pub(crate) fn to_rego(&self) -> Result<regorus::Value, String> {
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        Ok(regorus::Value::from(value))
    }
}

fn bounded(args: &Value) -> Value {
    let mut left = MAX_VALUES;
    shorten(args, MAX_DEPTH, &mut left)
}

fn shorten(value: &Value, depth: usize, left: &mut usize) -> Value {
    if *left == 0 {
        return Value::Null;
    }
    *left -= 1;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) if text.len() <= MAX_TEXT_BYTES => value.clone(),
        Value::String(text) => json!({ "length": text.len() }),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::Null,
        Value::Array(items) => items.iter().take(*left).map(|item| shorten(item, depth - 1, left)).collect(),
        Value::Object(fields) => Value::Object(shorten_fields(fields, depth - 1, left)),
    }
}

fn shorten_fields(fields: &Map<String, Value>, depth: usize, left: &mut usize) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in fields {
        if *left == 0 || name.len() > MAX_TEXT_BYTES {
            continue;
        }
        let value = if OPAQUE.contains(&name.as_str()) { hidden(value) } else { shorten(value, depth, left) };
        out.insert(name.clone(), value);
    }
    out
}

/// How much there is, not what.
fn hidden(value: &Value) -> Value {
    let length = match value {
        Value::Null => return Value::Null,
        Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
    };
    json!({ "length": length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_and_secrets_stand_as_their_length() {
        let args = json!({
            "recipient": "coder", "payload": "s3cret", "reason": "x".repeat(300),
            "agents": [{ "env": [["TOKEN", "s3cret"]] }], "plan": { "tasks": [] },
        });

        let bounded = bounded(&args);

        assert_eq!(
            bounded,
            json!({
                "recipient": "coder", "payload": { "length": 6 }, "reason": { "length": 300 },
                "agents": [{ "env": { "length": 1 } }], "plan": { "length": 1 },
            })
        );
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        let deep = (0..100).fold(json!(1), |inner, _| json!({ "inner": inner }));
        let wide = json!({ "list": vec![1; 100_000] });

        assert!(bounded(&deep).to_string().len() < 100);
        assert!(bounded(&wide).to_string().len() < 2_000);
    }

    #[test]
    fn knows_whom_a_call_is_about() {
        let caller = Caller {
            name: "Coder 1",
            kind: CallerKind::Worker,
            is_verified: true,
            isolation: Isolation::Full,
            run: "run_1",
            task: "t1",
        };
        let is_caller =
            |args: Value| Input::new("check_inbox", Effect::Written, caller, &args, None, Millis(0)).about.is_caller;

        assert!(is_caller(json!({})));
        assert!(is_caller(json!({ "agent": "coder_1" })));
        assert!(!is_caller(json!({ "agent": "coder_2" })));
    }
}
