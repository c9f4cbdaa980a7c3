//! `switchboard run --auto`: runs a plan unit by unit until it is done, or until it needs a person.
//!
//! It keeps no state: each turn asks the daemon for the next unit by the record, starts it, and follows it to its end.

use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use switchboard_daemon::Launch;
use switchboard_process::clock;
use switchboard_protocol::error::{self, Failure};
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::AutoMerge;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::auto::{Next, NextStart, NextUnit, NextUnitReply, NextUnitRequest};
use switchboard_protocol::verb::run::{MergeRunRequest, RetryTask, RetryTaskRequest, StartRun, StartRunRequest};

use super::{Shown, follow, refuse_to_spend_unasked, show_preview};
use crate::context::Context;
use crate::output::{Tone, one_line};
use crate::report::{Ending, Outcome};
use crate::{ask, commands};

/// Interval between two checks for signals during a wait.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum length of a reason in characters.
const WIDTH: usize = 300;

/// The loop over one plan.
struct Auto<'a> {
    /// Request that is sent with each unit.
    request: StartRunRequest,
    /// Unit to run; `None` for the whole plan.
    scope: Option<UnitId>,
    shown: Shown<'a>,
    spends: &'a [String],
    /// Number of the last turn before this loop.
    since: Option<u32>,
    /// True if the person has seen what runs and has agreed.
    is_agreed: bool,
    /// The last followed run and its ending, if it ended badly.
    left: Option<(RunId, Ending)>,
    signals: Signals,
}

/// Result of one turn of the loop.
enum Turned {
    GoesOn,
    Over,
}

/// Runs the plan until it is done.
///
/// # Errors
/// What ended the loop before the plan was done; the decision that a person has to make.
pub(super) fn run(request: StartRunRequest, shown: Shown<'_>, spends: &[String], context: &mut Context) -> Outcome {
    let signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::new("internal.bug", "signals can't be listened to").because(&error))?;
    let scope = request.scope.clone();
    let mut auto = Auto { request, scope, shown, spends, since: None, is_agreed: false, left: None, signals };
    loop {
        if let Turned::Over = auto.turn(context)? {
            return Ok(());
        }
    }
}

// === impl Auto ===

impl Auto<'_> {
    fn turn(&mut self, context: &mut Context) -> Result<Turned, Ending> {
        // Not a daemon that ends with its run, because the next run begins right after it.
        let (mut client, _) = context.daemon_for(Launch::default())?;
        let request = NextUnitRequest {
            plan: self.request.plan.clone(),
            source: self.request.source.clone(),
            scope: self.scope.clone(),
            base: self.request.base.clone(),
            since: self.since,
        };
        let reply = client.call::<NextUnit>(&request)?;
        self.since.get_or_insert(reply.turns);
        self.tell(&reply, context);
        match reply.next {
            Next::Done => {
                if let Some(run) = reply.follows {
                    self.take_over(&run, context)?;
                }
                Ok(Turned::Over)
            }
            Next::Stop { code, why } => {
                let code = error::find(&code).map_or("dispatch.stuck", |row| row.code);
                Err(Failure::new(code, why).hint("switchboard timeline").into())
            }
            Next::Wait { run: Some(run), .. } => {
                // It still runs but is no longer followed: it waits for money, or the person has left.
                if let Some((_, ending)) = self.left.take().filter(|(left, _)| *left == run) {
                    return Err(ending);
                }
                if self.shown.dry_run {
                    return Ok(Turned::Over);
                }
                self.follow(&run, reply.cursor, context)
            }
            Next::Wait { run: None, until, .. } => self.wait(until.unwrap_or_default()),
            Next::Ask { why, start } => {
                let can_ask = context.can_ask() && !context.json && !self.shown.dry_run;
                if !can_ask || !ask::yes("Go on?", false)? {
                    let hint = "look at it: switchboard timeline; try it again: switchboard retry RUN, or --auto at a terminal";
                    return Err(Failure::new("dispatch.stuck", why).hint(hint).into());
                }
                self.start(start, reply.cursor, context)
            }
            Next::Start(start) => self.start(start, reply.cursor, context),
        }
    }

    /// Merges the branch that has the plan's work and that the user's branch lacks, if every run is to be merged;
    /// otherwise prints how to do it.
    fn take_over(&self, run: &RunId, context: &mut Context) -> Outcome {
        if self.merges() == AutoMerge::Auto && !self.shown.dry_run {
            // Tasks that this run lacks were merged by others.
            let request = MergeRunRequest { run: Some(run.to_string()), partial: true };
            return commands::merge::merge(&request, context);
        }
        if !context.json {
            context.out.line(format!("take it over: switchboard merge {run}"));
        }
        Ok(())
    }

    /// Starts the next unit, once the person has agreed, and follows it.
    fn start(&mut self, start: NextStart, cursor: u64, context: &mut Context) -> Result<Turned, Ending> {
        let NextStart { unit, run, turn } = start;
        (self.request.scope, self.request.turn, self.request.dry_run) = (unit, Some(turn.clone()), true);
        if !self.agreed(run.is_none(), context)? {
            return Ok(Turned::Over);
        }
        let (mut client, _) = context.daemon_for(Launch::default())?;
        if let Some(run) = run {
            let env = super::inherited_env(context);
            let request = RetryTaskRequest { what: run.to_string(), tasks: Vec::new(), turn: Some(turn), env };
            client.call::<RetryTask>(&request)?;
            return self.follow(&run, cursor, context);
        }
        self.request.dry_run = false;
        let reply = client.call::<StartRun>(&self.request)?;
        let run =
            reply.run.ok_or_else(|| Failure::new("daemon.other-version", "the daemon started a run without an id"))?;
        self.follow(&run, reply.cursor, context)
    }

    /// Shows what the first unit will do, and asks whether the loop may begin.
    fn agreed(&mut self, is_new_run: bool, context: &mut Context) -> Result<bool, Ending> {
        if self.is_agreed {
            return Ok(true);
        }
        if is_new_run {
            let (mut client, _) = context.daemon_for(Launch::default())?;
            let preview = client.call::<StartRun>(&self.request)?;
            show_preview(preview, &self.shown, context);
        }
        if self.shown.dry_run {
            return Ok(false);
        }
        refuse_to_spend_unasked(self.spends, context)?;
        if !context.environment.says_yes
            && context.can_ask()
            && !ask::yes("Start, and go on until the plan is done?", true)?
        {
            return Err(Ending::Said(switchboard_protocol::error::Exit::Person));
        }
        self.is_agreed = true;
        Ok(true)
    }

    /// Returns whether each run is merged into the user's branch.
    fn merges(&self) -> AutoMerge {
        let planned = || self.shown.plan.switchboard.as_ref().and_then(|settings| settings.auto_merge);
        let asked = self.request.auto_merge.or_else(|| self.request.merge.then_some(AutoMerge::Auto));
        asked.or_else(planned).unwrap_or_default()
    }

    fn follow(&mut self, run: &RunId, cursor: u64, context: &mut Context) -> Result<Turned, Ending> {
        let (client, _) = context.daemon_for(Launch::default())?;
        self.left = None;
        match follow::follow(client, run, cursor, self.merges(), context) {
            Ok(()) => Ok(Turned::GoesOn),
            // The outcome of the run is in the record, and the next turn decides by it.
            Err(ending @ Ending::Said(_)) if !context.out.is_closed() => {
                self.left = Some((run.clone(), ending));
                Ok(Turned::GoesOn)
            }
            Err(ending) => Err(ending),
        }
    }

    fn wait(&mut self, until: Millis) -> Result<Turned, Ending> {
        while !self.shown.dry_run && clock::now() < until {
            let arrived: Vec<_> = self.signals.pending().collect();
            if arrived.contains(&SIGTERM) {
                return Err(Ending::Signal(143));
            }
            if arrived.contains(&SIGINT) {
                return Err(Ending::Signal(130));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(if self.shown.dry_run { Turned::Over } else { Turned::GoesOn })
    }

    /// Prints what the loop does next, and why.
    fn tell(&self, reply: &NextUnitReply, context: &mut Context) {
        if context.json {
            context.out.json(&serde_json::json!({ "next": reply.next, "done": reply.done, "follows": reply.follows }));
            return;
        }
        let turn = |start: &NextStart, what: &str| format!("turn {}  {what}: {}", start.turn.number, start.turn.why);
        let (tone, line) = match &reply.next {
            Next::Done => (Tone::Good, self.done(reply)),
            Next::Start(start) if start.run.is_some() => (Tone::Strong, turn(start, "tries again")),
            Next::Start(start) => (Tone::Strong, turn(start, "starts")),
            Next::Wait { why, .. } => (Tone::Notice, format!("waits: {why}")),
            Next::Ask { why, .. } => (Tone::Notice, format!("wants you: {why}")),
            Next::Stop { why, .. } => (Tone::Bad, format!("stops: {why}")),
        };
        let line = one_line(&line, WIDTH);
        context.out.line(context.out.paint(tone, &line));
    }

    fn done(&self, reply: &NextUnitReply) -> String {
        let left_out: Vec<_> = reply.left_out.iter().map(ToString::to_string).collect();
        let left_out = match left_out.as_slice() {
            [] => String::new(),
            ids => format!("; the plan leaves out {}", ids.join(", ")),
        };
        let what = if self.scope.is_some() { "that part of the plan" } else { "the plan" };
        format!("{what} is done, {} tasks merged{left_out}", reply.done.len())
    }
}
