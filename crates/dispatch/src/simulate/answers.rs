//! Agents that judge a change: what they say, and what they do though they may not.

use serde_json::{Value, json};
use switchboard_protocol::answer::{AnswerKind, example};
use switchboard_protocol::frame::WorkerSpec;

use super::approval::yes;
use super::judges::Counts;
use super::shim::Act;
use super::stage::Stage;

/// An agent in a step that wants an answer.
pub(super) struct Judge {
    kind: AnswerKind,
    says: Says,
    touches: Vec<String>,
    /// The phase that it is asked about.
    phase: u64,
    /// How many phases its plan has.
    phases: usize,
    /// A number that no other answer has.
    number: u64,
    /// Whether it commits what it changes.
    commits: bool,
}

/// What it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    No,
    /// A yes in prose.
    Prose,
    /// The example of its prompt.
    Example,
    /// An answer of another step.
    OfAnother,
    Nothing,
}

const BAD: [Says; 6] = [Says::No, Says::No, Says::Prose, Says::Example, Says::OfAnother, Says::Nothing];

// === impl Judge ===

impl Judge {
    /// The part that a worker plays; `None` for one that makes a change.
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

    /// What it may count for, once its turn is over.
    pub(super) fn counts_for(&self) -> Counts {
        let is_outside = |path: &String| self.kind != AnswerKind::Tests || !path.starts_with("tests/");
        match self.says {
            _ if self.touches.iter().any(is_outside) => Counts::Nothing,
            Says::Yes => Counts::Yes,
            // Whatever a role answers that is asked, it has answered.
            Says::No if is_asked(self.kind) => Counts::Yes,
            Says::No => Counts::No,
            Says::Prose | Says::Example | Says::OfAnother | Says::Nothing => Counts::Nothing,
        }
    }

    /// Puts what it does in the place of what one that makes a change would do.
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

/// What a role answers that is asked about a phase, where a plan has so many phases and a number that no other has.
pub(super) fn answer_of(kind: AnswerKind, phase: u64, phases: usize, number: u64) -> Value {
    of_run(yes(kind), phase, phases, number)
}

/// Puts in what an answer says of the run: the phase that was asked about, the phases of its plan, and a title that no other plan has.
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

/// Whether it is what a role is asked for, rather than the verdict on a change.
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
