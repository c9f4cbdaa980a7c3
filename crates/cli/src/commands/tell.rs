//! `switchboard tell`

use serde_json::json;
use switchboard_protocol::coordination::WORKER_PREFIX;
use switchboard_protocol::error::Failure;
use switchboard_protocol::message::Message;
use switchboard_protocol::verb::Verb as _;
use switchboard_protocol::verb::bus::{ListMessages, ListMessagesRequest, SendMessage, SendMessageReply};
use switchboard_protocol::verb::run::{ShowTask, ShowTaskReply, ShowTaskRequest};

use crate::client::{ANSWER_LIMIT, Client};
use crate::context::Context;
use crate::report::Outcome;

/// Messages that are looked through for those that a task was told.
const LOOK: u32 = 1_000;

/// Tell the worker of a task something, which it sees with its next turn or when it looks
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: send_message\n\nWhether it has seen it: switchboard show TASK")]
pub(crate) struct Args {
    /// `RUN/TASK`, or `TASK` of the newest run
    task: String,
    /// What to tell it
    #[arg(required = true)]
    text: Vec<String>,
}

/// Sends the message to whoever works on the task.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    let request = ShowTaskRequest { task: args.task.clone(), diff: false, answer_from: None };
    let shown = client.call::<ShowTask>(&request)?;
    let unit = unit(&shown);
    let message =
        json!({ "recipient": format!("{WORKER_PREFIX}{unit}"), "payload": args.text.join(" "), "topic": unit });
    let key = Some(crate::client::new_key()?);
    let sent = client.call_value(SendMessage::NAME, message, key, ANSWER_LIMIT)?;
    if context.json {
        context.out.json(&sent);
        return Ok(());
    }
    let sent: SendMessageReply = serde_json::from_value(sent)
        .map_err(|error| Failure::new("daemon.other-version", "the answer has another form").because(&error))?;
    context.out.line(format!("{} has it in its inbox: {}", sent.recipient, sent.id));
    context.out.line(format!("whether it has seen it: switchboard show {unit}"));
    Ok(())
}

/// What a task's workers were told, oldest first.
///
/// # Errors
/// What the daemon refuses: only a person sees it.
pub(super) fn told(shown: &ShowTaskReply, client: &mut Client) -> Result<Vec<Message>, Failure> {
    let agent = switchboard_protocol::id::AgentName::new(shown.task.agent.clone());
    let request = ListMessagesRequest { agent: agent.ok(), state: None, limit: Some(LOOK) };
    let unit = unit(shown);
    let listed = client.call::<ListMessages>(&request)?.messages;
    Ok(listed.into_iter().filter(|message| message.topic == unit).collect())
}

/// How the task is named in the messages that its workers are told.
fn unit(shown: &ShowTaskReply) -> String {
    format!("{}/{}", shown.run, shown.task.id)
}
