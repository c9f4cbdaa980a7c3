//! Formats the mode events of a run that a team leads.

use switchboard_protocol::answer::{DecisionKind, PlanVerdict, VerifierVerdict};
use switchboard_protocol::event::Event;
use switchboard_protocol::id::RunId;
use switchboard_protocol::modes::{AnswerFacts, Mode, ModeEvent, ModeFact, PersonAnswer, PhaseOutcome};
use switchboard_protocol::verb::run::GetRunReply;

use super::line::Printer;
use crate::output::{Output, Tone, counted, one_line};

/// Maximum length of a text of a role or a person in a line, in characters.
const WIDTH: usize = 300;

/// The mode of a run, and the printer of its current part, which is a run as well.
#[derive(Debug)]
pub(super) struct Parts {
    mode: Option<Mode>,
    part: Option<Printer>,
    has_ended: bool,
}

// === impl Parts ===

impl Parts {
    /// Creates the state from before the first printed event.
    pub(super) fn of(before: &GetRunReply) -> Self {
        let live = before.parts.iter().rev().find(|part| part.state == "running");
        Self { mode: before.summary.mode, part: live.map(|part| Printer::of_part(&part.run)), has_ended: false }
    }

    /// Returns true if the team has ended the run.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the printer of the active part.
    pub(super) fn at_work(&self) -> Option<&Printer> {
        self.part.as_ref()
    }

    /// Formats an event of a run's modes, or of its part.
    pub(super) fn lines(&mut self, run: &RunId, event: &Event, out: &Output) -> Vec<String> {
        if event.subject != format!("modes/{run}") {
            let Some(part) = self.part.as_mut() else { return Vec::new() };
            // Mail and answers are printed once, with the run that the team leads.
            let is_of_part = event.subject == format!("run/{}", part.run()) || event.subject.starts_with("worker/");
            return if is_of_part || event.kind == "need_asked" { part.lines(event, out) } else { Vec::new() };
        }
        match event.fact::<ModeFact>() {
            Some(ModeFact::PartStarted { part, what, .. }) => {
                if self.part.as_ref().is_none_or(|known| *known.run() != part) {
                    self.part = Some(Printer::of_part(&part));
                }
                vec![out.paint(Tone::Faint, &format!("{what} ({part})"))]
            }
            Some(ModeFact::ModeStepped { event, mode, now, refused, outcome }) => {
                self.has_ended = outcome.is_some();
                let has_begun = matches!(event, ModeEvent::Began { .. });
                let mut lines = match refused {
                    Some(why) => {
                        let line =
                            format!("the answer does not count, it is asked for again: {}", one_line(&why, WIDTH));
                        vec![out.paint(Tone::Bad, &line)]
                    }
                    None => lines_of(event, out),
                };
                if has_begun {
                    self.mode = None;
                }
                if self.mode.replace(mode) != Some(mode) {
                    lines.push(out.paint(Tone::Strong, &format!("MODE: {mode}")));
                }
                if now.starts_with("a person who") {
                    lines.push(out.paint(Tone::Notice, &format!("waits for {}", one_line(&now, WIDTH))));
                }
                lines
            }
            None => Vec::new(),
        }
    }
}

fn lines_of(event: ModeEvent, out: &Output) -> Vec<String> {
    let line = match event {
        ModeEvent::Began { .. } => return Vec::new(),
        ModeEvent::Answered { answer, .. } => return answered(answer, out).into_iter().collect(),
        ModeEvent::Unanswered { why, .. } => {
            return vec![out.paint(Tone::Bad, &format!("no answer: {}", one_line(&why, WIDTH)))];
        }
        ModeEvent::PersonAnswered { by, answer: PersonAnswer::Text { .. }, .. } => format!("{by} has answered"),
        ModeEvent::PersonAnswered { by, answer: PersonAnswer::Chose { choice, .. }, .. } => {
            format!("{by}: {}", choice.as_str())
        }
        ModeEvent::PersonExpired { .. } => "nobody answered in time".to_owned(),
        ModeEvent::Checked { missing, .. } => {
            return missing
                .iter()
                .map(|one| out.paint(Tone::Bad, &format!("missing: {}", one_line(one, WIDTH))))
                .collect();
        }
        ModeEvent::PhaseEnded { phase, outcome: PhaseOutcome::Done, .. } => {
            format!("the tasks of phase {phase} are done")
        }
        ModeEvent::PhaseEnded { phase, outcome: PhaseOutcome::Held { why, .. }, .. } => {
            return vec![out.paint(Tone::Bad, &format!("phase {phase} can't go on: {}", one_line(&why, WIDTH)))];
        }
        ModeEvent::Proceeded { because, .. } => {
            format!("the next phase begins by {}, nobody was asked", because.setting().unwrap_or("a person"))
        }
        ModeEvent::Stopped { by, .. } => format!("{by} stops the run"),
        ModeEvent::Resumed { by } => format!("{by} lets the run go on"),
        ModeEvent::SeatTaken { agent, by, .. } => format!("{agent} leads the run ({by} says so)"),
        ModeEvent::SeatLost { .. } => {
            return vec![out.paint(Tone::Notice, "the architect's seat is lost: nothing was heard of who had it")];
        }
        ModeEvent::SeatLeft { by, .. } => format!("the engine drives the run ({by} says so)"),
        ModeEvent::StepBegun { .. } => "the step is begun".to_owned(),
        ModeEvent::GatesAdded { gates, .. } => format!("later tasks have the gates {}, too", gates.join(", ")),
    };
    vec![line]
}

fn answered(answer: AnswerFacts, out: &Output) -> Option<String> {
    let verified = |what: &str, verdict: VerifierVerdict| match verdict {
        VerifierVerdict::Approved => out.paint(Tone::Good, &format!("{what}: APPROVED")),
        VerifierVerdict::NeedsRevision => out.paint(Tone::Bad, &format!("{what}: NEEDS_REVISION")),
    };
    Some(match answer {
        AnswerFacts::Questions { count, .. } => format!("the architect has {}", counted(count.into(), "question")),
        AnswerFacts::Exploration { domains, .. } if domains.is_empty() => return None,
        AnswerFacts::Exploration { domains, .. } => format!("domains: {}", one_line(&domains.join(", "), WIDTH)),
        AnswerFacts::Reality { items, complete, incorrect, .. } => {
            format!("{}: {complete} complete, {incorrect} of them wrong assumptions", counted(items.into(), "thing"))
        }
        AnswerFacts::Guidance { domain, .. } => format!("guidance on {}", one_line(&domain, WIDTH)),
        AnswerFacts::Spec { .. } => "the specification is written".to_owned(),
        AnswerFacts::PlanDraft { plan } => format!("a plan of {}", counted(plan.phases.len() as u64, "phase")),
        AnswerFacts::PlanReview { verdict: PlanVerdict::Approved, .. } => {
            out.paint(Tone::Good, "CRITIC-GATE: APPROVED")
        }
        AnswerFacts::PlanReview { verdict: PlanVerdict::NeedsRevision, .. } => {
            out.paint(Tone::Bad, "CRITIC-GATE: NEEDS_REVISION")
        }
        AnswerFacts::PlanReview { verdict: PlanVerdict::Rejected, .. } => out.paint(Tone::Bad, "CRITIC-GATE: REJECTED"),
        AnswerFacts::Drift { verdict, .. } => verified("what was built against what was asked for", verdict),
        AnswerFacts::Hallucination { verdict, .. } => verified("what was said of the code against the code", verdict),
        AnswerFacts::Docs { .. } => "the documentation is in line".to_owned(),
        AnswerFacts::Decision { decision, .. } => {
            let tone = if decision == DecisionKind::GiveUp { Tone::Bad } else { Tone::Notice };
            out.paint(tone, &format!("the architect decides: {}", decision.as_str()))
        }
        AnswerFacts::Retrospective { phase, .. } => format!("the retrospective of phase {phase} is written"),
    })
}
