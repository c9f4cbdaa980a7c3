//! Additional gates for the tasks of later phases; gates can't be removed.

use serde_json::Value;
use switchboard_pipeline::gate;
use switchboard_pipeline::modes::At;
use switchboard_pipeline::plan_json;
use switchboard_protocol::answer::PlanDraft;
use switchboard_protocol::error::Failure;
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::verb::lead::SetQaGatesRequest;
use switchboard_store::Idempotency;

use super::{Driver, SeatCaller};
use crate::Error;

impl Driver {
    /// Adds gates. The phase that is being carried out keeps the gates with which it began.
    pub(super) async fn add_gates(
        &mut self,
        request: SetQaGatesRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        self.holder(request.fence, by)?;
        let gates = named(&request.add)?;
        if let At::Running { phase } = self.record.state().at() {
            let what = format!("phase {phase} is carried out with the gates that it began with");
            let hint = "add gates when the phase is over: they hold for those after it";
            return Err(Failure::new("seat.not-open", what).hint(hint).into());
        }
        self.expect_judging(&gates).await?;
        let added = ModeEvent::GatesAdded { gates, fence: request.fence };
        self.record_call((added, String::new()), by, call).await
    }

    /// Refuses gates that could not judge the tasks of the plan, as the start of a phase would.
    async fn expect_judging(&self, gates: &[String]) -> Result<(), Error> {
        let Ok((plan, _)) = self.plan() else { return Ok(()) };
        let draft = serde_json::from_str(&plan_json::write(&plan)).map_err(crate::error::shape("a plan"))?;
        let all: Vec<_> = self.record.state().gates().iter().chain(gates).cloned().collect();
        match self.fault_of_plan(&PlanDraft { plan: draft }, &all).await? {
            Some(fault) => Err(Failure::new("seat.not-open", format!("with these gates {fault}")).at("add").into()),
            None => Ok(()),
        }
    }
}

/// Returns gates by their names; refuses a name that is unknown or that would be left out.
fn named(add: &[String]) -> Result<Vec<String>, Failure> {
    if add.is_empty() {
        return Err(Failure::new("request.bad-args", "no gate is named").at("add"));
    }
    let one = |name: &String| {
        if name.starts_with('-') {
            let what = format!("{name:?} would leave a gate out: gates are only added here");
            return Err(Failure::new("request.bad-args", what).at("add").hint("a person changes the plan"));
        }
        gate::find(name).map(|gate| gate.id.to_owned()).ok_or_else(|| {
            let near = gate::near(name);
            let hint = near.first().map(|near| format!("did you mean {near}?")).unwrap_or_default();
            Failure::new("plan.unknown-gate", format!("there is no gate {name:?}")).at("add").hint(hint)
        })
    };
    add.iter().map(one).collect()
}
