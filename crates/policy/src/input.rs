//! Input of the rules: the call, its caller, and the agent that it concerns. Never a payload or a possible secret.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use switchboard_protocol::agent::AgentKind;
use switchboard_protocol::caller::{Caller, CallerKind, Isolation};
use switchboard_protocol::id::fold;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::{Access, Class, Row};

use crate::reads::{Fields, Reads};

/// Maximum length of a text in the input, in bytes; longer ones are replaced by their length. A call with a longer name of a field is refused.
const MAX_TEXT_BYTES: usize = 256;
/// Maximum depth of arguments. A call with deeper ones is refused, because rules that don't see all of a call can't judge it.
pub(crate) const MAX_DEPTH: usize = 32;
/// Maximum number of values in arguments; a call with more is refused, likewise.
pub(crate) const MAX_VALUES: usize = 16_384;
/// Arguments that may hold secrets.
const SECRET: [&str; 3] = ["env", "token", "secret"];
/// Arguments with texts of others, or a whole plan.
const LONG: [&str; 2] = ["payload", "plan"];
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
    /// Arguments; the rules get what [`bounded`] leaves of them.
    #[serde(serialize_with = "bounded_args")]
    args: &'a Value,
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
    pub fn new(row: &'a Row, caller: &'a Caller, args: &'a Value, about_kind: Option<AgentKind>, now: Millis) -> Self {
        let who = Who::of(caller);
        let own = fold(who.name);
        let name = name_in(args).map_or_else(|| own.clone(), fold);
        let about = About { is_caller: name == own, name, kind: about_kind };
        Self { verb: &row.name, effect: row.effect, class: row.class, caller: who, about, args, now }
    }

    /// Returns true if the rules see all that the arguments consist of.
    pub(crate) fn is_visible(&self) -> bool {
        let mut left = MAX_VALUES;
        is_visible(self.args, MAX_DEPTH, &mut left)
    }

    /// Returns what rules with these reads can tell calls apart by, but for the time, as one text.
    pub(crate) fn seen_by(&self, reads: &Reads) -> Result<String, String> {
        let Self { verb, effect, class, caller, about, args, now: _ } = self;
        let about_name = reads.about.sees("name").then_some(&about.name);
        let args = match (args, &reads.args) {
            (Value::Object(fields), Fields::Named(names)) => {
                let named = names.iter().filter_map(|name| fields.get_key_value(name));
                Value::Object(named.map(|(name, value)| (name.clone(), field(name, value))).collect())
            }
            _ => bounded(args),
        };
        serde_json::to_string(&(verb, effect, class, caller, about_name, about.kind, about.is_caller, args))
            .map_err(|error| error.to_string())
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

/// Returns arguments as the rules see them: with the lengths of long texts and possible secrets in their place.
fn bounded(args: &Value) -> Value {
    match args {
        Value::Null | Value::Bool(_) | Value::Number(_) => args.clone(),
        Value::String(text) if text.len() <= MAX_TEXT_BYTES => args.clone(),
        Value::String(text) => json!({ "length": text.len() }),
        Value::Array(items) => items.iter().map(bounded).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), field(name, value))).collect(),
    }
}

fn bounded_args<S: Serializer>(args: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    bounded(args).serialize(serializer)
}

/// Returns a field as the rules see it.
fn field(name: &str, value: &Value) -> Value {
    if is_hidden(name) { hidden(value) } else { bounded(value) }
}

/// Returns true if a value is within the limits; `left` is the number of values that it may have, with what it consists of.
fn is_visible(value: &Value, depth: usize, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1).filter(|_| depth > 0) else { return false };
    *left = rest;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(|item| is_visible(item, depth - 1, left)),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            name.len() <= MAX_TEXT_BYTES && (is_hidden(name) || is_visible(value, depth - 1, left))
        }),
    }
}

/// Returns true if an argument of this name may hold a secret, which is neither judged nor shown.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    SECRET.contains(&name)
}

/// Returns true if the rules see the size of an argument of this name instead of its value.
fn is_hidden(name: &str) -> bool {
    is_secret(name) || LONG.contains(&name)
}

/// Returns the size of a value instead of the value.
#[must_use]
pub fn hidden(value: &Value) -> Value {
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
    fn arguments_are_visible_up_to_a_number_a_depth_and_a_length_of_names() {
        let is_visible = |args: &Value| {
            let mut left = MAX_VALUES;
            is_visible(args, MAX_DEPTH, &mut left)
        };
        let deep = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!({ "inner": inner }));
        // The object and the list count, too.
        let wide = |values: usize| json!({ "list": vec![1; values - 2] });
        let named = |bytes: usize| json!({ "x".repeat(bytes): 1 });

        assert!(is_visible(&deep(MAX_DEPTH)) && !is_visible(&deep(MAX_DEPTH + 1)));
        assert!(is_visible(&wide(MAX_VALUES)) && !is_visible(&wide(MAX_VALUES + 1)));
        assert!(is_visible(&named(MAX_TEXT_BYTES)) && !is_visible(&named(MAX_TEXT_BYTES + 1)));
        assert!(is_visible(&json!({ "payload": deep(100), "plan": wide(100_000) })), "the rules see a length of these");
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
