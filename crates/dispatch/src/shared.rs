//! Current state of the limits over all runs, and notifications about its changes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use switchboard_pipeline::shared::Shared;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_store::{Query, Row, Store};
use tokio::sync::watch;

use crate::lock::lock;
use crate::work::{RUNS, WORKERS, run_id};
use crate::world::World;
use crate::{Error, history};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60_000;

/// State of the limits, shared by all engines.
pub(crate) struct SharedLimits {
    state: Mutex<Shared>,
    changed: watch::Sender<u64>,
    /// End of the log when the daemon started, and whether the spending of that day until then is counted.
    before: Mutex<(Lsn, bool)>,
}

// === impl SharedLimits ===

impl SharedLimits {
    pub(crate) fn new(usual_workers: u32, head: Lsn) -> Self {
        let before = Mutex::new((head, false));
        Self { state: Mutex::new(Shared::new(usual_workers)), changed: watch::Sender::new(0), before }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, Shared> {
        lock(&self.state)
    }

    /// Returns the end of the log when the daemon started: what is spent since is counted as it happens.
    pub(crate) fn head_at_start(&self) -> Lsn {
        lock(&self.before).0
    }

    /// Returns a counter that changes whenever a run may have more room, or has exceeded a limit.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn announce(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

// === impl World ===

impl World {
    /// Reads the settings of the limits over all runs again.
    ///
    /// # Errors
    /// When they can't be read. The last settings then stay in effect; without any, nothing starts.
    pub(crate) async fn read_limits(&self) -> Result<(), Error> {
        let read = self.config.shared.clone();
        let limits = self.blocking(move || Ok((read.0)()?)).await?;
        self.delegations.limit(limits.loops);
        if self.shared.state().set_limits(Some(limits)) {
            if limits.day.is_some() {
                self.count_day()?;
            }
            self.shared.announce();
        }
        Ok(())
    }

    /// Counts what was spent today before the daemon started, once.
    fn count_day(&self) -> Result<(), Error> {
        let mut before = lock(&self.shared.before);
        if before.1 {
            return Ok(());
        }
        let now = self.store.now();
        let spent = spent_on_day(&self.store, now, before.0)?;
        before.1 = true;
        self.shared.state().add_to_day(spent, now);
        Ok(())
    }
}

/// Returns what was spent on the day (UTC) of `now`, by the events up to `until`.
fn spent_on_day(store: &Store, now: Millis, until: Lsn) -> Result<u64, Error> {
    let start = Millis(now.0.div_euclid(DAY_MS) * DAY_MS);
    let mut rows = store.read(&Query::table(RUNS).is_null("ended_at"))?;
    rows.extend(store.read(&Query::table(RUNS).ge("ended_at", start.0))?);
    spent_between(store, &rows, start, until)
}

/// Returns what all runs of a plan have spent by the events up to `until`.
pub(crate) fn spent_before(store: &Store, hash: &str, until: Lsn) -> Result<u64, Error> {
    let rows = store.read(&Query::table(RUNS).eq("plan_hash", hash))?;
    spent_between(store, &rows, Millis(i64::MIN), until)
}

/// Returns what runs have spent from `start` on, by the events up to `until`.
fn spent_between(store: &Store, runs: &[Row], start: Millis, until: Lsn) -> Result<u64, Error> {
    let mut spent = 0_u64;
    for row in runs {
        // Cost of each worker before the start, and now.
        let mut costs: BTreeMap<WorkerId, (u64, u64)> = BTreeMap::new();
        history::raw_events(store, &run_id(row)?, |event| {
            if event.lsn > until {
                return false;
            }
            let counted = (event.kind == "cost_counted").then(|| event.fact::<RunEvent>()).flatten();
            if let Some(RunEvent::CostCounted { worker, total_micro_usd, .. }) = counted {
                let cost = costs.entry(worker).or_default();
                cost.1 = cost.1.max(total_micro_usd);
                if event.ts < start {
                    cost.0 = cost.1;
                }
            }
            true
        })?;
        spent = costs.values().fold(spent, |sum, (before, all)| sum.saturating_add(all - before));
    }
    Ok(spent)
}

/// Returns what all runs of a plan have spent.
pub(crate) fn spent_by_plan(store: &Store, hash: &str) -> Result<u64, Error> {
    let mut spent = 0_u64;
    for run in store.read(&Query::table(RUNS).eq("plan_hash", hash))? {
        let workers = store.read(&Query::table(WORKERS).eq("run", run_id(&run)?.as_str()))?;
        let costs = workers.iter().flat_map(|row| ["micro_usd", "estimated"].map(|column| row.get_int(column)));
        spent = costs.flatten().fold(spent, |sum, cost| sum.saturating_add(u64::try_from(cost).unwrap_or(0)));
    }
    Ok(spent)
}

/// Returns the account of an agent: the same program with the same arguments and variables has the same login.
pub(crate) fn account(choice: &AgentChoice) -> String {
    let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = &choice.driver;
    // The variables may contain keys, so only the digest is kept.
    let told = format!("{argv:?}{:?}", choice.env);
    Digest::of(told.as_bytes()).hex()
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::AgentName;

    use super::*;

    #[test]
    fn agents_have_the_same_account_if_program_arguments_and_variables_are_the_same() {
        let choice = |name: &str, argv: &[&str], env: &[(&str, &str)]| {
            let driver = DriverSpec::Acp { argv: argv.iter().map(ToString::to_string).collect() };
            let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            account(&AgentChoice { env, ..AgentChoice::new(AgentName::new(name).unwrap(), driver) })
        };
        let ann = choice("ann", &["agent", "--fast"], &[("KEY", "secret")]);

        assert_eq!(choice("ben", &["agent", "--fast"], &[("KEY", "secret")]), ann);
        assert_ne!(choice("ann", &["agent"], &[("KEY", "secret")]), ann);
        assert_ne!(choice("ann", &["agent", "--fast"], &[("KEY", "other")]), ann);
        assert!(!ann.contains("secret"));
    }
}
