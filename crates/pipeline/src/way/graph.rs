//! A way with numbered steps, whose order is checked once.

use std::collections::BTreeMap;

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::way::{Input, Step, StepAction, StepId, Way, Zone};

/// A way that units can walk. Steps are identified by their index.
#[derive(Debug, Clone)]
pub struct Graph {
    digest: Digest,
    /// Text of the way as recorded; empty for a way that was compiled.
    text: Box<str>,
    steps: Vec<Step>,
    after: Vec<Vec<usize>>,
    back: Vec<Option<usize>>,
    outputs: Vec<Vec<usize>>,
    /// For each step, the steps whose failures it fixes.
    mends: Vec<Vec<usize>>,
}

/// Why a graph of steps is not a way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadWay {
    /// The graph has no steps.
    #[error("a way needs at least one step")]
    Empty,
    /// Two steps have the same id.
    #[error("two steps are called {0}")]
    Twice(StepId),
    /// A step refers to one that is missing or comes later.
    #[error("step {step} names {other}, which does not come before it")]
    NotBefore {
        /// Id of the step.
        step: StepId,
        /// Id of the other step.
        other: StepId,
    },
    /// A step would be reopened by what a later step writes, which in turn waits for it: they would reopen each other
    /// for ever.
    #[error("step {step} reads what the later step {writer} writes")]
    ReopensEarlier {
        /// Id of the step.
        step: StepId,
        /// Id of the later step.
        writer: StepId,
    },
    /// A merge doesn't wait for all steps that may refuse the change.
    #[error("the merge does not wait for step {0}")]
    EarlyMerge(StepId),
    /// The digest can't be computed.
    #[error("the way can't be written as JSON: {0}")]
    Json(String),
}

/// Compares digests only, because all other fields follow from the way.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Graph {}

impl Graph {
    /// Checks a way and numbers its steps. Each step must come after all that it refers to, so that there is no cycle.
    /// A step that writes must not read what a later writer changes.
    ///
    /// # Errors
    /// The first rule that the way breaks.
    pub fn new(way: Way) -> Result<Self, BadWay> {
        let digest = way.digest().map_err(|error| BadWay::Json(error.to_string()))?;
        Self::recorded(way, digest, "")
    }

    /// As [`new`](Self::new), for a way that was recorded as this text under this digest.
    pub(super) fn recorded(way: Way, digest: Digest, text: &str) -> Result<Self, BadWay> {
        if way.steps.is_empty() {
            return Err(BadWay::Empty);
        }
        let mut known = BTreeMap::new();
        let mut graph = Self {
            digest,
            text: text.into(),
            steps: Vec::new(),
            after: Vec::new(),
            back: Vec::new(),
            outputs: Vec::new(),
            mends: Vec::new(),
        };
        for (at, step) in way.steps.into_iter().enumerate() {
            if known.insert(step.id.clone(), at).is_some() {
                return Err(BadWay::Twice(step.id));
            }
            graph.add(at, step, &known)?;
        }
        graph.check_writers()?;
        graph.check_merge()?;
        Ok(graph)
    }

    fn add(&mut self, at: usize, step: Step, known: &BTreeMap<StepId, usize>) -> Result<(), BadWay> {
        let earlier = |other: &StepId| {
            let missing = || BadWay::NotBefore { step: step.id.clone(), other: other.clone() };
            known.get(other).copied().filter(|found| *found < at).ok_or_else(missing)
        };
        let own_or_earlier = |other: &StepId| if *other == step.id { Ok(at) } else { earlier(other) };
        let after = step.after.iter().map(earlier).collect::<Result<Vec<_>, _>>()?;
        let back = step.back.as_ref().map(own_or_earlier).transpose()?;
        let read = step.reads.iter().filter_map(|input| match input {
            Input::Output(other) => Some(earlier(other)),
            Input::Spec | Input::Plan | Input::Source | Input::Tests | Input::Tree | Input::Head => None,
        });
        let outputs = read.collect::<Result<Vec<_>, _>>()?;
        self.mends.push(Vec::new());
        if let Some(back) = back {
            self.mends[back].push(at);
        }
        self.after.push(after);
        self.back.push(back);
        self.outputs.push(outputs);
        self.steps.push(step);
        Ok(())
    }

    /// Rejects two writers that read each other's zones, which would make each other stale for ever.
    fn check_writers(&self) -> Result<(), BadWay> {
        for (at, step) in self.steps.iter().enumerate().filter(|(_, step)| !step.does.writes().is_empty()) {
            let later = self.steps.iter().skip(at + 1);
            if let Some(writer) = later.into_iter().find(|later| reads_any(step, later.does.writes())) {
                return Err(BadWay::ReopensEarlier { step: step.id.clone(), writer: writer.id.clone() });
            }
        }
        Ok(())
    }

    /// Checks that the branch can only move to a tree that all steps have passed.
    fn check_merge(&self) -> Result<(), BadWay> {
        let Some(merge) = self.steps.iter().position(|step| matches!(step.does, StepAction::Merge)) else {
            return Ok(());
        };
        let mut waits_for = vec![false; self.steps.len()];
        let mut next = vec![merge];
        while let Some(at) = next.pop() {
            if !std::mem::replace(&mut waits_for[at], true) {
                next.extend(&self.after[at]);
            }
        }
        let missed = waits_for.iter().position(|waits| !waits);
        missed.map_or(Ok(()), |at| Err(BadWay::EarlyMerge(self.steps[at].id.clone())))
    }

    /// Returns the digest of the way.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the way in its recorded form.
    #[must_use]
    pub fn way(&self) -> Way {
        Way { steps: self.steps.clone() }
    }

    /// Returns the index of a step.
    #[must_use]
    pub fn find(&self, id: &StepId) -> Option<usize> {
        self.steps.iter().position(|step| step.id == *id)
    }

    /// Returns the step that makes the change or the report: the first one whose worker is not asked to answer about
    /// something else, the choice among changes of others, or the step that collects what a group has merged.
    #[must_use]
    pub fn maker(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.does.makes_change())
    }

    /// Returns the index of a gate's check.
    #[must_use]
    pub fn check_of(&self, name: &str) -> Option<usize> {
        let is_it = |step: &Step| step.does.gate().is_some_and(|gate| gate.as_str() == name);
        self.steps.iter().position(is_it)
    }

    pub(super) fn after(&self, at: usize) -> &[usize] {
        &self.after[at]
    }

    pub(super) fn back(&self, at: usize) -> Option<usize> {
        self.back[at]
    }

    pub(super) fn outputs(&self, at: usize) -> &[usize] {
        &self.outputs[at]
    }

    pub(super) fn mends(&self, at: usize) -> &[usize] {
        &self.mends[at]
    }
}

fn reads_any(step: &Step, zones: &[Zone]) -> bool {
    let is_read = |zone: &Zone| match zone {
        Zone::Source => step.reads.iter().any(|input| matches!(input, Input::Source | Input::Tree)),
        Zone::Tests => step.reads.iter().any(|input| matches!(input, Input::Tests | Input::Tree)),
    };
    zones.iter().any(is_read)
}
