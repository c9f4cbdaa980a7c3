//! Seeded histories of whole runs: random plans, workers that fail in every way, people who interfere, daemons that are
//! killed. The checker knows nothing of the state machine but its events and effects.

#[path = "simulation/checker.rs"]
mod checker;
#[path = "simulation/draw.rs"]
mod draw;
#[path = "simulation/ways.rs"]
mod ways;
#[path = "simulation/world.rs"]
mod world;

use switchboard_protocol::run::{RunOutcome, TaskState};
use world::{WorkerBehaviour, World};

/// Seeds of a quick run.
const SEEDS: u64 = 1_000;

#[test]
fn histories_of_a_rough_world_keep_every_rule_and_end() {
    let mut endings = [0; 3];
    for seed in 0..SEEDS {
        let mut world = World::new(seed, WorkerBehaviour::Rough);

        let outcome = world.play();

        endings[outcome as usize] += 1;
    }
    assert!(endings.iter().all(|count| *count > SEEDS / 100), "every ending is seen: {endings:?}");
}

#[test]
fn in_a_kind_world_every_task_is_merged_at_the_first_attempt() {
    for seed in 0..SEEDS / 4 {
        let mut world = World::new(seed, WorkerBehaviour::Kind);

        let outcome = world.play();

        assert_eq!(outcome, RunOutcome::Succeeded, "seed {seed}");
        for task in world.state().tasks() {
            assert_eq!(task.attempt, 1, "seed {seed}: {task:?}");
            let is_done = matches!(task.state, TaskState::Merged { .. } | TaskState::Done { .. });
            assert!(is_done, "seed {seed}: {task:?}");
        }
    }
}

#[test]
fn one_seed_gives_one_history() {
    for seed in 0..20 {
        let mut first = World::new(seed, WorkerBehaviour::Rough);
        let mut second = World::new(seed, WorkerBehaviour::Rough);

        first.play();
        second.play();

        assert_eq!(first.log(), second.log());
    }
}
