//! The cost of one step of a run's state machine, with a team's way and 1,000 tasks.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use switchboard_pipeline::run::RunState;
use switchboard_protocol::run::{Effect, RunEvent};
use switchboard_protocol::time::Millis;

use crate::bench::faultless::World;
use crate::bench::stats::count;

const TASKS: usize = 1_000;
const AT_ONCE: u32 = 8;

/// Returns the microseconds of a step, and the number of steps: everything is accepted at once.
///
/// # Errors
/// When the plan is refused, or the run does not end.
pub(super) fn step_us() -> anyhow::Result<(f64, usize)> {
    let mut world = World::new();
    let mut machine = Machine { state: RunState::new(), took: Duration::ZERO, steps: 0 };
    for event in world.begin(&plan(), AT_ONCE)? {
        machine.tell(event)?;
    }
    (machine.took, machine.steps) = (Duration::ZERO, 0);
    while let Some(effect) = machine.next() {
        if matches!(effect, Effect::Finish { .. }) {
            ensure!(machine.steps > TASKS * 10, "only {} steps", machine.steps);
            return Ok((machine.took.as_secs_f64() * 1e6 / count(machine.steps), machine.steps));
        }
        for event in world.carry_out(effect)? {
            machine.tell(event)?;
        }
    }
    bail!("the run stands still after {} steps", machine.steps)
}

/// Makes a plan for a team.
fn plan() -> Value {
    let task = |number: usize| {
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2",
                "files_touched": [format!("src/file-{number}.rs")] })
    };
    let tasks: Vec<_> = (1..=TASKS).map(task).collect();
    json!({ "schema_version": "1.0.0", "title": "Large", "swarm": "bench", "x-switchboard": { "team": true },
            "phases": [{ "id": 1, "name": "P", "tasks": tasks }] })
}

/// State of a run, with timing.
struct Machine {
    state: RunState,
    took: Duration,
    steps: usize,
}

// === impl Machine ===

impl Machine {
    fn tell(&mut self, event: RunEvent) -> anyhow::Result<()> {
        let began = Instant::now();
        let done = self.state.step(&event, Millis(0));
        self.took += began.elapsed();
        self.steps += 1;
        done.map(drop).map_err(|refused| anyhow::anyhow!("{}", refused.why)).with_context(|| format!("{event:?}"))
    }

    /// Returns the first effect to carry out; deciding it is part of the timed step.
    fn next(&mut self) -> Option<Effect> {
        let began = Instant::now();
        let next = self.state.decide(Millis(0)).into_iter().next();
        self.took += began.elapsed();
        next
    }
}
