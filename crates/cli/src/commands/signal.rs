//! `pause`, `resume` and `stop` if no daemon answers and none can be started: a signal file, which workers read themselves.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use switchboard_daemon::is_below_a_worker;
use switchboard_process::clock::{self, Deadline};
use switchboard_process::lineage::{self, Claims, Identity, Known, identify};
use switchboard_process::{lock, signal_files};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::signal::{FOLDER, SignalKind};
use switchboard_protocol::verb::Verb;

use crate::context::Context;
use crate::output::plain;
use crate::report::{Ending, Outcome};

/// How long live workers may take to carry out a signal: they look after five seconds without a daemon, and then each second.
const CARRIED_OUT: Duration = Duration::from_secs(10);

/// Interval between two looks for the workers' marks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Target of a signal.
struct Target {
    run: RunId,
    folder: PathBuf,
    /// Tasks of the run; empty for the whole run.
    tasks: Vec<TaskId>,
}

/// Calls a verb, or signals if no daemon answers and none can be started. Returns the reply; `None` if it has signalled and printed that.
///
/// # Errors
/// The verb's failure, or that of [`signal_by_file`].
pub(crate) fn call_or_signal<V: Verb>(
    request: &V::Request,
    kind: SignalKind,
    named: (Option<&str>, &[String]),
    context: &mut Context,
) -> Result<Option<V::Reply>, Ending> {
    match context.daemon().and_then(|mut client| client.call::<V>(request)) {
        Ok(reply) => Ok(Some(reply)),
        // A daemon that was killed may have taken the connection without answering.
        Err(failure) if context.running_daemon().is_ok() => Err(failure.into()),
        Err(failure) => signal_by_file(failure, kind, named, context).map(|()| None),
    }
}

/// Writes signal files in place of a call that failed because no daemon can be started. Returns `failure` if no run is named.
///
/// # Errors
/// `failure`; `policy.denied` below a worker or for an agent's program; `io.denied` where the file can't be written.
fn signal_by_file(
    failure: Failure,
    kind: SignalKind,
    (what, more): (Option<&str>, &[String]),
    context: &mut Context,
) -> Outcome {
    let Some(target) = context.place().ok().and_then(|place| find(&place.state.join("runs"), what, more)) else {
        return Err(failure.into());
    };
    expect_person(context)?;
    let signals = target.folder.join(FOLDER);
    let from = context.environment.variable("USER").unwrap_or("user").to_owned();
    let write = |task| signal_files::write(&signals, kind, task, &from, clock::now());
    let written = match target.tasks.as_slice() {
        [] => write(None).map(|n| vec![n]),
        tasks => tasks.iter().map(|task| write(Some(task))).collect(),
    };
    let unwritten = |error: std::io::Error| {
        Failure::new("io.denied", "the signal can't be written").at(signals.display().to_string()).because(&error)
    };
    let numbers = written.map_err(unwritten)?;
    let workers = carried_out(&target.folder, &signals, &numbers, context);
    say(&failure, (&target, &numbers), &workers, context);
    Ok(())
}

/// Finds the named run in the state folder. It must be named, because only the record says which run is the newest.
fn find(runs: &Path, what: Option<&str>, more: &[String]) -> Option<Target> {
    let what = what?;
    let (named, task) = what.split_once('/').map_or((what, None), |(run, task)| (run, Some(task)));
    let entries = std::fs::read_dir(runs).ok()?.filter_map(Result::ok);
    let names = entries.filter_map(|entry| RunId::new(entry.file_name().to_str()?).ok());
    let fits =
        |run: &RunId| run.as_str().starts_with(named) || run.as_str().trim_start_matches("run_").starts_with(named);
    let mut found: Vec<RunId> = names.filter(fits).collect();
    let run = found.pop().filter(|_| found.is_empty() && !named.is_empty())?;
    let of_run = |named: &str| named.rsplit('/').next().map(TaskId::new).and_then(Result::ok);
    let tasks = task.into_iter().chain(more.iter().map(String::as_str)).map(of_run).collect::<Option<_>>()?;
    Some(Target { folder: runs.join(run.as_str()), run, tasks })
}

/// Rejects workers and programs of agents: what they may not ask of a daemon, they may not do without one.
fn expect_person(context: &Context) -> Result<(), Failure> {
    let lineage = lineage::of_pid(std::process::id()).unwrap_or_default();
    let known = Known::<(), ()> { daemon: 0, shims: Vec::new(), programs: Vec::new() };
    let claims = Claims { is_ci: context.environment.is_ci(), says_yes: context.environment.says_yes };
    let is_person = matches!(identify(&lineage, &known, claims), Identity::Person { .. });
    if is_person && !is_below_a_worker() {
        return Ok(());
    }
    Err(Failure::new("policy.denied", "only a person signals a run")
        .hint("run it in the foreground of a terminal; in CI set CI=1 and add --yes"))
}

/// Returns the live workers, and whether each has carried out the signals, after waiting for that.
fn carried_out(folder: &Path, signals: &Path, numbers: &[u32], context: &Context) -> Vec<(String, bool)> {
    let entries = std::fs::read_dir(folder.join("workers")).into_iter().flatten().filter_map(Result::ok);
    let is_live = |path: &Path| lock::holder(&path.join("lock")).is_ok_and(|holder| holder.is_some());
    let live: Vec<String> = entries
        .filter(|entry| is_live(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let limit = Deadline::after(CARRIED_OUT);
    loop {
        let done: Vec<String> =
            numbers.iter().flat_map(|n| signal_files::done_by(signals, *n).unwrap_or_default()).collect();
        let states: Vec<_> = live.iter().map(|worker| (worker.clone(), done.contains(worker))).collect();
        // A daemon that starts meanwhile takes the signals over.
        if states.iter().all(|(_, is_done)| *is_done) || limit.has_passed() || context.running_daemon().is_ok() {
            return states;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn say(failure: &Failure, (target, numbers): (&Target, &[u32]), workers: &[(String, bool)], context: &mut Context) {
    let strangers = signal_files::unknown_names(&target.folder.join(FOLDER)).unwrap_or_default();
    if context.json {
        let workers: Vec<_> = workers.iter().map(|(worker, done)| json!({ "worker": worker, "done": done })).collect();
        context.out.json(&json!({ "run": target.run, "state": "signalled", "signals": numbers, "workers": workers,
            "not_read": strangers, "daemon": failure.code }));
        return;
    }
    context.out.line(format!(
        "no daemon answers, and none can be started: {} [{}]",
        plain(&failure.what),
        failure.code
    ));
    let files: Vec<_> = numbers.iter().map(|n| format!("{FOLDER}/{n}.json")).collect();
    context.out.line(format!("{}: wrote {} for its workers", target.run, files.join(", ")));
    for (worker, is_done) in workers {
        let how = if *is_done { "has carried it out" } else { "has not, or it is not meant" };
        context.out.line(format!("    {worker}: {how}"));
    }
    if workers.is_empty() {
        context.out.line("    no worker of it is alive");
    }
    if !strangers.is_empty() {
        context
            .out
            .line(format!("    not read, as their names are not those of signals: {}", plain(&strangers.join(", "))));
    }
    context.out.line("the record has it as soon as a daemon runs");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_id_and_only_if_one_fits() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["run_12aa", "run_12bb", "run_34cc"] {
            std::fs::create_dir(runs.path().join(name)).unwrap();
        }
        let found = |what: &str, more: &[&str]| {
            let more: Vec<_> = more.iter().map(|task| (*task).to_owned()).collect();
            find(runs.path(), Some(what), &more).map(|target| (target.run.to_string(), target.tasks.len()))
        };

        assert_eq!(found("run_34cc", &[]), Some(("run_34cc".to_owned(), 0)));
        assert_eq!(found("34/1.1", &["1.2", "run_34cc/1.3"]), Some(("run_34cc".to_owned(), 3)));
        assert_eq!(found("12", &[]), None, "two fit");
        assert_eq!(found("56", &[]), None);
        assert_eq!(found("", &[]), None);
        assert_eq!(found("34/..", &[]), None, "no task is called so");
        assert!(find(runs.path(), None, &[]).is_none());
    }
}
