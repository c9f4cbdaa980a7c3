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
