//! The schema of a plan: tables describe the fields, one walk checks them.

use serde_json::{Map, Value};
use switchboard_protocol::error::near_matches;
use switchboard_protocol::id;
use switchboard_protocol::isolation::Host;
use switchboard_protocol::job;
use switchboard_protocol::plan::{MAX_TASKS, TaskId};

use super::error::PlanError;
use super::locate;
use crate::author::CommitAuthor;
use crate::paths;

/// Type of a field's value.
enum Kind {
    /// The version of the format.
    Version,
    Text,
    FilledText,
    Texts,
    /// Names of gates, each optionally with `-` before it.
    Gates,
    Flag,
    /// A boolean, or the text of a question.
    FlagOrText,
    /// A whole number in this range, both ends included.
    Number(u64, u64),
    /// An amount of US dollars.
    Dollars,
    OneOf(&'static [&'static str]),
    /// An argument list or a shell command line.
    Command,
    /// As [`Kind::Command`]; an empty list means none.
    CommandOrNone,
    /// A name that is used in a file name.
    Name,
    TaskId,
    TaskIds,
    /// Paths and globs inside the repository.
    Paths,
    /// Hosts, each with its port.
    Hosts,
    /// The author of a commit.
    Author,
    /// An object of the shared format, in which other tools add fields of their own.
    Object(&'static [Field]),
    Objects(&'static [Field]),
    /// An `x-switchboard` object: only this program reads it, so an unknown field is an error.
    Settings(&'static [Field]),
    /// A list of worker settings, with its minimum and maximum length.
    Workers(&'static [Field], u64, u64),
    /// A number of workers, or a list of agents.
    BestOf,
}

struct Field {
    name: &'static str,
    needed: bool,
    kind: Kind,
}

const fn needed(name: &'static str, kind: Kind) -> Field {
    Field { name, needed: true, kind }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, needed: false, kind }
}

/// Maximum number of edits between a key and [`SETTINGS`] for a misspelling: one wrong and one missing letter, or a
/// missing `x-`.
const MAX_TYPOS: usize = 2;
/// Largest whole number that JavaScript represents exactly.
const LARGEST: u64 = (1 << 53) - 1;
/// Maximum ceiling in US dollars.
const MOST_DOLLARS: f64 = 1e6;
/// Maximum time limit in minutes: a week.
const MAX_MINUTES: u64 = 7 * 24 * 60;
/// Maximum time limit of a set-up in minutes: a day.
const MAX_SETUP_MINUTES: u64 = 24 * 60;
/// Maximum number of TCP ports of one work tree.
const MAX_PORTS: u64 = 100;

/// Key of the object that holds the plan's settings for Switchboard.
const SETTINGS: &str = "x-switchboard";

/// Maximum number of attempts that a plan may set.
const MAX_ATTEMPTS: u64 = job::MAX_PLAN_ATTEMPTS as u64;
/// Minimum number of workers that share a task.
const FEWEST_SHARED: u64 = job::MIN_SHARED as u64;
/// Maximum number of participants of a debate, and of workers that try the same task.
const MOST_SHARED: u64 = job::MAX_SHARED as u64;
/// Maximum number of concurrent workers of a run.
const MOST_WORKERS: u64 = switchboard_protocol::run::MAX_WORKERS as u64;
/// Maximum number of steps of a chain.
const MAX_STEPS: u64 = job::MAX_STEPS as u64;
/// Maximum number of rounds of a debate.
const MAX_ROUNDS: u64 = job::MAX_ROUNDS as u64;

const PLAN: &[Field] = &[
    needed("schema_version", Kind::Version),
    needed("title", Kind::FilledText),
    needed("swarm", Kind::FilledText),
    optional("current_phase", Kind::Number(1, LARGEST)),
    optional("migration_status", Kind::OneOf(&["native", "migrated", "migration_failed"])),
    optional("specMtime", Kind::Text),
    optional("specHash", Kind::Text),
    optional("execution_profile", Kind::Object(PROFILE)),
    needed("phases", Kind::Objects(PHASE)),
    optional(SETTINGS, Kind::Settings(PLAN_SETTINGS)),
];

const PROFILE: &[Field] = &[
    optional("parallelization_enabled", Kind::Flag),
    optional("max_concurrent_tasks", Kind::Number(1, 64)),
    optional("council_parallel", Kind::Flag),
    optional("locked", Kind::Flag),
    optional("auto_proceed", Kind::Flag),
];

const PHASE: &[Field] = &[
    needed("id", Kind::Number(1, LARGEST)),
    needed("name", Kind::FilledText),
    optional("status", Kind::OneOf(&["pending", "in_progress", "complete", "completed", "blocked", "closed"])),
    optional("tasks", Kind::Objects(TASK)),
    optional("type", Kind::OneOf(&["code", "non-code"])),
    optional("required_agents", Kind::Texts),
    optional(SETTINGS, Kind::Settings(PHASE_SETTINGS)),
];

const TASK: &[Field] = &[
    needed("id", Kind::TaskId),
    needed("phase", Kind::Number(1, LARGEST)),
    optional("status", Kind::OneOf(&["pending", "in_progress", "completed", "blocked", "closed"])),
    optional("size", Kind::OneOf(&["small", "medium", "large"])),
    needed("description", Kind::FilledText),
    optional("depends", Kind::TaskIds),
    optional("acceptance", Kind::Text),
    optional("files_touched", Kind::Paths),
    optional("evidence_path", Kind::Text),
    optional("blocked_reason", Kind::Text),
    optional(SETTINGS, Kind::Settings(TASK_SETTINGS)),
];

const PLAN_SETTINGS: &[Field] = &[
    optional("gates", Kind::Gates),
    optional("test", Kind::Command),
    optional("build", Kind::Command),
    optional("lint", Kind::Command),
    optional("lint_fix", Kind::Command),
    optional("setup", Kind::CommandOrNone),
    optional("setup_minutes", Kind::Number(1, MAX_SETUP_MINUTES)),
    optional("ports", Kind::Number(0, MAX_PORTS)),
    optional("exclude", Kind::Paths),
    optional("agent", Kind::Name),
    optional("budget", Kind::Dollars),
    optional("max_workers", Kind::Number(1, MOST_WORKERS)),
    optional("timeout_minutes", Kind::Number(1, MAX_MINUTES)),
    optional("wrap_up_minutes", Kind::Number(1, MAX_MINUTES)),
    optional("barrier", Kind::Flag),
    optional("debate", Kind::Settings(DEBATE)),
    optional("merge", Kind::OneOf(&["task", "slice", "milestone"])),
    optional("auto_merge", Kind::OneOf(&["auto", "confirm", "manual"])),
    optional("unknown_writes", Kind::OneOf(&["judged", "serial"])),
    optional("attempts", Kind::Number(1, MAX_ATTEMPTS)),
    optional("retry_from", Kind::OneOf(&["clean", "change"])),
    optional("confirm", Kind::FlagOrText),
    optional("on_violation", Kind::OneOf(&["refuse", "warn", "pause", "halt"])),
    optional("isolation", Kind::OneOf(&["full", "constrained"])),
    optional("hosts", Kind::Hosts),
    optional("permissions", Kind::OneOf(&["ask", "edits", "all"])),
    optional("model", Kind::FilledText),
    optional("team", Kind::Flag),
    optional("always_security_review", Kind::Flag),
    optional("turbo", Kind::Flag),
];

const PHASE_SETTINGS: &[Field] = &[
    optional("gates", Kind::Gates),
    optional("test", Kind::Command),
    optional("debate", Kind::Settings(DEBATE)),
    optional("agent", Kind::Name),
    optional("attempts", Kind::Number(1, MAX_ATTEMPTS)),
    optional("retry_from", Kind::OneOf(&["clean", "change"])),
    optional("confirm", Kind::FlagOrText),
    optional("on_violation", Kind::OneOf(&["refuse", "warn", "pause", "halt"])),
    optional("isolation", Kind::OneOf(&["full", "constrained"])),
    optional("hosts", Kind::Hosts),
    optional("permissions", Kind::OneOf(&["ask", "edits", "all"])),
    optional("model", Kind::FilledText),
];

const TASK_SETTINGS: &[Field] = &[
    optional("agent", Kind::Name),
    optional("command", Kind::Command),
    optional("slice", Kind::Name),
    optional("result", Kind::OneOf(&["change", "report"])),
    optional("asks", Kind::Settings(ASKS)),
    optional("chain", Kind::Workers(CHAIN_STEP, FEWEST_SHARED, MAX_STEPS)),
    optional("debate", Kind::Settings(DEBATE)),
    optional("best_of", Kind::BestOf),
    optional("test", Kind::Command),
    optional("gates", Kind::Gates),
    optional("scope", Kind::Paths),
    optional("exclude", Kind::Paths),
    optional("reads", Kind::Paths),
    optional("inputs", Kind::Paths),
    optional("outputs", Kind::Paths),
    optional("timeout_minutes", Kind::Number(1, MAX_MINUTES)),
    optional("wrap_up_minutes", Kind::Number(1, MAX_MINUTES)),
    optional("author", Kind::Author),
    optional("attempts", Kind::Number(1, MAX_ATTEMPTS)),
    optional("retry_from", Kind::OneOf(&["clean", "change"])),
    optional("confirm", Kind::FlagOrText),
    optional("on_violation", Kind::OneOf(&["refuse", "warn", "pause", "halt"])),
    optional("isolation", Kind::OneOf(&["full", "constrained"])),
    optional("hosts", Kind::Hosts),
    optional("permissions", Kind::OneOf(&["ask", "edits", "all"])),
    optional("model", Kind::FilledText),
];

const ASKS: &[Field] = &[
    needed(
        "role",
        Kind::OneOf(&[
            "architect",
            "explorer",
            "sme",
            "critic",
            "critic_drift_verifier",
            "critic_hallucination_verifier",
            "reviewer",
        ]),
    ),
    needed(
        "answer",
        Kind::OneOf(&[
            "questions",
            "exploration",
            "reality",
            "guidance",
            "spec",
            "plan_draft",
            "plan_review",
            "decision",
            "retrospective",
            "drift",
            "hallucination",
            "review",
        ]),
    ),
];

const CHAIN_STEP: &[Field] = &[
    optional("agent", Kind::Name),
    optional("command", Kind::Command),
    optional("model", Kind::FilledText),
    needed("prompt", Kind::FilledText),
];

const DEBATE: &[Field] = &[
    needed("participants", Kind::Workers(PARTICIPANT, FEWEST_SHARED, MOST_SHARED)),
    optional("rounds", Kind::Number(1, MAX_ROUNDS)),
    optional("quorum", Kind::Number(1, MOST_SHARED)),
    optional("round_minutes", Kind::Number(1, MAX_MINUTES)),
];

const PARTICIPANT: &[Field] = &[
    optional("agent", Kind::Name),
    optional("command", Kind::Command),
    optional("model", Kind::FilledText),
    optional("prompt", Kind::FilledText),
];

/// Checks a plan's shape. Removes known fields that are null (equivalent to missing) and rewrites `1.0` as `1`.
pub(super) fn check(value: &mut Value) -> Result<(), PlanError> {
    check_object("", value, PLAN)?;
    let phases = value.get("phases").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tasks = |phase: &Value| phase.get("tasks").and_then(Value::as_array).map_or(0, Vec::len);
    match phases.iter().map(tasks).sum() {
        0 => Err(PlanError::new("plan.empty", "/phases", "at least one task", "none").hint("add a task to a phase")),
        1..=MAX_TASKS => Ok(()),
        many => {
            let found = format!("{many} tasks");
            Err(PlanError::new("plan.schema", "/phases", "at most 10000 tasks", found).hint("split the plan"))
        }
    }
}

fn check_object(pointer: &str, value: &mut Value, fields: &[Field]) -> Result<(), PlanError> {
    let found = describe(value);
    let Value::Object(object) = value else {
        return Err(wrong(pointer, "an object", found));
    };
    for field in fields {
        let pointer_to = format!("{pointer}/{}", field.name);
        match object.get_mut(field.name) {
            Some(Value::Null) if !field.needed => {
                object.shift_remove(field.name);
            }
            Some(value) => check_field(&pointer_to, value, &field.kind)?,
            None if field.needed => return Err(missing(pointer, object, field, fields)),
            None => {}
        }
    }
    // A misspelt `x-switchboard` would hide all of its settings.
    let is_misspelt = |key: &&String| key.as_str() != SETTINGS && strsim::osa_distance(key, SETTINGS) <= MAX_TYPOS;
    let misspelt = object.keys().find(is_misspelt).filter(|_| fields.iter().any(|field| field.name == SETTINGS));
    misspelt.map_or(Ok(()), |key| Err(unknown(pointer, key, fields)))
}

/// As [`check_object`], for an object that may have known fields only.
fn check_settings(pointer: &str, value: &mut Value, fields: &[Field]) -> Result<(), PlanError> {
    check_object(pointer, value, fields)?;
    let is_unknown = |key: &&String| fields.iter().all(|field| field.name != key.as_str());
    let first = value.as_object().and_then(|object| object.keys().find(is_unknown));
    first.map_or(Ok(()), |key| Err(unknown(pointer, key, fields)))
}

fn unknown(pointer: &str, key: &str, fields: &[Field]) -> PlanError {
    let names = || fields.iter().map(|field| field.name);
    let known = format!("one of the fields {}", names().collect::<Vec<_>>().join(", "));
    let error =
        PlanError::new("plan.unknown-field", format!("{pointer}/{}", locate::escaped(key)), known, format!("{key:?}"));
    match near_matches(key, names()).first() {
        Some(near) => error.hint(format!("did you mean {near:?}?")),
        None => error,
    }
}

/// Returns the unknown fields of the shared format, each with its pointer and the known field with a similar name. A
/// run ignores them.
pub(super) fn unknown_fields(value: &Value) -> Vec<UnknownField> {
    let mut found = Vec::new();
    collect("", value, PLAN, &mut found);
    found
}

/// An unknown field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// JSON pointer to the field.
    pub pointer: String,
    /// A known field of the same object with a similar name.
    pub near: Option<&'static str>,
}

fn collect(pointer: &str, value: &Value, fields: &[Field], found: &mut Vec<UnknownField>) {
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        let pointer = format!("{pointer}/{}", locate::escaped(key));
        match fields.iter().find(|field| field.name == key).map(|field| &field.kind) {
            None => {
                let near = near_matches(key, fields.iter().map(|field| field.name)).first().copied();
                found.push(UnknownField { pointer, near });
            }
            Some(Kind::Object(fields)) => collect(&pointer, value, fields, found),
            Some(Kind::Objects(fields)) => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    collect(&format!("{pointer}/{at}"), item, fields, found);
                }
            }
            Some(_) => {}
        }
    }
}

fn missing(pointer: &str, object: &Map<String, Value>, field: &Field, fields: &[Field]) -> PlanError {
    let unknown = object.keys().map(String::as_str).filter(|key| fields.iter().all(|field| field.name != *key));
    let error = wrong(pointer, format!("the field {:?}", field.name), "no such field".to_owned());
    match near_matches(field.name, unknown).first() {
        Some(near) => error.hint(format!("is {near:?} meant to be {:?}?", field.name)),
        None => error,
    }
}

fn check_field(pointer: &str, value: &mut Value, kind: &Kind) -> Result<(), PlanError> {
    match kind {
        Kind::Object(fields) => check_object(pointer, value, fields),
        Kind::Settings(fields) => check_settings(pointer, value, fields),
        Kind::Objects(fields) => items(pointer, value)?.try_for_each(|(at, item)| check_object(&at, item, fields)),
        Kind::Workers(fields, from, to) => {
            counted(pointer, value, *from, *to)?;
            items(pointer, value)?.try_for_each(|(at, item)| check_settings(&at, item, fields))
        }
        Kind::BestOf if value.is_array() => {
            counted(pointer, value, FEWEST_SHARED, MOST_SHARED)?;
            items(pointer, value)?.try_for_each(|(at, item)| name(&at, item))
        }
        Kind::BestOf => number(pointer, value, FEWEST_SHARED, MOST_SHARED),
        Kind::Texts => items(pointer, value)?.try_for_each(|(at, item)| text(&at, item).map(|_| ())),
        Kind::Gates => items(pointer, value)?.try_for_each(|(at, item)| gate(&at, item)),
        Kind::TaskIds => items(pointer, value)?.try_for_each(|(at, item)| task_id(&at, item)),
        Kind::Paths => items(pointer, value)?.try_for_each(|(at, item)| path(&at, item)),
        Kind::Hosts => items(pointer, value)?.try_for_each(|(at, item)| host(&at, item)),
        Kind::Author => author(pointer, value),
        Kind::Text => text(pointer, value).map(|_| ()),
        Kind::FilledText => filled(pointer, value),
        Kind::Name => name(pointer, value),
        Kind::TaskId => task_id(pointer, value),
        Kind::CommandOrNone if value.as_array().is_some_and(Vec::is_empty) => Ok(()),
        Kind::Command | Kind::CommandOrNone => command(pointer, value),
        Kind::Number(from, to) => number(pointer, value, *from, *to),
        // Amounts below a millionth count as zero.
        Kind::Dollars if value.as_f64().is_some_and(|dollars| (1e-6..=MOST_DOLLARS).contains(&dollars)) => Ok(()),
        Kind::Dollars => Err(wrong(pointer, "an amount in dollars above 0, such as 20 or 0.5", describe(value))),
        Kind::OneOf(words) => one_of(pointer, value, words),
        Kind::Version if value == "1.0.0" => Ok(()),
        Kind::Version => Err(wrong(pointer, "\"1.0.0\", the only version", describe(value))),
        Kind::FlagOrText if value.is_boolean() || value.as_str().is_some_and(|text| !text.trim().is_empty()) => Ok(()),
        Kind::FlagOrText => Err(wrong(pointer, "true, false or a question", describe(value))),
        Kind::Flag if value.is_boolean() => Ok(()),
        Kind::Flag => Err(wrong(pointer, "true or false", describe(value))),
    }
}

fn items<'a>(
    pointer: &'a str,
    value: &'a mut Value,
) -> Result<impl Iterator<Item = (String, &'a mut Value)>, PlanError> {
    let found = describe(value);
    let list = value.as_array_mut().ok_or_else(|| wrong(pointer, "a list", found))?;
    Ok(list.iter_mut().enumerate().map(move |(at, item)| (format!("{pointer}/{at}"), item)))
}

/// Checks the length of a list.
fn counted(pointer: &str, value: &Value, from: u64, to: u64) -> Result<(), PlanError> {
    let count = value.as_array().map(|list| list.len() as u64);
    if count.is_some_and(|count| (from..=to).contains(&count)) {
        return Ok(());
    }
    Err(wrong(pointer, format!("a list of {from} to {to}"), describe(value)))
}

fn text<'a>(pointer: &str, value: &'a Value) -> Result<&'a str, PlanError> {
    value.as_str().ok_or_else(|| wrong(pointer, "a text", describe(value)))
}

fn filled(pointer: &str, value: &Value) -> Result<(), PlanError> {
    if text(pointer, value)?.is_empty() {
        Err(wrong(pointer, "a text that is not empty", describe(value)))
    } else {
        Ok(())
    }
}

fn one_of(pointer: &str, value: &Value, words: &[&'static str]) -> Result<(), PlanError> {
    let word = text(pointer, value)?;
    if words.contains(&word) {
        return Ok(());
    }
    let error = wrong(pointer, format!("one of {}", words.join(", ")), describe(value));
    match near_matches(word, words.iter().copied()).first() {
        Some(near) => Err(error.hint(format!("did you mean {near:?}?"))),
        None => Err(error),
    }
}

fn number(pointer: &str, value: &mut Value, from: u64, to: u64) -> Result<(), PlanError> {
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0 && *float <= LARGEST as f64);
        float.map(|float| float as u64)
    });
    match whole.filter(|number| (from..=to).contains(number)) {
        Some(number) => {
            *value = number.into();
            Ok(())
        }
        None if to == LARGEST => Err(wrong(pointer, format!("a whole number from {from}"), describe(value))),
        None => Err(wrong(pointer, format!("a whole number from {from} to {to}"), describe(value))),
    }
}

fn name(pointer: &str, value: &Value) -> Result<(), PlanError> {
    let rule = |error: id::IdError| {
        PlanError::new("plan.unsafe-id", pointer, "a safe name", describe(value)).hint(error.to_string())
    };
    id::check("name", text(pointer, value)?).map_err(rule)
}

/// Checks a gate's name, with `-` before it if the gate is left out.
fn gate(pointer: &str, value: &Value) -> Result<(), PlanError> {
    let text = text(pointer, value)?;
    name(pointer, &Value::from(text.strip_prefix('-').unwrap_or(text)))
}

fn task_id(pointer: &str, value: &Value) -> Result<(), PlanError> {
    let rule = |error: switchboard_protocol::plan::BadTaskId| {
        PlanError::new("plan.unsafe-id", pointer, "a safe id such as \"1.2\"", describe(value)).hint(error.to_string())
    };
    TaskId::new(text(pointer, value)?).map(|_| ()).map_err(rule)
}

fn host(pointer: &str, value: &Value) -> Result<(), PlanError> {
    match Host::parse(text(pointer, value)?) {
        Some(_) => Ok(()),
        None => Err(wrong(pointer, "a host with its port, such as \"api.example.com:443\"", describe(value))),
    }
}

fn author(pointer: &str, value: &Value) -> Result<(), PlanError> {
    match CommitAuthor::parse(text(pointer, value)?) {
        Some(_) => Ok(()),
        None => Err(wrong(pointer, "an author, such as \"Ada <ada@example.org>\"", describe(value))),
    }
}

fn path(pointer: &str, value: &Value) -> Result<(), PlanError> {
    let rule = |error: paths::UnsafePath| {
        PlanError::new(
            "plan.unsafe-path",
            pointer,
            "a path inside the repository",
            format!("{}: {error}", describe(value)),
        )
        .hint("name files relative to the repository's root")
    };
    paths::check(text(pointer, value)?).map_err(rule)
}

fn command(pointer: &str, value: &Value) -> Result<(), PlanError> {
    let runnable = |text: &str| !text.trim().is_empty() && !text.contains('\0');
    let good = match value {
        Value::String(line) => runnable(line),
        Value::Array(argv) => {
            let texts = argv.iter().all(|arg| arg.as_str().is_some_and(|arg| !arg.contains('\0')));
            texts && argv.first().and_then(Value::as_str).is_some_and(runnable)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if good {
        Ok(())
    } else {
        Err(wrong(pointer, "a program with its arguments, or a line for the shell", describe(value)))
    }
}

fn wrong(pointer: &str, expected: impl Into<String>, found: String) -> PlanError {
    PlanError::new("plan.schema", pointer, expected, found)
}

/// Formats a value for an error: short, on a single line.
fn describe(value: &Value) -> String {
    const SHOWN: usize = 40;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        Value::String(text) if text.chars().count() > SHOWN => {
            format!("{:?}…", text.chars().take(SHOWN).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
