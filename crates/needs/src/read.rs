//! Reads questions.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, MessageId, NeedId, RunId, WorkerId};
use switchboard_protocol::need::{HeldCall, Need, NeedKind};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_store::{Query, Row, Store};

use crate::Error;
use crate::table::NEEDS;
use crate::task::allowed_since;

/// Maximum number of questions in one answer.
const MAX_LISTED: u64 = 1000;
/// Maximum number of questions examined for one task or worker.
const MAX_OF_TASK: u64 = 100;
/// Maximum number of refused questions named.
const MAX_NAMED: usize = 10;
/// Maximum number of questions searched for the beginning of an id, newest first.
const MAX_SOUGHT: u64 = 10_000;

/// Lists questions, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn list(store: &Store, include_settled: bool) -> Result<Vec<Need>, Error> {
    let query = Query::table(NEEDS).asc("seq").limit(MAX_LISTED);
    let query = if include_settled { query } else { query.eq("outcome", "") };
    rows(store, &query)
}

/// Returns the question with an id; `None` if there is none.
///
/// # Errors
/// When the store can't be read.
pub fn get(store: &Store, id: &NeedId) -> Result<Option<Need>, Error> {
    store.get(NEEDS, &[id.as_str().into()])?.map(|row| of_row(store, &row)).transpose()
}

/// Finds a question by its id or the beginning of it, with or without `need_`.
///
/// # Errors
/// `need.unknown` if none or several match, or a failure of the store.
pub fn find(store: &Store, id: &str) -> Result<Need, Error> {
    if let Some(row) = store.get(NEEDS, &[id.into()])? {
        return of_row(store, &row);
    }
    let shown = cut(id, 40);
    let rows = store.read(&Query::table(NEEDS).desc("seq").limit(MAX_SOUGHT))?;
    let fits = |known: &str| known.starts_with(id) || known.trim_start_matches("need_").starts_with(id);
    let mut found = rows.iter().filter(|row| !id.is_empty() && row.get_text("id").is_some_and(fits));
    match (found.next(), found.next()) {
        (Some(row), None) => of_row(store, row),
        (None, _) => {
            let failure = Failure::new("need.unknown", format!("there is no question {shown}"));
            Err(Error::Refused(failure.hint("switchboard needs")))
        }
        (Some(_), Some(_)) => {
            let failure = Failure::new("need.unknown", format!("{shown} fits several questions"));
            Err(Error::Refused(failure.hint("give more of its id")))
        }
    }
}

/// Returns the open questions of a worker.
///
/// # Errors
/// When the store can't be read.
pub fn open_of(store: &Store, worker: &WorkerId) -> Result<Vec<Need>, Error> {
    rows(store, &Query::table(NEEDS).eq("worker", worker.as_str()).eq("outcome", "").asc("seq").limit(MAX_LISTED))
}

/// Returns the open questions about held calls, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn open_calls(store: &Store) -> Result<Vec<Need>, Error> {
    open_of_kind(store, NeedKind::Call)
}

/// Returns the open questions about the merge of a run's branch into the user's.
///
/// # Errors
/// When the store can't be read.
pub fn open_merges(store: &Store, run: &RunId) -> Result<Vec<Need>, Error> {
    let open = Query::table(NEEDS).eq("outcome", "").eq("about", NeedKind::Merge.as_str()).eq("run", run.as_str());
    rows(store, &open.asc("seq").limit(MAX_LISTED))
}

/// Returns the open questions of one kind, oldest first, regardless of how many others are open.
pub(crate) fn open_of_kind(store: &Store, kind: NeedKind) -> Result<Vec<Need>, Error> {
    rows(store, &Query::table(NEEDS).eq("about", kind.as_str()).eq("outcome", "").asc("seq").limit(MAX_LISTED))
}

/// Returns the number of open questions, counted at most up to the maximum of [`list`].
///
/// # Errors
/// When the store can't be read.
pub fn count_open(store: &Store) -> Result<u64, Error> {
    Ok(store.count_up_to(&Query::table(NEEDS).eq("outcome", ""), MAX_LISTED)?)
}

/// Returns the shim's id of a worker's question; `None` for other questions.
///
/// # Errors
/// When the store can't be read.
pub fn ask_of(store: &Store, id: &NeedId) -> Result<Option<String>, Error> {
    let row = store.get(NEEDS, &[id.as_str().into()])?;
    Ok(row.and_then(|row| row.get_text("ask").map(str::to_owned)))
}

/// Returns the chosen option; `None` while the question is open, or if no option matches the outcome.
///
/// # Errors
/// When the store can't be read.
pub fn option_of(store: &Store, id: &NeedId) -> Result<Option<String>, Error> {
    let row = store.get(NEEDS, &[id.as_str().into()])?;
    Ok(row.and_then(|row| row.get_text("option").map(str::to_owned)))
}

/// Returns the decided questions of a worker: the shim's id of each, with the chosen option.
///
/// # Errors
/// When the store can't be read.
pub fn outcomes_of(store: &Store, worker: &WorkerId) -> Result<Vec<(String, Option<String>)>, Error> {
    let query = Query::table(NEEDS).eq("worker", worker.as_str()).ne("outcome", "").asc("seq").limit(MAX_LISTED);
    let rows = store.read(&query)?;
    rows.iter().map(|row| Ok((row.try_text("ask")?.to_owned(), row.get_text("option").map(str::to_owned)))).collect()
}

/// Returns the titles of requests by a task's workers that a person denied, each once, the first ten; without those
/// allowed since.
///
/// # Errors
/// When the store can't be read.
pub fn denied_to(store: &Store, run: &RunId, task: &str) -> Result<Vec<String>, Error> {
    let query = Query::table(NEEDS).eq("run", run.as_str()).eq("task", task).eq("outcome", "denied");
    let query = query.eq("about", NeedKind::Permission.as_str()).asc("seq").limit(MAX_OF_TASK);
    let allowed = allowed_since(store, run, task)?;
    let is_allowed = |title: &str| allowed.iter().any(|need| need.title == title);
    let mut titles: Vec<String> = Vec::new();
    for row in store.read(&query)? {
        let title = row.try_text("title")?;
        if titles.len() < MAX_NAMED && !is_allowed(title) && !titles.iter().any(|known| known == title) {
            titles.push(title.to_owned());
        }
    }
    Ok(titles)
}

/// Returns the requests of a worker that a person denied or that expired; each once, the first ten.
///
/// # Errors
/// When the store can't be read.
pub fn refused_to(store: &Store, worker: &WorkerId) -> Result<Vec<Need>, Error> {
    let query = Query::table(NEEDS).eq("worker", worker.as_str()).eq("about", NeedKind::Permission.as_str());
    let mut refused: Vec<Need> = Vec::new();
    for row in store.read(&query.asc("seq").limit(MAX_OF_TASK))? {
        if refused.len() == MAX_NAMED || !matches!(row.try_text("outcome")?, "denied" | "expired") {
            continue;
        }
        let need = of_row(store, &row)?;
        if !refused.iter().any(|known| known.title == need.title && known.detail == need.detail) {
            refused.push(need);
        }
    }
    Ok(refused)
}

fn rows(store: &Store, query: &Query) -> Result<Vec<Need>, Error> {
    store.read(query)?.iter().map(|row| of_row(store, row)).collect()
}

pub(crate) fn of_row(store: &Store, row: &Row) -> Result<Need, Error> {
    let bad = |what: &'static str| Error::BadRow { what };
    let text = |column: &'static str| row.get_text(column).filter(|text| !text.is_empty());
    let call = match (text("verb"), text("caller")) {
        (Some(verb), Some(caller)) => {
            Some(HeldCall { verb: verb.to_owned(), caller: AgentName::new(caller).map_err(|_| bad("caller"))? })
        }
        (None, _) | (_, None) => None,
    };
    Ok(Need {
        id: NeedId::new(row.try_text("id")?).map_err(|_| bad("id"))?,
        kind: NeedKind::parse(row.try_text("about")?).ok_or_else(|| bad("kind"))?,
        run: text("run").map(RunId::new).transpose().map_err(|_| bad("run"))?,
        task: text("task").unwrap_or_default().to_owned(),
        worker: text("worker").map(WorkerId::new).transpose().map_err(|_| bad("worker"))?,
        message: text("message").map(MessageId::new).transpose().map_err(|_| bad("message"))?,
        call,
        title: row.try_text("title")?.to_owned(),
        detail: store.body(row.try_u64("seq")?)?.unwrap_or_default(),
        options: serde_json::from_str(row.try_text("options")?)?,
        asked_at: Millis(row.try_int("asked_at")?),
        expires_at: Millis(row.try_int("expires_at")?),
        outcome: text("outcome").map(str::to_owned),
    })
}
