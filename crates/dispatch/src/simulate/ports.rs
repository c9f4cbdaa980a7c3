//! Simulated small ports: threads, commits, files, mail, randomness, checks, set-up, claims of TCP ports.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::git::Oid;
use switchboard_process::signal_files::Found;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::finding::{Base, CheckName, CheckReport, CheckRequest, DIFF_CONTRACT};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::run::HeldBy;
use switchboard_protocol::signal::SignalDone;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::check::CheckCall;
use switchboard_store::{Batch, Committed, Guard, Store};

use super::git::SimGit;
use super::seen::Seen;
use super::shim::BAD;
use super::shims::SimShims;
use super::spec::{ANOTHERS, Defect, Refusal};
use super::stage::Stage;
use crate::future::BoxFuture;
use crate::lock::lock;
use crate::port::setups::{Included, SetupCall, SetupEnd};
use crate::port::threads::Job;
use crate::port::{
    Checks, Commits, FileLeases, Files, PortClaims, Ports, Random, Setups, Threads, WorkerMail, WorkerRules,
};
use crate::work::RUNS;
use crate::{Error, WorkerIdentity};

/// Returns the ports of one simulation.
pub(super) fn ports(stage: &Arc<Stage>, store: &Store) -> Ports {
    Ports {
        git: Arc::new(SimGit(Arc::clone(stage))),
        shims: Arc::new(SimShims(Arc::clone(stage))),
        checks: Arc::new(SimChecks(Arc::clone(stage))),
        mail: Arc::new(SimMail(Arc::clone(stage))),
        leases: Arc::new(SimLeases(Arc::clone(stage))),
        rules: Arc::new(SimRules(Arc::clone(stage))),
        files: Arc::new(SimFiles(Arc::clone(stage))),
        threads: Arc::new(SimThreads(Arc::clone(stage))),
        commits: Arc::new(SimCommits { stage: Arc::clone(stage), store: store.clone() }),
        random: Arc::new(SimRandom(Arc::clone(stage))),
        setups: Arc::new(SimSetups(Arc::clone(stage))),
        claims: Arc::new(SimClaims(Arc::clone(stage))),
    }
}

/// A policy that allows everything but the verb that the stage names.
struct SimRules(Arc<Stage>);

impl WorkerRules for SimRules {
    fn may(&self, _worker: &WorkerIdentity, verb: &str, _args: &Value) -> Result<(), Failure> {
        match *lock(&self.0.denied_verb) {
            Some(denied) if denied == verb => Err(Failure::new("policy.denied", "a rule denies it")),
            Some(_) | None => Ok(()),
        }
    }
}

struct SimThreads(Arc<Stage>);

impl Threads for SimThreads {
    /// Blocking work takes a random time; the daemon may die before and after it.
    fn run(&self, job: Job) -> BoxFuture<'static, ()> {
        let stage = Arc::clone(&self.0);
        Box::pin(async move {
            stage.step().await;
            stage.delay(20).await;
            job();
            stage.step().await;
        })
    }
}

struct SimCommits {
    stage: Arc<Stage>,
    store: Store,
}

impl Commits for SimCommits {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, switchboard_store::Error>> {
        Box::pin(async move {
            self.stage.step().await;
            self.stage.delay(3).await;
            match self.stage.refuses() {
                Some(Refusal::Busy) => return Err(switchboard_store::Error::Busy),
                Some(Refusal::DiskFull) => return Err(switchboard_store::Error::DiskFull),
                Some(Refusal::Conflict) => {
                    let subject = "run/somebody_elses".to_owned();
                    return Err(switchboard_store::Error::Conflict { subject, expected: 0, found: 1 });
                }
                None => {}
            }
            #[cfg(test)]
            let events = batch.events.clone();
            let is_pause = |event: &&NewEvent| event.kind == "run_paused" && event.facts.field("cause") == "disk";
            let disk_pauses = batch.events.iter().filter(is_pause).count() as u64;
            let seen = Seen::of(&batch.events);
            let committed = self.store.commit(batch).await?;
            if !committed.repeated {
                #[cfg(test)]
                self.stage.note_events(&events);
                lock(&self.stage.observer).see(seen);
                lock(&self.stage.report).disk_pauses += disk_pauses;
            }
            self.stage.step().await;
            Ok(committed)
        })
    }
}

struct SimFiles(Arc<Stage>);

impl Files for SimFiles {
    fn make_folder(&self, _path: &Path) -> Result<(), Error> {
        Ok(())
    }

    fn remove_empty_folder(&self, _path: &Path) -> Result<(), Error> {
        Ok(())
    }

    fn is_folder(&self, _path: &Path) -> bool {
        true
    }

    fn entries(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let is_littered = lock(&self.0.repo).littered.contains(path);
        Ok(is_littered.then(|| PathBuf::from("litter")).into_iter().collect())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.0.write()?;
        lock(&self.0.files).insert(path.to_owned(), bytes.to_owned());
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        Ok(lock(&self.0.files).get(path).cloned())
    }

    fn signals(&self, _folder: &Path) -> Result<Vec<Found>, Error> {
        Ok(lock(&self.0.signals).clone())
    }

    fn mark_signal(&self, _folder: &Path, done: &SignalDone) -> Result<(), Error> {
        lock(&self.0.signals).retain(|signal| signal.n != done.n);
        lock(&self.0.marked).push(done.clone());
        Ok(())
    }

    fn is_full(&self, _path: &Path) -> bool {
        false
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        lock(&self.0.files).remove(path);
        Ok(())
    }
}

struct SimMail(Arc<Stage>);

impl WorkerMail for SimMail {
    fn waiting(&self, agent: &AgentName, _limit: usize) -> Result<Vec<Message>, Error> {
        if !self.0.chance(self.0.spec.people / 4) {
            return Ok(Vec::new());
        }
        let message = json!({
            "id": MessageId::from_bits(self.0.bits()),
            "action": "status_update",
            "sender": "ann",
            "sender_verified": false,
            "recipient": agent,
            "payload": "how is it going?",
            "state": "accepted",
            "created_at": 0,
            "seq": 1,
        });
        serde_json::from_value(message).map(|message| vec![message]).map_err(crate::error::shape("a message"))
    }

    fn injected(&self, ids: &[MessageId], agent: &AgentName, evidence: &str) -> Result<Vec<NewEvent>, Error> {
        let injected = |id| {
            let facts = json!({ "id": id, "evidence": evidence });
            NewEvent::new("message_injected", format!("message/{id}"), agent.as_str(), facts)
        };
        Ok(ids.iter().map(injected).collect())
    }

    fn noted(&self, note: &Note, id: MessageId) -> Result<NewEvent, Error> {
        let facts = json!({ "id": id, "from": note.from, "what": note.what, "is_taken": note.is_taken });
        Ok(NewEvent::new("message_noted", format!("note/{}", note.to), "daemon", facts))
    }

    fn understood(&self, _control: &Control, id: &MessageId, from: &Caller) -> Result<(NewEvent, Guard), Error> {
        let event = NewEvent::new("message_noted", "note/coordinator", from.name.as_str(), json!({ "id": id }));
        let guard = Guard::absent(RUNS, [id.as_str().into()], Failure::new("request.conflict", "the id was used"));
        Ok((event, guard))
    }

    /// Each agent has sent or received one message, and none is acknowledged.
    fn counted(&self, agents: &[AgentName], _after: Lsn, _until: Option<Millis>) -> Result<(u64, u64), Error> {
        Ok((agents.len() as u64, 0))
    }

    /// A person has started an agent with the name `ann-2`.
    fn is_taken_by_other_agent(&self, name: &AgentName) -> Result<bool, Error> {
        Ok(name.as_str() == ANOTHERS)
    }

    fn joined(&self, agent: &AgentName, _is_scripted: bool) -> Result<NewEvent, Error> {
        Ok(NewEvent::new("agent_joined", format!("agent/{agent}"), "daemon", json!({ "name": agent })))
    }
}

struct SimLeases(Arc<Stage>);

impl SimLeases {
    fn lease(&self, files: &[String]) -> Option<HeldBy> {
        let holder = AgentName::new("ann").ok()?;
        let files = files.iter().take(1).cloned().collect();
        self.0.chance(self.0.spec.people / 4).then(|| HeldBy {
            holder,
            files,
            until: Millis(i64::from(self.0.bits() as u16)),
        })
    }
}

impl FileLeases for SimLeases {
    fn held_by_others<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>> {
        Box::pin(async { Ok(self.lease(files)) })
    }

    fn held_by_another<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        files: &'a [String],
        _known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>> {
        Box::pin(async {
            self.0.step().await;
            self.0.delay(2_000).await;
            Ok(self.lease(files))
        })
    }
}

struct SimRandom(Arc<Stage>);

impl Random for SimRandom {
    fn bits(&self) -> Result<u64, Error> {
        Ok(self.0.bits())
    }
}

struct SimSetups(Arc<Stage>);

impl Setups for SimSetups {
    fn is_file(&self, _path: &Path) -> bool {
        false
    }

    fn has_file(&self, _tree: &Path, _path: &str) -> bool {
        false
    }

    fn included(&self, _from: &Path, _listed: Vec<PathBuf>) -> Result<Included, Error> {
        Ok(Included::default())
    }

    fn copy(&self, _from: &Path, _to: &Path, _included: Included) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Takes up to two minutes; the daemon may die meanwhile.
    fn run(&self, call: SetupCall) -> BoxFuture<'static, Result<SetupEnd, Error>> {
        let stage = Arc::clone(&self.0);
        #[cfg(test)]
        stage.note(format!("set-up {:?} within {:?} in {:?}", call.argv, call.limit, call.env));
        Box::pin(async move {
            stage.step().await;
            stage.delay(120_000).await;
            if stage.chance(stage.spec.bad_setups) {
                return Ok(SetupEnd::Failed {
                    how: "ended with exit code 1".to_owned(),
                    tail: "no network".to_owned(),
                });
            }
            lock(&stage.set_up).insert(call.cwd);
            stage.step().await;
            Ok(SetupEnd::Succeeded)
        })
    }
}

/// Claims of the present daemon; the kernel frees those of a dead one.
struct SimClaims(Arc<Stage>);

impl PortClaims for SimClaims {
    fn is_of_other_daemon(&self, _block: u32) -> Result<bool, Error> {
        Ok(false)
    }

    fn claim(&self, _block: u32) -> Result<bool, Error> {
        Ok(!self.0.chance(100))
    }

    fn release(&self, _block: u32) -> Result<(), Error> {
        Ok(())
    }

    fn is_free(&self, _port: u16) -> bool {
        !self.0.chance(20)
    }
}

struct SimChecks(Arc<Stage>);

impl Checks for SimChecks {
    fn check<'a>(
        &'a self,
        request: &'a CheckRequest,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<CheckReport>, Error>> {
        Box::pin(async move {
            let stage = &self.0;
            #[cfg(test)]
            stage.note(format!("checks {request:#?} within {limit:?}"));
            stage.step().await;
            stage.delay(200).await;
            if stage.chance(stage.spec.bad_gates / 8) {
                tokio::time::sleep(limit).await;
                return Err(Failure::new("gate.refused", "the checks took too long").into());
            }
            let base = if let Base::Rev(rev) = &request.base { Oid::parse(rev)? } else { return Ok(Vec::new()) };
            // The plan's `lint_fix` command, which judges nothing.
            if request.id.is_none() {
                lock(&stage.repo).tidy(Path::new(&request.root), &base);
                stage.step().await;
                return request.only.iter().map(|check| report(*check, true, false, false)).collect();
            }
            let is_bad =
                lock(&stage.repo).any_changed(Path::new(&request.root), &base, |content| content.contains(BAD));
            let is_strict = stage.chance(stage.spec.bad_gates);
            let passes = stage.spec.defect == Some(Defect::PassesGates) || !(is_bad || is_strict);
            lock(&stage.observer).judged(request.id.as_deref().unwrap_or_default(), !is_bad && !is_strict);
            stage.step().await;
            let is_odd = passes && stage.spec.people > 0 && stage.chance(60);
            let alters = alters_contracts(request.id.as_deref().unwrap_or_default());
            request.only.iter().map(|check| report(*check, passes, is_odd, alters)).collect()
        })
    }

    /// Calls the batch of a team's gates.
    fn call<'a>(
        &'a self,
        call: &'a CheckCall,
        _runs_commands: bool,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let stage = &self.0;
            stage.step().await;
            stage.delay(200).await;
            let passes = !stage.chance(stage.spec.bad_gates / 2);
            let base = call.args["base"].as_str().and_then(|base| Oid::parse(base).ok());
            let is_bad = base.is_some_and(|base| {
                lock(&stage.repo).any_changed(Path::new(&call.root), &base, |content| content.contains(BAD))
            });
            stage.step().await;
            let status = if passes && !is_bad { "pass" } else { "fail" };
            let part = json!({ "ran": true, "state": "passed", "passed": true, "duration_ms": 1 });
            Ok(json!({
                "gates_passed": status == "pass", "status": status, "message": "looked", "lint": part, "secretscan": part,
                "sast_scan": part, "quality_budget": part, "not_available": [], "total_duration_ms": 1,
            }))
        })
    }
}

/// Returns true if the change of `TASK@COMMIT` alters contracts: that of every other task does.
fn alters_contracts(id: &str) -> bool {
    let task = id.split('@').next().unwrap_or_default();
    task.chars().last().and_then(|last| last.to_digit(10)).is_some_and(|last| last % 2 == 1)
}

/// Returns the report of a check. `is_odd`: a person should look at its findings. `alters`: `diff` finds a changed
/// contract.
fn report(check: CheckName, passes: bool, is_odd: bool, alters: bool) -> Result<CheckReport, Error> {
    let verdict = match (passes, is_odd) {
        (true, true) => "warn",
        (true, false) => "pass",
        (false, _) => "fail",
    };
    let report = json!({
        "check": check, "verdict": verdict, "summary": "looked",
        "findings": if alters && check == CheckName::Diff { vec![contract()] } else { Vec::new() }, "files_checked": 1, "skipped": [], "duration_ms": 1,
    });
    serde_json::from_value(report).map_err(crate::error::shape("a report"))
}

fn contract() -> Value {
    json!({
        "check": "diff", "rule": DIFF_CONTRACT, "severity": "info", "message": "what others may call: +`pub fn one()`",
        "remedy": "", "path": "src/a", "span": { "start_line": 1, "start_column": 1, "end_line": 1, "end_column": 1 },
        "fingerprint": "f", "is_new": true, "blocks": false,
    })
}
