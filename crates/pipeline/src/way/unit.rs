//! A unit and its position on its way: one slot per step.

use std::sync::{Arc, OnceLock};

use switchboard_protocol::id::{AgentName, Digest, WorkerId};
use switchboard_protocol::run::way::{Input, Zone};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

use super::Graph;

/// Assignee of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignee {
    /// A worker, by its id.
    Worker(WorkerId),
    /// The holder of the seat of a led run.
    Seat {
        /// Name of the agent in the seat.
        agent: AgentName,
        /// Fencing token of the seat's lease.
        fence: u64,
    },
    /// The daemon itself.
    Daemon,
    /// A person.
    Person,
    /// The units below this one.
    Children,
}

/// State of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// The step has not begun.
    Idle,
    /// The step is about to begin; in doubt after a crash.
    Intended {
        /// Input of the step at its beginning.
        input: Digest,
        /// Assignee of the step.
        by: Assignee,
    },
    /// The step is in progress.
    Running {
        /// Input of the step at its beginning.
        input: Digest,
        /// Assignee of the step.
        by: Assignee,
        /// Time at which the step began.
        since: Millis,
    },
    /// The step has ended; what it wrote is being captured.
    Ended {
        /// Input of the step at its beginning.
        input: Digest,
        /// Assignee of the step.
        by: Assignee,
    },
    /// The step has a verdict, which is valid for this input only.
    Judged {
        /// Digest of the judged input.
        input: Digest,
        /// Verdict on the input.
        verdict: Verdict,
        /// Digest of what the step produced, if anything.
        output: Option<Digest>,
    },
}

impl Slot {
    /// Returns who carries out the step.
    #[must_use]
    pub const fn assignee(&self) -> Option<&Assignee> {
        match self {
            Self::Intended { by, .. } | Self::Running { by, .. } | Self::Ended { by, .. } => Some(by),
            Self::Idle | Self::Judged { .. } => None,
        }
    }

    /// Returns true if the step has begun and has no verdict yet.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.assignee().is_some()
    }
}

/// Usage of a step's limits since a person last requested a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Number of refused outcomes.
    pub attempts: u32,
    /// Number of lost workers.
    pub losses: u32,
    /// Number of times it was carried out.
    pub runs: u32,
    /// Number of failed workers of an answering step.
    pub failures: u32,
}

/// Why a unit doesn't continue without a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The step's attempts are used up.
    Attempts {
        /// Index of the step.
        step: usize,
        /// Limit that was reached.
        limit: u32,
    },
    /// The attempts repeatedly ended in the same way.
    Repeated {
        /// Index of the step.
        step: usize,
        /// Limit that was reached.
        limit: u32,
    },
    /// Too many workers of an answering step have failed.
    Failures {
        /// Index of the step.
        step: usize,
        /// Limit that was reached.
        limit: u32,
    },
    /// Too many workers of the step were lost.
    Losses {
        /// Index of the step.
        step: usize,
        /// Limit that was reached.
        limit: u32,
    },
    /// The step was carried out too often.
    Runs {
        /// Index of the step.
        step: usize,
        /// Limit that was reached.
        limit: u32,
    },
    /// No step fixes what this one refuses.
    Refused {
        /// Index of the step.
        step: usize,
    },
    /// The unit was held from outside.
    Asked,
}

/// Inputs of a unit's steps. They follow from the unit's other fields, so each is computed on demand, and units are
/// equal regardless of which inputs were computed.
#[derive(Debug, Clone)]
struct Inputs {
    known: Box<[OnceLock<Digest>]>,
    /// What the inputs were made from at the last call of [`Unit::refresh`], besides the outputs and what never changes.
    salt: Vec<u32>,
    source: Digest,
    tests: Digest,
    tree: Option<String>,
    head: String,
}

/// A unit and its position on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub(super) way: Arc<Graph>,
    pub(super) slots: Vec<Slot>,
    pub(super) salt: Vec<u32>,
    pub(super) spent: Vec<Spent>,
    /// Input of each step at the last call of [`Unit::refresh`].
    inputs: Inputs,
    /// Output of each step at that time.
    outputs: Vec<Digest>,
    pub(super) spec: Digest,
    pub(super) plan: Digest,
    pub(super) source: Digest,
    pub(super) tests: Digest,
    pub(super) change: Option<Change>,
    pub(super) head: String,
    pub(super) held: Option<Hold>,
    pub(super) is_done: bool,
}

impl Inputs {
    fn unknown(steps: usize) -> Self {
        Self {
            known: std::iter::repeat_n(OnceLock::new(), steps).collect(),
            salt: vec![0; steps],
            source: Digest::ZERO,
            tests: Digest::ZERO,
            tree: None,
            head: String::new(),
        }
    }
}

impl PartialEq for Inputs {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Inputs {}

impl Unit {
    /// Creates a unit at the beginning of its way. `spec` and `plan` are digests of its work, `head` is the head of the
    /// run's branch.
    #[must_use]
    pub fn new(way: Arc<Graph>, spec: Digest, plan: Digest, head: impl Into<String>) -> Self {
        let steps = way.steps().len();
        let mut unit = Self {
            slots: vec![Slot::Idle; steps],
            salt: vec![0; steps],
            spent: vec![Spent::default(); steps],
            inputs: Inputs::unknown(steps),
            outputs: vec![Digest::ZERO; steps],
            spec,
            plan,
            source: Digest::ZERO,
            tests: Digest::ZERO,
            change: None,
            head: head.into(),
            held: None,
            is_done: false,
            way,
        };
        unit.refresh();
        unit
    }

    /// Returns the way of the unit.
    #[must_use]
    pub fn way(&self) -> &Graph {
        &self.way
    }

    /// Returns the state of each step.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the captured change, once there is one.
    #[must_use]
    pub const fn change(&self) -> Option<&Change> {
        self.change.as_ref()
    }

    /// Returns the head of the run's branch as known to the unit.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns why the unit is held, if it is.
    #[must_use]
    pub const fn held(&self) -> Option<&Hold> {
        self.held.as_ref()
    }

    /// Returns true if every step has passed; nothing changes any more.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns how often a retry has reopened a step.
    #[must_use]
    pub fn salt(&self, at: usize) -> u32 {
        self.salt[at]
    }

    /// Returns a step's usage of its limits.
    #[must_use]
    pub fn spent(&self, at: usize) -> Spent {
        self.spent[at]
    }

    /// Returns the digest of what the step reads now, of the output of the step that fixes it, and of how often it was
    /// reopened.
    #[must_use]
    pub fn input(&self, at: usize) -> Digest {
        *self.inputs.known[at].get_or_init(|| self.work_out(at))
    }

    /// Returns true if the step has a verdict on its current input.
    #[must_use]
    pub fn is_current(&self, at: usize) -> bool {
        match &self.slots[at] {
            Slot::Judged { input, .. } => *input == self.input(at),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => false,
        }
    }

    /// Returns the verdict on the current input, if there is one.
    #[must_use]
    pub fn verdict(&self, at: usize) -> Option<Verdict> {
        match &self.slots[at] {
            Slot::Judged { input, verdict, .. } => (*input == self.input(at)).then_some(*verdict),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => None,
        }
    }

    /// Returns true if the unit may continue after the step.
    #[must_use]
    pub fn has_passed(&self, at: usize) -> bool {
        self.verdict(at).is_some_and(|verdict| self.way.steps()[at].need.accepts(verdict))
    }

    /// Returns true if the step has a verdict on its current input that stops the unit.
    #[must_use]
    pub fn refuses(&self, at: usize) -> bool {
        self.verdict(at).is_some_and(|verdict| !self.way.steps()[at].need.accepts(verdict))
    }

    /// Returns true if any step has a verdict on its current input that stops the unit.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        (0..self.slots.len()).any(|at| self.refuses(at))
    }

    /// Returns true if the step can begin: it has no verdict on its input, it is not in progress, and all steps before
    /// it have passed.
    #[must_use]
    pub fn is_due(&self, at: usize) -> bool {
        !self.slots[at].is_under_way()
            && !self.is_current(at)
            && self.way.after(at).iter().all(|before| self.has_passed(*before))
    }

    /// Returns the steps that may begin now. Steps that only read may run in parallel. A step that writes begins alone,
    /// once no reader is in progress or due, so that nothing changes under a reader.
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        if self.held.is_some() || self.is_done {
            return Vec::new();
        }
        let steps = self.way.steps();
        let writes = |at: usize| !steps[at].does.writes().is_empty();
        let under_way = || (0..self.slots.len()).filter(|at| self.slots[*at].is_under_way());
        if under_way().any(writes) {
            return Vec::new();
        }
        let (mut passed, mut writer, mut readers) = (Vec::with_capacity(steps.len()), None, Vec::new());
        for (at, step) in steps.iter().enumerate() {
            let verdict = self.verdict(at);
            passed.push(verdict.is_some_and(|verdict| step.need.accepts(verdict)));
            // As `is_due`. A step comes after those that it waits for.
            let may_begin = verdict.is_none() && !self.slots[at].is_under_way();
            if may_begin && self.way.after(at).iter().all(|before| passed[*before]) {
                if writes(at) {
                    writer = writer.or(Some(at));
                } else {
                    readers.push(at);
                }
            }
        }
        if readers.is_empty() && under_way().next().is_none() {
            return writer.into_iter().collect();
        }
        readers
    }

    /// Recomputes the inputs that are made from something that has changed, each on demand.
    pub(super) fn refresh(&mut self) {
        let mut moved = Vec::with_capacity(self.outputs.len());
        for at in 0..self.outputs.len() {
            let output = self.output(at);
            moved.push(self.inputs.salt[at] != self.salt[at] || self.outputs[at] != output);
            self.outputs[at] = output;
        }
        let tree = self.change.as_ref().map(|change| change.tree.as_str());
        let (source, tests) = (self.inputs.source != self.source, self.inputs.tests != self.tests);
        let (is_other_tree, is_other_head) = (self.inputs.tree.as_deref() != tree, self.inputs.head != self.head);
        let has_changed = |input: &Input| match input {
            Input::Source => source,
            Input::Tests => tests,
            Input::Tree => is_other_tree,
            Input::Head => is_other_head,
            // The first two never change; outputs are below.
            Input::Spec | Input::Plan | Input::Output(_) => false,
        };
        for (at, step) in self.way.steps().iter().enumerate() {
            let mut others = self.way.outputs(at).iter().copied().chain(self.way.back(at)).chain([at]);
            if others.any(|other| moved[other]) || step.reads.iter().any(has_changed) {
                self.inputs.known[at] = OnceLock::new();
            }
        }
        self.inputs.salt.clone_from(&self.salt);
        (self.inputs.source, self.inputs.tests) = (self.source, self.tests);
        if is_other_tree {
            self.inputs.tree = tree.map(str::to_owned);
        }
        if is_other_head {
            self.inputs.head.clone_from(&self.head);
        }
    }

    /// Recomputes the inputs if the output of a step has changed. Sufficient if only slots have changed.
    pub(super) fn refresh_outputs(&mut self) {
        if (0..self.outputs.len()).any(|at| self.outputs[at] != self.output(at)) {
            self.refresh();
        }
    }

    /// Returns the same unit, all of whose inputs are computed again.
    #[cfg(test)]
    pub(super) fn with_unknown_inputs(&self) -> Self {
        Self { inputs: Inputs::unknown(self.outputs.len()), ..self.clone() }
    }

    fn work_out(&self, at: usize) -> Digest {
        let step = &self.way.steps()[at];
        let salt = self.salt[at].to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![step.id.as_str().as_bytes(), &salt];
        parts.extend(step.reads.iter().map(|input| match input {
            Input::Spec => &self.spec.0[..],
            Input::Plan => &self.plan.0[..],
            Input::Source => &self.source.0[..],
            Input::Tests => &self.tests.0[..],
            Input::Tree => self.change.as_ref().map_or(&[][..], |change| change.tree.as_bytes()),
            Input::Head => self.head.as_bytes(),
            // Added below, in the order of the way.
            Input::Output(_) => &[][..],
        }));
        parts.extend(self.way.outputs(at).iter().map(|other| &self.outputs[*other].0[..]));
        let mended = self.way.back(at).filter(|back| *back != at);
        let mended = mended.map(|back| (self.salt[back].to_le_bytes(), &self.outputs[back]));
        if let Some((salt, output)) = &mended {
            parts.extend([&salt[..], &output.0[..]]);
        }
        Digest::of_parts(&parts)
    }

    /// Returns the last output of a step, whether it is still valid or not.
    pub(crate) fn output(&self, at: usize) -> Digest {
        match &self.slots[at] {
            Slot::Judged { output, .. } => output.unwrap_or(Digest::ZERO),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => Digest::ZERO,
        }
    }

    /// Records tests of a step's worker that refuse the change. The verdict is about the change before; the next
    /// attempt begins with this one.
    pub(crate) fn hand_on(&mut self, change: Change) {
        // Computes all inputs first, because existing verdicts are about the previous tree.
        for at in 0..self.outputs.len() {
            let _ = self.input(at);
        }
        let (base, lines) = self.change.take().map_or_else(Default::default, |known| (known.base, known.lines));
        self.change = Some(Change { base, lines, ..change });
    }

    /// Records a captured change: the zones that the step writes have changed.
    pub(super) fn take_change(&mut self, at: usize, change: Change) -> Digest {
        let output =
            Digest::of_parts(&[&self.salt[at].to_le_bytes(), change.commit.as_bytes(), change.tree.as_bytes()]);
        let is_same = self.change.as_ref().is_some_and(|known| known.tree == change.tree);
        for zone in self.way.steps()[at].does.writes().iter().filter(|_| !is_same) {
            match zone {
                Zone::Source => self.source = output,
                Zone::Tests => self.tests = output,
            }
        }
        self.change = Some(change);
        output
    }
}
