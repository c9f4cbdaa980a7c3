//! Changes whose files another agent has leased.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::HeldBy;

use super::*;

fn lease(holder: &str) -> HeldBy {
    HeldBy { holder: AgentName::new(holder).unwrap(), files: vec!["a".to_owned()], until: Millis(5_000) }
}

fn held(task: &str, attempt: u32, lease: &HeldBy) -> RunEvent {
    RunEvent::MergeHeld { task: id(task), attempt, lease: lease.clone() }
}

fn released(task: &str, attempt: u32) -> RunEvent {
    RunEvent::MergeReleased { task: id(task), attempt }
}

fn merge(task: &str, attempt: u32) -> Effect {
    Effect::Merge { task: id(task), attempt, commit: format!("c-{task}-{attempt}"), base: String::new() }
}

fn awaits(task: &str, attempt: u32, lease: &HeldBy) -> Effect {
    let (commit, base, lease) = (format!("c-{task}-{attempt}"), String::new(), lease.clone());
    Effect::AwaitLease { task: id(task), attempt, commit, base, lease }
}

#[test]
fn a_held_change_leaves_its_turn_to_the_next_and_comes_first_again_once_it_is_released() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.pass("1.1");
    run.pass("1.2");
    let (ann, bob) = (lease("ann"), lease("bob"));

    run.tell(held("1.1", 1, &ann));

    assert_eq!(run.effects(), [awaits("1.1", 1, &ann), merge("1.2", 1)]);
    assert!(matches!(run.view("1.1").state, TaskState::Held { lease, .. } if lease == ann));
    let before = run.state.clone();
    run.tell(held("1.1", 1, &ann));
    assert_eq!(run.state, before, "said again");
    run.tell(held("1.1", 1, &bob));
    assert_eq!(run.effects(), [awaits("1.1", 1, &bob), merge("1.2", 1)]);

    run.tell(released("1.1", 1));

    assert_eq!(run.effects(), [merge("1.1", 1)]);
    assert!(matches!(run.view("1.1").state, TaskState::Passed { .. }));
    let before = run.state.clone();
    run.tell(released("1.1", 1));
    assert_eq!(run.state, before, "released again");
}

#[test]
fn the_next_in_line_is_merged_without_a_rebase_if_a_held_change_leaves_it_its_turn() {
    let mut run = Run::on(&compiled::compiled_way(), 2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    ["1.1", "1.2"].iter().for_each(|task| run.pass_on(task, "b"));

    run.tell(held("1.1", 1, &lease("ann")));

    assert_eq!(run.doing(), ["await_lease", "merge"]);
}

#[test]
fn only_a_change_that_is_next_to_be_merged_can_be_held() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let ann = lease("ann");

    let refused = run.refused(held("1.1", 1, &ann));
    assert_eq!(
        (refused.code, refused.why.as_str()),
        (RefusedCode::Illegal, "task 1.1 has no change that is to be merged")
    );
    run.pass("1.1");
    run.pass("1.2");
    assert_eq!(run.refused(held("1.1", 2, &ann)).code, RefusedCode::Stale);
    run.intend_merge("1.1");
    assert_eq!(run.refused(held("1.2", 1, &ann)).code, RefusedCode::Limit, "1.1 is being merged");
    assert_eq!(run.refused(held("1.1", 1, &ann)).code, RefusedCode::Illegal, "its merge has begun");
}

#[test]
fn a_lease_that_held_a_stopped_task_does_not_hold_its_retry() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.pass("1.1");
    run.tell(held("1.1", 1, &lease("ann")));
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    assert_eq!(run.view("1.1").state, TaskState::Stopped);

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    run.pass("1.1");

    let attempt = run.view("1.1").attempt;
    assert_eq!(run.effects(), [merge("1.1", attempt)]);
}
