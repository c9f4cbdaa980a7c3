//! Follows a run to its end: prints a line for each event, then the report.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use switchboard_daemon::Launch;
use switchboard_protocol::error::{Exit, Failure};
use switchboard_protocol::event::{Event, ReadFrom};
use switchboard_protocol::id::RunId;
use switchboard_protocol::need::{Need, NeedEvent, NeedKind};
use switchboard_protocol::plan::AutoMerge;
use switchboard_protocol::run::{AtCeiling, BudgetScope, Ceiling, PauseCause};
use switchboard_protocol::verb::need::{ListNeeds, ListNeedsRequest};
use switchboard_protocol::verb::run::{
    Answer, GetRun, GetRunReply, GetRunRequest, MergeRun, MergeRunRequest, ShowTask, ShowTaskRequest, StopRun,
    StopRunRequest, TaskReport,
};
use switchboard_protocol::verb::system::{ReadEvents, ReadEventsReply, ReadEventsRequest, VerifyLog, VerifyLogRequest};

use super::line::Printer;
use super::modes::Parts;
use super::question::Questions;
use crate::client::Client;
use crate::context::Context;
use crate::report::{Ending, Outcome};
use crate::run_report;

/// How long one request waits for the next event, in milliseconds: signals are checked in between.
const POLL_MS: u64 = 300;

/// How long after the first Ctrl-C a second one is accepted.
const SECOND_INTERRUPT_WINDOW: Duration = Duration::from_millis(1500);

/// Interval between two tries of a call, and the longest time that one counts for. A longer one means that this command
/// was suspended meanwhile.
const TRY_INTERVAL: Duration = Duration::from_millis(100);
const LONGEST_TRY: Duration = Duration::from_secs(1);

/// How long a lost daemon is looked for, which covers a `switchboard restart`.
const COME_BACK: Duration = Duration::from_secs(5);

/// How long calls are repeated while the store is busy.
const BUSY: Duration = Duration::from_secs(120);

/// How long to wait for the question about the merge, and how often to look for it.
const QUESTION_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time limit for the merge at the end of a run.
const MERGE_LIMIT: Duration = Duration::from_secs(300);

/// Maximum number of events in one request.
const PAGE: u32 = 500;

/// Maximum number of reports printed at the end of a run; the others are in `switchboard show`.
const ANSWERS: usize = 20;

/// Follows a run until it has ended, the person leaves, or the daemon is gone.
///
/// # Errors
/// The outcome of the run, if it is not success.
pub(super) fn follow(mut client: Client, run: &RunId, cursor: u64, merge: AutoMerge, context: &mut Context) -> Outcome {
    let signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::new("internal.bug", "signals can't be listened to").because(&error))?;
    let about = GetRunRequest { run: Some(run.to_string()), ..GetRunRequest::default() };
    let before = call_with_retry((&mut client, run, false), context, |client| client.call::<GetRun>(&about))?;
    let mut printer = Printer::new(run, &before);
    recall((&mut client, run), cursor, &mut printer, context)?;
    let bar = bar(before.summary.tasks, context);
    bar.set_position(printer.merged());
    bar.set_message(printer.at_work());
    let cursor = ReadFrom::Lsn(cursor);
    let questions = context.can_ask().then(Questions::new);
    let parts = Parts::of(&before);
    let mut watch = Watch { client, run, cursor, signals, bar, printer, parts, questions, interrupted: None };
    let left = watch.until_the_end(context);
    watch.bar.finish_and_clear();
    if let Some(ending) = left? {
        return Err(ending);
    }
    watch.conclude(merge, context)
}

/// Registers the workers that began before the first printed event, so that a printer can name them.
fn recall(
    (client, run): (&mut Client, &RunId),
    until: u64,
    printer: &mut Printer,
    context: &Context,
) -> Result<(), Failure> {
    let mut after = ReadFrom::default();
    loop {
        let kinds = vec!["worker_equipped".to_owned()];
        let request = ReadEventsRequest { after, kinds, limit: Some(1000), ..ReadEventsRequest::default() };
        let page = call_with_retry((&mut *client, run, false), context, |client| client.call::<ReadEvents>(&request))?;
        page.events.iter().filter(|event| event.lsn <= until).for_each(|event| printer.recall(event));
        if page.events.len() < 1000 || page.events.last().is_some_and(|event| event.lsn >= until) {
            return Ok(());
        }
        after = ReadFrom::Cursor(page.cursor);
    }
}

/// Calls, and repeats the call while the daemon is away or its store is busy. `has_ended` is true if the run has recorded
/// its end.
fn call_with_retry<T>(
    (client, run, has_ended): (&mut Client, &RunId, bool),
    context: &Context,
    call: impl Fn(&mut Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (mut tried, mut last) = (Duration::ZERO, Instant::now());
    loop {
        let failure = match call(client) {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        let limit = match failure.code.as_str() {
            "store.busy" => BUSY,
            code if code.starts_with("daemon.") => COME_BACK,
            _ => Duration::ZERO,
        };
        tried += last.elapsed().min(LONGEST_TRY);
        if tried >= limit {
            return Err(failure.hint(format!("go on with it: switchboard run --resume {run}")));
        }
        last = Instant::now();
        std::thread::sleep(TRY_INTERVAL);
        // A daemon that was started for the run ends with it, maybe before this command has read everything, if it was
        // slow or suspended.
        let has_ended = has_ended || context.place().is_ok_and(|place| place.is_at_rest());
        let again = match has_ended {
            true => context.daemon_for(Launch { ends_with_run: true }).map(|(client, _)| client),
            false => context.running_daemon(),
        };
        if let Ok(again) = again {
            *client = again;
        }
    }
}

struct Watch<'a> {
    client: Client,
    run: &'a RunId,
    cursor: ReadFrom,
    signals: Signals,
    bar: ProgressBar,
    printer: Printer,
    parts: Parts,
    /// Open questions; `None` without a person at a terminal.
    questions: Option<Questions>,
    interrupted: Option<Instant>,
}

// === impl Watch ===

impl Watch<'_> {
    /// Prints events until the run has ended; returns an ending if the person leaves before that.
    fn until_the_end(&mut self, context: &mut Context) -> Result<Option<Ending>, Failure> {
        let mut is_running = self.get(context)?.summary.state == "running";
        // A run changes by events only; one that waits is not asked about again and again.
        let mut has_changed = true;
        loop {
            let reply = self.look(context)?;
            has_changed |= !reply.events.is_empty();
            let is_all = reply.events.len() < PAGE as usize;
            self.cursor = ReadFrom::Cursor(reply.cursor);
            for event in &reply.events {
                self.tell(event, context);
            }
            if self.is_over() || !is_running && is_all {
                return Ok(None);
            }
            let said = self.questions.as_mut().map(|questions| questions.answer(&mut self.client)).transpose();
            let said = match said {
                // The next call looks for the daemon.
                Err(failure) if failure.code.starts_with("daemon.") => None,
                said => said?,
            };
            if let Some(line) = said.flatten() {
                self.say(&line, context);
            }
            if let Some(ending) = self.heed_signals(context)? {
                return Ok(Some(ending));
            }
            // A closed output counts like a first Ctrl-C: the run goes on without it.
            if context.out.is_closed() {
                return Ok(Some(Ending::Said(Exit::Failed)));
            }
            if reply.events.is_empty() && has_changed {
                has_changed = false;
                let now = self.get(context)?;
                is_running = now.summary.state == "running";
                if is_running && waits_for_person(&now) {
                    return Ok(Some(Ending::Said(Exit::Person)));
                }
            }
        }
    }

    fn look(&mut self, context: &Context) -> Result<ReadEventsReply, Failure> {
        let request = ReadEventsRequest {
            after: self.cursor.clone(),
            limit: Some(PAGE),
            wait_ms: POLL_MS,
            with_bodies: true,
            ..ReadEventsRequest::default()
        };
        self.call_with_retry(context, |client| client.call::<ReadEvents>(&request))
    }

    /// Returns true if the run has recorded its end.
    fn is_over(&self) -> bool {
        self.printer.has_ended() || self.parts.has_ended()
    }

    fn call_with_retry<T>(
        &mut self,
        context: &Context,
        call: impl Fn(&mut Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let has_ended = self.is_over();
        call_with_retry((&mut self.client, self.run, has_ended), context, call)
    }

    fn tell(&mut self, event: &Event, context: &mut Context) {
        let mut lines = self.printer.lines(event, &context.out);
        lines.extend(self.parts.lines(self.run, event, &context.out));
        if let (Some(questions), Some(fact)) = (&mut self.questions, event.fact::<NeedEvent>())
            && event.kind.starts_with("need_")
        {
            let detail = event.body.as_deref().unwrap_or_default();
            for run in std::iter::once(self.run).chain(self.parts.at_work().map(Printer::run)) {
                lines.extend(questions.lines_about(&fact, detail, run, &context.out));
            }
        }
        if context.json {
            context.out.json(event);
        } else {
            self.bar.suspend(|| lines.iter().for_each(|line| context.out.line(line)));
        }
        self.bar.set_length(self.printer.tasks());
        self.bar.set_position(self.printer.merged());
        self.bar.set_message(self.printer.at_work());
    }

    fn heed_signals(&mut self, context: &mut Context) -> Result<Option<Ending>, Failure> {
        let arrived: Vec<_> = self.signals.pending().collect();
        if arrived.contains(&SIGTERM) {
            return Ok(Some(Ending::Signal(143)));
        }
        if arrived.contains(&SIGINT) {
            if self.interrupted.is_some() {
                return self.stop(context).map(Some);
            }
            self.interrupted = Some(Instant::now());
            let how = format!("the run goes on; follow it again: switchboard run --resume {}", self.run);
            self.say(&how, context);
            self.say("Ctrl-C once more stops its workers", context);
        }
        let has_left = self.interrupted.is_some_and(|since| since.elapsed() > SECOND_INTERRUPT_WINDOW);
        Ok(has_left.then_some(Ending::Signal(130)))
    }

    fn stop(&mut self, context: &mut Context) -> Result<Ending, Failure> {
        let request = StopRunRequest { what: self.run.to_string(), tasks: Vec::new(), grace_ms: None };
        let reply = self.call_with_retry(context, |client| client.call::<StopRun>(&request))?;
        self.say(&format!("{} is told to stop; what is merged stays in its branch", reply.run), context);
        Ok(Ending::Signal(130))
    }

    fn say(&self, line: &str, context: &mut Context) {
        if !context.json {
            self.bar.suspend(|| context.out.line(line));
        }
    }

    fn get(&mut self, context: &Context) -> Result<GetRunReply, Failure> {
        let request = GetRunRequest { run: Some(self.run.to_string()), ..GetRunRequest::default() };
        self.call_with_retry(context, |client| client.call::<GetRun>(&request))
    }

    /// Fetches the answers of the run's reports, in the order of the plan, up to [`ANSWERS`].
    fn answers(&mut self, report: &GetRunReply, context: &Context) -> Result<Vec<(String, Answer)>, Failure> {
        let is_report = |task: &&TaskReport| task.of.is_none() && task.state == "done";
        let mut answers = Vec::new();
        for task in report.list.iter().filter(is_report).take(ANSWERS) {
            let task = format!("{}/{}", self.run, task.id);
            let request = ShowTaskRequest { task, diff: false, answer_from: Some(0) };
            let reply = self.call_with_retry(context, |client| client.call::<ShowTask>(&request))?;
            answers.extend(reply.answer.map(|answer| (reply.task.id, answer)));
        }
        Ok(answers)
    }

    /// Returns the question whether to merge the run's branch into the user's. If the run `is_to_ask`, this waits: it asks once its end is recorded.
    fn merge_question(
        &mut self,
        report: &GetRunReply,
        is_to_ask: bool,
        context: &Context,
    ) -> Result<Option<Need>, Failure> {
        let deadline = Instant::now() + if is_to_ask { QUESTION_LIMIT } else { Duration::ZERO };
        if report.summary.state != "succeeded" || report.summary.is_merged {
            return Ok(None);
        }
        loop {
            let needs =
                self.call_with_retry(context, |client| client.call::<ListNeeds>(&ListNeedsRequest::default()))?.needs;
            let is_it = |need: &Need| need.kind == NeedKind::Merge && need.run.as_ref() == Some(self.run);
            let found = needs.into_iter().find(is_it);
            if found.is_some() || Instant::now() >= deadline {
                return Ok(found);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Prints the report, does the requested merge, and verifies the record.
    fn conclude(mut self, merge: AutoMerge, context: &mut Context) -> Outcome {
        let mut report = self.get(context)?;
        let mut refused = None;
        if merge == AutoMerge::Auto && report.summary.state == "succeeded" {
            let request = MergeRunRequest { run: Some(self.run.to_string()), partial: false };
            match self.call_with_retry(context, |client| client.call_within::<MergeRun>(&request, MERGE_LIMIT)) {
                Ok(merged) => merged.notes.iter().for_each(|note| self.say(&format!("note: {note}"), context)),
                Err(failure) => refused = Some(failure),
            }
            report = self.get(context)?;
        }
        let verified = self.call_with_retry(context, |client| client.call::<VerifyLog>(&VerifyLogRequest {}))?;
        let answers = self.answers(&report, context)?;
        if context.json {
            let told = |(task, answer): &(String, Answer)| serde_json::json!({ "task": task, "answer": answer });
            let answers: Vec<_> = answers.iter().map(told).collect();
            context.out.json(&serde_json::json!({ "report": report, "answers": answers, "verified": verified }));
        } else {
            context.out.line("");
            run_report::print(&report, &mut context.out);
            answers.iter().for_each(|(task, answer)| run_report::print_answer(task, answer, &mut context.out));
            context.out.line(format!("record: {} events, {}", verified.events, verified.summary));
            let asks = self.merge_question(&report, merge == AutoMerge::Confirm, context)?;
            next_step(&report, asks.as_ref(), context);
        }
        if let Some(failure) = refused {
            return Err(failure.into());
        }
        if !verified.is_intact {
            return Err(Failure::new("store.corrupt", verified.summary).hint("switchboard verify").into());
        }
        run_report::exit(&report).map_or(Ok(()), |exit| Err(Ending::Said(exit)))
    }
}

/// Returns true if no worker is active and none will be before a person raises the budget or frees disk space.
fn waits_for_person(run: &GetRunReply) -> bool {
    if run.summary.paused == Some(PauseCause::Disk) {
        // Work that waits to be written waits for the disk, too.
        return run.list.iter().all(|task| !matches!(task.state.as_str(), "starting" | "working"));
    }
    let is_dear = |task: &TaskReport| task.paused.is_some_and(|cause| !cause.is_requested());
    let is_short = matches!(run.summary.paused, Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day));
    let is_held = is_short || run.list.iter().any(is_dear);
    // A task that can start is started at once, so every unfinished one waits for a task that is held.
    let waits = |task: &TaskReport| !matches!(task.state.as_str(), "ready" | "passed") || run.summary.paused.is_some();
    is_held && run.list.iter().all(|task| is_at_rest(task) && waits(task))
}

fn is_at_rest(task: &TaskReport) -> bool {
    !matches!(task.state.as_str(), "starting" | "working" | "capturing" | "gating" | "merging")
}

fn next_step(report: &GetRunReply, asks: Option<&Need>, context: &mut Context) {
    let run = &report.summary.run;
    let line = match run_report::exit(report) {
        None if asks.is_some() => {
            let need = asks.map(|need| need.id.as_str()).unwrap_or_default();
            format!("may it be merged into {}? switchboard approve {need}, or deny", report.summary.target)
        }
        None if report.summary.is_merged => format!("merged into {}", report.summary.target),
        None if report.list.iter().all(|task| task.state != "merged") => "nothing is to be merged".to_owned(),
        None => format!("take it over: switchboard merge {run}"),
        Some(_) if report.summary.mode.is_some() => {
            format!("see why: switchboard show {run}   let it go on: switchboard run --resume {run}")
        }
        Some(_) if let Some(ceiling) = stopped_at(report) => match ceiling.of {
            BudgetScope::Run => {
                format!(
                    "try again: switchboard retry {run}   and raise its ceiling: switchboard budget {run} --budget USD"
                )
            }
            BudgetScope::Plan | BudgetScope::Day => {
                format!("a ceiling that it shares is reached: switchboard budget {run}   then: switchboard retry {run}")
            }
        },
        Some(_) => format!("see why: switchboard show {run}   try again: switchboard retry {run}"),
    };
    context.out.line(line);
}

/// Returns the reached ceiling that stops a run.
fn stopped_at(report: &GetRunReply) -> Option<&Ceiling> {
    report.ceilings.iter().find(|ceiling| ceiling.is_reached() && ceiling.at_ceiling == AtCeiling::Halt)
}

/// Creates a progress bar below the lines, on a terminal only.
fn bar(tasks: u64, context: &Context) -> ProgressBar {
    if tasks == 0 || context.json || !context.environment.stdout_is_terminal || !context.environment.stderr_is_terminal
    {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(tasks), ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} merged  {elapsed}  {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
