//! Checks what is shown of a finished run: each field of its report, its timeline and its evidence, against the log and
//! the repository.

use std::collections::BTreeSet;

use switchboard_pipeline::run::RunState;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::run::{TaskState, TaskView};
use switchboard_protocol::verb::check::EvidenceCheckRequest;
use switchboard_protocol::verb::run::{GetRunReply, GetRunRequest, TaskReport};
use switchboard_protocol::verb::timeline::{GetTimelineRequest, TimelineEntry, TimelineKind};
use switchboard_store::Query;

use super::repo::MAIN;
use crate::work::WORKERS;
use crate::{Dispatch, Error, history};

/// Number of entries on a page of the timeline: small, so that there are several pages.
const PAGE: u32 = 7;

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn text(error: Error) -> String {
    error.to_string()
}

/// Returns the word for a state, and the ending that its report shows; `None` for states that no task of a finished run
/// has.
fn word(state: &TaskState) -> Option<(&'static str, Option<String>)> {
    match state {
        TaskState::Merged { .. } => Some(("merged", None)),
        TaskState::Done { .. } => Some(("done", None)),
        TaskState::Stopped => Some(("stopped", None)),
        TaskState::Blocked { reason } => Some(("blocked", Some(format!("blocked: {reason}")))),
        TaskState::DepFailed { root } => {
            Some(("dep_failed", Some(format!("task {root}, which it needs, is not done"))))
        }
        TaskState::Pending
        | TaskState::Ready
        | TaskState::Starting { .. }
        | TaskState::Working { .. }
        | TaskState::Waiting { .. }
        | TaskState::Capturing { .. }
        | TaskState::Captured { .. }
        | TaskState::Gating { .. }
        | TaskState::Passed { .. }
        | TaskState::Held { .. }
        | TaskState::Merging { .. } => None,
    }
}

/// Checks everything shown. Git may fail at random: then the report is checked another time.
pub(super) async fn look(daemon: &Dispatch, run: &RunId, state: &RunState) -> Result<(), String> {
    let request = GetRunRequest { run: Some(run.to_string()), diff: false, sizes: false };
    let Ok(reply) = daemon.get_run(&request).await else { return Ok(()) };
    summary(daemon, run, state, &reply)?;
    for (view, report) in state.tasks().zip(&reply.list) {
        task(daemon, run, state, &view, report)?;
    }
    timeline(daemon, run, state).await?;
    evidence(daemon, run, state).await
}

fn summary(daemon: &Dispatch, run: &RunId, state: &RunState, reply: &GetRunReply) -> Result<(), String> {
    let shown = &reply.summary;
    let is_it = shown.run == *run
        && shown.title == "A simulated plan"
        && shown.branch == format!("switchboard/{run}")
        && shown.target == MAIN
        && state.header().is_some_and(|header| header.base == shown.base)
        && shown.ended_at.is_some_and(|at| at >= shown.started_at)
        && shown.paused.is_none();
    expect(is_it, || format!("{run} is shown as {shown:?}"))?;
    let of_runs = |is: fn(&TaskState) -> bool| state.tasks().filter(|view| is(&view.state)).count() as u64;
    let blocked = of_runs(|state| matches!(state, TaskState::Blocked { .. } | TaskState::DepFailed { .. }));
    // A retried task counts each time it was blocked.
    expect(shown.blocked >= blocked && (blocked > 0 || shown.state != "failed"), || format!("{blocked}: {shown:?}"))?;
    let merged = state.tasks().filter(|view| state.parent_of(&view.task).is_none());
    let merged = merged.filter(|view| matches!(view.state, TaskState::Merged { .. } | TaskState::Done { .. })).count();
    expect(shown.merged >= merged as u64, || format!("{merged} tasks are done: {shown:?}"))?;
    let tokens = |each: u64| shown.micro_usd.map(|spent| spent / super::spec::COST * each);
    let are_tokens_right = shown.input_tokens == tokens(5) && shown.output_tokens == tokens(7);
    expect(are_tokens_right, || format!("{:?} tokens for {:?}", shown.input_tokens, shown.micro_usd))?;
    let agents = agents(daemon, run)?;
    expect((reply.messages_sent, reply.messages_acked) == (agents.len() as u64, 0), || {
        format!("{agents:?} have a message each, told: {} and {}", reply.messages_sent, reply.messages_acked)
    })
}

/// Returns the folded names of all workers of a run.
fn agents(daemon: &Dispatch, run: &RunId) -> Result<BTreeSet<String>, String> {
    let rows = daemon.world.store.read(&Query::table(WORKERS).eq("run", run.as_str()));
    let rows = rows.map_err(|error| error.to_string())?;
    let name = |text: &str| AgentName::new(text).map(|name| name.folded()).map_err(|error| error.to_string());
    rows.iter().map(|row| name(row.get_text("agent").unwrap_or_default())).collect()
}

fn task(daemon: &Dispatch, run: &RunId, state: &RunState, view: &TaskView, report: &TaskReport) -> Result<(), String> {
    let wrong = |what: &str| format!("{what} of {}: {report:?} for {view:?}", view.task);
    let (word, ending) = word(&view.state).ok_or_else(|| wrong("the state"))?;
    expect(report.state == word && report.paused.is_none(), || wrong("the state"))?;
    let commit = if let TaskState::Merged { commit } = &view.state { Some(commit) } else { None };
    expect(report.commit.as_ref() == commit, || wrong("the commit"))?;
    let gates: Vec<_> = report.gates.iter().map(|gate| (&*gate.gate, gate.verdict.clone(), &gate.reasons)).collect();
    let told = |verdict| serde_json::to_value(verdict).ok().and_then(|word| word.as_str().map(str::to_owned));
    let known = view.gates.iter().map(|gate| (&*gate.gate, told(gate.verdict).unwrap_or_default(), &gate.reasons));
    expect(gates == known.collect::<Vec<_>>(), || wrong("the gates"))?;
    let (_, below) = report.refusals.split_at_checked(view.refusals.len()).ok_or_else(|| wrong("the refusals"))?;
    let is_ending = match (below, &ending) {
        ([], None) => true,
        // The ending leaves out what the lines above contain; if that is everything, there is no line.
        ([], Some(ending)) => view
            .refusals
            .last()
            .is_some_and(|last| last.reasons.iter().take(1).all(|why| ending.contains(why.as_str()))),
        ([line], Some(ending)) => ending.starts_with(line.as_str()),
        (_, _) => false,
    };
    expect(is_ending, || wrong("how it ended"))?;
    let lines = report.refusals.iter().zip(&view.refusals);
    let is_line = |(line, refusal): (&String, &switchboard_protocol::run::Refusal)| {
        line.starts_with(&format!("attempt {}: ", refusal.attempt))
            && refusal.reasons.iter().all(|why| line.contains(why))
    };
    expect(lines.into_iter().all(is_line), || wrong("the reasons"))?;
    // A report's change is not kept, and a choice takes the change of another.
    // A landing's change consists of the changes of its group's tasks.
    let is_maker = |one: &TaskView| match state.is_landing(&view.task) {
        true => state.lands_with(&one.task) == Some(&view.task) && matches!(one.state, TaskState::Merged { .. }),
        false => one.task == view.task,
    };
    let is_shown = |maker: TaskView| report.files.contains(&format!("t/{}", maker.task));
    let has_files = commit.is_none() || report.files.is_empty() || state.tasks().filter(is_maker).all(is_shown);
    expect(has_files, || wrong("the files"))?;
    let at_rest = report.doing.is_empty()
        && report.pause.is_none()
        && report.held_by.is_none()
        && report.heard_at.is_none()
        && !report.waits_for_you;
    expect(at_rest, || wrong("what it does"))?;
    let rows = Query::table(WORKERS).eq("run", run.as_str()).eq("task", view.task.as_str()).desc("seq");
    let rows = daemon.world.store.read(&rows).map_err(|error| error.to_string())?;
    let last = rows.iter().find(|row| history::makes(row)).and_then(|row| row.get_text("agent"));
    // A task that has not begun shows the agent of the plan.
    let is_agent = last.map_or(["ann", "ben", "exec"].contains(&&*report.agent), |agent| report.agent == agent);
    expect(is_agent && !report.scripted && report.isolation.is_full(), || wrong("the agent"))?;
    let spent: i64 = rows.iter().filter_map(|row| row.get_int("micro_usd")).sum();
    expect(report.micro_usd.unwrap_or(0) == spent.unsigned_abs(), || wrong("the cost"))
}

/// Checks that pages show the same as one long list, in order, and that every merged task has its entry.
async fn timeline(daemon: &Dispatch, run: &RunId, state: &RunState) -> Result<(), String> {
    let ask = |after, limit| GetTimelineRequest { run: Some(run.to_string()), after, limit: Some(limit) };
    let whole = daemon.get_timeline(&ask(0, 1000)).await.map_err(text)?;
    let (mut paged, mut after): (Vec<TimelineEntry>, u64) = (Vec::new(), 0);
    loop {
        let page = daemon.get_timeline(&ask(after, PAGE)).await.map_err(text)?;
        let of_run = page.entries.iter().filter(|entry| entry.worker.is_none() || entry.what == TimelineKind::Worker);
        expect(of_run.count() <= PAGE as usize, || format!("a page of {PAGE} has {:?}", page.entries))?;
        paged.extend(page.entries);
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    if whole.next.is_none() {
        expect(paged == whole.entries, || {
            format!("{} entries in pages, {} as a whole", paged.len(), whole.entries.len())
        })?;
    }
    for view in state.tasks().filter(|view| matches!(view.state, TaskState::Merged { .. })) {
        let is_merge = |entry: &&TimelineEntry| {
            entry.what == TimelineKind::Merge && entry.task.as_ref() == Some(&view.task) && entry.ended_at.is_some()
        };
        expect(paged.iter().any(|entry| is_merge(&entry)), || format!("no entry tells of the merge of {}", view.task))?;
    }
    for limit in [0, 1001] {
        let refused = daemon.get_timeline(&ask(0, limit)).await;
        expect(refused.is_err_and(|error| error.to_failure().code == "request.bad-args"), || {
            format!("a page of {limit} entries")
        })?;
    }
    Ok(())
}

/// Checks that every merged task has the evidence of its gates, and that an unknown type is missing from all of them.
async fn evidence(daemon: &Dispatch, run: &RunId, state: &RunState) -> Result<(), String> {
    let merged = state.tasks().filter(|view| matches!(view.state, TaskState::Merged { .. }));
    let merged: Vec<String> = merged.map(|view| view.task.to_string()).collect();
    let plan = history::plan(&daemon.world, run).map_err(text)?;
    let mut request = EvidenceCheckRequest {
        required_types: serde_json::from_str("\"\"").unwrap_or_default(),
        task_id: None,
        run: Some(run.to_string()),
    };
    let found = daemon.evidence_check(&request).await.map_err(text)?;
    expect(found.completed_tasks == merged, || format!("{merged:?} are merged: {found:?}"))?;
    let share = |full: usize| (!merged.is_empty()).then(|| full as f64 / merged.len() as f64);
    let full = found.tasks_with_full_evidence.len();
    expect(full + found.gaps.len() == merged.len() && found.completeness == share(full), || format!("{found:?}"))?;
    request.required_types = serde_json::from_str("\"sbom\"").map_err(|error| error.to_string())?;
    let found = daemon.evidence_check(&request).await.map_err(text)?;
    let names = |task: &String| plan.plan.tasks().any(|known| known.id.as_str() == task.as_str());
    let is_missing = found.gaps.len() == merged.len()
        && found.gaps.iter().all(|gap| gap.missing == ["sbom"] && gap.present.is_empty() && names(&gap.task_id));
    expect(is_missing, || format!("nobody keeps an sbom: {found:?}"))?;
    request.task_id = merged.first().cloned();
    let found = daemon.evidence_check(&request).await.map_err(text)?;
    let one: Vec<_> = merged.iter().take(1).cloned().collect();
    expect(found.completed_tasks == one || request.task_id.is_none(), || format!("{one:?} was asked: {found:?}"))?;
    request.task_id = Some("*".repeat(6));
    expect(daemon.evidence_check(&request).await.is_err(), || "a pattern of six stars".to_owned())
}
