//! Input of the rules: the call, its caller, and the agent that it concerns. Never a payload or a possible secret.

use serde::Serialize;
use serde_json::{Map, Value, json};
use switchboard_protocol::agent::AgentKind;
use switchboard_protocol::caller::{Caller, CallerKind, Isolation};
use switchboard_protocol::id::fold;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::{Access, Class, Row};

/// Maximum length of a text in the input, in bytes; longer ones are replaced by their length.
const MAX_TEXT_BYTES: usize = 256;
/// Maximum depth of values; deeper ones are left out.
const MAX_DEPTH: usize = 6;
/// Maximum number of values in the input; further ones are left out.
const MAX_VALUES: usize = 512;
/// Arguments with texts of others, a secret, or a whole plan.
const OPAQUE: [&str; 5] = ["payload", "env", "token", "secret", "plan"];
/// Arguments in which verbs name an agent.
const NAMING: [&str; 3] = ["recipient", "agent", "name"];

/// Caller as seen by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Who<'a> {
    /// Name of the caller.
    name: &'a str,
    /// `person`, `worker` or `agent`.
    kind: &'static str,
    /// True if a token proves the name.
    is_verified: bool,
    /// True if a person is present to decide.
    is_present: bool,
    /// Isolation of the caller.
    isolation: Isolation,
    /// Run of a worker; empty for others.
    run: &'a str,
    /// Task of a worker; empty for others.
    task: &'a str,
}

/// Agent that a call concerns: the one named by the arguments, else the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// Name in its folded form.
    pub name: String,
    /// Kind on the roster; `None` if it is not registered.
    pub kind: Option<AgentKind>,
    /// True if it is the caller.
    pub is_caller: bool,
}

/// Call to be decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input<'a> {
    /// Name of the verb.
    pub verb: &'a str,
    /// Access of the verb to the log.
    pub effect: Access,
    /// Class of the verb, against which rules are written.
    pub class: Class,
    /// Caller of the verb.
    caller: Who<'a>,
    /// Agent that the call concerns.
    pub about: About,
    /// Arguments, bounded.
    pub args: Value,
    /// Time, in milliseconds since 1970.
    pub now: Millis,
}

/// Returns the agent named by a call's arguments, so that its kind can be looked up for [`Input::new`].
#[must_use]
pub fn name_in(args: &Value) -> Option<&str> {
    NAMING.iter().find_map(|field| args.get(field)).and_then(Value::as_str)
}

impl<'a> Input<'a> {
    /// Describes a call. `about_kind` is the kind on the roster of the agent that [`name_in`] finds, or of the caller
    /// if it finds none.
    #[must_use]
    pub fn new(row: &'a Row, caller: &'a Caller, args: &Value, about_kind: Option<AgentKind>, now: Millis) -> Self {
        let who = Who::of(caller);
        let own = fold(who.name);
        let name = name_in(args).map_or_else(|| own.clone(), fold);
        let about = About { is_caller: name == own, name, kind: about_kind };
        Self { verb: &row.name, effect: row.effect, class: row.class, caller: who, about, args: bounded(args), now }
    }

    /// Returns everything but the time as one text.
    pub(crate) fn but_for_the_time(&self) -> Result<String, String> {
        let Self { verb, effect, class, caller, about, args, now: _ } = self;
        serde_json::to_string(&(verb, effect, class, caller, about, args)).map_err(|error| error.to_string())
    }

    pub(crate) fn to_rego(&self) -> Result<regorus::Value, String> {
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        Ok(regorus::Value::from(value))
    }
}

// === impl Who ===

impl<'a> Who<'a> {
    fn of(caller: &'a Caller) -> Self {
        let (kind, run, task, isolation) = match &caller.kind {
            CallerKind::Person => ("person", "", "", Isolation::Full),
            CallerKind::Worker { run, task, isolation, .. } => ("worker", run.as_str(), task.as_str(), *isolation),
            CallerKind::Agent => ("agent", "", "", Isolation::Full),
        };
        let Caller { is_verified, is_present, .. } = *caller;
        Self { name: caller.name.as_str(), kind, is_verified, is_present, isolation, run, task }
    }
}

/// Returns arguments for the rules: bounded, with long texts and possible secrets replaced by their length.
#[must_use]
pub fn bounded(args: &Value) -> Value {
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

/// Returns the size of a value instead of the value.
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
    use switchboard_protocol::id::AgentName;
    use switchboard_protocol::verb::bus::CheckInbox;

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
        let caller = Caller::agent(AgentName::new("Coder 1").unwrap());
        let row = Row::of::<CheckInbox>();
        let is_caller = |args: Value| Input::new(&row, &caller, &args, None, Millis(0)).about.is_caller;

        assert!(is_caller(json!({})));
        assert!(is_caller(json!({ "agent": "coder_1" })));
        assert!(!is_caller(json!({ "agent": "coder_2" })));
    }
}
