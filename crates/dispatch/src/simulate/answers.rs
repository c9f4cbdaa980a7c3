//! Simulated agents that judge a change: their answers, and forbidden actions.

use serde_json::{Value, json};
use switchboard_protocol::answer::{AnswerKind, example};
use switchboard_protocol::frame::WorkerSpec;

use super::approval::yes;
use super::judges::Counts;
use super::shim::Act;
use super::stage::Stage;

/// Agent in a step that needs an answer.
pub(super) struct Judge {
    kind: AnswerKind,
    says: Says,
    touches: Vec<String>,
    /// Phase that the question concerns.
    phase: u64,
    /// Number of phases in its plan.
    phases: usize,
    /// Number unique to this answer.
    number: u64,
    /// True if it commits what it changes.
    commits: bool,
}

/// Kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    No,
    /// A yes in prose.
    Prose,
    /// The example of its prompt.
    Example,
    /// An answer for another step.
    OfAnother,
    Nothing,
}

const BAD: [Says; 6] = [Says::No, Says::No, Says::Prose, Says::Example, Says::OfAnother, Says::Nothing];

// === impl Judge ===

impl Judge {
    /// Returns the behaviour of a worker that judges; `None` for one that makes a change.
    pub(super) fn of(stage: &Stage, spec: &WorkerSpec) -> Option<Self> {
        let value = |name: &str| spec.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let kind = AnswerKind::of(value("SWITCHBOARD_STEP")?).unwrap_or(AnswerKind::Tests);
        let is_bad = stage.chance(stage.spec.bad_workers);
        let says = if is_bad { BAD[stage.below(BAD.len() as u64) as usize] } else { Says::Yes };
        let mut touches = Vec::new();
        if kind == AnswerKind::Tests && stage.chance(600) {
            touches.push(format!("tests/{}.{}", spec.task, stage.below(3)));
        }
        if stage.chance(stage.spec.bad_workers / 4) {
            touches.push(format!("t/{}", spec.task));
        }
        let phase =
            spec.prompt.split_once("Look back at phase ").and_then(|(_, rest)| rest.split(':').next()?.parse().ok());
        let number = if is_asked(kind) { stage.bits() } else { 0 };
        let commits = stage.chance(stage.spec.bad_workers / 2);
        Some(Self { kind, says, touches, phase: phase.unwrap_or(1), phases: stage.spec.phases, number, commits })
    }

    /// Returns what its answer may count for, once its turn is over.
    pub(super) fn counts_for(&self) -> Counts {
        let is_outside = |path: &String| self.kind != AnswerKind::Tests || !path.starts_with("tests/");
        match self.says {
            _ if self.touches.iter().any(is_outside) => Counts::Nothing,
            Says::Yes => Counts::Yes,
            // Any answer of a role that is asked counts.
            Says::No if is_asked(self.kind) => Counts::Yes,
            Says::No => Counts::No,
            Says::Prose | Says::Example | Says::OfAnother | Says::Nothing => Counts::Nothing,
        }
    }

    /// Replaces the acts of an agent that makes a change by its own.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts stay as they are")]
    pub(super) fn plays(self, script: Vec<(i64, Act)>) -> Vec<(i64, Act)> {
        let mut acts = Vec::new();
        for (ms, act) in script {
            match act {
                Act::Write { .. } => acts.extend(self.acts(ms)),
                other => acts.push((ms, other)),
            }
        }
        acts
    }

    fn acts(&self, ms: i64) -> Vec<(i64, Act)> {
        let touch = |path: &String| (1, Act::Touch { path: path.clone(), is_commit: self.commits });
        let said = self.text().map(|text| (ms, Act::Answer { text }));
        self.touches.iter().map(touch).chain(said).collect()
    }

    fn of_role(&self, answer: Value) -> Value {
        of_run(answer, self.phase, self.phases, self.number)
    }

    fn text(&self) -> Option<String> {
        let fenced = |value: &Value| format!("I have looked at it.\n```json\n{value}\n```\n");
        Some(match self.says {
            Says::Yes => fenced(&self.of_role(yes(self.kind))),
            Says::No => fenced(&self.of_role(no(self.kind))),
            Says::Prose => "All is well: APPROVED, PASS.".to_owned(),
            Says::Example => fenced(example(self.kind)),
            Says::OfAnother if self.kind == AnswerKind::Guidance => fenced(&json!({ "questions": [] })),
            Says::OfAnother => fenced(&json!({ "domain": "security", "points": ["Looks fine."] })),
            Says::Nothing => return None,
        })
    }
}

/// Returns the answer of a role asked about a phase, for a plan with so many phases, with a unique number.
pub(super) fn answer_of(kind: AnswerKind, phase: u64, phases: usize, number: u64) -> Value {
    of_run(yes(kind), phase, phases, number)
}

/// Fills in the facts of the run: the phase asked about, the phases of its plan, and a unique title.
fn of_run(mut answer: Value, phase: u64, phases: usize, number: u64) -> Value {
    if let Some(of) = answer.get_mut("phase_number") {
        *of = json!(phase);
    }
    if let Some(title) = answer.pointer_mut("/plan/title") {
        *title = json!(format!("plan {number}"));
    }
    if let Some(all) = answer.pointer_mut("/plan/phases").and_then(Value::as_array_mut) {
        all.truncate(phases);
    }
    answer
}

/// Returns true for a question to a role, rather than a verdict on a change.
const fn is_asked(kind: AnswerKind) -> bool {
    !matches!(kind, AnswerKind::Review | AnswerKind::SecurityReview | AnswerKind::Tests)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what else a role is asked for knows no No")]
fn no(kind: AnswerKind) -> Value {
    match kind {
        AnswerKind::Review => json!({
            "verdict": "REJECTED", "risk": "high", "issues": [{ "severity": "error", "message": "It divides by zero." }],
            "checked": { "correctness": true, "edge_cases": true, "performance": false }, "required_fix": "Look for zero.",
        }),
        AnswerKind::SecurityReview => json!({
            "verdict": "REJECTED", "categories": ["injection"],
            "findings": [{ "category": "injection", "severity": "high", "message": "It runs what it is given.", "file": "src/run",
                "line": 3, "fix": "Quote it." }],
        }),
        AnswerKind::PlanReview => {
            json!({ "verdict": "NEEDS_REVISION", "reasons": ["It is thin."], "required_changes": ["Say more."] })
        }
        AnswerKind::Drift | AnswerKind::Hallucination => {
            json!({ "verdict": "NEEDS_REVISION", "findings": ["It multiplies."] })
        }
        AnswerKind::Questions => json!({ "questions": [{ "question": "Of what?", "choices": ["numbers", "texts"] }] }),
        AnswerKind::Reality => {
            json!({ "items": [{ "item": "the sum", "status": "ASSUMPTION_INCORRECT", "evidence": "it is there" }] })
        }
        AnswerKind::Guidance => json!({ "domain": "sql", "points": ["It is about something else."] }),
        AnswerKind::Tests => {
            json!({ "verdict": "FAIL", "added": [], "failures": [{ "name": "zero", "message": "it panics" }] })
        }
        other => yes(other),
    }
}
