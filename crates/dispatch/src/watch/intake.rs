//! Handles one frame: records it with the steps of the run that follow from it, then sends to the shim. The
//! record is always ahead of the ack.

use switchboard_pipeline::subtasks::WorkResult;
use switchboard_protocol::coordination::{Note, UnitMessage};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::{ANSWER_FILE, Frame, ShimCommand, WorkerEvent};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::Message;
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::run::{MAX_RATE_WAIT_MS, RATE_WAIT_MS, RunEvent, TurnOutcome};
use switchboard_protocol::worker::{PAUSED, REPORTED_VERSION, WRAP_UP, WorkerFact};
use switchboard_store::{Batch, Durability};
use tokio::time::Instant;

use super::Watch;
use super::ending::{End, RATE_LIMITED};
use crate::error::shape;
use crate::event::{cut, frame_number};
use crate::handle::Record;
use crate::needs::Denied;
use crate::work::{WORKERS, says_stuck};
use crate::{Error, needs, notes, prompt, tools, worker_messages};

/// Maximum number of further turns for waiting mail in one worker.
const MAIL_TURNS: u32 = 8;

/// Maximum number of messages shown in one turn.
const MAIL_PER_TURN: usize = 10;

/// Added to each wait for a rate limit, in milliseconds: clocks and services differ.
const RATE_MARGIN_MS: u64 = 500;

/// Consequences of a report.
struct Follows {
    /// Steps of the run.
    steps: Vec<RunEvent>,
    /// Events of other subjects that belong to them: a question, actions of the worker.
    beside: Vec<NewEvent>,
}

impl From<RunEvent> for Follows {
    fn from(step: RunEvent) -> Self {
        Self { steps: vec![step], beside: Vec::new() }
    }
}

// === impl Watch ===

impl Watch {
    /// Handles a frame, unless it is recorded already.
    pub(super) async fn frame(&mut self, frame: &Frame) -> Result<(), Error> {
        if frame_number(frame) <= self.seen {
            return Ok(());
        }
        let mut beside = self.events_of(frame)?;
        let (flags, must_end) = self.guard(&frame.event)?;
        beside.extend(flags);
        let durability = if is_heavy(&frame.event) { Durability::Synced } else { Durability::Written };
        let steps = self.steps(&frame.event);
        let goes_on = matches!(
            frame.event,
            WorkerEvent::AgentStarted { .. } | WorkerEvent::TurnStarted { .. } | WorkerEvent::CostReported { .. }
        );
        let is_end = !steps.is_empty() && !goes_on;
        self.record(steps, beside, durability).await?;
        self.seen = frame_number(frame);
        if let WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } = &frame.event {
            self.cost = self.cost.saturating_add(micro_usd.unwrap_or(0));
            self.tokens = self.tokens_with(*input_tokens, *output_tokens);
        }
        if let WorkerEvent::Faulted { code, retry_after_ms, .. } = &frame.event
            && code == RATE_LIMITED
            && !self.has_fallback()
        {
            self.limit_account(*retry_after_ms);
        }
        self.world.crash("frame-recorded");
        if must_end {
            self.end_halted().await;
        }
        if is_end {
            self.is_concluded = true;
            self.since = Instant::now();
            self.world.crash("turn-ended");
        }
        self.follow_up(&frame.event).await
    }

    /// Records a report with the first of these steps that the run accepts; only the report if the run has gone on
    /// without this worker.
    async fn record(
        &mut self,
        steps: Vec<Follows>,
        beside: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<(), Error> {
        for Follows { steps, beside: more } in steps {
            let beside = beside.iter().cloned().chain(more).collect();
            let record = Record { steps, beside, durability, ..Record::default() };
            match self.engine.record(record).await {
                Err(Error::Superseded(why)) => tracing::info!(worker = %self.worker, %why, "a late report"),
                done => return done,
            }
        }
        self.world.commit_patiently(&Batch { events: beside, ..Batch::new(durability) }).await?;
        Ok(())
    }

    /// Returns the steps of the run that follow from a report: alternatives, the most specific one first.
    fn steps(&mut self, event: &WorkerEvent) -> Vec<Follows> {
        let (task, worker) = (self.task.clone(), self.worker.clone());
        match event {
            WorkerEvent::AgentStarted { .. } => vec![Follows::from(RunEvent::WorkerStarted { task, worker })],
            WorkerEvent::TurnEnded { stop, text, .. } => {
                self.is_told_to_finish |= stop == WRAP_UP;
                self.is_turn_over = stop == "end_turn" && self.stopping.is_none();
                self.stop = Some(stop.clone());
                self.said.clone_from(text);
                Vec::new()
            }
            WorkerEvent::Faulted { code, what, .. } if self.is_hopeless(code) => {
                let reason = format!("{what} [{code}]");
                let lost = RunEvent::WorkerLost { task: task.clone(), worker, reason: reason.clone() };
                let blocked = RunEvent::TaskBlocked { task, attempt: self.attempt, retries: None, reason };
                vec![Follows { steps: vec![lost, blocked], beside: Vec::new() }]
            }
            WorkerEvent::Faulted { code, what, .. } => {
                self.stop = Some(code.clone());
                self.said.clone_from(what);
                Vec::new()
            }
            WorkerEvent::AgentExited { code, signal, stderr, by_us } => self.ended((*code, *signal), stderr, *by_us),
            WorkerEvent::Sealed { .. } if !self.is_concluded => self.ended((None, None), "", false),
            WorkerEvent::TurnStarted { turn, .. } if *turn > 1 => {
                vec![Follows::from(RunEvent::TurnBegun { task, worker, turn: *turn })]
            }
            WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::Sealed { .. } => Vec::new(),
            WorkerEvent::CostReported { micro_usd: None, input_tokens, output_tokens } => {
                // The costs that an agent reports itself already include these tokens.
                let Some(price) = self.price.filter(|_| self.cost == 0) else { return Vec::new() };
                let (input, output) = self.tokens_with(*input_tokens, *output_tokens);
                let total_micro_usd = price.of(input, output);
                vec![Follows::from(RunEvent::CostCounted { task, worker, total_micro_usd, estimated: true })]
            }
            WorkerEvent::CostReported { micro_usd: Some(cost), .. } => {
                let total_micro_usd = self.cost.saturating_add(*cost);
                vec![Follows::from(RunEvent::CostCounted { task, worker, total_micro_usd, estimated: false })]
            }
        }
    }

    /// Has all workers of the account wait until its service is available again.
    fn limit_account(&self, retry_after_ms: Option<u64>) {
        let wait = retry_after_ms.unwrap_or(RATE_WAIT_MS).min(MAX_RATE_WAIT_MS) + RATE_MARGIN_MS;
        let until = self.world.store.now().plus(i64::try_from(wait).unwrap_or(i64::MAX));
        if self.world.shared.state().limit_account(&self.account, until) {
            self.world.shared.announce();
        }
    }

    /// Returns the total number of tokens, including these.
    const fn tokens_with(&self, input: u64, output: u64) -> (u64, u64) {
        (self.tokens.0.saturating_add(input), self.tokens.1.saturating_add(output))
    }

    /// Handles the end of the agent's turn; if the run has no record of the turn's start, the worker counts as lost.
    fn ended(&mut self, (code, signal): (Option<i32>, Option<i32>), stderr: &str, by_us: bool) -> Vec<Follows> {
        let end = End {
            is_exec: self.is_exec,
            asked: self.stopping.map(|(cause, _)| cause),
            is_turn_over: self.is_turn_over,
            is_told: self.is_told_to_finish,
            stop: self.stop.as_deref(),
            said: &self.said,
            code,
            signal,
            stderr,
            by_us,
        };
        let (outcome, reason) = match self.judged(end.outcome()) {
            (TurnOutcome::Finished, said) if self.is_by_hand => match self.stuck_by_hand() {
                Some(why) => (TurnOutcome::Failed, why),
                None => (TurnOutcome::Finished, said),
            },
            (TurnOutcome::Finished, said) if said.is_empty() && self.is_report() && !self.has_answered() => {
                (TurnOutcome::Failed, "it said nothing, and what it says is the result".to_owned())
            }
            other => other,
        };
        let (outcome, reason, beside) = match outcome {
            TurnOutcome::Finished => match self.actions() {
                Ok(actions) => (outcome, reason, actions),
                Err(why) => (TurnOutcome::Failed, why, Vec::new()),
            },
            TurnOutcome::Failed
            | TurnOutcome::Refused
            | TurnOutcome::Stopped
            | TurnOutcome::TimedOut
            | TurnOutcome::Paused
            | TurnOutcome::RateLimited
            | TurnOutcome::ModelFailed => (outcome, reason, Vec::new()),
        };
        self.has_finished = outcome == TurnOutcome::Finished;
        let (task, worker) = (self.task.clone(), self.worker.clone());
        let lost = RunEvent::WorkerLost { task: task.clone(), worker: worker.clone(), reason: reason.clone() };
        if self.is_taken_back() {
            return vec![Follows::from(lost)];
        }
        let ended = RunEvent::TurnEnded { task, worker, outcome, reason };
        let denied = match outcome {
            TurnOutcome::Failed | TurnOutcome::Refused => self.denied(),
            // Codex ends its turn as cancelled if it is denied something, though nothing stopped it.
            TurnOutcome::Stopped if self.stopping.is_none() => self.denied(),
            TurnOutcome::Finished
            | TurnOutcome::Stopped
            | TurnOutcome::TimedOut
            | TurnOutcome::Paused
            | TurnOutcome::RateLimited
            | TurnOutcome::ModelFailed => None,
        };
        let ended = Follows { steps: vec![ended], beside };
        denied.into_iter().chain([ended, Follows::from(lost)]).collect()
    }

    /// Returns why the leader of the run can't go on with work by hand, if it has reported that last.
    fn stuck_by_hand(&self) -> Option<String> {
        let row = self.world.store.get(WORKERS, &[self.worker.as_str().into()]);
        let row = row.inspect_err(|error| {
            tracing::error!(worker = %self.worker, %error, "what the leader of the run has reported can't be read");
        });
        let row = row.ok().flatten()?;
        let why = says_stuck(&row)?;
        let why = if why.is_empty() { "it does not say why" } else { why };
        Some(format!("{} is stuck: {why}", self.agent))
    }

    /// Returns true if the worker has said something in an earlier turn. Only read if its last turn had no text.
    fn has_answered(&self) -> bool {
        let answer = self.world.ports.files.read(&self.folder.join(ANSWER_FILE));
        answer.is_ok_and(|answer| answer.is_some_and(|bytes| !bytes.trim_ascii().is_empty()))
    }

    /// Returns true if the worker's text is all that is kept of its work.
    fn is_report(&self) -> bool {
        self.plan.shape(&self.task).is_some_and(|shape| shape.result == WorkResult::Report)
    }

    /// Returns the question to the person, if the worker ended without what it was denied. It uses up no attempt.
    fn denied(&self) -> Option<Follows> {
        let (run, by) = (&self.plan.run, self.agent.as_str());
        match needs::ask_about_denied(&self.world, run, &self.task, &self.worker, by) {
            Ok(denied) => denied.map(|Denied { step, asked }| Follows { steps: vec![step], beside: vec![asked] }),
            Err(error) => {
                tracing::error!(worker = %self.worker, %error, "what was denied can't be read");
                None
            }
        }
    }

    fn events_of(&self, frame: &Frame) -> Result<Vec<NewEvent>, Error> {
        let (worker, what) = (self.worker.clone(), frame.event.clone().fitted());
        let fact = WorkerFact::WorkerReported { worker, epoch: frame.epoch, seq: frame.seq, what };
        let mut event =
            NewEvent::of(&fact, format!("worker/{}", self.worker), self.agent.as_str()).map_err(shape("a report"))?;
        event.v = REPORTED_VERSION;
        event.body = frame.event.text().map(str::to_owned);
        let mut events = vec![event];
        match &frame.event {
            WorkerEvent::TurnStarted { turn, mail } if !mail.is_empty() && self.plan.coordination.is_managed() => {
                let evidence = format!("turn {turn} of {}", self.worker);
                events.extend(self.world.ports.mail.injected(mail, &self.agent, &evidence)?);
            }
            WorkerEvent::PermissionAsked { ask, title, options, detail, .. } => {
                let id = self.world.fresh_need()?;
                let (title, options) = (cut(title, 200), needs::options(options));
                let asked = needs::WorkerQuestion { title: &title, detail, options: &options };
                let granted = needs::granted(&self.world, (&self.plan.run, &self.task), &id, &asked)?;
                let fact = NeedEvent::NeedAsked {
                    id,
                    about: NeedAbout::Permission {
                        run: self.plan.run.clone(),
                        task: self.task.to_string(),
                        worker: self.worker.clone(),
                        ask: cut(ask, 80),
                    },
                    title,
                    options,
                    expires_at: needs::expiry(&self.world),
                };
                let event = switchboard_needs::ask_event(&fact, detail.clone(), self.agent.as_str());
                events.push(event.map_err(shape("a question"))?);
                events.extend(granted);
            }
            WorkerEvent::TurnEnded { turn, stop, .. } => {
                if *turn == 1 && !self.is_exec && stop == "end_turn" {
                    events.extend(tools::missed(&self.world, &self.worker)?);
                }
                events.extend(self.cost_note(*turn, frame)?);
            }
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Faulted { .. }
            | WorkerEvent::Sealed { .. } => {}
        }
        Ok(events)
    }

    /// Returns a note about the worker's use so far, for the end of each turn of a managed run. The shim reports the
    /// rest of a turn's cost before its end.
    fn cost_note(&self, turn: u32, frame: &Frame) -> Result<Option<NewEvent>, Error> {
        let (input_tokens, output_tokens) = self.tokens;
        let is_free = self.cost == 0 && input_tokens == 0 && output_tokens == 0;
        if is_free || !self.plan.coordination.is_managed() {
            return Ok(None);
        }
        let what = UnitMessage::Cost {
            run: self.plan.run.clone(),
            unit: self.task.clone(),
            worker: self.worker.clone(),
            turn,
            micro_usd: (self.cost > 0).then_some(self.cost),
            input_tokens,
            output_tokens,
        };
        let (from, to) = (self.agent.clone(), AgentName::coordinator());
        let note = Note { from, to, what, broadcast: None, is_taken: true };
        let id = notes::id(format!("{}.{}.{}", self.worker, frame.epoch, frame.seq))?;
        self.world.ports.mail.noted(&note, id).map(Some)
    }

    /// Returns the messages that the agent has not seen: its mail, or messages to its standalone worker.
    fn unseen(&self) -> Result<Vec<Message>, Error> {
        match self.plan.coordination.is_managed() {
            true => self.world.ports.mail.waiting(&self.agent, MAIL_PER_TURN),
            false => worker_messages::unseen(&self.world, (&self.plan.run, &self.task), &self.agent, MAIL_PER_TURN),
        }
    }

    /// After a turn: opens another one if the agent has unseen mail, else lets the shim finish.
    async fn follow_up(&mut self, event: &WorkerEvent) -> Result<(), Error> {
        match event {
            // The shim opens the next turn itself.
            WorkerEvent::TurnEnded { stop, .. } if stop == WRAP_UP || stop == PAUSED => {}
            WorkerEvent::TurnEnded { stop, .. } if !self.is_exec => {
                let may_go_on = stop == "end_turn" && self.turns < MAIL_TURNS && self.stopping.is_none();
                let waiting = if may_go_on { self.unseen()? } else { Vec::new() };
                let advice = if may_go_on { self.advice() } else { None };
                let is_over = waiting.is_empty() && advice.is_none();
                // Messages that stay unseen because of the budget are shown to the task's next worker.
                if is_over || !self.engine.has_room_for_turn(&self.worker).await? {
                    self.tell(ShimCommand::Finish).await;
                } else {
                    self.turns += 1;
                    self.is_turn_over = false;
                    let mail = match (waiting.is_empty(), self.plan.coordination.is_managed()) {
                        (true, _) => None,
                        (false, true) => Some(prompt::mail(&waiting)),
                        (false, false) => Some(prompt::format_messages(&waiting)),
                    };
                    let advice = advice.map(|words| prompt::outside(&words));
                    let text = advice.into_iter().chain(mail).collect::<Vec<_>>().join("\n\n");
                    let mail = waiting.into_iter().map(|message| message.id).collect();
                    self.tell(ShimCommand::Prompt { text, mail }).await;
                }
            }
            WorkerEvent::Faulted { code, .. } if self.is_hopeless(code) => self.is_concluded = true,
            WorkerEvent::Sealed { .. } => self.is_sealed = true,
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Faulted { .. } => {}
        }
        Ok(())
    }
}

/// Returns true if a report must be on disk before it is acknowledged: costs, questions and ends.
const fn is_heavy(event: &WorkerEvent) -> bool {
    match event {
        WorkerEvent::AgentStarted { .. }
        | WorkerEvent::TurnStarted { .. }
        | WorkerEvent::PermissionAsked { .. }
        | WorkerEvent::CostReported { .. }
        | WorkerEvent::TurnEnded { .. }
        | WorkerEvent::AgentExited { .. }
        | WorkerEvent::Faulted { .. } => true,
        WorkerEvent::SessionOpened { .. }
        | WorkerEvent::ToolCalled { .. }
        | WorkerEvent::PermissionSettled { .. }
        | WorkerEvent::PauseChanged { .. }
        | WorkerEvent::Sealed { .. } => false,
    }
}
