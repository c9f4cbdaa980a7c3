//! Seeded histories of whole runs: random plans, workers that fail in every way, people who interfere, daemons that are
//! killed. The checker depends only on the events and effects of the state machine.

#[path = "simulation/answers.rs"]
mod answers;
#[path = "simulation/checker.rs"]
mod checker;
#[path = "simulation/draw.rs"]
mod draw;
#[path = "simulation/reviews.rs"]
mod reviews;
#[path = "simulation/team.rs"]
mod team;
#[path = "simulation/ways.rs"]
mod ways;
#[path = "simulation/world.rs"]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_protocol::run::{RunOutcome, TaskState};
use team::Mistake;
use world::{WorkerBehaviour, World};

/// Number of seeds in a quick run.
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

/// Checks the same rules in ten times as many histories; takes a few minutes.
#[test]
#[ignore = "takes minutes: cargo test --release -p switchboard-pipeline --test simulation -- --ignored"]
fn ten_thousand_histories_keep_every_rule_and_end() {
    for seed in SEEDS..SEEDS + 10_000 {
        World::new(seed, WorkerBehaviour::Rough).play();
    }
}

#[test]
fn a_daemon_that_is_killed_again_and_again_comes_to_an_end_that_keeps_every_rule() {
    for seed in 0..SEEDS / 10 {
        let mut world = World::new(seed, WorkerBehaviour::Rough);
        world.restarts = 200;

        world.play();
    }
}

#[test]
fn the_checker_finds_mistakes_that_are_made_on_purpose() {
    let silent = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let is_found = |mistake: Mistake| {
        (0..SEEDS).any(|seed| {
            let play = || World::with(seed, WorkerBehaviour::Rough, Some(mistake)).play();
            catch_unwind(AssertUnwindSafe(play)).is_err()
        })
    };
    let missed: Vec<_> = Mistake::ALL.into_iter().filter(|mistake| !is_found(*mistake)).collect();
    std::panic::set_hook(silent);

    assert!(missed.is_empty(), "{missed:?}");
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
