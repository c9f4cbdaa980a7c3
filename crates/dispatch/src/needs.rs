//! Questions to a person: listed, settled by a verb, refused by the clock. They time out closed.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::{PermissionOption, ShimCommand};
use switchboard_protocol::id::{NeedId, RunId, WorkerId};
use switchboard_protocol::need::{Need, NeedEvent};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, Durability, Guard, Idempotency, Query, Row};

use crate::Error;
use crate::error::shape;
use crate::event::cut;
use crate::work::NEEDS;
use crate::world::World;

/// How long to wait before what could not be recorded is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How a person settles a question.
#[derive(Debug, Clone)]
pub enum Settle {
    /// Allow it, once.
    Approve,
    /// Refuse it.
    Deny,
    /// Choose this option.
    Answer(String),
}

/// The options as the record keeps them: at most six, each word cut.
pub(crate) fn options(options: &[PermissionOption]) -> Vec<PermissionOption> {
    let short = |option: &PermissionOption| PermissionOption {
        id: cut(&option.id, 40),
        name: cut(&option.name, 40),
        kind: cut(&option.kind, 16),
    };
    options.iter().take(6).map(short).collect()
}

pub(crate) fn choose(need: &Need, how: Settle) -> Result<(&'static str, Option<String>), Error> {
    let first = |kinds: [&str; 2]| {
        let of = |kind: &str| need.options.iter().find(|option| option.kind == kind);
        kinds.into_iter().find_map(of).map(|option| option.id.clone())
    };
    match how {
        Settle::Approve => match first(["allow_once", "allow_always"]) {
            Some(option) => Ok(("approved", Some(option))),
            None => Err(no_option(need, "that allows it")),
        },
        Settle::Deny => Ok(("denied", first(["reject_once", "reject_always"]))),
        Settle::Answer(option) if need.options.iter().any(|offered| offered.id == option) => {
            Ok(("answered", Some(option)))
        }
        Settle::Answer(option) => Err(no_option(need, &format!("called {}", cut(&option, 40)))),
    }
}

fn no_option(need: &Need, which: &str) -> Error {
    let offered: Vec<_> = need.options.iter().map(|option| option.id.as_str()).collect();
    let what = format!("{} offers no option {which}", need.id);
    Failure::new("request.bad-args", what).hint(format!("it offers: {}", offered.join(", "))).into()
}

pub(crate) async fn settle(
    world: &World,
    id: &NeedId,
    outcome: &str,
    option: Option<String>,
    by: &str,
    call: Option<Idempotency>,
) -> Result<(), Error> {
    let fact = NeedEvent::NeedSettled { id: id.clone(), outcome: outcome.to_owned(), option };
    let event = NewEvent::of(&fact, format!("need/{id}"), by).map_err(shape("an answer"))?;
    let refusal = Failure::new("need.settled", format!("{id} was settled before"));
    let guard = Guard::equals(NEEDS, [id.as_str().into()], "outcome", "", refusal);
    let mut batch = Batch::new(Durability::Synced).event(event).guard(guard);
    batch.idempotency = call;
    world.commit(batch).await?;
    Ok(())
}

pub(crate) async fn tell(world: &World, id: &NeedId, option: Option<String>) -> Result<(), Error> {
    let row = world.store.get(NEEDS, &[id.as_str().into()])?.ok_or_else(|| Error::Missing(id.to_string()))?;
    let worker = WorkerId::new(row.try_text("worker")?).map_err(|_| Error::Missing(format!("the worker of {id}")))?;
    let Some(link) = world.link(&worker) else { return Ok(()) };
    link.tell(ShimCommand::Permit { ask: row.try_text("ask")?.to_owned(), option }).await
}

/// Settled questions of a worker, to be told again to a shim that comes back; it ignores what it knows.
pub(crate) fn settled_for(world: &World, worker: &WorkerId) -> Result<Vec<(String, Option<String>)>, Error> {
    let query = Query::table(NEEDS).eq("worker", worker.as_str()).ne("outcome", "").asc("seq").limit(1000);
    let rows = world.store.read(&query)?;
    rows.iter().map(|row| Ok((row.try_text("ask")?.to_owned(), row.get_text("option").map(str::to_owned)))).collect()
}

/// Closes what a worker asked and nobody answered: it has ended and waits no longer.
pub(crate) async fn withdraw(world: &World, worker: &WorkerId) -> Result<(), Error> {
    let open = Query::table(NEEDS).eq("worker", worker.as_str()).eq("outcome", "").asc("seq").limit(1000);
    for row in world.store.read(&open)? {
        let need = need(world, &row)?;
        settle(world, &need.id, "withdrawn", None, "daemon", None).await?;
    }
    Ok(())
}

/// Titles of what a task's workers asked for and a person denied, each once, the first ten.
pub(crate) fn denied_to(world: &World, run: &RunId, task: &TaskId) -> Result<Vec<String>, Error> {
    let query = Query::table(NEEDS).eq("run", run.as_str()).eq("task", task.as_str()).eq("outcome", "denied");
    let mut titles: Vec<String> = Vec::new();
    for row in world.store.read(&query.asc("seq").limit(100))? {
        let title = row.try_text("title")?;
        if titles.len() < 10 && !titles.iter().any(|known| known == title) {
            titles.push(title.to_owned());
        }
    }
    Ok(titles)
}

/// Refuses what nobody answered in time, until the daemon ends.
pub(crate) async fn expire(world: Arc<World>) {
    loop {
        let pause = match expire_once(&world).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "questions could not be expired");
                Some(AGAIN)
            }
        };
        let next = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = world.stop.cancelled() => return,
            () = world.asked.notified() => {}
            () = next => {}
        }
    }
}

/// Refuses what is over; returns the time until the next question is, if there is one.
async fn expire_once(world: &World) -> Result<Option<Duration>, Error> {
    let now = world.store.now();
    let mut next: Option<i64> = None;
    for row in world.store.read(&Query::table(NEEDS).eq("outcome", "").asc("seq").limit(1000))? {
        let left = row.try_int("expires_at")? - now.0;
        if left > 0 {
            next = Some(next.map_or(left, |next| next.min(left)));
            continue;
        }
        let need = need(world, &row)?;
        let (_, option) = choose(&need, Settle::Deny)?;
        settle(world, &need.id, "expired", option.clone(), "daemon", None).await?;
        tell(world, &need.id, option).await?;
    }
    Ok(next.map(|ms| Duration::from_millis(ms.unsigned_abs())))
}

pub(crate) fn need(world: &World, row: &Row) -> Result<Need, Error> {
    let bad = |what: &str| Error::Missing(format!("{what} of a question"));
    Ok(Need {
        id: NeedId::new(row.try_text("id")?).map_err(|_| bad("the id"))?,
        run: Some(RunId::new(row.try_text("run")?).map_err(|_| bad("the run"))?),
        task: row.try_text("task")?.to_owned(),
        worker: Some(WorkerId::new(row.try_text("worker")?).map_err(|_| bad("the worker"))?),
        message: None,
        title: row.try_text("title")?.to_owned(),
        detail: world.store.body(row.try_u64("seq")?)?.unwrap_or_default(),
        options: serde_json::from_str(row.try_text("options")?).map_err(shape("options"))?,
        asked_at: Millis(row.try_int("asked_at")?),
        expires_at: Millis(row.try_int("expires_at")?),
        outcome: row.get_text("outcome").filter(|outcome| !outcome.is_empty()).map(str::to_owned),
    })
}
