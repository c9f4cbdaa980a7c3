//! `switchboard messages`

use protocol::error::Failure;
use protocol::id::AgentName;
use protocol::message::{DeliveryState, Message, QueueState};
use protocol::verb::bus::{ListMessages, ListMessagesRequest};

use crate::context::Context;
use crate::output::{Output, Tone, plain};
use crate::report::Outcome;

/// List messages between agents and how far each has come
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: list_messages")]
pub(crate) struct Args {
    /// Only those from or to this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only those of this state in their queue: ready, leased, acked, dead, expired or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// Asks and shows.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let agent = args
        .agent
        .map(AgentName::new)
        .transpose()
        .map_err(|error| Failure::new("request.bad-args", "--agent is not the name of an agent").because(&error))?;
    let state = args.state.map(queue_state).transpose()?;
    let reply = context.daemon()?.call::<ListMessages>(&ListMessagesRequest { agent, state, limit: args.limit })?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    for message in &reply.messages {
        show(message, &mut context.out);
    }
    context.out.line(format!("{} sent, {} acknowledged", reply.sent, reply.acked));
    if reply.dead > 0 {
        let dead = if reply.dead == 1 { "1 dead letter".to_owned() } else { format!("{} dead letters", reply.dead) };
        context.out.line(format!("{dead}: switchboard messages --state dead; switchboard call revive_message id=ID puts one back"));
    }
    Ok(())
}

fn queue_state(word: String) -> Result<QueueState, Failure> {
    let state: Result<QueueState, _> = serde_json::from_value(word.clone().into());
    let hint = "ready, leased, acked, dead, expired or cancelled";
    state.map_err(|_| Failure::new("request.bad-args", format!("no message is {word:?}")).hint(hint))
}

fn show(message: &Message, out: &mut Output) {
    let claim = if message.sender_verified { "" } else { " (unverified)" };
    let (tone, state) = match message.state {
        DeliveryState::Accepted => (Tone::Notice, "accepted"),
        DeliveryState::Offered => (Tone::Notice, "offered"),
        DeliveryState::Injected => (Tone::Faint, "seen"),
        DeliveryState::Acked => (Tone::Good, "acked"),
        DeliveryState::Done => (Tone::Good, "done"),
    };
    let (tone, state) = match message.queue {
        QueueState::Dead => (Tone::Bad, "dead"),
        QueueState::Expired => (Tone::Bad, "expired"),
        QueueState::Cancelled => (Tone::Faint, "cancelled"),
        QueueState::Ready | QueueState::Leased | QueueState::Acked => (tone, state),
    };
    let head = format!("{} {} {}{claim} -> {}", message.created_at, message.id, message.sender, message.recipient);
    out.line(format!("{head}  {}  {}", message.action.as_str(), out.paint(tone, state)));
    if !message.cause.is_empty() {
        out.line(format!("    ({})", plain(&message.cause)));
    }
    for line in plain(&message.payload).lines() {
        out.line(format!("    {line}"));
    }
}
