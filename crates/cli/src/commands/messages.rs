//! `switchboard messages`

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::{DeliveryState, Message, QueueState};
use switchboard_protocol::verb::bus::{ListMessages, ListMessagesRequest};
use switchboard_protocol::verb::search::{MessageHit, SearchMessages, SearchMessagesRequest};

use crate::context::Context;
use crate::output::{Output, Tone, plain, when};
use crate::report::Outcome;

/// List messages between agents and the state of their delivery
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: list_messages, search_messages")]
pub(crate) struct Args {
    /// Only messages from or to this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only messages in this state of their queue: ready, leased, acked, dead, expired or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only messages that contain these words: all of them, "phrases", beginnings*, and none of the -words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    search: Option<String>,
    /// With --search: only messages before this position, as the last line of an answer names it
    #[arg(long, value_name = "SEQ", requires = "search")]
    before: Option<u64>,
    /// Maximum number of messages to list, newest first
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// Requests the messages and prints them.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let agent = args
        .agent
        .map(AgentName::new)
        .transpose()
        .map_err(|error| Failure::new("request.bad-args", "--agent is not the name of an agent").because(&error))?;
    if let Some(text) = args.search {
        return search(SearchMessagesRequest { text, agent, before: args.before, limit: args.limit }, context);
    }
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
        context.out.line(format!(
            "{dead}: switchboard messages --state dead; switchboard call revive_message id=ID puts one back"
        ));
    }
    Ok(())
}

fn queue_state(word: String) -> Result<QueueState, Failure> {
    let state: Result<QueueState, _> = serde_json::from_value(word.clone().into());
    let hint = "ready, leased, acked, dead, expired or cancelled";
    state.map_err(|_| Failure::new("request.bad-args", format!("no message is {word:?}")).hint(hint))
}

fn search(request: SearchMessagesRequest, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call::<SearchMessages>(&request)?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    for hit in &reply.hits {
        show_hit(hit, &mut context.out);
    }
    let count = format!("{} found", reply.hits.len());
    match (reply.next, reply.is_whole) {
        (Some(next), _) => context.out.line(format!("{count}; more with --before {next}")),
        (None, true) => context.out.line(count),
        (None, false) => context.out.line(format!("{count}; the index is still being made, ask again in a moment")),
    }
    Ok(())
}

fn show_hit(hit: &MessageHit, out: &mut Output) {
    let claim = if hit.sender_verified { "" } else { " (unverified)" };
    let (tone, state) = of_state(hit.state);
    let head = format!("{}  {}{claim} -> {}", when(hit.created_at), hit.sender, hit.recipient);
    let id = out.paint(Tone::Faint, hit.id.as_str());
    out.line(format!("{head}  {}  {}  {id}", hit.action.as_str(), out.paint(tone, state)));
    for line in plain(&hit.excerpt).lines() {
        out.line(format!("    {line}"));
    }
}

pub(super) fn of_state(state: DeliveryState) -> (Tone, &'static str) {
    match state {
        DeliveryState::Accepted => (Tone::Notice, "accepted"),
        DeliveryState::Offered => (Tone::Notice, "offered"),
        DeliveryState::Injected => (Tone::Faint, "seen"),
        DeliveryState::Acked => (Tone::Good, "acked"),
        DeliveryState::Done => (Tone::Good, "done"),
    }
}

fn show(message: &Message, out: &mut Output) {
    let claim = if message.sender_verified { "" } else { " (unverified)" };
    let (tone, state) = match message.queue {
        QueueState::Dead => (Tone::Bad, "dead"),
        QueueState::Expired => (Tone::Bad, "expired"),
        QueueState::Cancelled => (Tone::Faint, "cancelled"),
        QueueState::Ready | QueueState::Leased | QueueState::Acked => of_state(message.state),
    };
    let head = format!("{}  {}{claim} -> {}", when(message.created_at), message.sender, message.recipient);
    let id = out.paint(Tone::Faint, message.id.as_str());
    out.line(format!("{head}  {}  {}  {id}", message.action.as_str(), out.paint(tone, state)));
    if !message.cause.is_empty() {
        out.line(format!("    ({})", plain(&message.cause)));
    }
    for line in plain(&message.payload).lines() {
        out.line(format!("    {line}"));
    }
}
