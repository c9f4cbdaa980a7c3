//! The promises, checked at every answer and at the end.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use switchboard_protocol::message::{Message, QueueState};
use switchboard_protocol::time::Millis;
use switchboard_store::Scope;

use super::world::{Held, Op, World, messages};

/// Refusals that a correct bus may return.
const ALLOWED: [&str; 8] = [
    "bus.lease-lost",
    "bus.settled",
    "bus.inbox-full",
    "bus.unknown-message",
    "store.conflict",
    "bus.not-yours",
    "request.conflict",
    "policy.denied",
];

/// Records an answer in the agents' memory, and fails if it breaks a promise.
pub(super) fn answer(world: &mut World, op: Op, answer: Result<Value, String>) -> anyhow::Result<()> {
    let value = match answer {
        Ok(value) => value,
        Err(code) => {
            ensure!(ALLOWED.contains(&code.as_str()), "{op:?} was answered with {code}");
            world.tally.refused += 1;
            return Ok(());
        }
    };
    match op {
        Op::Send { id, recipient, payload } => {
            if world.accepted.insert(id.clone(), (recipient, payload)).is_none() {
                world.tally.sent += 1;
            } else {
                ensure!(value["duplicate"] == json!(true), "{id} was sent twice and nobody said so");
            }
        }
        Op::Receive { who, at } => delivered(world, who, at, &value)?,
        Op::Ack { id, token, at } => acknowledged(world, &id, token, at)?,
        Op::Nak { id, token, at } => {
            ensure!(is_current(world, &id, token, at), "a delivery that was over gave {id} back");
            world.held.retain(|held| held.token != token);
        }
        Op::Extend { id, token, at } => {
            ensure!(is_current(world, &id, token, at), "a delivery that was over was extended: {id}");
            let until = serde_json::from_value(value["at"].clone())?;
            world.held.iter_mut().filter(|held| held.token == token).for_each(|held| held.until = until);
        }
        Op::Cancel { id } => {
            ensure!(world.ended.get(&id) != Some(&"acked"), "{id} was taken back after it was acknowledged");
            world.ended.insert(id, "cancelled");
            world.tally.cancelled += 1;
        }
        Op::Revive { id } => world.revived.push(id),
        Op::Look { who } => {
            for message in value["messages"].as_array().into_iter().flatten() {
                ensure!(message["recipient"] == json!(who), "{who} was shown somebody else's mail: {message}");
            }
        }
        Op::Sweep => {}
    }
    Ok(())
}

/// Checks that deliveries are new, held by no other agent, not too many, in time and in order.
fn delivered(world: &mut World, who: &'static str, at: Millis, value: &Value) -> anyhow::Result<()> {
    let batch: Vec<Message> = serde_json::from_value(value["messages"].clone())?;
    let all = messages(world)?;
    for (place, message) in batch.iter().enumerate() {
        let id = message.id.as_str();
        let (Some(token), Some(until)) = (message.lease_token, message.lease_until) else {
            bail!("{id} was delivered without a token");
        };
        let last = world.tokens.insert(id.to_owned(), token);
        ensure!(last.is_none_or(|last| last < token), "{id} was delivered with token {token} after {last:?}");
        ensure!(world.ended.get(id) != Some(&"acked"), "{id} was delivered after it was acknowledged");
        let live = world.held.iter().find(|held| held.id == id && held.until > world.now);
        ensure!(live.is_none(), "{id} was delivered while {live:?} held it");
        ensure!(message.expires_at.is_none_or(|end| end > at), "{id} was delivered after its time to live");
        let known = world.tried.get(id).is_some_and(|(to, text)| *to == who && *text == message.payload);
        ensure!(known, "{who} got a message that nobody sent: {message:?}");
        in_order(world, &all, &batch[..place], message)?;
        world.held.retain(|held| held.id != id);
        world.held.push(Held { who, id: id.to_owned(), token, until });
        world.tally.delivered += 1;
        world.tally.redelivered += u64::from(message.attempt > 1);
    }
    Ok(())
}

/// Checks that no earlier message of the same lane and key is still waiting, except those that came with it.
fn in_order(world: &World, all: &[Message], before: &[Message], message: &Message) -> anyhow::Result<()> {
    let lane = |message: &Message| (message.recipient.clone(), message.priority, key(message));
    let overtaken = all.iter().find(|other| {
        other.seq < message.seq
            && lane(other) == lane(message)
            && other.queue.is_open()
            && !before.iter().any(|earlier| earlier.id == other.id)
            && !world.revived.contains(&other.id.to_string())
            && (other.attempt > 0 || !is_delayed(other))
            && other.expires_at.is_none_or(|end| end > world.now)
    });
    match overtaken {
        Some(other) => bail!("{} overtook {} ({:?}, attempt {})", message.id, other.id, other.queue, other.attempt),
        None => Ok(()),
    }
}

/// Returns the number in an id, from which all else about its message follows.
fn number(message: &Message) -> u64 {
    message.id.as_str().split('_').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn key(message: &Message) -> u64 {
    match number(message).wrapping_mul(0x9E37_79B9) >> 7 & 3 {
        0 | 1 => 0,
        other => other,
    }
}

fn is_delayed(message: &Message) -> bool {
    number(message).is_multiple_of(7)
}

/// Returns whether the delivery held the message when the call began; while the call is under way no other agent can
/// have it.
fn is_current(world: &World, id: &str, token: u64, at: Millis) -> bool {
    world.held.iter().any(|held| held.id == id && held.token == token && held.until > at)
}

fn acknowledged(world: &mut World, id: &str, token: u64, at: Millis) -> anyhow::Result<()> {
    let again = world.ended.insert(id.to_owned(), "acked") == Some("acked");
    ensure!(again || is_current(world, id, token, at), "{id} was acknowledged by a delivery that was over");
    world.tally.acked += u64::from(!again);
    world.held.retain(|held| held.id != id);
    Ok(())
}

/// Checks that the counters equal what the queue holds.
pub(super) fn inboxes(world: &World, agents: &[&str]) -> anyhow::Result<()> {
    let mut open: BTreeMap<String, u64> = BTreeMap::new();
    for message in messages(world)? {
        *open.entry(message.recipient.to_string()).or_default() += u64::from(message.queue.is_open());
    }
    let roster = switchboard_bus::roster(&world.store).map_err(|error| anyhow::anyhow!("{error}"))?;
    for agent in roster.iter().filter(|agent| agents.contains(&agent.name.as_str())) {
        let counted = open.get(agent.name.as_str()).copied().unwrap_or(0);
        ensure!(agent.unread == counted, "{} has {counted} open messages and {} are counted", agent.name, agent.unread);
    }
    Ok(())
}

/// Checks at the end that nothing is lost, doubled or invented, and that the tables match the log.
pub(super) fn whole(world: &mut World) -> anyhow::Result<()> {
    let all = messages(world)?;
    for (id, (recipient, payload)) in &world.accepted {
        let found: Vec<_> = all.iter().filter(|message| message.id.as_str() == id).collect();
        ensure!(found.len() == 1, "{id} was accepted and is there {} times", found.len());
        ensure!(found[0].recipient.as_str() == *recipient && found[0].payload == *payload, "{id} is not what was sent");
    }
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    for message in &all {
        ensure!(world.tried.contains_key(message.id.as_str()), "{} was never sent", message.id);
        let number = numbers.entry(message.recipient.to_string()).or_default();
        *number += 1;
        ensure!(
            message.number == *number,
            "the inbox of {} goes from {} to {}",
            message.recipient,
            *number - 1,
            message.number
        );
        match (world.ended.get(message.id.as_str()), message.queue) {
            (Some(&"acked"), QueueState::Acked) | (Some(&"cancelled"), QueueState::Cancelled) | (None, _) => {}
            (Some(ended), queue) => bail!("{} is {} after it was {ended}", message.id, queue.as_str()),
        }
        world.tally.dead += u64::from(message.queue == QueueState::Dead);
        world.tally.expired += u64::from(message.queue == QueueState::Expired);
    }
    let report = world.store.verify(Scope::All)?;
    ensure!(report.is_clean(), "the store does not verify: {}", report.verdict());
    Ok(())
}
