//! The state machine of a run in this process: the cost of one event with 1,000 units.

use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};
use switchboard_pipeline::run::RunState;
use switchboard_protocol::run::{Effect, RunEvent};
use switchboard_protocol::time::Millis;

use crate::bench::faultless::World;
use crate::bench::stats::median;

/// Number of tasks of the run.
const TASKS: usize = 1_000;
/// Number of tasks that are carried to their merge.
const WALKED: usize = 300;

/// Returns the median time of one event of a run of 1,000 tasks, in microseconds: the state applies it and decides what
/// follows.
///
/// # Errors
/// When the run refuses an event.
pub(super) fn step_us() -> anyhow::Result<f64> {
    let mut world = World::new();
    let mut walk = Walk { state: RunState::new(), now: Millis(0), times: Vec::new() };
    // One at a time: every change is based on the head that it is merged onto.
    for event in world.begin(&plan(), 1)? {
        walk.tell(event)?;
    }
    walk.times.clear();
    let mut merged = 0;
    while merged < WALKED {
        let effects = walk.state.decide(walk.now);
        ensure!(!effects.is_empty(), "the run stands still after {merged} tasks");
        for effect in effects {
            merged += usize::from(matches!(effect, Effect::Merge { .. }));
            for event in world.carry_out(effect)? {
                walk.tell(event)?;
            }
        }
    }
    Ok(median(walk.times))
}

fn plan() -> Value {
    let task = |number: usize| {
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "d",
                "files_touched": [format!("src/file_{number}.txt")] })
    };
    let tasks: Vec<_> = (1..=TASKS).map(task).collect();
    json!({ "schema_version": "1.0.0", "title": "Many", "swarm": "bench",
            "phases": [{ "id": 1, "name": "P", "tasks": tasks }] })
}

struct Walk {
    state: RunState,
    now: Millis,
    /// Microseconds of every event.
    times: Vec<f64>,
}

// === impl Walk ===

impl Walk {
    /// Applies an event and decides what follows, timing both.
    fn tell(&mut self, event: RunEvent) -> anyhow::Result<()> {
        let began = Instant::now();
        let stepped = self.state.step(&event, self.now);
        let decided = self.state.decide(self.now);
        self.times.push(began.elapsed().as_secs_f64() * 1e6);
        drop(decided);
        stepped.map(drop).map_err(|refused| anyhow::anyhow!("{event:?}: {refused}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_many_tasks_is_walked_to_its_merges() {
        assert!(step_us().unwrap().is_finite());
    }
}
