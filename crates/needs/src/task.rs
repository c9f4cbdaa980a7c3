//! Questions about tasks whose workers ended without what they were denied, or whose changes need approval: the
//! options, and the consequences of an answer.

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{NeedId, RunId, WorkerId};
use switchboard_protocol::need::{Need, NeedAbout, NeedEvent, NeedKind};
use switchboard_protocol::run::PersonAnswer;
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_store::{Query, Row, Store};

use crate::read::{of_row, refused_to};
use crate::table::NEEDS;
use crate::{Error, ask_event};

/// Id of the option that allows the next worker what was denied.
const ALLOW: &str = "allow";
/// Id of the option that tries again without it.
pub(crate) const RETRY: &str = "retry";
/// Id of the option that blocks the task.
const GIVE_UP: &str = "give-up";

/// Maximum number of questions of a task examined, the newest first.
const MAX_LOOKED_AT: u64 = 100;
/// Maximum number of notes passed to a worker, the newest.
const MAX_NOTES: usize = 5;
/// Maximum length of each command or diff in the question about all of them, in bytes.
const DETAIL: usize = 1_000;

/// Ended worker that a question concerns, and the question's id and expiry.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Run of the worker.
    pub run: RunId,
    /// Task of the worker.
    pub task: String,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Id of the new question.
    pub need: NeedId,
    /// Time at which the question expires.
    pub expires_at: Millis,
}

/// Returns the event that asks how to continue a task, with what was denied in words; `None` if its worker was denied
/// nothing.
///
/// # Errors
/// When the store can't be read or the fact does not serialise.
pub fn ask_about_denied(store: &Store, ended: Ended, by: &str) -> Result<Option<(NewEvent, String)>, Error> {
    let refused = refused_to(store, &ended.worker)?;
    let Some(first) = refused.first() else { return Ok(None) };
    let more = if refused.len() > 1 { format!(" and {} more", refused.len() - 1) } else { String::new() };
    let what = format!("{}{more}", cut(&first.title, 200));
    let detail: Vec<_> = refused.iter().map(shown).collect();
    let Ended { run, task, worker, need, expires_at } = ended;
    let fact = NeedEvent::NeedAsked {
        id: need,
        about: NeedAbout::Denied { run, task, worker, denied: refused.into_iter().map(|need| need.id).collect() },
        title: cut(&format!("it ended without what was denied: {what}"), 250),
        options: options("allow it for this task, and try again", "try again without it, with a --note"),
        expires_at,
    };
    Ok(Some((ask_event(&fact, detail.join("\n"), by)?, what)))
}

/// Formats a refused question with the beginning of its command or diff.
fn shown(need: &Need) -> String {
    let how = if need.outcome.as_deref() == Some("expired") { "nobody answered" } else { "denied" };
    let detail = cut(&need.detail, DETAIL);
    let lines: String = detail.lines().map(|line| format!("\n    {line}")).collect();
    format!("{how}: {}{lines}", need.title)
}

/// Returns the event that asks whether a change may be merged.
///
/// # Errors
/// When the fact does not serialise.
pub fn ask_about_change(
    need: NeedId,
    about: NeedAbout,
    (title, detail): (&str, String),
    expires_at: Millis,
) -> Result<NewEvent, Error> {
    let options = options("it may be merged", "do it differently, with a --note");
    let fact = NeedEvent::NeedAsked { id: need, about, title: cut(title, 250), options, expires_at };
    Ok(ask_event(&fact, detail, "daemon")?)
}

fn options(allow: &str, retry: &str) -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind: &str| PermissionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    };
    vec![
        option(ALLOW, allow, "allow_once"),
        option(RETRY, retry, "retry_once"),
        option(GIVE_UP, "give the task up", "reject_once"),
    ]
}

/// Returns the answer to a question about a task, with its note if the question was about a change; `None` while it is
/// open.
///
/// # Errors
/// When the store can't be read or there is no such question.
pub fn answer_about_task(store: &Store, id: &NeedId) -> Result<Option<(PersonAnswer, String)>, Error> {
    let row = store.get(NEEDS, &[id.as_str().into()])?.ok_or(Error::BadRow { what: "place" })?;
    let answer = match (row.try_text("outcome")?, row.get_text("option")) {
        ("", _) => return Ok(None),
        ("expired", _) => PersonAnswer::Expired,
        ("withdrawn", _) => PersonAnswer::Withdrawn,
        (_, Some(ALLOW)) => PersonAnswer::Allow,
        (_, Some(RETRY)) => PersonAnswer::Retry,
        (_, Some(_) | None) => PersonAnswer::GiveUp,
    };
    // A note on a denial is passed on with the task.
    let is_change = row.get_text("about") == Some(NeedKind::Change.as_str());
    let note = if is_change { note(store, &row)? } else { None };
    Ok(Some((answer, note.unwrap_or_default())))
}

/// Returns the questions of a task's workers that were refused at first, and that a person has allowed for the task
/// since.
///
/// # Errors
/// When the store can't be read.
pub fn allowed_since(store: &Store, run: &RunId, task: &str) -> Result<Vec<Need>, Error> {
    let mut allowed = Vec::new();
    for row in answered(store, run, task)?.iter().filter(|row| row.get_text("option") == Some(ALLOW)) {
        let denied: Vec<NeedId> = serde_json::from_str(row.get_text("denied").unwrap_or("[]"))?;
        for id in denied {
            if let Some(row) = store.get(NEEDS, &[id.as_str().into()])? {
                allowed.push(of_row(store, &row)?);
            }
        }
    }
    Ok(allowed)
}

/// Returns people's notes for the next worker of a task, the oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn notes(store: &Store, run: &RunId, task: &str) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    for row in answered(store, run, task)? {
        notes.extend(note(store, &row)?);
    }
    notes.truncate(MAX_NOTES);
    notes.reverse();
    Ok(notes)
}

/// Returns the note of the person who answered.
fn note(store: &Store, row: &Row) -> Result<Option<String>, Error> {
    let lsn = row.get_int("answered").and_then(|lsn| u64::try_from(lsn).ok());
    let note = lsn.map(|lsn| store.body(lsn)).transpose()?.flatten();
    Ok(note.filter(|note| !note.is_empty()))
}

/// Returns the answered questions about denials of a task, the newest first.
fn answered(store: &Store, run: &RunId, task: &str) -> Result<Vec<Row>, Error> {
    let query = Query::table(NEEDS).eq("run", run.as_str()).eq("task", task).eq("about", NeedKind::Denied.as_str());
    Ok(store.read(&query.ne("outcome", "").desc("seq").limit(MAX_LOOKED_AT))?)
}
