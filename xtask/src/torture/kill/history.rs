//! Compares what the actors were told with the record.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::actors::{CallLog, Target};

/// Counts of the comparison; a broken promise is an error instead.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) sent: usize,
    pub(super) acked: usize,
    pub(super) retried: u64,
    pub(super) redelivered: usize,
    pub(super) leases: usize,
    pub(super) events: usize,
}

/// State of one message according to the record.
#[derive(Debug, Default)]
struct Story {
    recipient: String,
    number: u64,
    sent: u32,
    acked: u32,
    after_end: u32,
}

/// Compares the log of the actors with the record.
pub(super) fn compare(post: &Target, log: CallLog) -> anyhow::Result<Verdict> {
    let verified = post.verify()?;
    ensure!(verified["is_intact"] == true, "the record does not verify: {}", verified["summary"]);
    let events = post.events()?;
    let stories = stories(&events)?;
    for (id, (recipient, ..)) in &log.accepted {
        let story = stories.get(id.as_str()).with_context(|| format!("{id} was accepted and is lost"))?;
        ensure!(story.recipient == *recipient, "{id} went to {} instead of {recipient}", story.recipient);
    }
    for (id, story) in &stories {
        ensure!(log.tried.contains_key(id), "{id} was never sent");
        ensure!(story.sent == 1, "{id} is there {} times", story.sent);
        ensure!(story.acked == 1, "{id} was acknowledged {} times", story.acked);
        ensure!(story.after_end == 0, "{id} went on after its end");
    }
    in_order(&log, &stories)?;
    let acked: BTreeSet<_> = log.acked.iter().collect();
    ensure!(acked.len() == log.acked.len(), "a message was confirmed to two deliveries");
    leases(log.leases.clone())?;
    Ok(Verdict {
        sent: log.accepted.len(),
        acked: acked.len(),
        retried: log.retried,
        redelivered: log.delivered.iter().filter(|(_, attempt)| *attempt > 1).count(),
        leases: log.leases.len(),
        events: events.len(),
    })
}

fn stories(events: &[Value]) -> anyhow::Result<BTreeMap<String, Story>> {
    let mut stories: BTreeMap<String, Story> = BTreeMap::new();
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    for event in events {
        let kind = event["kind"].as_str().unwrap_or_default();
        if !kind.starts_with("message_") {
            continue;
        }
        let id = event["facts"]["id"].as_str().context("a message event without an id")?;
        let story = stories.entry(id.to_owned()).or_default();
        match kind {
            "message_sent" => {
                story.sent += 1;
                event["facts"]["recipient"].as_str().unwrap_or_default().clone_into(&mut story.recipient);
                story.number = event["rev"].as_u64().context("rev")?;
                let number = numbers.entry(story.recipient.clone()).or_default();
                *number += 1;
                ensure!(story.number == *number, "the inbox of {} has a gap at {number}", story.recipient);
            }
            "message_acked" => story.acked += 1,
            "message_leased" | "message_returned" | "message_extended" => story.after_end += story.acked,
            "message_ended" => bail!("{id} ended without an acknowledgement: {}", event["facts"]),
            _ => {}
        }
    }
    Ok(stories)
}

/// Checks that messages of one sender to one recipient are in the order of sending.
fn in_order(log: &CallLog, stories: &BTreeMap<String, Story>) -> anyhow::Result<()> {
    let mut last: BTreeMap<(usize, &str), (u64, u64)> = BTreeMap::new();
    let mut sent: Vec<_> =
        log.accepted.iter().map(|(id, (recipient, sender, count))| (*sender, *count, recipient, id)).collect();
    sent.sort();
    for (sender, count, recipient, id) in sent {
        let number = stories.get(id).map_or(0, |story| story.number);
        if let Some((before, earlier)) = last.insert((sender, recipient), (number, count)) {
            ensure!(
                before < number,
                "message {count} of sender {sender} to {recipient} stands before its message {earlier}"
            );
        }
    }
    Ok(())
}

/// Checks that no two holders overlap in time, and that later tokens are larger.
fn leases(mut leases: Vec<(u64, u64, u64)>) -> anyhow::Result<()> {
    leases.sort_by_key(|(_, since, _)| *since);
    for pair in leases.windows(2) {
        let ((first, _, until), (second, since, _)) = (pair[0], pair[1]);
        ensure!(until < since, "two holders at one time: tokens {first} and {second}");
        ensure!(first < second, "token {second} was given out after {first}");
    }
    Ok(())
}
