//! Compares the record of messages with the times in which their recipient was able to see them.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Milliseconds before or after the end of a turn that count as its edge.
const EDGE_MS: i64 = 3;

/// All events, oldest first.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) events: Vec<Value>,
}

/// Times when an agent was able to see mail: spans of the time of day in milliseconds, in order.
#[derive(Debug, Default)]
pub(super) struct VisibleSpans {
    pub(super) spans: Vec<(i64, i64)>,
    /// Times when it was running at all, able or busy.
    pub(super) alive: Vec<(i64, i64)>,
}

// === impl VisibleSpans ===

impl VisibleSpans {
    /// Returns how long it was able to see mail between two moments.
    fn between(&self, from: i64, to: i64) -> i64 {
        self.spans.iter().map(|(begin, end)| (to.min(*end) - from.max(*begin)).max(0)).sum()
    }

    /// Returns its state at a moment.
    fn state(&self, at: i64) -> &'static str {
        let holds = |spans: &[(i64, i64)]| spans.iter().any(|(begin, end)| (*begin..=*end).contains(&at));
        if self.spans.iter().any(|(begin, end)| (at - begin).abs() <= EDGE_MS || (at - end).abs() <= EDGE_MS) {
            "edge"
        } else if holds(&self.spans) {
            "idle"
        } else if holds(&self.alive) {
            "busy"
        } else {
            "dead"
        }
    }
}

// === impl Record ===

impl Record {
    /// Returns the time of an event in milliseconds.
    pub(super) fn at(event: &Value) -> anyhow::Result<i64> {
        event["ts"].as_i64().with_context(|| format!("no time in {event}"))
    }

    /// Returns how soon messages were seen, by state; fails for a message that was seen too late or not at all, and for
    /// cancelled work.
    pub(super) fn judge(&self, able: &VisibleSpans, messages: u64, patience: i64) -> anyhow::Result<Value> {
        let mut accepted = BTreeMap::new();
        let (mut waits, mut states) = (BTreeMap::new(), BTreeMap::<_, u64>::new());
        for event in &self.events {
            let id = event["facts"]["id"].as_str().unwrap_or_default();
            match event["kind"].as_str() {
                // Messages that the coordinator took itself are delivered to no agent.
                Some("message_sent") if event["facts"]["taken"] != true => {
                    let at = Self::at(event)?;
                    *states.entry(able.state(at)).or_default() += 1;
                    accepted.insert(id, at);
                }
                Some("message_injected") => {
                    let from = *accepted.get(id).with_context(|| format!("{id} was seen before it was sent"))?;
                    ensure!(
                        event["facts"]["evidence"].as_str().is_some_and(|said| !said.is_empty()),
                        "no evidence: {event}"
                    );
                    waits.entry(id).or_insert(able.between(from, Self::at(event)?));
                }
                _ => {}
            }
        }
        ensure!(accepted.len() as u64 == messages, "{} messages are in the record, not {messages}", accepted.len());
        let unseen: Vec<_> = accepted.keys().filter(|id| !waits.contains_key(*id)).take(5).collect();
        if !unseen.is_empty() {
            bail!("{} of {messages} messages were never seen, {unseen:?} among them", accepted.len() - waits.len());
        }
        let late: Vec<_> = waits.iter().filter(|(_, wait)| **wait > patience).take(5).collect();
        if !late.is_empty() {
            bail!("messages that could be seen for more than {patience} ms were not: {late:?}");
        }
        // A worker is idle for milliseconds only, so idle and edge count as one state here.
        for any in [&["busy"][..], &["dead"], &["edge", "idle"]] {
            let is_met = messages < 500 || any.iter().any(|state| states.contains_key(state));
            ensure!(is_met, "nothing was sent to an agent that is {any:?}");
        }
        let mut waits: Vec<_> = waits.into_values().collect();
        waits.sort_unstable();
        let rank = |percent: usize| waits.get((waits.len() * percent / 100).min(waits.len().saturating_sub(1)));
        Ok(json!({
            "messages": messages, "seen": waits.len(), "seen_rate": 1.0, "cancelled_calls": self.cancelled()?,
            "able_p50_ms": rank(50), "able_p99_ms": rank(99), "able_max_ms": waits.last(), "sent_to": states,
        }))
    }

    /// Counts calls and turns that were cut short from outside: there must be none.
    fn cancelled(&self) -> anyhow::Result<u64> {
        for event in self.events.iter().filter(|event| event["kind"] == "worker_reported") {
            let what = &event["facts"]["what"];
            let is_cut = match what["kind"].as_str() {
                // A turn in which the agent itself died ends with `error`.
                Some("turn_ended") => !["end_turn", "error"].contains(&what["stop"].as_str().unwrap_or_default()),
                Some("tool_called") => ["failed", "cancelled"].contains(&what["status"].as_str().unwrap_or_default()),
                _ => false,
            };
            ensure!(!is_cut, "work was cut short: {event}");
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able() -> VisibleSpans {
        VisibleSpans { spans: vec![(0, 1_000), (5_000, 9_000)], alive: vec![(0, 9_000)] }
    }

    fn record(seen_at: Option<i64>, stop: &str) -> Record {
        let sent = json!({ "kind": "message_sent", "ts": 500, "facts": { "id": "msg_1" } });
        let turn =
            json!({ "kind": "worker_reported", "ts": 1, "facts": { "what": { "kind": "turn_ended", "stop": stop } } });
        let seen =
            |at| json!({ "kind": "message_injected", "ts": at, "facts": { "id": "msg_1", "evidence": "turn 2" } });
        Record { events: [turn, sent].into_iter().chain(seen_at.map(seen)).collect() }
    }

    fn judged(record: &Record) -> Result<Value, String> {
        record.judge(&able(), 1, 2_000).map_err(|error| error.to_string())
    }

    #[test]
    fn a_message_that_is_delivered_to_nobody_is_not_waited_for() {
        let mut record = record(Some(600), "end_turn");
        record.events.push(json!({ "kind": "message_sent", "ts": 700, "facts": { "id": "msg_2", "taken": true } }));

        assert!(judged(&record).is_ok());
    }

    #[test]
    fn only_time_in_which_the_recipient_was_able_to_see_counts() {
        assert_eq!(judged(&record(Some(6_000), "end_turn")).unwrap()["able_max_ms"], 1_500);
    }

    #[test]
    fn a_message_that_is_seen_late_or_never_and_work_that_is_cancelled_are_found() {
        let faults = [record(Some(7_000), "end_turn"), record(None, "end_turn"), record(Some(600), "cancelled")];

        let found = faults.map(|record| judged(&record).unwrap_err());

        assert!(found[0].contains("for more than 2000 ms"), "{}", found[0]);
        assert!(found[1].contains("never seen"), "{}", found[1]);
        assert!(found[2].contains("cut short"), "{}", found[2]);
    }
}
