//! Handlers of the daemon and its record.

use std::path::Path;
use std::time::Duration;

use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{NewEvent, ReadFrom};
use switchboard_protocol::verb::backup::{BackupStore, BackupStoreReply, BackupStoreRequest};
use switchboard_protocol::verb::system::{
    self, ExportLogReply, ExportLogRequest, GetStatusReply, ReadEventsReply, ReadEventsRequest, ShutdownReply,
    SignHeadReply, UnseenMail, VerifyLogReply,
};
use switchboard_store::{Filter, Interest, Store};

use super::context::Context;
use super::route::Handle;
use super::{Ask, Verbs};
use crate::blocking::blocking;
use crate::record::backup_reply;

/// Number of events in an answer: default and maximum.
const EVENTS: (u32, u32) = (100, 1000);

/// Maximum wait for an event in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

impl Handle<system::GetStatus> for Verbs {
    async fn handle(&self, _: &Context, _: system::GetStatusRequest) -> Result<GetStatusReply, Failure> {
        self.status()
    }
}

impl Handle<system::GetCaller> for Verbs {
    async fn handle(&self, call: &Context, _: system::GetCallerRequest) -> Result<system::GetCallerReply, Failure> {
        let Caller { name, kind, is_present, known_by, .. } = &call.caller;
        let (kind, known_by) = (kind.as_str().to_owned(), (*known_by).to_owned());
        Ok(system::GetCallerReply { name: name.clone(), kind, is_present: *is_present, known_by })
    }
}

impl Handle<system::CreateSessionCode> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        _: system::CreateSessionCodeRequest,
    ) -> Result<system::CreateSessionCodeReply, Failure> {
        let (code, expires_at) = self.sessions.issue(&call.caller.name, self.store.now())?;
        let url = format!("http://{}:{}/session", self.info.host, self.info.port);
        Ok(system::CreateSessionCodeReply { code, url, expires_at })
    }
}

impl Handle<system::ReadEvents> for Verbs {
    async fn handle(&self, _: &Context, request: ReadEventsRequest) -> Result<ReadEventsReply, Failure> {
        self.read_events(request).await
    }
}

impl Handle<system::VerifyLog> for Verbs {
    async fn handle(&self, _: &Context, _: system::VerifyLogRequest) -> Result<VerifyLogReply, Failure> {
        let (store, place) = (self.store.clone(), self.place.clone());
        blocking(move || crate::record::verify_open(&place, &store)).await
    }
}

impl Handle<system::ExportLog> for Verbs {
    async fn handle(&self, _: &Context, request: ExportLogRequest) -> Result<ExportLogReply, Failure> {
        let store = self.store.clone();
        blocking(move || export(&store, request)).await
    }
}

impl Handle<BackupStore> for Verbs {
    async fn handle(&self, _: &Context, request: BackupStoreRequest) -> Result<BackupStoreReply, Failure> {
        let store = self.store.clone();
        blocking(move || backup(&store, &request.path)).await
    }
}

impl Handle<system::SignHead> for Verbs {
    async fn handle(&self, call: &Context, _: system::SignHeadRequest) -> Result<SignHeadReply, Failure> {
        let (store, keys) = (self.store.clone(), self.place.keys());
        let (fact, reply) = blocking(move || crate::head::sign(&store, &keys)).await?;
        let broken = |error: serde_json::Error| Failure::new("internal.bug", error.to_string());
        let event = NewEvent::of(&fact, "record/head", call.by()).map_err(broken)?;
        let batch = call.batch().event(event).reply(serde_json::to_value(&reply).map_err(broken)?);
        let committed = self.store.commit(batch).await.map_err(|error| error.failure())?;
        let (store, place) = (self.store.clone(), self.place.clone());
        blocking(move || {
            crate::record::note_head(&place, &store, true);
            Ok(())
        })
        .await?;
        serde_json::from_value(committed.reply).map_err(broken)
    }
}

impl Handle<system::Shutdown> for Verbs {
    async fn handle(&self, _: &Context, request: system::ShutdownRequest) -> Result<ShutdownReply, Failure> {
        let workers = self.dispatch.linked_workers() as u64;
        let ask = Ask::Shutdown { keep_workers: request.keep_workers };
        self.asks.send(ask).await.map_err(|_| Failure::new("daemon.unreachable", "the daemon is ending already"))?;
        Ok(ShutdownReply { pid: self.info.pid, workers })
    }
}

// === impl Verbs ===

impl Verbs {
    fn status(&self) -> Result<GetStatusReply, Failure> {
        let needs = switchboard_needs::count_open(&self.store)?;
        Ok(GetStatusReply {
            version: self.info.version.clone(),
            pid: self.info.pid,
            started_at: self.started_at,
            root: self.place.root.display().to_string(),
            state_folder: self.place.state.display().to_string(),
            http: format!("http://{}:{}", self.info.host, self.info.port),
            lsn: self.store.head().lsn,
            lost: crate::record::lost(&self.place, &self.store),
            needs,
            agents: switchboard_bus::roster(&self.store)?.len() as u64,
            unread: switchboard_bus::unread_total(&self.store)?,
            dead: switchboard_bus::dead(&self.store)?,
            unseen: switchboard_bus::unseen(&self.store)?.into_iter().map(unseen).collect(),
            workers: self.dispatch.linked_workers() as u64,
            connected: self.dispatch.connected_workers() as u64,
            runs: self.dispatch.runs(20)?,
        })
    }

    /// Reads events, waiting for the first one if asked to.
    async fn read_events(&self, request: ReadEventsRequest) -> Result<ReadEventsReply, Failure> {
        let deadline = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS));
        let limit = request.limit.unwrap_or(EVENTS.0).clamp(1, EVENTS.1) as usize;
        let filter = Filter::kinds(request.kinds.clone()).subject(request.subject.clone());
        let mut after = match &request.after {
            ReadFrom::Lsn(lsn) if *lsn <= self.store.head().lsn => *lsn,
            ReadFrom::Lsn(lsn) => {
                let what = format!("there is no event {lsn}, the record ends at {}", self.store.head().lsn);
                return Err(Failure::new("bus.cursor-ahead", what).hint("begin again with start or now"));
            }
            ReadFrom::Cursor(cursor) => switchboard_bus::place(&self.store, cursor)?,
        };
        let mut log = self.store.subscribe(interests(&request));
        loop {
            let head = self.store.head().lsn;
            let mut events = self.store.events(after, &filter, limit).map_err(|error| error.failure())?;
            let is_whole = events.len() < limit;
            if !events.is_empty() || tokio::time::Instant::now() >= deadline {
                let reached = if is_whole { head } else { events.last().map_or(head, |event| event.lsn) };
                self.bodies(&mut events, request.with_bodies)?;
                return Ok(ReadEventsReply { events, cursor: switchboard_bus::cursor(&self.store, reached)?, head });
            }
            after = head;
            log.mark_seen(head);
            // An expired deadline is handled at the top of the loop; a store that is closing is reported by the next read.
            let _ = tokio::time::timeout_at(deadline, log.changed()).await;
        }
    }

    fn bodies(&self, events: &mut [switchboard_protocol::event::Event], wanted: bool) -> Result<(), Failure> {
        for event in events {
            event.body = if wanted { self.store.body(event.lsn).map_err(|error| error.failure())? } else { None };
        }
        Ok(())
    }
}

/// Returns what a reader of events waits for: the narrower of subject and kinds.
fn interests(request: &ReadEventsRequest) -> Vec<Interest> {
    match (request.subject.is_empty(), request.kinds.is_empty()) {
        (false, _) => vec![Interest::Prefix(request.subject.clone())],
        (true, false) => request.kinds.iter().cloned().map(Interest::Kind).collect(),
        (true, true) => vec![Interest::Everything],
    }
}

fn unseen(mail: switchboard_bus::Unseen) -> UnseenMail {
    UnseenMail { agent: mail.agent.name, count: mail.count, since: mail.since }
}

fn export(store: &Store, request: ExportLogRequest) -> Result<ExportLogReply, Failure> {
    let path = std::path::PathBuf::from(&request.path);
    if !path.is_absolute() {
        return Err(Failure::new("request.bad-args", "the path must be absolute")
            .at(request.path)
            .hint("path=\"$PWD/FILE\""));
    }
    let head = store.export_file(&path).map_err(|error| error.failure())?;
    Ok(ExportLogReply { path: request.path.clone(), events: head.lsn, head: head.hash })
}

fn backup(store: &Store, path: &str) -> Result<BackupStoreReply, Failure> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(Failure::new("request.bad-args", "the path must be absolute")
            .at(path.display().to_string())
            .hint("path=\"$PWD/FILE\""));
    }
    let report = store.backup(path).map_err(|error| error.failure())?;
    backup_reply(path, &report)
}
