//! The report on a run: every task with its agent, attempts, gate verdicts and merged commit.

use std::collections::BTreeSet;

use switchboard_protocol::error::{Exit, find};
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{BudgetScope, HeldBy, PauseCause, PersonAnswer, Wait};
use switchboard_protocol::verb::run::{Answer, GetRunReply, TaskReport};
use switchboard_protocol::worker::PauseState;

use crate::commands::budget::described;
use crate::output::{Output, Table, Tone, money, one_line, plain, span, tokens, when};
use crate::verdict;

/// Milliseconds without activity after which a worker is shown as silent, unless `SWITCHBOARD_SILENT_MS` says otherwise: a working tool
/// or model reports more often.
const SILENT_MS: i64 = 40_000;

/// Prints the report.
pub(crate) fn print(run: &GetRunReply, out: &mut Output) {
    let summary = &run.summary;
    let title = out.fitted(&format!("{}  {}", summary.run, one_line(&summary.title, 80)));
    out.line(out.paint(Tone::Strong, &title));
    out.line(format!(
        "{}: {} of {} tasks {} {}",
        summary.state,
        summary.merged,
        summary.tasks,
        if run.list.iter().any(|task| task.of.is_none() && task.state == "done") {
            "done or merged into"
        } else {
            "merged into"
        },
        summary.branch
    ));
    if let Some(cause) = summary.paused.filter(|_| summary.state == "running") {
        out.line(out.paint(Tone::Notice, &why_paused(cause, &summary.run)));
    }
    if let Some(mode) = summary.mode {
        out.line(format!("MODE: {mode}, waits for {}", one_line(&summary.now, 160)));
    }
    out.line("");
    if summary.mode.is_none() || !run.list.is_empty() {
        out.table(&tasks(&run.list));
    }
    for part in &run.parts {
        out.line(out.paint(Tone::Faint, &format!("{}  {:9} {}", part.run, part.state, one_line(&part.what, 80))));
    }
    if let Some(line) = not_configured(&run.list) {
        out.line(out.paint(Tone::Faint, &line));
    }
    for (task, lease) in run.list.iter().filter_map(|task| Some((task, task.held_by.as_ref()?))) {
        out.line("");
        out.line(format!("{} is held: {}", task.id, one_line(&held_by(lease), 300)));
    }
    for task in run.list.iter().filter(|task| !task.refusals.is_empty()) {
        out.line("");
        out.line(out.paint(Tone::Bad, &format!("{} was refused:", task.id)));
        for refusal in &task.refusals {
            out.line(out.paint(Tone::Bad, &format!("    {}", one_line(refusal, 300))));
        }
    }
    if !run.notes.is_empty() {
        out.line("");
        out.line("to know before it is merged:");
        for note in &run.notes {
            out.line(format!("    {}", one_line(note, 300)));
        }
    }
    out.line("");
    out.line(format!("messages: {} sent, {} acknowledged", run.messages_sent, run.messages_acked));
    let estimated = summary.estimated_micro_usd.filter(|micro_usd| *micro_usd > 0);
    let estimated = money(estimated).map(|money| format!("{money} estimated"));
    let used = [money(summary.micro_usd), estimated, tokens(summary.input_tokens, summary.output_tokens)];
    let used: Vec<_> = used.into_iter().flatten().collect();
    if !used.is_empty() {
        out.line(format!("used: {}", used.join(", ")));
    }
    if summary.budget.is_some() {
        out.line(format!("budget: {}", described(summary)));
    }
}

/// Describes why a run is paused, and how to resume it.
pub(crate) fn why_paused(cause: PauseCause, run: &RunId) -> String {
    let reserved = "or what is left is less than a worker's reservation";
    match cause {
        PauseCause::Requested => format!("paused: switchboard resume {run}"),
        PauseCause::Budget => {
            let what = "paused: what is left of the budget is less than a worker's reservation";
            format!("{what}; raise it: switchboard budget {run} --budget USD")
        }
        PauseCause::Plan => {
            let what = "paused: all runs of this plan have cost what they may";
            format!("{what}, {reserved}; raise it: switchboard budget {run} --plan-budget USD")
        }
        PauseCause::Day => {
            let what = "paused: all runs of today (UTC) have cost what they may";
            let how = "raise `day` under [limits] in your config.toml, then: switchboard resume";
            format!("{what}, {reserved}; {how} {run}")
        }
        PauseCause::Disk => {
            format!("paused: the disk is full; everything is kept; make room, then: switchboard resume {run}")
        }
    }
}

/// Names the gates that have no command, once for all tasks.
fn not_configured(list: &[TaskReport]) -> Option<String> {
    let of = |task: &TaskReport| -> Vec<String> {
        let gates = task.gates.iter().filter(|gate| gate.verdict == "not_configured");
        gates.map(|gate| gate.gate.clone()).collect()
    };
    let names: std::collections::BTreeSet<_> = list.iter().flat_map(of).collect();
    let words: Vec<_> = names.iter().map(|name| format!("{name} not configured")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Returns what a task is doing: waiting for a person, silent, using a tool, or its state.
pub(crate) fn state_of(task: &TaskReport) -> String {
    if task.state == "waiting" {
        return "waiting for you".to_owned();
    }
    if let Some(wait) = task.waits.filter(|_| task.state == "ready") {
        return waits_for(wait);
    }
    if task.state != "working" {
        return task.state.clone();
    }
    match task.pause {
        Some(PauseState::Paused) => return "paused".to_owned(),
        Some(PauseState::Pausing) => return "pausing".to_owned(),
        Some(PauseState::Held) => return "rebasing".to_owned(),
        Some(PauseState::Resumed) | None => {}
    }
    let silent = task.heard_at.map_or(0, |at| switchboard_process::clock::now().since(at));
    if task.waits_for_you {
        "waiting for you".to_owned()
    } else if silent >= silent_ms() {
        format!("silent for {}", span(silent))
    } else if task.doing.is_empty() {
        task.state.clone()
    } else {
        one_line(&task.doing, 40)
    }
}

fn silent_ms() -> i64 {
    switchboard_process::env::var("SWITCHBOARD_SILENT_MS").and_then(|ms| ms.parse().ok()).unwrap_or(SILENT_MS)
}

/// Returns a worker's pause state in words.
pub(crate) const fn paused(state: PauseState) -> &'static str {
    match state {
        PauseState::Pausing => "is told to wait",
        PauseState::Paused => "waits",
        PauseState::Held => "waits while its tree is rebased",
        PauseState::Resumed => "goes on",
    }
}

/// Returns what a ready task waits for.
fn waits_for(wait: Wait) -> String {
    match wait {
        Wait::Settings => "waiting for settings that can be read".to_owned(),
        Wait::Workers { most } => format!("waiting for a worker: {most} are alive, over all runs"),
        Wait::RateLimit { until } => format!("waiting for a rate limit until {}", when(until)),
        Wait::Budget { of: BudgetScope::Plan } => "waiting for what is left for its plan".to_owned(),
        Wait::Budget { of: BudgetScope::Day } => "waiting for what is left for today".to_owned(),
        Wait::Budget { of: BudgetScope::Run } => "waiting for what is left of its budget".to_owned(),
    }
}

fn tasks(list: &[TaskReport]) -> Table {
    let mut table = Table::new(&["TASK", "AGENT", "TRIES", "STATE", "COMMIT", "GATES"]);
    for task in list {
        let agent = if task.scripted { format!("{} (script)", task.agent) } else { task.agent.clone() };
        let commit = task.commit.as_deref().map_or("-", |commit| commit.get(..9).unwrap_or(commit));
        let cells = [task.id.clone(), agent, task.attempts.to_string(), state_of(task), commit.to_owned()];
        table.row(cells.into_iter().chain([gates(task)]));
    }
    table
}

/// Lists the gates that did not pass by name, and those that did in one word.
fn gates(task: &TaskReport) -> String {
    if task.gates.is_empty() {
        return "none".to_owned();
    }
    let mut words = Vec::new();
    let passed = task.gates.iter().filter(|gate| gate.verdict == "pass").count();
    let others = task.gates.iter().filter(|gate| !matches!(gate.verdict.as_str(), "pass" | "not_configured"));
    words.extend(others.map(|gate| format!("{} {}", gate.gate, verdict::shown_word(&gate.verdict).1)));
    if passed > 0 {
        words.push(format!("{passed} passed"));
    }
    words.join(", ")
}

/// Describes how long the machine was suspended while a worker ran.
pub(crate) fn suspended(ms: u64) -> String {
    format!("the machine was suspended for {}, which counts for no limit", span(i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// Describes what a step was for whose worker may leave everything as it is, and did.
pub(crate) fn adds_nothing(step: &StepId) -> String {
    if *step == StepId::work() {
        return "found nothing to change".to_owned();
    }
    format!("{step} adds nothing to the change")
}

/// Describes what a `lint_fix` command did to a change.
pub(crate) fn mended(files: u32) -> String {
    match files {
        0 => "lint_fix had nothing to mend".to_owned(),
        files => format!("lint_fix mended {}", crate::output::counted(files.into(), "file")),
    }
}

/// Names who has reserved the files of a held task, and until when.
pub(crate) fn held_by(lease: &HeldBy) -> String {
    format!("{} has reserved {} until {}", lease.holder, lease.files.join(", "), when(lease.until))
}

/// Describes what the answer to a question about a task leads to.
pub(crate) const fn answered(answer: PersonAnswer) -> &'static str {
    match answer {
        PersonAnswer::Allow => "is allowed, and goes on",
        PersonAnswer::Retry => "is tried again, as a person said",
        PersonAnswer::GiveUp => "is given up",
        PersonAnswer::Expired => "is given up: nobody answered",
        PersonAnswer::Withdrawn => "waits no longer",
    }
}

/// Maps a run's outcome to an exit code; `None` when every task is merged.
pub(crate) fn exit(run: &GetRunReply) -> Option<Exit> {
    if run.summary.mode.is_some() && run.summary.state != "succeeded" {
        // A team's run that has not succeeded waits for a person.
        return Some(Exit::Person);
    }
    let is_open = |task: &&TaskReport| !is_good(task);
    let failed: BTreeSet<_> = run.list.iter().filter(is_open).map(|task| task.id.as_str()).collect();
    // A subtask counts only if its task has failed.
    let counts = |task: &&TaskReport| task.of.as_deref().is_none_or(|whole| failed.contains(whole));
    Exit::of_many(run.list.iter().filter(is_open).filter(counts).map(task_exit))
}

/// Returns true if a task has ended well.
fn is_good(task: &TaskReport) -> bool {
    matches!(task.state.as_str(), "merged" | "done")
}

/// Prints a worker's answer, with control characters removed.
pub(crate) fn print_answer(task: &str, answer: &Answer, out: &mut Output) {
    out.line("");
    out.line(out.paint(Tone::Strong, &format!("{task} says:")));
    out.text(plain(&answer.text).trim_end());
    out.line("");
    if answer.next.is_some() {
        let shown = answer.text.len();
        out.line(format!(
            "… {} bytes more: switchboard show {task} --answer",
            answer.bytes.saturating_sub(shown as u64)
        ));
    }
}

/// Returns the exit code of a task that is not merged: that of the reason's code for a blocked task, 3 for a task that a gate refused last,
/// else the one for failed work.
fn task_exit(task: &TaskReport) -> Exit {
    let code_of = |line: &str| line.strip_suffix(']')?.rsplit_once('[').map(|(_, code)| code.to_owned());
    // The line about the block leaves out the code; the line about the last attempt has it.
    let last = task.refusals.iter().rev().find(|line| code_of(line).is_some() || line.starts_with("attempt "));
    let code = last.and_then(|line| code_of(line));
    if let Some(code) = code.filter(|code| matches!(&**code, "agent.denied" | "agent.missing" | "need.expired")) {
        return find(&code).map_or(Exit::Failed, |known| known.exit);
    }
    let is_refused = task.gates.iter().any(|gate| matches!(gate.verdict.as_str(), "fail" | "error"));
    if is_refused { Exit::Gate } else { Exit::Failed }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::RunId;
    use switchboard_protocol::isolation::Isolation;
    use switchboard_protocol::time::Millis;
    use switchboard_protocol::verb::run::{GateReport, RunSummary};

    use super::*;

    fn task(id: &str, state: &str, gates: &[(&str, &str)]) -> TaskReport {
        let gate = |(gate, verdict): &(&str, &str)| GateReport {
            gate: (*gate).to_owned(),
            verdict: (*verdict).to_owned(),
            reasons: Vec::new(),
        };
        TaskReport {
            judged: Vec::new(),
            at_step: String::new(),
            swarm_state: String::new(),
            paused: None,
            id: id.to_owned(),
            of: None,
            description: format!("do {id}"),
            agent: "ada".to_owned(),
            isolation: Isolation::Full,
            scripted: true,
            state: state.to_owned(),
            held_by: None,
            attempts: 1,
            gates: gates.iter().map(gate).collect(),
            refusals: Vec::new(),
            commit: (state == "merged").then(|| "0123456789abcdef".to_owned()),
            files: Vec::new(),
            depends: Vec::new(),
            worktree: String::new(),
            worktree_bytes: None,
            micro_usd: None,
            input_tokens: None,
            output_tokens: None,
            doing: String::new(),
            pause: None,
            heard_at: None,
            not_started: None,
            waits: None,
            waits_for_you: false,
            step: String::new(),
            proposed: 0,
        }
    }

    fn run(list: Vec<TaskReport>) -> GetRunReply {
        let summary = RunSummary {
            run: RunId::new("run_1").unwrap(),
            title: "hello".to_owned(),
            state: "finished".to_owned(),
            branch: "switchboard/run_1".to_owned(),
            target: "main".to_owned(),
            base: "0".repeat(40),
            tasks: list.len() as u64,
            merged: list.iter().filter(|task| task.state == "merged").count() as u64,
            mode: None,
            now: String::new(),
            blocked: 0,
            is_merged: false,
            started_at: Millis(0),
            ended_at: None,
            micro_usd: None,
            input_tokens: None,
            output_tokens: None,
            estimated_micro_usd: None,
            budget: None,
            isolation: None,
            paused: None,
        };
        GetRunReply {
            summary,
            total_micro_usd: 0,
            is_budget_exceeded: false,
            ceilings: Vec::new(),
            list,
            skipped: Vec::new(),
            messages_sent: 2,
            messages_acked: 1,
            notes: Vec::new(),
            diff: None,
            parts: Vec::new(),
        }
    }

    #[test]
    fn gates_that_are_not_configured_are_said_once_and_failures_by_name() {
        let gates = [("secretscan", "pass"), ("lint", "fail"), ("test_runner", "not_configured")];
        let list = vec![task("1.1", "merged", &gates), task("1.2", "merged", &gates)];

        let lines = tasks(&list).lines();

        assert_eq!(lines[1], "1.1   ada (script)  1      merged  012345678  lint failed, 1 passed");
        assert_eq!(not_configured(&list).as_deref(), Some("test_runner not configured"));
    }

    #[test]
    fn a_task_at_work_says_what_it_is_at() {
        let now = switchboard_process::clock::now();
        let working = TaskReport { heard_at: Some(now), ..task("1.1", "working", &[]) };
        let says = |task: TaskReport| state_of(&task);

        assert_eq!(says(working.clone()), "working");
        assert_eq!(says(TaskReport { doing: "edit a.rs".to_owned(), ..working.clone() }), "edit a.rs");
        assert_eq!(says(TaskReport { waits_for_you: true, ..working.clone() }), "waiting for you");
        assert_eq!(says(TaskReport { pause: Some(PauseState::Pausing), ..working.clone() }), "pausing");
        let silent = TaskReport { heard_at: Some(now.plus(-90_500)), doing: "run".to_owned(), ..working };
        assert_eq!(says(silent), "silent for 1 min 30 s");
        assert_eq!(says(task("1.1", "merged", &[])), "merged");
    }

    #[test]
    fn a_task_ends_as_its_last_attempt_says_also_where_the_line_of_its_block_does_not_repeat_it() {
        let ends = |refusals: &[&str]| {
            let refusals = refusals.iter().map(|line| (*line).to_owned()).collect();
            task_exit(&TaskReport { refusals, ..task("1.1", "blocked", &[]) })
        };
        let missing = "attempt 2: the agent failed: no ada [agent.missing]";

        assert_eq!(ends(&[missing]), Exit::Agent);
        assert_eq!(ends(&[missing, "blocked: the same refusal twice"]), Exit::Agent);
        assert_eq!(ends(&["waits for you (need_1): x", "blocked: nobody answered [need.expired]"]), Exit::Person);
        assert_eq!(ends(&[missing, "attempt 3: nothing changed: none", "blocked: 3 attempts"]), Exit::Failed);
    }

    #[test]
    fn a_refused_task_weighs_more_than_a_failed_one() {
        let merged = task("1.1", "merged", &[]);
        let failed = task("1.2", "blocked", &[]);
        let refused = task("1.3", "blocked", &[("secretscan", "fail")]);

        assert_eq!(exit(&run(vec![merged.clone()])), None);
        assert_eq!(exit(&run(vec![merged.clone(), failed.clone()])), Some(Exit::Failed));
        assert_eq!(exit(&run(vec![merged, failed, refused])), Some(Exit::Gate));
    }
}
