//! The next action of the engine, as data.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{Choice, Mode, Proceed};
use switchboard_protocol::run::way::RoleId;

use super::at::{At, Check};
use super::{Ask, Known, Question, State};

/// Next action of the engine. Its outcome is an event with the same `step`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Record the beginning of the run.
    Begin,
    /// Start a worker in a role.
    AskRole {
        /// Number of the wait.
        step: u32,
        /// Question to the role.
        ask: Ask,
        /// Mode of the question.
        mode: Mode,
        /// Role to start.
        role: RoleId,
        /// Kind of answer expected.
        answer: AnswerKind,
        /// Additional texts for the prompt.
        inputs: Vec<ModeInput>,
        /// Why the last answer was refused, if one was.
        refused: Option<String>,
    },
    /// Ask a person.
    AskPerson {
        /// Number of the wait.
        step: u32,
        /// Person to ask.
        person: AgentName,
        /// Question to the person.
        question: Question,
        /// Possible choices; empty if the answer is a text.
        choices: Vec<Choice>,
    },
    /// Check what a phase needs or left.
    Check {
        /// Number of the wait.
        step: u32,
        /// Check to perform.
        check: Check,
    },
    /// Carry out the tasks of a phase.
    RunPhase {
        /// Number of the wait.
        step: u32,
        /// Number of the phase.
        phase: u64,
    },
    /// Record that a setting lets the next phase begin.
    Proceed {
        /// Number of the wait.
        step: u32,
        /// Number of the phase.
        phase: u64,
        /// Setting that allows it.
        because: Proceed,
    },
    /// Wait for the agent that leads the run: it answers in the architect's place, or begins the step of another role.
    AwaitSeat {
        /// Number of the wait.
        step: u32,
    },
    /// Ask a person who should lead the run, since its seat is vacant.
    FillSeat {
        /// Number of the wait.
        step: u32,
        /// Person to ask.
        person: AgentName,
        /// Agent that last had the seat.
        agent: AgentName,
        /// Fence of that agent.
        fence: u64,
    },
    /// The run is done.
    Done {
        /// Number of phases of the run.
        phases: usize,
    },
    /// The run is stopped until a person lets it continue.
    Stop {
        /// A code of the error table.
        code: &'static str,
        /// Reason for the stop.
        why: String,
    },
}

/// Additional input of a role's prompt: digests of texts in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is explained at `Known`")]
pub enum ModeInput {
    Request(Digest),
    Briefing(Digest),
    Questions(Digest),
    PersonAnswer(Digest),
    Exploration(Digest),
    Reality(Digest),
    Guidance {
        domain: String,
        phase: u64,
        text: Digest,
    },
    Spec(Digest),
    Plan(Digest),
    /// Reason for a revision: a review, a reality check, a decision of the architect or a person's note.
    Revise(Digest),
    /// Attempts at a task that has failed.
    Failure(Digest),
}

// === impl State ===

impl State {
    /// Returns the next action. It depends on the state only.
    #[must_use]
    pub fn next(&self) -> Action {
        self.by_form(self.driven())
    }

    /// Returns the next action of a run that the engine drives.
    #[must_use]
    pub fn driven(&self) -> Action {
        let step = self.step;
        let Some(known) = &self.known else { return self.before_begin() };
        match &self.at {
            At::Unbegun => Action::Begin,
            At::Asking { ask, refused, .. } => Action::AskRole {
                step,
                ask: ask.clone(),
                mode: ask.mode(),
                role: ask.role().id(),
                answer: ask.answer(),
                inputs: inputs(known, ask),
                refused: refused.clone(),
            },
            At::Waiting(question) => self.ask_person(known, question.clone()),
            At::Checking(check) => Action::Check { step, check: *check },
            At::Running { phase } => Action::RunPhase { step, phase: *phase },
            At::Ready { phase } => match known.setup.proceed {
                Proceed::Ask => self.ask_person(known, Question::NextPhase { phase: *phase }),
                because @ (Proceed::AutoProceed | Proceed::AutoFlag) => {
                    Action::Proceed { step, phase: *phase, because }
                }
            },
            At::Done => Action::Done { phases: known.done.len() },
            At::Stopped { code, why, .. } => Action::Stop { code, why: why.clone() },
        }
    }

    /// Stops a run whose beginning can't be read, since the record names nobody to ask.
    fn before_begin(&self) -> Action {
        match &self.at {
            At::Stopped { code, why, .. } => Action::Stop { code, why: why.clone() },
            At::Unbegun
            | At::Asking { .. }
            | At::Waiting(_)
            | At::Checking(_)
            | At::Running { .. }
            | At::Ready { .. }
            | At::Done => Action::Begin,
        }
    }

    fn ask_person(&self, known: &Known, question: Question) -> Action {
        let choices = question.choices();
        Action::AskPerson { step: self.step, person: known.setup.person.clone(), question, choices }
    }
}

/// Returns the additional inputs for a question to a role.
fn inputs(known: &Known, ask: &Ask) -> Vec<ModeInput> {
    let some = |text: Option<Digest>, input: fn(Digest) -> ModeInput| text.map(input).into_iter();
    let request = || some(known.request, ModeInput::Request);
    let plan = || some(known.plan.as_ref().map(|plan| plan.plan), ModeInput::Plan);
    let briefing = || some(known.briefing, ModeInput::Briefing);
    let spec = || some(known.spec, ModeInput::Spec);
    let exploration = || some(known.exploration, ModeInput::Exploration);
    let reality = || some(known.reality, ModeInput::Reality);
    let answers = || {
        let questions = some(known.questions.filter(|_| !known.answers.is_empty()), ModeInput::Questions);
        questions.chain(known.answers.iter().copied().map(ModeInput::PersonAnswer))
    };
    let guidance = || {
        let one = |(domain, (phase, text)): (&String, &(u64, Digest))| ModeInput::Guidance {
            domain: domain.clone(),
            phase: *phase,
            text: *text,
        };
        known.guidance.iter().map(one)
    };
    let wanted = || request().chain(answers());
    match ask {
        Ask::Briefing => request().chain(plan()).collect(),
        Ask::Questions => request().chain(briefing()).collect(),
        Ask::Discover => wanted().chain(plan()).collect(),
        Ask::Reality | Ask::Consult { .. } => wanted().chain(exploration()).chain(plan()).collect(),
        Ask::Spec => wanted().chain(briefing()).chain(exploration()).chain(reality()).chain(guidance()).collect(),
        Ask::Plan => {
            let revise = some(known.revise, ModeInput::Revise);
            let known = briefing().chain(exploration()).chain(reality()).chain(guidance()).chain(spec());
            wanted().chain(known).chain(plan()).chain(revise).collect()
        }
        Ask::Critique => wanted().chain(spec()).chain(reality()).chain(guidance()).chain(plan()).collect(),
        Ask::Decision { .. } => {
            let failure = some(known.failed.as_ref().map(|(failed, _)| failed.text), ModeInput::Failure);
            wanted().chain(plan()).chain(failure).collect()
        }
        Ask::Rescan { .. } | Ask::Retrospective { .. } => plan().collect(),
        Ask::Docs { .. } => exploration().chain(plan()).collect(),
        Ask::Drift { .. } | Ask::Hallucination { .. } => spec().chain(plan()).collect(),
    }
}
