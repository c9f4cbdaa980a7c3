//! Plans of live runs. Their engines hold them, so verbs about these runs need not read them again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use switchboard_protocol::id::RunId;

use crate::lock::lock;
use crate::plan::RunPlan;

/// Weak references to the plans that engines hold.
#[derive(Default)]
pub(crate) struct LivePlans(Mutex<BTreeMap<RunId, Weak<RunPlan>>>);

// === impl LivePlans ===

impl LivePlans {
    /// Remembers the plan of a run's engine; forgets the plans that no engine holds any more.
    pub(crate) fn keep(&self, plan: &Arc<RunPlan>) {
        let mut plans = lock(&self.0);
        plans.retain(|_, plan| plan.strong_count() > 0);
        plans.insert(plan.run.clone(), Arc::downgrade(plan));
    }

    /// Returns the plan of a run; `None` if no engine holds it.
    pub(crate) fn of_live(&self, run: &RunId) -> Option<Arc<RunPlan>> {
        lock(&self.0).get(run)?.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(run: u64) -> Arc<RunPlan> {
        let mut plan = crate::tests::run_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
        plan.run = RunId::from_bits(run);
        Arc::new(plan)
    }

    #[test]
    fn a_plan_is_remembered_as_long_as_an_engine_holds_it() {
        let plans = LivePlans::default();
        let (ended, live) = (plan(1), plan(2));
        plans.keep(&ended);
        plans.keep(&live);
        assert!(plans.of_live(&ended.run).is_some_and(|found| Arc::ptr_eq(&found, &ended)));

        let run = ended.run.clone();
        drop(ended);
        assert!(plans.of_live(&run).is_none());
        plans.keep(&live);

        assert_eq!(lock(&plans.0).keys().collect::<Vec<_>>(), [&live.run], "the other is forgotten");
    }
}
