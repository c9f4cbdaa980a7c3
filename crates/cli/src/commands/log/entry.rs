//! Formats one event of a task as lines of its log: the local time, what happened, and the text below it.

use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::event::Event;
use switchboard_protocol::run::{RunEvent, TurnOutcome, Verdict};
use switchboard_protocol::worker::{WorkerEvent, WorkerFact};

use crate::output::{Output, Tone, counted, money, one_line, plain, tokens, when};
use crate::run_report::paused;

/// Maximum length of an agent's title or reason in a line, in characters.
const WIDTH: usize = 200;

/// Maximum number of lines shown of a text; the rest is in `log --raw`.
const TEXT_LINES: usize = 40;

/// Returns true if an event of a run is about a task.
pub(super) fn is_about(event: &Event, task: &str) -> bool {
    event.fact::<RunEvent>().is_some_and(|fact| fact.task().is_some_and(|of| of.as_str() == task))
}

/// Returns the lines of an event; none if the log does not show it.
pub(super) fn lines(event: &Event, out: &Output) -> Vec<String> {
    let body = event.body.as_deref().unwrap_or_default();
    let told = if event.subject.starts_with("worker/") {
        event.fact::<WorkerFact>().and_then(|fact| of_worker(fact, body))
    } else {
        event.fact::<RunEvent>().and_then(of_run)
    };
    let Some(EntryText { tone, what, text }) = told else { return Vec::new() };
    let what = match tone {
        Some(tone) => out.paint(tone, &what),
        None => what,
    };
    let mut lines = vec![format!("{}  {what}", out.paint(Tone::Faint, &when(event.ts)))];
    let text = plain(&text);
    let all = text.trim().lines().count();
    lines.extend(text.trim().lines().take(TEXT_LINES).map(|line| format!("          {line}")));
    if all > TEXT_LINES {
        lines.push(format!("          … {} more lines", all - TEXT_LINES));
    }
    lines
}

/// Content of an event, ready to print.
struct EntryText {
    tone: Option<Tone>,
    what: String,
    text: String,
}

fn entry_text(tone: Option<Tone>, what: impl Into<String>) -> Option<EntryText> {
    Some(EntryText { tone, what: what.into(), text: String::new() })
}

fn with_text(tone: Option<Tone>, what: impl Into<String>, text: &str) -> Option<EntryText> {
    Some(EntryText { tone, what: what.into(), text: text.to_owned() })
}

fn of_worker(fact: WorkerFact, body: &str) -> Option<EntryText> {
    match fact {
        WorkerFact::WorkerEquipped { agent, attempt, scripted, isolation, judges, .. } => {
            let script = if scripted { " (a script)" } else { "" };
            let held = if isolation.is_full() { "" } else { ", constrained" };
            let part = judges.map(|judges| format!(" {judges}")).unwrap_or_default();
            entry_text(Some(Tone::Strong), format!("attempt {attempt}: {agent}{script} starts{part}{held}"))
        }
        WorkerFact::WorkerReported { what, .. } => of_report(what, body),
        WorkerFact::WorkerActed { action, .. } => of_action(action, body),
        WorkerFact::WorkerUnenforced { gaps, .. } => {
            entry_text(Some(Tone::Notice), format!("its sandbox is incomplete here: {}", gaps.join("; ")))
        }
        WorkerFact::WorkerTold { by, .. } => with_text(Some(Tone::Notice), format!("is told by {by}"), body),
        WorkerFact::WorkerFlagged { stops, words, .. } => {
            let (tone, what) = if stops { (Tone::Bad, "is stopped: ") } else { (Tone::Notice, "") };
            entry_text(Some(tone), format!("{what}{words}"))
        }
        WorkerFact::WorkerSuspended { ms, .. } => entry_text(Some(Tone::Notice), crate::run_report::suspended(ms)),
        WorkerFact::CallDenied { verb, rule, code, count, .. } => {
            let times = if count > 1 { format!(", {count} times by now") } else { String::new() };
            entry_text(Some(Tone::Notice), format!("was denied {verb}: rule {rule} [{code}]{times}"))
        }
        WorkerFact::WorkerToolsListed { .. } => None,
        WorkerFact::WorkerToolsMissed { .. } => {
            entry_text(Some(Tone::Notice), "the agent does not see Switchboard's tools: it can't read or send mail")
        }
    }
}

/// Formats an action. The body has the whole action, the facts only its beginning.
fn of_action(action: WorkerAction, body: &str) -> Option<EntryText> {
    match serde_json::from_str(body).unwrap_or(action) {
        WorkerAction::ReportStep { state, note, answer: _ } => {
            with_text(None, format!("says of its task: {}", state.as_str()), &note)
        }
        WorkerAction::ProposeTask { description, files, after } => {
            let after: Vec<_> = after.iter().map(ToString::to_string).collect();
            let named = [("files", files.join(", ")), ("after", after.join(", "))];
            let named =
                named.iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| format!("\n{what}: {names}"));
            let text: String = std::iter::once(description).chain(named).collect();
            with_text(Some(Tone::Notice), "proposes a task", &text)
        }
    }
}

fn of_report(what: WorkerEvent, body: &str) -> Option<EntryText> {
    match what {
        WorkerEvent::TurnStarted { turn, mail } => {
            let mail = if mail.is_empty() { String::new() } else { format!(", with {} messages", mail.len()) };
            entry_text(None, format!("turn {turn} begins{mail}"))
        }
        WorkerEvent::ToolCalled { title, tool_kind, status, paths, .. } => {
            let on = if paths.is_empty() { String::new() } else { format!("  {}", one_line(&paths.join(", "), WIDTH)) };
            let what = format!("tool {tool_kind:8} {status:11} {}{on}", one_line(&title, WIDTH));
            let tone = (status == "failed").then_some(Tone::Bad);
            (status != "pending").then(|| with_text(tone, what, body)).flatten()
        }
        WorkerEvent::PermissionAsked { .. } => entry_text(Some(Tone::Notice), "asks you for a permission"),
        WorkerEvent::PermissionSettled { option, .. } => {
            let outcome = option.map_or_else(|| "cancelled".to_owned(), |option| one_line(&option, 60));
            entry_text(Some(Tone::Notice), format!("the permission is settled: {outcome}"))
        }
        WorkerEvent::PauseChanged { state } => entry_text(Some(Tone::Notice), paused(state)),
        WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } => {
            let words: Vec<_> =
                [money(micro_usd), tokens(Some(input_tokens), Some(output_tokens))].into_iter().flatten().collect();
            (!words.is_empty()).then(|| entry_text(Some(Tone::Faint), format!("used {}", words.join(", ")))).flatten()
        }
        WorkerEvent::TurnEnded { turn, stop, .. } => with_text(None, format!("turn {turn} ends: {stop}"), body),
        WorkerEvent::AgentExited { code: Some(0), .. } => entry_text(None, "the agent has ended"),
        WorkerEvent::AgentExited { code, signal, .. } => {
            let how = match (code, signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "no exit state".to_owned(),
            };
            with_text(Some(Tone::Bad), format!("the agent has ended: {how}"), body)
        }
        WorkerEvent::Faulted { code, .. } => with_text(Some(Tone::Bad), format!("fault {code}"), body),
        WorkerEvent::AgentStarted { .. } | WorkerEvent::SessionOpened { .. } | WorkerEvent::Sealed { .. } => None,
    }
}

/// Formats the answer of the worker of a judging step.
fn of_step(step: &str, verdict: Verdict, text: &str) -> Option<EntryText> {
    let (tone, word) = crate::verdict::shown(verdict);
    with_text(Some(tone), format!("step {step} {word}"), text)
}

const fn how_ended(outcome: TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Finished => "finished",
        TurnOutcome::Failed => "failed",
        TurnOutcome::Stopped => "was stopped",
        TurnOutcome::Refused => "was declined by the agent",
        TurnOutcome::TimedOut => "took too long",
        TurnOutcome::Paused => "was interrupted for a pause",
        TurnOutcome::RateLimited => "waits for a rate limit",
        TurnOutcome::ModelFailed => "could not reach its model",
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each event")]
fn of_run(fact: RunEvent) -> Option<EntryText> {
    match fact {
        RunEvent::WorkerLost { reason, .. } => with_text(Some(Tone::Bad), "the worker was lost", &reason),
        RunEvent::TurnEnded { outcome, reason, .. } if outcome != TurnOutcome::Finished => {
            with_text(Some(Tone::Bad), format!("the attempt {}", how_ended(outcome)), &reason)
        }
        RunEvent::ChangeCaptured { left_out, .. } if !left_out.is_empty() => {
            with_text(Some(Tone::Bad), "the change is refused: repositories of their own", &left_out.join("\n"))
        }
        RunEvent::ChangeCaptured { files, files_total, .. } => {
            with_text(None, format!("changed {}", counted(files_total.into(), "file")), &files.join("\n"))
        }
        RunEvent::NothingChanged { step: Some(step), .. } => entry_text(None, crate::run_report::adds_nothing(&step)),
        RunEvent::NothingChanged { step: None, why, .. } => {
            with_text(Some(Tone::Bad), "nothing was changed, so it is not done", &why)
        }
        RunEvent::GateReported { gate, verdict, reasons, .. } => {
            if verdict == Verdict::NotConfigured {
                return None;
            }
            let (tone, word) = crate::verdict::shown(verdict);
            with_text(Some(tone), format!("gate {gate} {word}"), &reasons.join("\n"))
        }
        RunEvent::ChangeFixed { files, files_total, told, .. } => {
            let what = crate::run_report::mended(files_total);
            with_text(None, what, &[files, told].concat().join("\n"))
        }
        RunEvent::ChangeRebased { .. } => entry_text(None, "rebased onto what was merged meanwhile"),
        RunEvent::MergeHeld { lease, .. } => {
            entry_text(Some(Tone::Notice), format!("is held: {}", one_line(&crate::run_report::held_by(&lease), WIDTH)))
        }
        RunEvent::PersonAsked { reason, .. } | RunEvent::ConfirmationAsked { reason, .. } => {
            with_text(Some(Tone::Notice), "waits for you", &reason)
        }
        RunEvent::PersonAnswered { answer, note, .. } => {
            with_text(Some(Tone::Notice), crate::run_report::answered(answer), &note)
        }
        RunEvent::MergeReleased { .. } => entry_text(None, "is not held any more"),
        RunEvent::MergeConflicted { files, .. } => with_text(Some(Tone::Bad), "conflicts", &files.join("\n")),
        RunEvent::TaskMerged { commit, .. } => {
            entry_text(Some(Tone::Good), format!("merged {}", commit.get(..9).unwrap_or(&commit)))
        }
        RunEvent::TaskDone { .. } => entry_text(Some(Tone::Good), "done"),
        RunEvent::StepAnswered { step, verdict, reasons, .. } => of_step(step.as_str(), verdict, &reasons.join("\n")),
        RunEvent::StepSkipped { step, reason, .. } => of_step(step.as_str(), Verdict::Skipped, &reason),
        RunEvent::AnswerRefused { step, reason, .. } => {
            with_text(Some(Tone::Notice), format!("step {step}: the answer can't be used"), &reason)
        }
        RunEvent::TurnOmitted { .. } => entry_text(None, "is not held: all agree"),
        RunEvent::CandidateChosen { candidate, among, .. } => {
            entry_text(Some(Tone::Good), format!("the change of {candidate} is the best of {among}"))
        }
        RunEvent::TaskBlocked { reason, .. } => with_text(Some(Tone::Bad), "blocked", &reason),
        RunEvent::TaskStopRequested { .. } => entry_text(Some(Tone::Notice), "is to stop"),
        RunEvent::TaskRebaseRequested { .. } => entry_text(Some(Tone::Notice), "its tree is to be rebased"),
        RunEvent::TreeRebased { onto, .. } => {
            entry_text(None, format!("its tree is based on {} now", onto.get(..9).unwrap_or(&onto)))
        }
        RunEvent::TreeNotRebased { files, .. } => {
            with_text(Some(Tone::Notice), "its tree was not rebased and is as it was; in conflict:", &files.join("\n"))
        }
        RunEvent::TaskRetryRequested { .. } => entry_text(Some(Tone::Notice), "is tried again"),
        RunEvent::TaskDepFailed { root, .. } => entry_text(Some(Tone::Bad), format!("can't start: {root} is not done")),
        RunEvent::RunCleaned { worktree, branch, commit, bytes, .. } => {
            let tree = (!worktree.is_empty()).then(|| format!("work tree {worktree} ({bytes} bytes)"));
            let branch = (!branch.is_empty()).then(|| format!("branch {branch}, which was at {commit}"));
            let gone: Vec<_> = tree.into_iter().chain(branch).collect();
            with_text(None, "what it left was removed", &gone.join("\n"))
        }
        RunEvent::RunCleanAbandoned { why, .. } => with_text(Some(Tone::Bad), "what it left was not removed", &why),
        RunEvent::RunCleanIntended { .. }
        | RunEvent::TurnEnded { .. }
        | RunEvent::TreeSetupFailed { .. }
        | RunEvent::SetupChosen { .. }
        | RunEvent::LoopTurned { .. }
        | RunEvent::RunConfigured { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::PlanRecorded { .. }
        | RunEvent::WayRecorded { .. }
        | RunEvent::UnitAdded { .. }
        | RunEvent::UnitExtended { .. }
        | RunEvent::WorkerIntended { .. }
        | RunEvent::WorkerStarted { .. }
        | RunEvent::BranchMoved { .. }
        | RunEvent::MergeIntended { .. }
        | RunEvent::RunStopRequested
        | RunEvent::BudgetSet { .. }
        | RunEvent::TaskBudgetSet { .. }
        | RunEvent::CostCounted { .. }
        | RunEvent::TurnBegun { .. }
        | RunEvent::BudgetAlert { .. }
        | RunEvent::RunPaused { .. }
        | RunEvent::RunResumed
        | RunEvent::TaskPaused { .. }
        | RunEvent::TaskResumed { .. }
        | RunEvent::LedSet { .. }
        | RunEvent::StepBegun { .. }
        | RunEvent::ScopeDeclared { .. }
        | RunEvent::RunFinished { .. }
        | RunEvent::RunMergeIntended { .. }
        | RunEvent::RunMerged { .. }
        | RunEvent::RunMergeUndone { .. }
        | RunEvent::RunMergeAbandoned { .. } => None,
    }
}
