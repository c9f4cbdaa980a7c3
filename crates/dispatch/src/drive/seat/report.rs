//! Answers from the seat to questions for the architect.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_pipeline::modes::{Action, Ask, facts_of, fault_of, lowering_of};
use switchboard_pipeline::plan_json;
use switchboard_pipeline::team::objection;
use switchboard_protocol::action::StepState;
use switchboard_protocol::answer::{Answer, AnswerKind, PlanDraft};
use switchboard_protocol::error::Failure;
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::verb::lead::SavePlanRequest;
use switchboard_protocol::verb::step::ReportStepRequest;
use switchboard_store::Idempotency;

use super::super::added_gates::add_to;
use super::{Driver, SeatCaller};
use crate::Error;
use crate::error::shape;

impl Driver {
    pub(super) async fn save_plan(
        &mut self,
        request: SavePlanRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        self.holder(request.fence, by)?;
        let (step, ask) = self.asked_of_seat()?;
        if ask.answer() != AnswerKind::PlanDraft {
            return Err(self.not_asked(&ask, AnswerKind::PlanDraft).into());
        }
        self.answer((step, &ask), Answer::PlanDraft(PlanDraft { plan: request.plan }), "plan", (by, call)).await
    }

    /// Accepts the seat holder's answer for the architect, or its report on a task that it does by hand.
    pub(super) async fn report(
        &mut self,
        request: ReportStepRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let fence = request.fence.ok_or_else(|| Failure::new("seat.not-yours", "the call has no fence").at("fence"))?;
        self.holder(fence, by)?;
        if let Some(task) = request.task.clone() {
            return self.report_task(task, request, call).await;
        }
        let (step, ask) = self.asked_of_seat()?;
        if request.state != StepState::Done {
            let what = "an architect's answer is done: what it can't answer stays open";
            return Err(Failure::new("request.bad-args", what).at("state").into());
        }
        if ask.answer() == AnswerKind::PlanDraft {
            return Err(Failure::new("seat.not-open", "a plan is answered with save_plan").hint(self.remedy()).into());
        }
        let Some(answer) = &request.answer else {
            let what = format!("the {} is missing: what it says stands in `answer`", ask.answer());
            return Err(Failure::new("request.bad-args", what).at("answer").hint(self.remedy()).into());
        };
        let answer = Answer::read(ask.answer(), answer)
            .map_err(|bad| Failure::new("request.bad-args", bad.message(ask.answer())).at("answer"))?;
        self.answer((step, &ask), answer, "answer", (by, call)).await
    }

    /// Records an answer; refuses at once an answer for which a worker would be asked again.
    async fn answer(
        &mut self,
        (step, ask): (u32, &Ask),
        answer: Answer,
        at: &str,
        (by, call): (&SeatCaller, Option<Idempotency>),
    ) -> Result<Value, Error> {
        let asked = self.question(ask, &[], None).await?;
        let asked = asked.split("\n\n").next().unwrap_or_default();
        let fault = if let Answer::PlanDraft(draft) = &answer {
            self.fault_of_plan(draft, self.record.state().gates()).await?.or_else(|| lowering_of(&answer))
        } else {
            objection::to(&answer, asked)
        };
        if let Some(fault) = fault {
            return Err(Failure::new("request.bad-args", fault).at(at.to_owned()).into());
        }
        let (facts, body) =
            facts_of(&answer).map_err(|error| Failure::new("request.bad-args", error.to_string()).at(at.to_owned()))?;
        let event = ModeEvent::Answered { step, answer: facts };
        self.record_call((event, body), by, call).await
    }

    /// Returns what is wrong with a plan once gates are added to its tasks, as the start of its phases would find it.
    pub(super) async fn fault_of_plan(&self, draft: &PlanDraft, gates: &[String]) -> Result<Option<String>, Error> {
        let branch = self.branch();
        let head = self.dispatch.world.git(move |git| git.branch(&branch)).await?;
        let files = match head {
            Some(head) => self.dispatch.world.files_at(&head).await?,
            None => BTreeSet::new(),
        };
        let plan = match plan_json::parse(&draft.plan.to_string()) {
            Ok(mut plan) => {
                add_to(&mut plan, gates);
                serde_json::from_str(&plan_json::write(&plan)).map_err(shape("a plan"))?
            }
            // What is wrong with it is said below.
            Err(_) => draft.plan.clone(),
        };
        Ok(fault_of(&Answer::PlanDraft(PlanDraft { plan }), &files))
    }

    /// Returns the question that the seat has to answer.
    fn asked_of_seat(&self) -> Result<(u32, Ask), Failure> {
        let state = self.record.state();
        let refused = |what: String| Failure::new("seat.not-open", what).hint(self.remedy());
        match (state.next(), state.driven()) {
            (Action::AwaitSeat { step }, Action::AskRole { ask, .. }) if ask.role() == RoleName::Architect => {
                match self.record.part_of(step) {
                    None => Ok((step, ask)),
                    Some(part) => {
                        Err(refused(format!("{} was asked before the seat was taken, and answers", part.run)))
                    }
                }
            }
            (_, _) => Err(refused(format!("the architect is asked nothing now: the run waits for {}", state.at()))),
        }
    }

    fn not_asked(&self, ask: &Ask, given: AnswerKind) -> Failure {
        let what = format!("the run wants the {} now, and no {given}", ask.answer());
        Failure::new("seat.not-open", what).hint(self.remedy())
    }

    pub(super) fn remedy(&self) -> String {
        self.record.state().remedy().replace("RUN", self.run.as_str())
    }
}
