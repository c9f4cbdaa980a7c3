//! Events, the units of the log. Facts are small, chained and never dropped; a body holds only text.

mod fact;
mod facts;
mod limits;

pub use self::fact::Fact;
pub use self::facts::Facts;
pub use self::limits::{MAX_BODY_BYTES, MAX_FACTS_BYTES};

use serde::{Deserialize, Serialize};

use crate::id::Digest;
use crate::time::Millis;

/// Position of an event in the log: dense, from 1.
pub type Lsn = u64;

/// Where to start reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(untagged)]
pub enum ReadFrom {
    /// After the event with this number, whatever it is.
    Lsn(Lsn),
    /// After the position that a cursor stands for, if the record there is still the one that the cursor was made for.
    Cursor(String),
}

impl Default for ReadFrom {
    fn default() -> Self {
        Self::Lsn(0)
    }
}

/// Calls a macro with the subject and the type of each enum of events: `for_each_event!(m)` is `m!("message" A, …)`. The schemas and the
/// page's types are generated from this list.
#[macro_export]
macro_rules! for_each_event {
    ($m:ident) => {
        $m! {
            "agent" $crate::agent::AgentEvent,
            "file" $crate::file::FileEvent,
            "lease" $crate::lease::LeaseEvent,
            "message" $crate::message::MessageEvent,
            "mode" $crate::modes::ModeFact,
            "need" $crate::need::NeedEvent,
            "record" $crate::record::RecordEvent,
            "run" $crate::run::RunEvent,
            "team" $crate::team::TeamEvent,
            "worker" $crate::worker::WorkerFact,
        }
    };
}

/// An event to be appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewEvent {
    /// Kind of the event, in the past tense: `message_sent`.
    pub kind: String,
    /// Version of the facts' shape; an upcaster converts older versions when they are read.
    pub v: u16,
    /// Subject of the event: `run/run_7f3a`, `agent/coder`, `message/msg_01`. Revisions are counted per subject.
    pub subject: String,
    /// Who caused the event: an agent's name, `worker/…`, `daemon`.
    pub actor: String,
    /// Everything that state is rebuilt from, at most [`MAX_FACTS_BYTES`] of compact JSON.
    pub facts: Facts,
    /// Text that may be dropped later: a payload, a prompt, the end of an output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl NewEvent {
    /// Makes an event of version 1 without a body.
    #[must_use]
    pub fn new(
        kind: impl Into<String>,
        subject: impl Into<String>,
        actor: impl Into<String>,
        facts: impl Into<Facts>,
    ) -> Self {
        let facts = facts.into();
        Self { kind: kind.into(), v: 1, subject: subject.into(), actor: actor.into(), facts, body: None }
    }

    /// Makes an event from a typed fact.
    ///
    /// # Errors
    /// When a value of the fact can't be written as JSON: a defect of its type.
    pub fn of<F: Fact>(
        fact: &F,
        subject: impl Into<String>,
        actor: impl Into<String>,
    ) -> Result<Self, serde_json::Error> {
        let (kind, facts) = fact.write()?;
        Ok(Self::new(kind, subject, actor, facts))
    }

    /// Reads the typed fact; `None` if the event belongs to another enum.
    #[must_use]
    pub fn fact<F: Fact>(&self) -> Option<F> {
        F::read(&self.kind, &self.facts)
    }

    /// Adds a body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// An event as the log holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Event {
    /// Position in the log.
    pub lsn: Lsn,
    /// Time at which the store committed the event.
    pub ts: Millis,
    /// Kind of the event, in the past tense.
    pub kind: String,
    /// Version of the facts' shape.
    pub v: u16,
    /// Subject of the event.
    pub subject: String,
    /// Revision of the subject after this event, from 1.
    pub rev: u64,
    /// Who caused the event.
    pub actor: String,
    /// Everything that state is rebuilt from.
    pub facts: Facts,
    /// Text of the event, unless it had none or the text was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Salted hash of the body; zero if the event never had one.
    pub body_hash: Digest,
    /// Hash of the previous event.
    pub prev_hash: Digest,
    /// Hash of all fields above except the text of the body.
    pub hash: Digest,
}

impl Event {
    /// Reads the typed fact; `None` if the event belongs to another enum.
    #[must_use]
    pub fn fact<F: Fact>(&self) -> Option<F> {
        F::read(&self.kind, &self.facts)
    }
}

/// An event of a known subject without its actor, its body and its hashes, for readers of many events of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    /// Position in the log.
    pub lsn: Lsn,
    /// Time at which the store committed the event.
    pub ts: Millis,
    /// Kind of the event, in the past tense.
    pub kind: String,
    /// Revision of the subject after this event, from 1.
    pub rev: u64,
    /// Facts in the newest shape.
    pub facts: Facts,
}

impl RawEvent {
    /// Reads the typed fact; `None` if the event belongs to another enum.
    #[must_use]
    pub fn fact<F: Fact>(&self) -> Option<F> {
        F::read(&self.kind, &self.facts)
    }
}
