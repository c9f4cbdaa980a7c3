//! What the engine does next, as data.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{Choice, Mode, Proceed};
use switchboard_protocol::run::way::RoleId;

use super::at::{At, Check};
use super::{Ask, Known, Question, State};

/// What to do next. The outcome is an event with the same `step`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Record how the run begins.
    Begin,
    /// Start a worker in a role.
    AskRole {
        /// The number of the wait.
        step: u32,
        /// What for.
        ask: Ask,
        /// In which mode.
        mode: Mode,
        /// Which role.
        role: RoleId,
        /// Which answer.
        answer: AnswerKind,
        /// What it is told besides.
        inputs: Vec<ModeInput>,
        /// Why the last answer was refused, if one was.
        refused: Option<String>,
    },
    /// Ask a person.
    AskPerson {
        /// The number of the wait.
        step: u32,
        /// Whom.
        person: AgentName,
        /// What.
        question: Question,
        /// What can be chosen; none where the answer is a text.
        choices: Vec<Choice>,
    },
    /// Look for what a phase needs or left.
    Check {
        /// The number of the wait.
        step: u32,
        /// What.
        check: Check,
    },
    /// Carry out the tasks of a phase.
    RunPhase {
        /// The number of the wait.
        step: u32,
        /// Which phase.
        phase: u64,
    },
    /// Record that the next phase begins by a setting.
    Proceed {
        /// The number of the wait.
        step: u32,
        /// Which phase.
        phase: u64,
        /// By which setting.
        because: Proceed,
    },
    /// Wait for the agent that leads the run: it answers what an architect is asked, or begins the step of another role.
    AwaitSeat {
        /// The number of the wait.
        step: u32,
    },
    /// Ask a person who leads the run, since nobody does.
    FillSeat {
        /// The number of the wait.
        step: u32,
        /// Whom.
        person: AgentName,
        /// Who had the seat.
        agent: AgentName,
        /// With which fence.
        fence: u64,
    },
    /// The run is done.
    Done {
        /// How many phases it had.
        phases: usize,
    },
    /// The run is stopped until a person lets it go on.
    Stop {
        /// A code of the error table.
        code: &'static str,
        /// Why.
        why: String,
    },
}

/// What a role is told besides what it is asked for: digests of texts in the record.
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
    /// What a revision heeds: a review, a reality check, a decision of the architect or a person's note.
    Revise(Digest),
    /// What was tried of a task that has failed.
    Failure(Digest),
}

// === impl State ===

impl State {
    /// What to do next. The same for the same state.
    #[must_use]
    pub fn next(&self) -> Action {
        self.by_form(self.driven())
    }

    /// What comes next where the engine drives the run.
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

    /// A record whose beginning can't be read has nobody to ask.
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

/// What a role is told for a question.
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
