//! Tests the names under which workers of a task are known.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::run::StepWork;
use switchboard_protocol::run::way::{RoleId, StepId};
use switchboard_protocol::verb::run::AgentChoice;

use super::super::start_worker::{Part, claim_name};
use super::*;

#[tokio::test]
async fn who_judges_a_change_never_gets_the_name_of_who_made_it_though_it_was_released() {
    for (has_made, is_kept, expected) in [(true, false, "ann-2"), (true, true, "ann-2"), (false, false, "ann")] {
        let at = Stand::of_task(&json!({}), |plan| {
            let driver = DriverSpec::Acp { argv: vec!["ann".to_owned()] };
            plan.default_agent = AgentName::new("ann").ok();
            plan.agents.insert("ann".to_owned(), AgentChoice::new(AgentName::new("ann").unwrap(), driver));
        });
        let (review, work) = (StepId::new("review").unwrap(), StepId::work());
        let of = |answer: Option<AnswerKind>| StepWork {
            role: RoleId::new("reviewer").unwrap(),
            writes: Vec::new(),
            answer,
            input: Digest::ZERO,
        };
        let claim = |step: &StepId, answer| {
            let part = Part { step, work: &of(answer), by: None };
            claim_name(&at.ctx.world, &at.ctx.plan, &task(), part).unwrap()
        };
        if has_made {
            at.works(1, None, &at.first).await;
        }
        if is_kept {
            assert_eq!(claim(&work, None).as_str(), "ann");
        }

        assert_eq!(claim(&review, Some(AnswerKind::Review)).as_str(), expected, "{has_made} {is_kept}");
        assert_eq!(claim(&review, Some(AnswerKind::Review)).as_str(), expected, "the next attempt");
        let maker = at.ctx.world.worker_names.of(&at.ctx.plan.run, &task());
        assert_eq!(maker.map(|name| name.to_string()).as_deref(), has_made.then_some("ann"));
    }
}
