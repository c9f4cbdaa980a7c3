//! Applies the limits over all runs to one run: reports its use, requests a place before a worker starts, and records
//! the consequences.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_pipeline::run::decide::Start;
use switchboard_pipeline::shared::{Alert, Standing, WorkerRequest};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{AtCeiling, BudgetScope, EffectKey, PauseCause, RunEvent};
use switchboard_protocol::time::Millis;

use super::Engine;
use super::commit::Then;
use crate::handle::Record;
use crate::shared;

impl Engine {
    /// Reports what the run has spent and reserved to the limits over all runs, and records the consequences for it.
    pub(super) async fn share(&mut self) {
        let now = self.world.store.now();
        let alerts = self.update_share(now);
        // Waiting records come first: the state does not include them yet.
        if !self.waiting.is_empty() || self.recorded.state().outcome().is_some() {
            return;
        }
        for step in self.follows_from_share(&alerts, now) {
            self.happened(Record::steps(vec![step]), Then::Nothing).await;
        }
    }

    fn update_share(&self, now: Millis) -> Vec<Alert> {
        let state = self.recorded.state();
        let live: BTreeMap<_, _> = state.reserved().map(|(task, left)| (task.clone(), left)).collect();
        let starting: BTreeSet<TaskId> = self.under_way.iter().filter_map(EffectKey::started).cloned().collect();
        let at_ceiling = state.budget().map_or(AtCeiling::default(), |budget| budget.at_ceiling);
        let ceiling = state.plan_ceiling().map(|ceiling| (ceiling, at_ceiling));
        let run = &self.plan.run;
        let mut all = self.world.shared.state();
        let (alerts, has_changed) = all.update(run, ceiling, state.spent(), (&live, &starting), now);
        let hash = state.header().map_or("", |header| header.plan_hash.as_str());
        if ceiling.is_some() && !all.knows_plan(hash) {
            match shared::spent_before(&self.world.store, hash, self.world.shared.head_at_start()) {
                Ok(spent) => all.set_plan(hash, spent),
                Err(error) => tracing::error!(%run, %error, "what the plan has cost can't be read"),
            }
        }
        drop(all);
        if has_changed {
            self.world.shared.announce();
        }
        alerts
    }

    fn follows_from_share(&self, alerts: &[Alert], now: Millis) -> Vec<RunEvent> {
        let state = self.recorded.state();
        let all = self.world.shared.state();
        let (day, standing) = (all.has_day(), all.standing(&self.plan.run, state.reservation(), now));
        drop(all);
        let mut steps = Vec::new();
        if !state.is_open() {
            return steps;
        }
        if day != state.has_day_ceiling() {
            let (budget, plan) = (state.budget().copied(), state.plan_ceiling());
            steps.push(RunEvent::BudgetSet { budget, plan, day });
        }
        let said = |alert: &Alert| {
            let Alert { of, percent, spent } = *alert;
            RunEvent::BudgetAlert { percent, spent, task: None, of }
        };
        steps.extend(alerts.iter().map(said));
        let is_shared = matches!(state.pause(), Some(PauseCause::Plan | PauseCause::Day));
        match standing {
            _ if state.is_stopping() || state.unsettled_count() == 0 => {}
            Standing::Reached(_, AtCeiling::Halt) => steps.push(RunEvent::RunStopRequested),
            Standing::Reached(of, AtCeiling::Pause) if state.pause().is_none() => steps.extend(paused(of)),
            Standing::NoRoom(of) if state.pause().is_none() && !state.starts().is_empty() => steps.extend(paused(of)),
            Standing::Free if is_shared => steps.push(RunEvent::RunResumed),
            Standing::Reached(_, AtCeiling::Pause | AtCeiling::Warn) | Standing::NoRoom(_) | Standing::Free => {}
        }
        steps
    }

    /// Reserves a place for a worker that is to start; returns true if there is one.
    pub(super) fn has_place(&mut self, start: &Start<'_>, now: Millis) -> bool {
        let (task, of) = (start.task(), (start.step(), start.work()));
        // A start without an agent blocks its task.
        let Ok(login) = self.logins.of(&self.plan, task, of) else { return true };
        let reserve = self.recorded.state().reservation();
        let wanted = WorkerRequest { task, account: &login.account, is_scripted: login.is_scripted, reserve };
        self.world.shared.state().start(&self.plan.run, wanted, now).is_ok()
    }

    /// Forgets the places that were requested for starts no longer planned.
    pub(super) fn keep_places(&self, starts: &[Start<'_>]) {
        let starts: BTreeSet<_> = starts.iter().map(Start::task).collect();
        self.world.shared.state().keep_waits(&self.plan.run, |task| starts.contains(task));
    }
}

fn paused(of: BudgetScope) -> Option<RunEvent> {
    let cause = match of {
        BudgetScope::Plan => PauseCause::Plan,
        BudgetScope::Day => PauseCause::Day,
        BudgetScope::Run => return None,
    };
    Some(RunEvent::RunPaused { cause })
}
