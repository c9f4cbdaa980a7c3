//! Workers of answering steps: they approve, refuse, give unusable answers, and lie.

use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{RunEvent, Verdict};
use switchboard_protocol::time::Millis;

use super::draw::{chance, pick};
use super::team::{AwaitedAnswer, SKIPPABLE};
use super::world::{WorkerBehaviour, World};

impl World {
    /// Decides whether a step is skipped because nothing in the change requires it.
    pub(super) fn is_skipped(&mut self, task: &TaskId, step: &StepId) -> bool {
        step.as_str() == SKIPPABLE && self.checker.reviews.is_asking(task, step) && chance(&mut self.rng, 400)
    }

    pub(super) fn skip(&mut self, task: TaskId, step: StepId, attempt: u32, input: Digest) {
        self.checker.reviews.offers(&task, &step, input);
        let skipped = |input| {
            let (task, step, reason) = (task.clone(), step.clone(), "no file of it".to_owned());
            RunEvent::StepSkipped { task, step, attempt, input, reason }
        };
        if self.goes_wrong(100) {
            self.claim(skipped(Digest::ZERO));
        }
        // The task may have been stopped meanwhile.
        let _refused = self.tell(skipped(input));
    }

    /// Records the question to a worker that starts for a step.
    pub(super) fn ask_about(&mut self, worker: &WorkerId, asked: AwaitedAnswer) {
        self.checker.reviews.asks(worker, &asked.step, asked.input);
        self.asked.insert(worker.clone(), asked);
    }

    /// Reads the answer after the worker of a step has ended. The task may have been stopped meanwhile.
    pub(super) fn take_answer(&mut self, task: TaskId, asked: AwaitedAnswer, writes: bool) {
        if self.goes_wrong(150) {
            self.lie();
        }
        let AwaitedAnswer { step, attempt, worker, input } = asked;
        if self.goes_wrong(200) {
            let reason = "it has no JSON block".to_owned();
            let _refused = self.tell(RunEvent::AnswerRefused { task, step, attempt, worker, reason });
            return;
        }
        let verdict = match self.goes_wrong(120) {
            true => Verdict::Fail,
            false => *pick(&mut self.rng, &[Verdict::Pass, Verdict::Pass, Verdict::Warn]),
        };
        let reasons = vec![format!("{step} says so")];
        let change = None;
        let answer =
            RunEvent::StepAnswered { task: task.clone(), step, attempt, worker, input, verdict, reasons, change };
        if self.tell(answer.clone()).is_err() {
            return;
        }
        self.answers.push(answer.clone());
        if self.goes_wrong(100) {
            let lie = again(answer, &mut self.rng);
            self.claim(lie);
        }
        if writes && verdict != Verdict::Fail {
            self.take_tests(task, attempt);
        }
    }

    /// Captures what the worker of a step wrote, together with its answer.
    fn take_tests(&mut self, task: TaskId, attempt: u32) {
        if chance(&mut self.rng, 400) {
            return self.surely(RunEvent::NothingChanged { task, attempt, step: None, why: String::new() });
        }
        let (commit, tree, base) = (self.name(), self.name(), self.bases[&task].clone());
        self.trees.insert(task.clone(), tree.clone());
        let files = vec!["tests/a.rs".to_owned()];
        let (files_total, lines, left_out) = (2, 9, Vec::new());
        self.surely(RunEvent::ChangeCaptured {
            task,
            attempt,
            commit,
            tree,
            base,
            files,
            files_total,
            lines,
            left_out,
        });
    }

    // === lies ===

    /// Sends an unexpected answer: a repeated one, one with another verdict, one about an earlier change, or one for
    /// another step or from another worker.
    pub(super) fn lie(&mut self) {
        if self.answers.is_empty() || self.behaviour == WorkerBehaviour::Kind {
            return;
        }
        let mut lie = pick(&mut self.rng, &self.answers).clone();
        let now = lie.task().and_then(|task| self.awaited.get(task)).cloned();
        if let RunEvent::StepAnswered { step, attempt, worker, input, verdict, .. } = &mut lie {
            if let Some(now) = now {
                (*step, *attempt) = (now.step, now.attempt);
                // Either its input or its worker is an earlier one.
                match chance(&mut self.rng, 500) {
                    true => *worker = now.worker,
                    false => *input = now.input,
                }
            }
            if chance(&mut self.rng, 300) {
                *worker = WorkerId::from_bits(self.rng.u64(..));
            }
            if chance(&mut self.rng, 300) {
                *verdict = *pick(&mut self.rng, &[Verdict::Pass, Verdict::Fail]);
            }
        }
        self.claim(lie);
    }

    /// Sends an answer of a worker whose turn is not over.
    pub(super) fn answer_early(&mut self, task: &TaskId, worker: &WorkerId) {
        let Some(AwaitedAnswer { step, attempt, input, .. }) = self.asked.get(worker).cloned() else { return };
        let (task, worker) = (task.clone(), worker.clone());
        let lie = match chance(&mut self.rng, 500) {
            true => RunEvent::AnswerRefused { task, step, attempt, worker, reason: "too early".to_owned() },
            false => {
                let (verdict, reasons) = (Verdict::Pass, Vec::new());
                RunEvent::StepAnswered { task, step, attempt, worker, input, verdict, reasons, change: None }
            }
        };
        self.claim(lie);
    }

    /// Sends a false event. If it changes the run, the checker judges the result.
    fn claim(&mut self, lie: RunEvent) {
        let before = self.state.clone();
        let believed = self.mistake.map_or_else(|| lie.clone(), |mistake| mistake.believes(&lie, &self.awaited));
        let consequences = self.state.step(&believed, Millis(self.now()));
        if self.state != before || consequences.as_ref().is_ok_and(|consequences| !consequences.is_empty()) {
            self.note(lie, believed, &consequences.unwrap_or_default());
        }
    }
}

/// Repeats an answer, or returns another answer of the same worker.
fn again(mut answer: RunEvent, rng: &mut fastrand::Rng) -> RunEvent {
    if let RunEvent::StepAnswered { verdict, .. } = &mut answer {
        *verdict = *pick(rng, &[*verdict, Verdict::Pass, Verdict::Fail]);
    }
    answer
}
