//! A unit and where it stands on its way: a slot per step.

use std::sync::{Arc, OnceLock};

use switchboard_protocol::id::{AgentName, Digest, WorkerId};
use switchboard_protocol::run::way::{Input, Zone};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

use super::Graph;

/// Who does a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignee {
    /// A worker.
    Worker(WorkerId),
    /// Whoever holds the seat of a led run.
    Seat {
        /// Who that is.
        agent: AgentName,
        /// The fencing token of the seat's lease.
        fence: u64,
    },
    /// The daemon itself.
    Daemon,
    /// A person.
    Person,
    /// The units below.
    Children,
}

/// What became of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// Nothing yet.
    Idle,
    /// Somebody is about to do it: in doubt after a crash.
    Intended {
        /// What it is done for.
        input: Digest,
        /// Who.
        by: Assignee,
    },
    /// Somebody does it.
    Running {
        /// What it is done for.
        input: Digest,
        /// Who.
        by: Assignee,
        /// Since when.
        since: Millis,
    },
    /// It has ended; what it wrote is being captured.
    Ended {
        /// What it was done for.
        input: Digest,
        /// Who did it.
        by: Assignee,
    },
    /// It has a verdict, which holds for that input only.
    Judged {
        /// What it judged.
        input: Digest,
        /// What it came to.
        verdict: Verdict,
        /// What it produced, if anything.
        output: Option<Digest>,
    },
}

impl Slot {
    /// Who is at work on it.
    #[must_use]
    pub const fn assignee(&self) -> Option<&Assignee> {
        match self {
            Self::Intended { by, .. } | Self::Running { by, .. } | Self::Ended { by, .. } => Some(by),
            Self::Idle | Self::Judged { .. } => None,
        }
    }

    /// Whether it has begun and has no verdict yet.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.assignee().is_some()
    }
}

/// What a step has used up since a person last asked for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Outcomes that were refused.
    pub attempts: u32,
    /// Workers lost.
    pub losses: u32,
    /// Times it was done.
    pub runs: u32,
    /// Workers of a step that answers who have failed.
    pub failures: u32,
}

/// Why a unit doesn't go on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The step's attempts are used up.
    Attempts {
        /// Which step.
        step: usize,
        /// The limit.
        limit: u32,
    },
    /// The attempts ended in the same way again and again.
    Repeated {
        /// Which step.
        step: usize,
        /// The limit.
        limit: u32,
    },
    /// Too many workers of a step that answers have failed.
    Failures {
        /// Which step.
        step: usize,
        /// The limit.
        limit: u32,
    },
    /// Too many workers of the step were lost.
    Losses {
        /// Which step.
        step: usize,
        /// The limit.
        limit: u32,
    },
    /// The step was done too often.
    Runs {
        /// Which step.
        step: usize,
        /// The limit.
        limit: u32,
    },
    /// Nobody mends what the step refuses.
    Refused {
        /// Which step.
        step: usize,
    },
    /// It was held from outside.
    Asked,
}

/// The inputs of a unit's steps. They follow from everything else in it, so each is worked out when it is asked for, and units are equal however many of
/// them were.
#[derive(Debug, Clone)]
struct Inputs(Box<[OnceLock<Digest>]>);

/// A unit on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub(super) way: Arc<Graph>,
    pub(super) slots: Vec<Slot>,
    pub(super) salt: Vec<u32>,
    pub(super) spent: Vec<Spent>,
    /// The input of each step as things stood when [`Unit::refresh`] was last called.
    inputs: Inputs,
    /// What each step had come to then.
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
        Self(std::iter::repeat_n(OnceLock::new(), steps).collect())
    }
}

impl PartialEq for Inputs {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Inputs {}

impl Unit {
    /// A unit at the beginning of its way. `spec` and `plan` stand for what it is to do, `head` is the head of the run's branch.
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

    /// Its way.
    #[must_use]
    pub fn way(&self) -> &Graph {
        &self.way
    }

    /// What became of each step.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The captured tree, once there is one.
    #[must_use]
    pub const fn change(&self) -> Option<&Change> {
        self.change.as_ref()
    }

    /// The head of the run's branch as the unit knows it.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Why it doesn't go on, if it doesn't.
    #[must_use]
    pub const fn held(&self) -> Option<&Hold> {
        self.held.as_ref()
    }

    /// Whether every step has passed; nothing changes any more.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// How often a step was opened anew by a retry.
    #[must_use]
    pub fn salt(&self, at: usize) -> u32 {
        self.salt[at]
    }

    /// What a step has used up.
    #[must_use]
    pub fn spent(&self, at: usize) -> Spent {
        self.spent[at]
    }

    /// Digest of what the step reads now, of what the step that mends it came to, and of how often it was opened anew.
    #[must_use]
    pub fn input(&self, at: usize) -> Digest {
        *self.inputs.0[at].get_or_init(|| self.work_out(at))
    }

    /// Whether the step has a verdict on its present input.
    #[must_use]
    pub fn is_current(&self, at: usize) -> bool {
        match &self.slots[at] {
            Slot::Judged { input, .. } => *input == self.input(at),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => false,
        }
    }

    /// The verdict on the present input, if there is one.
    #[must_use]
    pub fn verdict(&self, at: usize) -> Option<Verdict> {
        match &self.slots[at] {
            Slot::Judged { input, verdict, .. } => (*input == self.input(at)).then_some(*verdict),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => None,
        }
    }

    /// Whether the unit may go on past the step.
    #[must_use]
    pub fn has_passed(&self, at: usize) -> bool {
        self.verdict(at).is_some_and(|verdict| self.way.steps()[at].need.accepts(verdict))
    }

    /// Whether the step has a verdict on its present input that stops the unit.
    #[must_use]
    pub fn refuses(&self, at: usize) -> bool {
        self.verdict(at).is_some_and(|verdict| !self.way.steps()[at].need.accepts(verdict))
    }

    /// Whether the step is to be done: it has no verdict on its input, nobody is at it, and all before it have passed.
    #[must_use]
    pub fn is_due(&self, at: usize) -> bool {
        !self.slots[at].is_under_way()
            && !self.is_current(at)
            && self.way.after(at).iter().all(|before| self.has_passed(*before))
    }

    /// The steps that may begin now. Steps that only read go on beside each other; one that writes begins alone, once no reader is
    /// at work or due, so that nothing changes under a reader.
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        if self.held.is_some() || self.is_done {
            return Vec::new();
        }
        let writes = |at: usize| !self.way.steps()[at].does.writes().is_empty();
        let under_way = || (0..self.slots.len()).filter(|at| self.slots[*at].is_under_way());
        if under_way().any(writes) {
            return Vec::new();
        }
        let (writers, readers): (Vec<_>, Vec<_>) =
            (0..self.slots.len()).filter(|at| self.is_due(*at)).partition(|at| writes(*at));
        if readers.is_empty() && under_way().next().is_none() {
            return writers.into_iter().take(1).collect();
        }
        readers
    }

    /// Has the inputs worked out anew, each when it is next asked for.
    pub(super) fn refresh(&mut self) {
        for at in 0..self.outputs.len() {
            self.outputs[at] = self.output(at);
        }
        self.inputs = Inputs::unknown(self.outputs.len());
    }

    /// Has the inputs worked out anew if a step has come to something else. Enough where nothing but slots has changed.
    pub(super) fn refresh_outputs(&mut self) {
        if (0..self.outputs.len()).any(|at| self.outputs[at] != self.output(at)) {
            self.refresh();
        }
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
            // Read below, in the order of the way.
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

    /// What a step came to last, whether or not that still holds.
    pub(crate) fn output(&self, at: usize) -> Digest {
        match &self.slots[at] {
            Slot::Judged { output, .. } => output.unwrap_or(Digest::ZERO),
            Slot::Idle | Slot::Intended { .. } | Slot::Running { .. } | Slot::Ended { .. } => Digest::ZERO,
        }
    }

    /// Takes in what the worker of a step has written that refuses the change. Judged is what was there before; the next attempt begins with this.
    pub(crate) fn hand_on(&mut self, change: Change) {
        // What judged the tree that was there before judged that one.
        for at in 0..self.outputs.len() {
            let _ = self.input(at);
        }
        let (base, lines) = self.change.take().map_or_else(Default::default, |known| (known.base, known.lines));
        self.change = Some(Change { base, lines, ..change });
    }

    /// Takes a captured tree in: the zones that the step writes have changed.
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
