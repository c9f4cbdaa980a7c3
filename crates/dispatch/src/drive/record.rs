//! Modes of a run, folded from the log: the state, the texts, and the parts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_pipeline::modes::{At, State};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, Lsn, NewEvent};
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::modes::{MAX_NOW, ModeEvent, ModeFact, PartWork, PhaseOutcome};
use switchboard_protocol::run::RunOutcome;
use switchboard_protocol::text::cut;
use switchboard_store::{Batch, Idempotency, Store};

use crate::Error;
use crate::error::shape;
use crate::world::World;

/// Number of events read at once.
const PAGE: usize = 500;

/// Returns the subject of a run's mode events.
pub(crate) fn subject(run: &RunId) -> String {
    format!("modes/{run}")
}

/// Run that was started for a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) step: u32,
    pub(crate) run: RunId,
    pub(crate) what: String,
    pub(crate) work: PartWork,
}

/// Record of a run's modes.
pub(crate) struct Record {
    run: RunId,
    /// Revision of the subject up to which everything is folded.
    rev: u64,
    state: State,
    /// Position of the event whose body each text is, by the text's digest.
    texts: BTreeMap<Digest, Lsn>,
    parts: Vec<Part>,
    /// Steps whose phase was carried out.
    carried_out: BTreeSet<u32>,
}

// === impl Record ===

impl Record {
    /// Folds a run's modes from the log.
    pub(crate) fn fold(store: &Store, run: &RunId) -> Result<Self, Error> {
        let mut record = Self {
            run: run.clone(),
            rev: 0,
            state: State::new(),
            texts: BTreeMap::new(),
            parts: Vec::new(),
            carried_out: BTreeSet::new(),
        };
        record.catch_up(store)?;
        Ok(record)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the parts in the order of their starts. A part continued for a later step appears once for each step.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of phases done.
    pub(crate) fn phases_done(&self) -> usize {
        self.state.known().map_or(0, |known| known.done.len())
    }

    /// Returns the part of a step.
    pub(crate) fn part_of(&self, step: u32) -> Option<&Part> {
        self.parts.iter().rev().find(|part| part.step == step)
    }

    /// Returns true if the phase of a step was carried out.
    pub(crate) fn is_carried_out(&self, step: u32) -> bool {
        self.carried_out.contains(&step)
    }

    /// Folds the events recorded since the last call.
    pub(crate) fn catch_up(&mut self, store: &Store) -> Result<(), Error> {
        loop {
            let page = store.events_of(&subject(&self.run), self.rev, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            let last = last.rev;
            for event in &page {
                self.take(store, event)?;
            }
            self.rev = last;
        }
    }

    fn take(&mut self, store: &Store, event: &Event) -> Result<(), Error> {
        match event.fact::<ModeFact>() {
            Some(ModeFact::ModeStepped { event: stepped, .. }) => {
                if let Some(body) = store.body(event.lsn)? {
                    self.texts.insert(Digest::of(body.as_bytes()), event.lsn);
                }
                if let ModeEvent::PhaseEnded { step, outcome: PhaseOutcome::Done, .. } = &stepped {
                    self.carried_out.insert(*step);
                }
                self.state = self.state.then(&stepped);
            }
            Some(ModeFact::PartStarted { step, part, what, work, .. }) => {
                self.parts.push(Part { step, run: part, what, work });
            }
            None => {}
        }
        Ok(())
    }

    /// Records an event with the text whose digest it holds.
    ///
    /// # Errors
    /// When the machine refuses the event or the store fails; nothing has changed then.
    pub(crate) async fn commit(
        &mut self,
        world: &World,
        event: ModeEvent,
        body: String,
        by: &str,
    ) -> Result<(), Error> {
        let (new, _) = self.draft(event, body, by)?;
        let batch = Batch::synced().event(new).expect(subject(&self.run), self.rev);
        let done = world.commit(batch).await;
        self.catch_up(&world.store)?;
        done.map(drop).map_err(Error::from)
    }

    /// Records a drafted event together with the reply to its call. Returns the reply; for a repeated call, the first
    /// one.
    pub(crate) async fn commit_call(
        &mut self,
        world: &World,
        event: NewEvent,
        call: Option<Idempotency>,
        answer: Value,
    ) -> Result<Value, Error> {
        let mut batch = Batch::synced().event(event).expect(subject(&self.run), self.rev).reply(answer);
        batch.idempotency = call;
        let done = world.commit(batch).await;
        self.catch_up(&world.store)?;
        Ok(done?.reply)
    }

    /// Returns the event that records a step, and the state after it.
    pub(crate) fn draft(&self, event: ModeEvent, body: String, by: &str) -> Result<(NewEvent, State), Error> {
        Self::draft_after(&self.state, (&self.run, by), event, body)
    }

    /// Same as [`draft`](Self::draft), from a state that is not recorded yet.
    pub(crate) fn draft_after(
        state: &State,
        (run, by): (&RunId, &str),
        event: ModeEvent,
        body: String,
    ) -> Result<(NewEvent, State), Error> {
        let event = event.fitted();
        let next = state
            .step(&event)
            .map_err(|refused| Error::from(Failure::new("request.conflict", refused.why.clone()).hint(refused.hint)))?;
        let ended = if *next.at() == At::Done { RunOutcome::Succeeded } else { RunOutcome::Stopped };
        let outcome = next.is_over().then_some(ended);
        let now = cut(&next.now(), MAX_NOW);
        let refused = match (&event, next.at()) {
            (ModeEvent::Answered { .. }, At::Asking { refused: Some(why), .. }) => Some(cut(why, MAX_NOW)),
            _ => None,
        };
        let fact = ModeFact::ModeStepped { event, mode: next.mode(), now, refused, outcome };
        let new = NewEvent::of(&fact, subject(run), by).map_err(shape("a mode"))?;
        Ok((if body.is_empty() { new } else { new.with_body(body) }, next))
    }

    /// Records that a part is continued for a later step.
    pub(crate) async fn link(&mut self, world: &World, part: Part) -> Result<(), Error> {
        let Part { step, run, what, work } = part;
        let fact = ModeFact::PartStarted { run: self.run.clone(), step, part: run, what, work };
        let event = NewEvent::of(&fact, subject(&self.run), "daemon").map_err(shape("a part"))?;
        let done = world.commit(Batch::synced().event(event).expect(subject(&self.run), self.rev)).await;
        self.catch_up(&world.store)?;
        done.map(drop).map_err(Error::from)
    }

    /// Returns a text of the record; empty if retention has dropped it.
    pub(crate) fn text(&self, store: &Store, text: &Digest) -> Result<String, Error> {
        let Some(lsn) = self.texts.get(text) else { return Ok(String::new()) };
        Ok(store.body(*lsn)?.unwrap_or_default())
    }
}
