//! `switchboard tell`

use switchboard_protocol::error::Failure;
use switchboard_protocol::message::Message;
use switchboard_protocol::verb::bus::{ListMessages, ListMessagesRequest};
use switchboard_protocol::verb::run::{ShowTaskReply, TellWorker, TellWorkerRequest};

use crate::client::Client;
use crate::context::Context;
use crate::report::Outcome;

/// Maximum number of messages searched for those to a task's workers.
const MAX_SEARCHED: u32 = 1_000;

/// Send the worker of a task a message, which it sees with its next turn or when it reads its mail
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: tell_worker\n\nWhether it has seen it: switchboard show TASK")]
pub(crate) struct Args {
    /// `RUN/TASK`, or `TASK` of the newest run
    task: String,
    /// The text of the message
    #[arg(required = true)]
    text: Vec<String>,
}

/// Sends the text to the worker of the task.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let request = TellWorkerRequest { task: args.task.clone(), text: args.text.join(" ") };
    let told = context.daemon()?.call::<TellWorker>(&request)?;
    if context.json {
        context.out.json(&told);
        return Ok(());
    }
    context.out.line(format!("{} has it waiting: {}", told.agent, told.id));
    context.out.line(format!("whether it has seen it: switchboard show {}/{}", told.run, told.task));
    Ok(())
}

/// Returns the messages that were sent to a task's workers, oldest first.
///
/// # Errors
/// The daemon's refusal: only a person may read them.
pub(super) fn messages_to_workers(shown: &ShowTaskReply, client: &mut Client) -> Result<Vec<Message>, Failure> {
    if !shown.told.is_empty() {
        return Ok(shown.told.clone());
    }
    let agent = switchboard_protocol::id::AgentName::new(shown.task.agent.clone());
    let request = ListMessagesRequest { agent: agent.ok(), state: None, limit: Some(MAX_SEARCHED) };
    let unit = unit(shown);
    let listed = client.call::<ListMessages>(&request)?.messages;
    Ok(listed.into_iter().filter(|message| message.topic == unit).collect())
}

/// Returns the name of the task in messages to its workers.
fn unit(shown: &ShowTaskReply) -> String {
    format!("{}/{}", shown.run, shown.task.id)
}
