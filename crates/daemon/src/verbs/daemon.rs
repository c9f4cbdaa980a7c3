//! The daemon and its record.

use std::time::Duration;

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::Place;
use switchboard_protocol::verb::system::{
    self, ExportLogReply, ExportLogRequest, GetStatusReply, ReadEventsReply, ReadEventsRequest, ShutdownReply,
    SignHeadReply, UnseenMail, VerifyLogReply,
};
use switchboard_protocol::verb::{Verb as _, need};
use switchboard_store::{Filter, Interest, Store};

use super::{Ask, Call, Verbs, typed, value};
use crate::face;

/// Events in an answer unless asked otherwise, and at most.
const EVENTS: (u32, u32) = (100, 1000);

/// Longest wait for an event in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn system(&self, args: Value) -> Result<Value, Failure> {
        let verbs = self.verbs;
        match self.verb {
            system::ExportLog::NAME => {
                value::<system::ExportLog>(verbs.export(typed::<system::ExportLog>(args)?).await?)
            }
            system::GetStatus::NAME => {
                typed::<system::GetStatus>(args)?;
                value::<system::GetStatus>(verbs.status()?)
            }
            system::ReadEvents::NAME => {
                value::<system::ReadEvents>(verbs.read_events(typed::<system::ReadEvents>(args)?).await?)
            }
            system::Shutdown::NAME => {
                value::<system::Shutdown>(verbs.shutdown(typed::<system::Shutdown>(args)?).await?)
            }
            system::SignHead::NAME => {
                typed::<system::SignHead>(args)?;
                value::<system::SignHead>(verbs.sign_head().await?)
            }
            system::VerifyLog::NAME => {
                typed::<system::VerifyLog>(args)?;
                value::<system::VerifyLog>(verbs.verify().await?)
            }
            other => Err(face::unknown_verb(other)),
        }
    }
}

// === impl Verbs ===

impl Verbs {
    fn status(&self) -> Result<GetStatusReply, Failure> {
        let needs = crate::needs::list(self, &need::ListNeedsRequest::default())?.needs.len() as u64;
        Ok(GetStatusReply {
            version: self.info.version.clone(),
            pid: self.info.pid,
            started_at: self.started_at,
            root: self.place.root.display().to_string(),
            state_folder: self.place.state.display().to_string(),
            http: format!("http://{}:{}", self.info.host, self.info.port),
            lsn: self.store.head().lsn,
            needs,
            agents: switchboard_bus::roster(&self.store)?.len() as u64,
            unread: switchboard_bus::unread_total(&self.store)?,
            dead: switchboard_bus::dead(&self.store)?,
            unseen: switchboard_bus::unseen(&self.store)?.into_iter().map(unseen).collect(),
            runs: self.dispatch.runs(20)?,
        })
    }

    /// Reads events, waiting for the first one if asked to.
    async fn read_events(&self, request: ReadEventsRequest) -> Result<ReadEventsReply, Failure> {
        let deadline = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS));
        let limit = request.limit.unwrap_or(EVENTS.0).clamp(1, EVENTS.1) as usize;
        let filter = Filter::kinds(request.kinds.clone()).subject(request.subject.clone());
        let mut after = match &request.after {
            Place::Lsn(lsn) if *lsn <= self.store.head().lsn => *lsn,
            Place::Lsn(lsn) => {
                let what = format!("there is no event {lsn}, the record ends at {}", self.store.head().lsn);
                return Err(Failure::new("bus.cursor-ahead", what).hint("begin again with start or now"));
            }
            Place::Cursor(cursor) => switchboard_bus::place(&self.store, cursor)?,
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
            // A lapsed deadline is seen at the top; a store that is going down is reported by the next read.
            let _ = tokio::time::timeout_at(deadline, log.changed()).await;
        }
    }

    fn bodies(&self, events: &mut [switchboard_protocol::event::Event], wanted: bool) -> Result<(), Failure> {
        for event in events {
            event.body = if wanted { self.store.body(event.lsn).map_err(|error| error.failure())? } else { None };
        }
        Ok(())
    }

    async fn verify(&self) -> Result<VerifyLogReply, Failure> {
        let store = self.store.clone();
        let report = tokio::task::spawn_blocking(move || store.verify(switchboard_store::Scope::All)).await;
        let report = report
            .map_err(|error| Failure::new("internal.bug", error.to_string()))?
            .map_err(|error| error.failure())?;
        Ok(crate::record::reply(&report))
    }

    async fn export(&self, request: ExportLogRequest) -> Result<ExportLogReply, Failure> {
        let store = self.store.clone();
        let exported = tokio::task::spawn_blocking(move || export(&store, request)).await;
        exported.map_err(|error| Failure::new("internal.bug", error.to_string()))?
    }

    async fn sign_head(&self) -> Result<SignHeadReply, Failure> {
        let (store, keys) = (self.store.clone(), self.place.keys());
        let signed = tokio::task::spawn_blocking(move || crate::head::sign(&store, &keys)).await;
        signed.map_err(|error| Failure::new("internal.bug", error.to_string()))?
    }

    async fn shutdown(&self, request: system::ShutdownRequest) -> Result<ShutdownReply, Failure> {
        let workers = self.dispatch.linked_workers() as u64;
        let ask = Ask::Shutdown { keep_workers: request.keep_workers };
        self.asks.send(ask).await.map_err(|_| Failure::new("daemon.unreachable", "the daemon is ending already"))?;
        Ok(ShutdownReply { pid: self.info.pid, workers })
    }
}

/// What a reader of events waits for: the narrower of subject and kinds.
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
        return Err(Failure::new("request.bad-args", "the path must be absolute").at(request.path));
    }
    let fail = |error: std::io::Error| {
        Failure::new("io.denied", "the export can't be written").at(request.path.clone()).because(&error)
    };
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(fail)?;
    let mut out = std::io::BufWriter::new(file);
    let head = store.head();
    store.export(&mut out).map_err(|error| error.failure())?;
    let file = out.into_inner().map_err(|error| fail(error.into_error()))?;
    file.sync_all().map_err(fail)?;
    Ok(ExportLogReply { path: request.path.clone(), events: head.lsn, head: head.hash })
}
