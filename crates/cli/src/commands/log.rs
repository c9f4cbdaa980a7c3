//! `switchboard log`

mod entry;
mod raw;

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, ReadFrom};
use switchboard_protocol::verb::run::{ShowTask, ShowTaskReply, ShowTaskRequest};
use switchboard_protocol::verb::system::{ReadEvents, ReadEventsRequest};
use switchboard_protocol::worker::WorkerFact;

use crate::client::Client;
use crate::context::Context;
use crate::report::Outcome;

/// How long one request waits for the next event of a followed task, in milliseconds.
const LOOK_MS: u64 = 1000;

/// Maximum number of events in one request.
const PAGE: u32 = 1000;

/// Show what a task's workers did: turns, tools, answers, failures
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: show_task, read_events, read_output")]
pub(crate) struct Args {
    /// `RUN/TASK`, or `TASK` of the newest run
    task: String,
    /// Keep printing until the task is done; with --raw until its agent has ended
    #[arg(short, long)]
    follow: bool,
    /// Only this attempt; with --raw the worker of this attempt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
    /// Print the raw output of the last worker's agent: its last 256 KiB
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    bounds: raw::Bounds,
}

/// Requests the log and prints it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    if args.raw {
        return raw::run(args, &mut client, context);
    }
    let reply = show(&mut client, &args.task)?;
    let mut log = Log { reply, attempt: args.attempt, workers: BTreeSet::new(), seen: 0, skips: false };
    let mut cursor = ReadFrom::default();
    loop {
        let request = ReadEventsRequest {
            after: cursor,
            limit: Some(PAGE),
            wait_ms: if args.follow { LOOK_MS } else { 0 },
            with_bodies: true,
            ..ReadEventsRequest::default()
        };
        let page = client.call::<ReadEvents>(&request)?;
        let is_all = page.events.len() < PAGE as usize;
        page.events.iter().for_each(|event| log.tell(event, context));
        cursor = ReadFrom::Cursor(page.cursor);
        if context.out.is_closed() || (is_all && !args.follow) {
            break;
        }
        if is_all && page.events.is_empty() {
            log.reply = show(&mut client, &args.task)?;
            if is_settled(&log.reply.task.state) {
                break;
            }
        }
    }
    log.conclude(context)
}

fn show(client: &mut Client, task: &str) -> Result<ShowTaskReply, Failure> {
    client.call::<ShowTask>(&ShowTaskRequest { task: task.to_owned(), diff: false, answer_from: None })
}

fn is_settled(state: &str) -> bool {
    matches!(state, "merged" | "blocked" | "dep_failed" | "stopped")
}

/// The log of one task as it is printed.
struct Log {
    reply: ShowTaskReply,
    /// Attempt to show; `None` shows all.
    attempt: Option<u32>,
    /// Workers of the task that are shown.
    workers: BTreeSet<String>,
    /// Number of entries printed.
    seen: usize,
    /// True while the events belong to an attempt that is not shown.
    skips: bool,
}

// === impl Log ===

impl Log {
    fn tell(&mut self, event: &Event, context: &mut Context) {
        let task = &self.reply.task.id;
        let is_ours = if event.subject.starts_with("worker/") {
            self.is_of_worker(event)
        } else {
            event.subject == format!("run/{}", self.reply.run) && entry::is_about(event, task) && !self.skips
        };
        if !is_ours {
            return;
        }
        if context.json {
            self.seen += 1;
            context.out.json(event);
            return;
        }
        let lines = entry::lines(event, &context.out);
        self.seen += usize::from(!lines.is_empty());
        lines.iter().for_each(|line| context.out.line(line));
    }

    /// Checks whether an event is of a worker that is shown; a worker's first event names its task and attempt.
    fn is_of_worker(&mut self, event: &Event) -> bool {
        match event.fact::<WorkerFact>() {
            Some(WorkerFact::WorkerEquipped { worker, run, task, attempt, .. }) => {
                let is_task = run == self.reply.run && task == self.reply.task.id;
                let is_shown = is_task && self.attempt.is_none_or(|wanted| wanted == attempt);
                if is_task {
                    self.skips = !is_shown;
                }
                if is_shown {
                    self.workers.insert(worker.to_string());
                }
                is_shown
            }
            Some(
                WorkerFact::WorkerReported { worker, .. }
                | WorkerFact::WorkerActed { worker, .. }
                | WorkerFact::WorkerTold { worker, .. }
                | WorkerFact::CallDenied { worker, .. }
                | WorkerFact::WorkerToolsListed { worker }
                | WorkerFact::WorkerToolsMissed { worker }
                | WorkerFact::WorkerUnenforced { worker, .. }
                | WorkerFact::WorkerSuspended { worker, .. }
                | WorkerFact::WorkerFlagged { worker, .. },
            ) => self.workers.contains(worker.as_str()),
            None => false,
        }
    }

    fn conclude(&self, context: &mut Context) -> Outcome {
        if self.seen > 0 || context.json {
            return Ok(());
        }
        let task = &self.reply.task;
        match self.attempt {
            Some(attempt) if task.attempts > 0 => {
                let what = format!("task {} has no attempt {attempt}; attempts so far: {}", task.id, task.attempts);
                Err(Failure::new("request.bad-args", what).into())
            }
            Some(_) | None => {
                context.out.line(format!("no worker has begun with task {}: it is {}", task.id, task.state));
                Ok(())
            }
        }
    }
}
