//! Formats events as lines: the agent and its action on a task, and refusals with their findings.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::worker::{WorkerEvent, WorkerFact};

use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::event::Event;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{AgentName, RunId, WorkerId};
use switchboard_protocol::message::MessageEvent;
use switchboard_protocol::need::{NeedAbout, NeedEvent, NeedKind};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{
    BudgetScope, EXPENSIVE_FACTOR, RunEvent, RunOutcome, TaskPauseCause, TurnOutcome, Verdict,
};
use switchboard_protocol::verb::run::{GetRunReply, TaskReport};

use crate::output::{Output, Tone, counted, money, one_line, unfenced};
use crate::run_report::{paused, why_paused};

use super::checklist::Checklists;

/// Maximum length of an agent's text in a line, in characters.
const WIDTH: usize = 160;

/// Formats the progress of a run, and keeps what later lines refer to.
#[derive(Debug)]
pub(super) struct Printer {
    run: RunId,
    /// Agent by task.
    agents: BTreeMap<String, String>,
    /// Agent that judges the change of a task, from its start to the next event about the change.
    judges: BTreeMap<String, String>,
    /// Task by worker.
    workers: BTreeMap<WorkerId, String>,
    at_work: Vec<String>,
    tasks: u64,
    merged: u64,
    has_ended: bool,
    /// Gates already reported as not configured.
    not_configured: BTreeSet<String>,
    /// Reason for which the last worker of a task was lost, which is said once.
    lost: BTreeMap<String, String>,
    checklists: Checklists,
}

// === impl Printer ===

impl Printer {
    /// Creates a printer from the state of the run before the first printed event.
    pub(super) fn new(run: &RunId, before: &GetRunReply) -> Self {
        let named = before.list.iter().filter(|task| !task.agent.is_empty());
        let agents = named.map(|task| (task.id.clone(), task.agent.clone())).collect();
        let (tasks, merged) = (before.summary.tasks, before.summary.merged);
        let is_begun = |task: &&TaskReport| matches!(task.state.as_str(), "starting" | "working");
        let at_work = before.list.iter().filter(is_begun).map(|task| task.id.clone()).collect();
        let checklists = Checklists::of(before);
        Self { agents, at_work, tasks, merged, checklists, ..Self::of_part(run) }
    }

    /// Creates a printer for a run that has just been started as a part of another one.
    pub(super) fn of_part(run: &RunId) -> Self {
        Self {
            run: run.clone(),
            agents: BTreeMap::new(),
            judges: BTreeMap::new(),
            workers: BTreeMap::new(),
            at_work: Vec::new(),
            tasks: 0,
            merged: 0,
            has_ended: false,
            not_configured: BTreeSet::new(),
            lost: BTreeMap::new(),
            checklists: Checklists::default(),
        }
    }

    /// Returns the run whose progress is printed.
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// Records a worker that began before the first printed event.
    pub(super) fn recall(&mut self, event: &Event) {
        if let Some(WorkerFact::WorkerEquipped { worker, run, task, .. }) = event.fact()
            && run == self.run
        {
            self.workers.insert(worker, task);
        }
    }

    /// Returns true if the run has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the number of tasks.
    pub(super) fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Returns the number of merged tasks.
    pub(super) fn merged(&self) -> u64 {
        self.merged
    }

    /// Returns the active tasks with their agents.
    pub(super) fn at_work(&self) -> String {
        let who = |task: &String| format!("{task} {}", self.who(task));
        self.at_work.iter().map(who).collect::<Vec<_>>().join(", ")
    }

    /// Formats an event; no lines if it is not shown.
    pub(super) fn lines(&mut self, event: &Event, out: &Output) -> Vec<String> {
        if event.subject == format!("run/{}", self.run) {
            return event.fact::<RunEvent>().map_or_else(Vec::new, |fact| {
                self.end_judging(&fact);
                self.checklists.see(&fact);
                self.of_run(fact, out)
            });
        }
        match event.kind.as_str() {
            "worker_acted"
            | "worker_equipped"
            | "worker_flagged"
            | "worker_reported"
            | "worker_suspended"
            | "worker_tools_missed"
            | "worker_unenforced" => event.fact().map_or_else(Vec::new, |fact| self.of_worker(fact, event, out)),
            "need_asked" | "need_settled" => event.fact().map_or_else(Vec::new, |fact| self.of_need(fact, out)),
            _ => event.fact().map_or_else(Vec::new, |fact| of_message(fact, event)),
        }
    }

    fn head(&self, task: &str) -> String {
        format!("{task:5} {:8}", self.who(task))
    }

    /// Returns the agent that a line about a task names: the one that judges its change, else the one that makes it.
    fn who(&self, task: &str) -> &str {
        self.judges.get(task).or_else(|| self.agents.get(task)).map_or("", String::as_str)
    }

    /// Ends the judging of a change at its next event, so that later lines name the agent that made the change.
    fn end_judging(&mut self, fact: &RunEvent) {
        let is_about_change = matches!(
            fact,
            RunEvent::GateReported { .. }
                | RunEvent::StepSkipped { .. }
                | RunEvent::ConfirmationAsked { .. }
                | RunEvent::ChangeFixed { .. }
                | RunEvent::ChangeRebased { .. }
                | RunEvent::MergeHeld { .. }
                | RunEvent::MergeIntended { .. }
                | RunEvent::MergeConflicted { .. }
                | RunEvent::TaskMerged { .. }
                | RunEvent::TaskBlocked { .. }
                | RunEvent::TaskRetryRequested { .. }
        );
        if let Some(task) = fact.task().filter(|_| is_about_change) {
            self.judges.remove(task.as_str());
        }
    }

    fn of_worker(&mut self, fact: WorkerFact, event: &Event, out: &Output) -> Vec<String> {
        match fact {
            WorkerFact::WorkerEquipped { worker, run, task, attempt, agent, scripted, isolation, judges, .. }
                if run == self.run =>
            {
                match judges {
                    Some(_) => self.judges.insert(task.clone(), agent.to_string()),
                    None => {
                        self.judges.remove(&task);
                        self.agents.insert(task.clone(), agent.to_string())
                    }
                };
                self.workers.insert(worker, task.clone());
                self.at_work.retain(|other| *other != task);
                self.at_work.push(task.clone());
                let script = if scripted { " (a script)" } else { "" };
                let held = if isolation.is_full() { "" } else { ", constrained" };
                let part = judges.as_ref().map(|judges| format!(" {judges}")).unwrap_or_default();
                vec![format!("{} starts{part}{script}{held}, attempt {attempt}", self.head(&task))]
            }
            WorkerFact::WorkerEquipped { .. } | WorkerFact::WorkerToolsListed { .. } => Vec::new(),
            WorkerFact::WorkerActed { worker, action, .. } => {
                let what = match &action {
                    WorkerAction::ReportStep { state, note, answer: _ } => {
                        format!("says {}: {}", state.as_str(), one_line(note, WIDTH))
                    }
                    WorkerAction::ProposeTask { description, .. } => {
                        format!("proposes: {}", one_line(description, WIDTH))
                    }
                };
                self.workers.get(&worker).map(|task| format!("{} {what}", self.head(task))).into_iter().collect()
            }
            WorkerFact::WorkerTold { worker, by, .. } => {
                let told = |task: &String| format!("{} is told something by {by}", self.head(task));
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::CallDenied { worker, verb, rule, count, .. } => {
                let told = |task: &String| self.denied(task, &verb, &rule, count, out);
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::WorkerUnenforced { worker, gaps } => {
                let told = |task: &String| {
                    let line = format!("{} its sandbox is incomplete here: {}", self.head(task), gaps.join("; "));
                    out.paint(Tone::Notice, &line)
                };
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::WorkerFlagged { worker, stops, words, .. } => {
                let told = |task: &String| {
                    let (tone, what) = if stops { (Tone::Bad, "is stopped: ") } else { (Tone::Notice, "") };
                    out.paint(tone, &format!("{} {what}{}", self.head(task), one_line(&words, 3 * WIDTH)))
                };
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::WorkerSuspended { worker, ms } => {
                let told = |task: &String| format!("{} {}", self.head(task), crate::run_report::suspended(ms));
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::WorkerToolsMissed { worker } => {
                let told = |task: &String| {
                    let line =
                        format!("{} does not know Switchboard's tools: it can't read or send mail", self.head(task));
                    out.paint(Tone::Notice, &line)
                };
                self.workers.get(&worker).map(told).into_iter().collect()
            }
            WorkerFact::WorkerReported { worker, what, .. } => match self.workers.get(&worker) {
                Some(task) => self.of_report(task, &what, event.body.as_deref().unwrap_or_default(), out),
                None => Vec::new(),
            },
        }
    }

    /// Returns true if the loss of a task's worker was already reported in a line that holds this text.
    fn has_told(&self, task: &str, text: &str) -> bool {
        !text.is_empty() && self.lost.get(task).is_some_and(|reason| reason.contains(text))
    }

    fn of_report(&self, task: &str, what: &WorkerEvent, text: &str, out: &Output) -> Vec<String> {
        match what {
            WorkerEvent::ToolCalled { title, status, .. } => match status.as_str() {
                "completed" => vec![format!("{} did: {}", self.head(task), one_line(title, WIDTH))],
                "failed" => {
                    let why = one_line(unfenced(text), WIDTH);
                    let why = if why.is_empty() { why } else { format!(": {why}") };
                    vec![format!("{} could not: {}{why}", self.head(task), one_line(title, WIDTH))]
                }
                _ => Vec::new(),
            },
            WorkerEvent::PauseChanged { state } => {
                vec![out.paint(Tone::Notice, &format!("{} {}", self.head(task), paused(*state)))]
            }
            WorkerEvent::Faulted { code, .. } if self.has_told(task, text) && self.has_told(task, code) => Vec::new(),
            WorkerEvent::Faulted { code, .. } => {
                let why =
                    if self.has_told(task, text) { String::new() } else { format!(": {}", one_line(text, WIDTH)) };
                vec![out.paint(Tone::Bad, &format!("{} {code}{why}", self.head(task)))]
            }
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Sealed { .. } => Vec::new(),
        }
    }

    fn of_need(&self, fact: NeedEvent, out: &Output) -> Vec<String> {
        match fact {
            NeedEvent::NeedAsked { id, about: NeedAbout::Permission { run, task, .. }, title, .. }
                if run == self.run =>
            {
                let line = format!("{} ASKS YOU: {}", self.head(&task), one_line(&title, WIDTH));
                let how = format!("{:15}switchboard approve {id}   switchboard deny {id}", "");
                vec![out.paint(Tone::Notice, &line), how]
            }
            NeedEvent::NeedAsked {
                id,
                about: about @ (NeedAbout::Denied { .. } | NeedAbout::Change { .. } | NeedAbout::Team { .. }),
                options,
                title,
                ..
            } if about.run() == Some(&self.run) => {
                let how = |option: &PermissionOption| {
                    format!("{:15}switchboard answer {id} {}   ({})", "", option.id, one_line(&option.name, WIDTH))
                };
                // The run's own events report what a task waits for.
                let is_of_team = about.kind() == NeedKind::Team;
                let asks =
                    is_of_team.then(|| out.paint(Tone::Notice, &format!("ASKS YOU: {}", one_line(&title, WIDTH))));
                asks.into_iter().chain(options.iter().map(how)).collect()
            }
            NeedEvent::NeedAsked { .. } => Vec::new(),
            NeedEvent::NeedSettled { id, outcome, .. } => vec![format!("{:14} {id} is {outcome}", "")],
        }
    }

    fn of_run(&mut self, fact: RunEvent, out: &Output) -> Vec<String> {
        match fact {
            // The run is a part, of which only the beginning is known.
            RunEvent::RunStarted { .. } if self.tasks == 0 => Vec::new(),
            RunEvent::RunStarted { max_workers, .. } => {
                vec![format!("{}: {}, {max_workers} at once", self.run, counted(self.tasks, "task"))]
            }
            RunEvent::RunFinished { outcome } => {
                self.has_ended = true;
                // The events of the modes report the result of a part that succeeded.
                let is_told = self.tasks > 0 || outcome != RunOutcome::Succeeded;
                is_told.then(|| ended(outcome)).into_iter().collect()
            }
            RunEvent::RunConfigured { .. }
            | RunEvent::SetupChosen { .. }
            | RunEvent::LoopTurned { .. }
            | RunEvent::RunMergeIntended { .. }
            | RunEvent::RunMerged { .. }
            | RunEvent::RunMergeUndone { .. }
            | RunEvent::RunMergeAbandoned { .. }
            | RunEvent::RunCleanIntended { .. }
            | RunEvent::RunCleaned { .. }
            | RunEvent::RunCleanAbandoned { .. } => Vec::new(),
            RunEvent::RunStopRequested => vec!["the run is to stop".to_owned()],
            RunEvent::BudgetAlert { percent, spent, task, of } => {
                vec![out.paint(Tone::Notice, &of_alert(percent, spent, task.as_ref(), of))]
            }
            RunEvent::RunPaused { cause } => vec![out.paint(Tone::Notice, &why_paused(cause, &self.run))],
            RunEvent::RunResumed => vec!["the run goes on".to_owned()],
            // The run that a team carries out reports who leads it.
            RunEvent::LedSet { .. } => Vec::new(),
            RunEvent::BudgetSet { .. } | RunEvent::CostCounted { .. } | RunEvent::TurnBegun { .. } => Vec::new(),
            RunEvent::TurnEnded { task, outcome, reason, .. } => {
                let line = self.of_turn(task.as_str(), outcome, &reason);
                vec![if outcome == TurnOutcome::Finished { line } else { out.paint(Tone::Bad, &line) }]
            }
            RunEvent::ChangeCaptured { task, files, files_total, left_out, .. } => {
                let names = one_line(&files.join(", "), WIDTH);
                let head = self.head(task.as_str());
                let changed = || format!("{head} changed {}: {names}", counted(files_total.into(), "file"));
                let is_shown = files_total > 0 || left_out.is_empty();
                let mut lines: Vec<_> = is_shown.then(changed).into_iter().collect();
                if !left_out.is_empty() {
                    let names = one_line(&left_out.join(", "), WIDTH);
                    lines.push(out.paint(Tone::Bad, &format!("{head} is refused: repositories of their own: {names}")));
                }
                lines
            }
            RunEvent::NothingChanged { task, step, why, .. } => {
                vec![self.unchanged(task.as_str(), step.as_ref(), &why, out)]
            }
            RunEvent::GateReported { task, gate, verdict, reasons, .. } => {
                self.of_gate(task.as_str(), &gate, verdict, &reasons, out)
            }
            fact @ (RunEvent::PlanRecorded { .. }
            | RunEvent::WayRecorded { .. }
            | RunEvent::UnitAdded { .. }
            | RunEvent::UnitExtended { .. }
            | RunEvent::ChangeFixed { .. }
            | RunEvent::ChangeRebased { .. }
            | RunEvent::BranchMoved { .. }
            | RunEvent::WorkerIntended { .. }
            | RunEvent::WorkerStarted { .. }
            | RunEvent::WorkerLost { .. }
            | RunEvent::TreeSetupFailed { .. }
            | RunEvent::MergeHeld { .. }
            | RunEvent::MergeReleased { .. }
            | RunEvent::PersonAsked { .. }
            | RunEvent::ConfirmationAsked { .. }
            | RunEvent::PersonAnswered { .. }
            | RunEvent::MergeIntended { .. }
            | RunEvent::TaskMerged { .. }
            | RunEvent::TaskDone { .. }
            | RunEvent::TurnOmitted { .. }
            | RunEvent::StepAnswered { .. }
            | RunEvent::AnswerRefused { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::CandidateChosen { .. }
            | RunEvent::MergeConflicted { .. }
            | RunEvent::TaskBlocked { .. }
            | RunEvent::TaskDepFailed { .. }
            | RunEvent::TaskStopRequested { .. }
            | RunEvent::TaskBudgetSet { .. }
            | RunEvent::TaskRebaseRequested { .. }
            | RunEvent::TreeRebased { .. }
            | RunEvent::TreeNotRebased { .. }
            | RunEvent::TaskPaused { .. }
            | RunEvent::TaskResumed { .. }
            | RunEvent::StepBegun { .. }
            | RunEvent::ScopeDeclared { .. }
            | RunEvent::TaskRetryRequested { .. }) => self.of_task(fact, out),
        }
    }

    fn of_task_pause(&self, task: &TaskId, cause: TaskPauseCause, out: &Output) -> String {
        let (head, run) = (self.head(task.as_str()), &self.run);
        match cause {
            TaskPauseCause::Requested => format!("{head} is paused"),
            TaskPauseCause::Budget => {
                let how = format!("switchboard budget {run} --budget USD --task-budget USD");
                let what = format!("{head} is paused: it has cost as much as a task may; raise it: {how}");
                out.paint(Tone::Notice, &what)
            }
            TaskPauseCause::Dear => {
                let how = format!("switchboard resume {run}/{task}");
                let what =
                    format!("{head} is paused: it costs {EXPENSIVE_FACTOR} times what others did; let it go on: {how}");
                out.paint(Tone::Notice, &what)
            }
        }
    }

    fn denied(&self, task: &str, verb: &str, rule: &str, count: u64, out: &Output) -> String {
        let times = if count > 1 { format!(", {count} times by now") } else { String::new() };
        out.paint(Tone::Notice, &format!("{} was denied {verb}: rule {rule}{times}", self.head(task)))
    }

    /// Describes an unchanged tree: allowed in a step that only judges, else a failure with its likely cause.
    fn unchanged(&self, task: &str, may_be: Option<&StepId>, why: &str, out: &Output) -> String {
        if let Some(step) = may_be {
            return format!("{} {}", self.head(task), crate::run_report::adds_nothing(step));
        }
        let why = if why.is_empty() { String::new() } else { format!(": {}", one_line(why, WIDTH)) };
        out.paint(Tone::Bad, &format!("{} changed nothing, so it is not done{why}", self.head(task)))
    }

    fn of_turn(&self, task: &str, outcome: TurnOutcome, reason: &str) -> String {
        let says = match outcome {
            TurnOutcome::Finished => "says that it is done",
            TurnOutcome::Failed => "failed",
            TurnOutcome::Stopped => "was stopped",
            TurnOutcome::Refused => "declined",
            TurnOutcome::TimedOut => "took too long",
            TurnOutcome::Paused => "was interrupted: it goes on later",
            TurnOutcome::RateLimited => "waits for a rate limit and goes on then",
            TurnOutcome::ModelFailed => "could not reach its model, and goes on",
        };
        // A script repeats its greeting in every turn; the task's first line has shown it.
        let reason = reason.strip_prefix(switchboard_agents::script::GREETING).unwrap_or(reason).trim();
        let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, WIDTH)) };
        format!("{} {says}{why}", self.head(task))
    }

    fn of_gate(&mut self, task: &str, gate: &str, verdict: Verdict, reasons: &[String], out: &Output) -> Vec<String> {
        let (tone, word) = crate::verdict::shown(verdict);
        if verdict == Verdict::NotConfigured {
            // The gate is the same for every task, so it is reported once.
            let is_new = self.not_configured.insert(gate.to_owned());
            return is_new.then(|| out.paint(tone, &format!("{:14} {gate} {word}", ""))).into_iter().collect();
        }
        let mut lines = vec![out.paint(tone, &format!("{} {gate} {word}", self.head(task)))];
        lines.extend(reasons.iter().map(|reason| format!("{:15}  {}", "", one_line(reason, WIDTH))));
        lines
    }

    /// Formats a task's events other than turns and gates.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn of_task(&mut self, fact: RunEvent, out: &Output) -> Vec<String> {
        let Some(task) = fact.task().map(TaskId::as_str).map(str::to_owned) else { return Vec::new() };
        let head = self.head(&task);
        let mut leave = || self.at_work.retain(|other| *other != task);
        match fact {
            RunEvent::TaskMerged { commit, .. } => {
                leave();
                self.merged += 1;
                vec![out.paint(Tone::Good, &format!("{head} merged {}", short(&commit)))]
            }
            RunEvent::TaskDone { of, .. } => {
                leave();
                self.merged += u64::from(of.is_none());
                vec![out.paint(Tone::Good, &format!("{head} is done"))]
            }
            RunEvent::TurnOmitted { .. } => vec![format!("{head} is not held: all agree")],
            RunEvent::StepAnswered { step, verdict, reasons, .. } => of_step(&head, step.as_str(), verdict, &reasons, out),
            RunEvent::StepSkipped { step, reason, .. } => {
                of_step(&head, step.as_str(), Verdict::Skipped, &[reason], out)
            }
            RunEvent::AnswerRefused { step, reason, .. } => {
                let what = format!("{head} {step}: the answer can't be used: {}", one_line(&reason, WIDTH));
                vec![out.paint(Tone::Notice, &what)]
            }
            RunEvent::CandidateChosen { candidate, among, .. } => {
                vec![out.paint(Tone::Good, &format!("{head} takes the change of {candidate}, the best of {among}"))]
            }
            RunEvent::MergeConflicted { files, .. } => {
                vec![out.paint(Tone::Bad, &format!("{head} conflicts: {}", one_line(&files.join(", "), WIDTH)))]
            }
            RunEvent::MergeHeld { lease, .. } => {
                let why = one_line(&crate::run_report::held_by(&lease), WIDTH);
                vec![out.paint(Tone::Notice, &format!("{head} is held: {why}"))]
            }
            RunEvent::PersonAsked { reason, .. } | RunEvent::ConfirmationAsked { reason, .. } => {
                vec![out.paint(Tone::Notice, &format!("{head} waits for you: {}", one_line(&reason, WIDTH)))]
            }
            RunEvent::PersonAnswered { answer, .. } => vec![format!("{head} {}", crate::run_report::answered(answer))],
            RunEvent::MergeReleased { .. } => vec![format!("{head} is no longer held")],
            RunEvent::TaskBlocked { reason, .. } => {
                leave();
                let is_told = self.lost.get(&task) == Some(&reason);
                let why = if is_told { String::new() } else { format!(": {}", one_line(&reason, WIDTH)) };
                vec![out.paint(Tone::Bad, &format!("{head} is blocked{why}"))]
            }
            RunEvent::TaskDepFailed { root, .. } => {
                vec![out.paint(Tone::Bad, &format!("{head} can't start: {root} did not make it"))]
            }
            RunEvent::WorkerLost { reason, .. } => {
                let what = format!("{head} was lost: {}", line_with_code(&reason));
                self.lost.insert(task, reason);
                vec![out.paint(Tone::Bad, &what)]
            }
            RunEvent::ChangeFixed { files_total, files, told, .. } => {
                let names = files.iter().chain(&told).map(String::as_str).collect::<Vec<_>>().join(", ");
                let colon = if names.is_empty() { "" } else { ": " };
                vec![format!("{head} {}{colon}{}", crate::run_report::mended(files_total), one_line(&names, WIDTH))]
            }
            RunEvent::ChangeRebased { .. } => vec![format!("{head} rebased, its gates judge it again")],
            RunEvent::TaskStopRequested { .. } => vec![format!("{head} is to stop")],
            RunEvent::TaskRetryRequested { .. } => vec![format!("{head} is tried again")],
            RunEvent::TaskPaused { task, cause } => vec![self.of_task_pause(&task, cause, out)],
            RunEvent::TaskResumed { .. } => vec![format!("{head} goes on")],
            RunEvent::StepBegun { step, by, .. } => vec![begun(&head, step.as_str(), by.as_ref())],
            RunEvent::ScopeDeclared { files, .. } => vec![format!("{head} its files are {}", files.join(", "))],
            RunEvent::TaskRebaseRequested { .. } => vec![format!("{head} its tree is to be rebased")],
            RunEvent::TreeRebased { onto, .. } => vec![format!("{head} its tree is based on {} now", short(&onto))],
            RunEvent::TreeNotRebased { files, .. } => {
                let what = format!("{head} its tree was not rebased, these files conflict: {}", files.join(", "));
                vec![out.paint(Tone::Notice, &one_line(&what, WIDTH * 2))]
            }
            RunEvent::TaskBudgetSet { ceiling, .. } => vec![match money(ceiling) {
                Some(ceiling) => format!("{head} may cost {ceiling}"),
                None => format!("{head} has no ceiling of its own"),
            }],
            RunEvent::BudgetSet { .. }
            | RunEvent::CostCounted { .. }
            | RunEvent::TurnBegun { .. }
            | RunEvent::BudgetAlert { .. }
            | RunEvent::RunPaused { .. }
            | RunEvent::RunResumed
            | RunEvent::RunStarted { .. }
            | RunEvent::RunFinished { .. }
            | RunEvent::RunStopRequested
            | RunEvent::LedSet { .. }
            | RunEvent::RunConfigured { .. }
            | RunEvent::RunMergeIntended { .. }
            | RunEvent::RunMerged { .. }
            | RunEvent::RunMergeUndone { .. }
            | RunEvent::RunMergeAbandoned { .. }
            | RunEvent::RunCleanIntended { .. }
            | RunEvent::RunCleaned { .. }
            | RunEvent::RunCleanAbandoned { .. }
            | RunEvent::PlanRecorded { .. }
            | RunEvent::WayRecorded { .. }
            | RunEvent::UnitAdded { .. }
            | RunEvent::UnitExtended { .. }
            | RunEvent::BranchMoved { .. }
            | RunEvent::WorkerIntended { .. }
            | RunEvent::WorkerStarted { .. }
            | RunEvent::TurnEnded { .. }
            | RunEvent::ChangeCaptured { .. }
            | RunEvent::NothingChanged { .. }
            | RunEvent::GateReported { .. }
            // The block that follows gives the reason.
            | RunEvent::TreeSetupFailed { .. }
            | RunEvent::SetupChosen { .. }
            | RunEvent::LoopTurned { .. } => Vec::new(),
            RunEvent::MergeIntended { .. } => {
                let list = self.checklists.of_task(&task);
                list.map(|list| format!("{head} checklist: {}", one_line(&list, WIDTH * 2))).into_iter().collect()
            }
        }
    }
}

/// Formats a reason as one line; a long one is cut before the code at its end, as in "it can't be reached [agent.lost]".
fn line_with_code(reason: &str) -> String {
    match reason.rsplit_once(" [") {
        Some((what, code)) if code.ends_with(']') && !code.contains(char::is_whitespace) => {
            format!("{} [{code}", one_line(what, WIDTH))
        }
        _ => one_line(reason, WIDTH),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..9).unwrap_or(commit)
}

fn of_alert(percent: u8, spent: u64, task: Option<&TaskId>, of: BudgetScope) -> String {
    let spent = money(Some(spent)).unwrap_or_default();
    match (task, of) {
        (Some(task), _) if percent < 100 => format!("{percent} % of what task {task} may cost is spent: {spent}"),
        (Some(task), _) => format!("task {task} has cost {spent}, as much as a task may"),
        (None, BudgetScope::Run) => format!("{percent} % of the budget is spent: {spent}"),
        (None, BudgetScope::Plan) => format!("{percent} % of what all runs of the plan may cost is spent: {spent}"),
        (None, BudgetScope::Day) => format!("{percent} % of what all runs of the day may cost is spent: {spent}"),
    }
}

fn begun(head: &str, step: &str, by: Option<&AgentName>) -> String {
    let by = by.map(|by| format!(", by {by} itself")).unwrap_or_default();
    format!("{head} {step} is begun{by}")
}

fn ended(outcome: RunOutcome) -> String {
    match outcome {
        RunOutcome::Succeeded => "every task is done",
        RunOutcome::Failed => "some task did not make it",
        RunOutcome::Stopped => "the run was stopped",
    }
    .to_owned()
}

fn of_message(fact: MessageEvent, event: &Event) -> Vec<String> {
    match fact {
        // The run's messages about its units are shown by other lines.
        MessageEvent::MessageSent { recipient, .. }
            if recipient == AgentName::coordinator() && event.actor == "daemon" =>
        {
            Vec::new()
        }
        MessageEvent::MessageSent { sender, recipient, .. } => {
            let text = one_line(event.body.as_deref().unwrap_or_default(), WIDTH);
            vec![format!("mail  {sender} -> {recipient}: {text}")]
        }
        MessageEvent::MessageAcked { recipient, id, .. } => vec![format!("mail  {recipient} has it: {id}")],
        MessageEvent::MessageEnded { recipient, id, state, cause, .. } => {
            vec![format!("mail  {id} to {recipient} is {}: {}", state.as_str(), one_line(&cause, WIDTH))]
        }
        MessageEvent::MessageDetailed { .. }
        | MessageEvent::MessageOffered { .. }
        | MessageEvent::MessageInjected { .. }
        | MessageEvent::MessageLeased { .. }
        | MessageEvent::MessageExtended { .. }
        | MessageEvent::MessageReturned { .. }
        | MessageEvent::MessageDone { .. }
        | MessageEvent::MessageRevived { .. }
        | MessageEvent::MessageDropped { .. }
        | MessageEvent::RequestReplied { .. } => Vec::new(),
    }
}

/// Formats the answer of the worker of a judging step.
fn of_step(head: &str, step: &str, verdict: Verdict, reasons: &[String], out: &Output) -> Vec<String> {
    let (tone, word) = crate::verdict::shown(verdict);
    let mut lines = vec![out.paint(tone, &format!("{head} {step} {word}"))];
    lines.extend(reasons.iter().map(|reason| format!("{:15}  {}", "", one_line(reason, WIDTH))));
    lines
}
