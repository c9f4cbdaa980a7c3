//! Completes and checks the `metadata` of messages that dispatch work.
//!
//! `execute` and `delegate_task` expire (`dispatch.expires_at`, by default after 480 minutes), and a later
//! `delegate_task` of the same sender replaces one that still waits, unless `queue_mode` is `keep`. A `delegate_task`
//! names its phase; the phase `execution` needs a plan.

use serde_json::{Map, Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::message::Action;
use switchboard_protocol::time::Millis;

/// Default time to live of a dispatch in minutes: 480, as in the file protocol.
const DEFAULT_TTL_MINUTES: i64 = 480;

/// Maximum time to live of a dispatch in minutes: 30 days.
const MAX_TTL_MINUTES: i64 = 30 * 24 * 60;

/// The message that the metadata belong to.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Id of the message.
    pub id: &'a str,
    /// Action of the message.
    pub action: Action,
    /// Name of the sender.
    pub sender: &'a str,
    /// Name of the recipient.
    pub recipient: &'a str,
    /// Text of the message, which may name the plan.
    pub payload: &'a str,
    /// Folder that relative paths are resolved against; if empty, paths stay as they are.
    pub root: &'a str,
    /// Time of the store.
    pub now: Millis,
}

/// Queueing terms that follow from the metadata.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    /// The completed metadata; `None` if the message has none.
    pub metadata: Option<Map<String, Value>>,
    /// When the dispatch expires.
    pub expires_at: Option<Millis>,
    /// True if the message replaces earlier ones that still wait.
    pub is_replacing: bool,
    /// True if the message may follow a similar one without a cooldown.
    pub skips_cooldown: bool,
}

/// Completes and checks the metadata of a message.
///
/// # Errors
/// `request.bad-args` for a field of the wrong shape; `bus.phase-gate` for work in the execution phase without a plan.
pub fn complete(about: About<'_>, metadata: Option<Map<String, Value>>) -> Result<Terms, Failure> {
    let mut metadata = metadata.unwrap_or_default();
    if let Some(gate) = metadata.get("phase_gate") {
        let gate = phase_gate(about, gate)?;
        metadata.insert("phase_gate".to_owned(), gate);
    } else if about.action == Action::DelegateTask {
        let gate = phase_gate(about, &json!({}))?;
        metadata.insert("phase_gate".to_owned(), gate);
    }
    if !about.action.is_dispatch() {
        return Ok(Terms { metadata: Some(metadata).filter(|fields| !fields.is_empty()), ..Terms::default() });
    }
    let expires_at = expires_at(about, &metadata)?;
    let queue_mode = if metadata.get("queue_mode") == Some(&json!("keep")) { "keep" } else { "replace" };
    let dispatch = json!({
        "dispatch_id": about.id,
        "created_at": about.now.to_string(),
        "expires_at": expires_at.to_string(),
        "queue_mode": queue_mode,
        "require_reply": true,
        "reply_to": about.id,
        "sender": about.sender,
        "action": about.action.as_str(),
    });
    metadata.insert("dispatch".to_owned(), dispatch);
    metadata.entry("resumeMode").or_insert_with(|| json!("execute_from_plan_if_present"));
    if about.action == Action::Execute {
        metadata.entry("paced").or_insert_with(|| json!(about.sender != about.recipient));
    }
    let skips_cooldown = metadata.get("no_cooldown").is_some_and(is_truthy);
    Ok(Terms {
        metadata: Some(metadata),
        expires_at: Some(expires_at),
        is_replacing: about.action == Action::DelegateTask && queue_mode == "replace",
        skips_cooldown,
    })
}

fn is_truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && *value != json!(0) && *value != json!("")
}

fn wrong(field: &str, what: &str) -> Failure {
    Failure::new("request.bad-args", format!("metadata.{field} {what}"))
}

fn expires_at(about: About<'_>, metadata: &Map<String, Value>) -> Result<Millis, Failure> {
    let given = metadata.get("dispatch");
    if let Some(text) = given.and_then(|dispatch| dispatch.get("expires_at")) {
        let at = text.as_str().and_then(Millis::parse);
        let at = at.ok_or_else(|| wrong("dispatch.expires_at", "is not a time such as 2026-02-27T10:00:00.000Z"))?;
        return Ok(at);
    }
    let minutes =
        metadata.get("dispatch_ttl_minutes").or_else(|| given.and_then(|dispatch| dispatch.get("ttl_minutes")));
    let minutes = match minutes {
        None => DEFAULT_TTL_MINUTES,
        Some(minutes) => {
            minutes.as_i64().filter(|minutes| (1..=MAX_TTL_MINUTES).contains(minutes)).ok_or_else(|| {
                wrong("dispatch_ttl_minutes", &format!("is not a whole number from 1 to {MAX_TTL_MINUTES}"))
            })?
        }
    };
    Ok(about.now.plus(minutes * 60_000))
}

fn phase_gate(about: About<'_>, given: &Value) -> Result<Value, Failure> {
    let Some(given) = given.as_object() else { return Err(wrong("phase_gate", "is not an object")) };
    let mut gate = given.clone();
    let text = |field: &str| -> Result<Option<&str>, Failure> {
        match given.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_str()
                .map(str::trim)
                .map(Some)
                .ok_or_else(|| wrong(&format!("phase_gate.{field}"), "is not a text")),
        }
    };
    let is_task = about.action == Action::DelegateTask;
    let plan = text("authorized_plan")?.filter(|plan| !plan.is_empty());
    let plan = plan.or_else(|| named_plan(about.payload).filter(|_| is_task)).map(|plan| absolute(about.root, plan));
    let phase = match text("phase")?.map(str::to_lowercase) {
        Some(phase) if ["planning", "execution", "verification"].contains(&phase.as_str()) => Some(phase),
        Some(_) => return Err(wrong("phase_gate.phase", "is none of planning, execution and verification")),
        None if is_task => Some(if plan.is_some() { "execution" } else { "planning" }.to_owned()),
        None => None,
    };
    if phase.as_deref() == Some("execution") && plan.is_none() && is_task {
        let hint = "name it in metadata.phase_gate.authorized_plan, or send the task for the phase planning";
        return Err(Failure::new("bus.phase-gate", "a task of the execution phase needs a plan").hint(hint));
    }
    let persona = text("enforce_persona")?.filter(|persona| !persona.is_empty()).map(str::to_owned);
    let persona = persona.or_else(|| plan.as_ref().filter(|_| is_task).map(|_| "task_runner".to_owned()));
    for (field, value) in [("phase", phase), ("authorized_plan", plan), ("enforce_persona", persona)] {
        match value {
            Some(value) => gate.insert(field.to_owned(), Value::String(value)),
            None => gate.remove(field),
        };
    }
    Ok(Value::Object(gate))
}

/// Returns the plan that a text names: a path whose file is called `implementation_plan*.md` or `plan_*.md`, or what
/// follows `the plan at`.
fn named_plan(text: &str) -> Option<&str> {
    let is_plan = |word: &&str| {
        let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
        file.ends_with(".md") && (file.starts_with("implementation_plan") || file.starts_with("plan_"))
    };
    let after = || {
        let lower = text.to_ascii_lowercase();
        let verbs = ["implement", "review", "execute"].iter();
        let begin = verbs.filter_map(|verb| lower.find(&format!("{verb} the plan at "))).min()?;
        let rest = &text[begin..];
        let rest = &rest[rest.to_ascii_lowercase().find(" at ")? + 4..];
        rest.split_whitespace().map(bare).next().filter(|word| !word.is_empty())
    };
    text.split_whitespace().map(bare).find(is_plan).or_else(after)
}

/// Strips the quotes around a word and the punctuation behind it.
fn bare(word: &str) -> &str {
    let quotes = ['\'', '"', '`'];
    word.trim_matches(quotes).trim_end_matches(['.', ',', ';', ':', '!', '?']).trim_matches(quotes)
}

fn absolute(root: &str, plan: &str) -> String {
    if plan.starts_with('/') || root.is_empty() {
        return plan.to_owned();
    }
    format!("{}/{}", root.trim_end_matches('/'), plan.trim_start_matches("./"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_772_186_400_000);

    fn about(action: Action, payload: &str) -> About<'_> {
        About { id: "msg_1", action, sender: "lead", recipient: "coder", payload, root: "/repo", now: NOW }
    }

    fn terms(action: Action, payload: &str, metadata: Value) -> Result<Terms, Failure> {
        complete(about(action, payload), metadata.as_object().cloned())
    }

    #[test]
    fn a_plain_message_keeps_what_it_brings_and_nothing_is_added() {
        assert_eq!(terms(Action::StatusUpdate, "hello", json!({})).unwrap(), Terms::default());
        let kept = terms(Action::RequestReview, "look", json!({ "mine": [1] })).unwrap();
        assert_eq!(kept.metadata.unwrap(), *json!({ "mine": [1] }).as_object().unwrap());
    }

    #[test]
    fn a_dispatch_expires_after_eight_hours_unless_it_says_otherwise() {
        let ends = |metadata| terms(Action::Execute, "make", metadata).unwrap().expires_at.unwrap();
        assert_eq!(ends(json!({})), NOW.plus(480 * 60_000));
        assert_eq!(ends(json!({ "dispatch_ttl_minutes": 5 })), NOW.plus(5 * 60_000));
        assert_eq!(ends(json!({ "dispatch": { "ttl_minutes": 6 } })), NOW.plus(6 * 60_000));
        let explicit = json!({ "dispatch_ttl_minutes": 5, "dispatch": { "expires_at": "2026-02-27T10:00:01.000Z" } });
        assert_eq!(ends(explicit), NOW.plus(1_000));
        for bad in [json!({ "dispatch_ttl_minutes": 0 }), json!({ "dispatch": { "expires_at": "soon" } })] {
            assert_eq!(terms(Action::Execute, "make", bad).unwrap_err().code, "request.bad-args");
        }
    }

    #[test]
    fn a_task_takes_the_place_of_the_one_before_unless_both_are_to_be_kept() {
        assert!(terms(Action::DelegateTask, "x", json!({})).unwrap().is_replacing);
        assert!(terms(Action::DelegateTask, "x", json!({ "queue_mode": "KEEP" })).unwrap().is_replacing);
        assert!(!terms(Action::DelegateTask, "x", json!({ "queue_mode": "keep" })).unwrap().is_replacing);
        assert!(!terms(Action::Execute, "x", json!({})).unwrap().is_replacing);
    }

    #[test]
    fn a_task_names_its_phase_by_the_plan_that_it_names() {
        let gate = |payload: &str, gate: Value| {
            let terms = terms(Action::DelegateTask, payload, json!({ "phase_gate": gate })).unwrap();
            terms.metadata.unwrap()["phase_gate"].clone()
        };
        assert_eq!(gate("think about it", json!({})), json!({ "phase": "planning" }));
        let run = json!({ "phase": "execution", "authorized_plan": "/repo/docs/plan_a.md", "enforce_persona": "task_runner" });
        assert_eq!(gate("Do `docs/plan_a.md`.", json!({})), run);
        assert_eq!(gate("please Implement the plan at 'docs/plan_a.md', now", json!({})), run);
        assert_eq!(gate("x", json!({ "authorized_plan": " ./docs/plan_a.md " })), run);
        let mine =
            json!({ "phase": "VERIFICATION", "authorized_plan": "/p.md", "enforce_persona": " tester ", "k": 1 });
        let whole = json!({ "phase": "verification", "authorized_plan": "/p.md", "enforce_persona": "tester", "k": 1 });
        assert_eq!(gate("x", mine), whole);
    }

    #[test]
    fn work_without_a_plan_and_a_phase_that_is_none_are_refused() {
        let refused = |gate: Value| terms(Action::DelegateTask, "x", json!({ "phase_gate": gate })).unwrap_err().code;
        assert_eq!(refused(json!({ "phase": "execution" })), "bus.phase-gate");
        assert_eq!(refused(json!({ "phase": "lunch" })), "request.bad-args");
        assert_eq!(refused(json!([])), "request.bad-args");
    }
}
