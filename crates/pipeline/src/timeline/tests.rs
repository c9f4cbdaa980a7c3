use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{PauseCause, PersonAnswer};
use switchboard_protocol::verb::timeline::MAX_TURNS;
use switchboard_protocol::worker::{WorkerEvent, WorkerFact};

use super::*;

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn worker(number: u64) -> WorkerId {
    WorkerId::from_bits(number)
}

/// Returns an event whose number is also its time in seconds.
fn event(lsn: Lsn, actor: &str, fact: &impl switchboard_protocol::event::Fact) -> Event {
    let NewEvent { kind, v, subject, actor, facts, body } = NewEvent::of(fact, "run/run_1", actor).unwrap();
    let hash = Digest::ZERO;
    let (ts, rev) = (Millis(i64::try_from(lsn).unwrap() * 1000), lsn);
    Event { lsn, ts, kind, v, subject, rev, actor, facts, body, body_hash: hash, prev_hash: hash, hash }
}

fn folded(facts: &[RunEvent]) -> Vec<TimelineEntry> {
    let mut timeline = Timeline::default();
    (1..).zip(facts).for_each(|(lsn, fact)| timeline.take(&event(lsn, "ben", fact)));
    timeline.into_entries()
}

/// Returns the entries as text: id, kind, task, state, cause.
fn words(entries: &[TimelineEntry]) -> Vec<String> {
    let line = |entry: &TimelineEntry| {
        let cause = match &entry.caused_by {
            TimelineCause::Entry(id) => id.to_string(),
            TimelineCause::By(name) => name.clone(),
        };
        let task = entry.task.as_ref().map_or("-", TaskId::as_str);
        let of = format!("{:?} {task} {:?}", entry.what, entry.state).to_lowercase();
        format!("{} {of} <- {cause}", entry.id)
    };
    entries.iter().map(line).collect()
}

fn configured() -> RunEvent {
    let text = String::new;
    RunEvent::RunConfigured {
        run: RunId::from_bits(1),
        title: "A plan".to_owned(),
        plan_hash: text(),
        source: text(),
        target: "main".to_owned(),
        base: text(),
        branch: text(),
        worktrees: text(),
        default_agent: None,
        merge: false,
        tasks: 1,
        isolation: None,
        unenforced: false,
        coordination: switchboard_protocol::job::Coordination::default(),
        tree: text(),
        timeout: switchboard_protocol::run::WorkerTimeout::default(),
        confirms_merge: false,
        plan_key: String::new(),
        asked: String::new(),
    }
}

fn unit(id: UnitId, within: Option<UnitId>, after: &[UnitId]) -> RunEvent {
    let (way, after) = (Digest::ZERO, after.to_vec());
    RunEvent::UnitAdded { unit: id, within, way, after, writes: Vec::new(), reads: Vec::new(), timeout_ms: None }
}

fn of_task(id: &str) -> UnitId {
    UnitId::Task(task(id))
}

fn intended(id: &str, attempt: u32, number: u64) -> RunEvent {
    let step = switchboard_protocol::run::way::StepId::work();
    RunEvent::WorkerIntended { task: task(id), step, attempt, worker: worker(number) }
}

fn ended(id: &str, number: u64, outcome: TurnOutcome) -> RunEvent {
    RunEvent::TurnEnded { task: task(id), worker: worker(number), outcome, reason: "said so".to_owned() }
}

fn gate(id: &str, attempt: u32, gate: &str, verdict: Verdict) -> RunEvent {
    let (gate, reasons) = (gate.to_owned(), vec!["why".to_owned()]);
    RunEvent::GateReported { task: task(id), attempt, gate, input: None, verdict, asks: false, halts: false, reasons }
}

fn merge(id: &str, attempt: u32) -> [RunEvent; 2] {
    let (commit, onto) = ("0123456789abcdef".to_owned(), String::new());
    let intended = RunEvent::MergeIntended { task: task(id), attempt, commit: commit.clone(), onto };
    [intended, RunEvent::TaskMerged { task: task(id), attempt, commit }]
}

#[test]
fn dispatch_leads_to_a_worker_its_refusal_to_the_next_one_and_what_passes_to_a_merge() {
    let [merging, merged] = merge("1.1", 2);

    let entries = folded(&[
        configured(),
        unit(of_task("1.1"), None, &[]),
        intended("1.1", 1, 1),
        ended("1.1", 1, TurnOutcome::Finished),
        gate("1.1", 1, "lint", Verdict::Fail),
        gate("1.1", 1, "syntax", Verdict::Pass),
        intended("1.1", 2, 2),
        ended("1.1", 2, TurnOutcome::Finished),
        gate("1.1", 2, "lint", Verdict::Pass),
        merging,
        merged,
        RunEvent::RunFinished { outcome: RunOutcome::Succeeded },
    ]);

    let expected = [
        "1 run - done <- ben",
        "3 worker 1.1 done <- 1",
        "5 gate 1.1 failed <- 3",
        "6 gate 1.1 done <- 3",
        "7 worker 1.1 done <- 5",
        "9 gate 1.1 done <- 7",
        "10 merge 1.1 done <- 9",
    ];
    assert_eq!(words(&entries), expected);
    assert_eq!((entries[0].ended_at, entries[1].ended_at), (Some(Millis(12_000)), Some(Millis(4000))));
    assert_eq!((entries[6].detail.as_str(), entries[6].at, entries[6].attempt), ("012345678", Millis(10_000), Some(2)));
}

#[test]
fn a_task_begins_because_of_what_it_waited_for_also_as_part_of_a_phase() {
    let phase = UnitId::Phase;
    let [first, second] = merge("1.1", 1);

    let entries = folded(&[
        configured(),
        unit(phase(1), None, &[]),
        unit(of_task("1.1"), Some(phase(1)), &[]),
        unit(of_task("1.2"), Some(phase(1)), &[of_task("1.1")]),
        unit(phase(2), None, &[phase(1)]),
        unit(of_task("2.1"), Some(phase(2)), &[]),
        intended("1.1", 1, 1),
        first,
        second,
        intended("1.2", 1, 2),
        RunEvent::TaskDone { task: task("1.2"), attempt: 1, of: None },
        intended("2.1", 1, 3),
    ]);

    let expected = [
        "1 run - running <- ben",
        "7 worker 1.1 running <- 1",
        "8 merge 1.1 done <- 7",
        "10 worker 1.2 running <- 8",
        "11 task 1.2 done <- 10",
        "12 worker 2.1 running <- 11",
    ];
    assert_eq!(words(&entries), expected);
}

#[test]
fn a_lost_worker_a_rebase_and_a_retry_are_causes_and_a_retry_opens_the_run_again() {
    let moved = RunEvent::BranchMoved { task: task("1.2"), from: String::new(), head: String::new() };
    let [merging, merged] = merge("1.1", 1);
    let [of_other, _] = merge("1.2", 1);
    let text = String::new;
    let rebased = RunEvent::ChangeRebased { task: task("1.2"), attempt: 1, commit: text(), tree: text(), onto: text() };

    let entries = folded(&[
        configured(),
        intended("1.2", 1, 1),
        RunEvent::WorkerLost { task: task("1.2"), worker: worker(1), reason: "killed".to_owned() },
        intended("1.2", 1, 2),
        merging,
        merged,
        of_other,
        moved,
        rebased,
        gate("1.2", 1, "lint", Verdict::Error),
        RunEvent::TaskBlocked { task: task("1.2"), attempt: 1, retries: None, reason: "alike".to_owned() },
        RunEvent::RunFinished { outcome: RunOutcome::Failed },
        RunEvent::TaskRetryRequested { task: task("1.2"), note: String::new() },
        intended("1.2", 1, 3),
    ]);

    let expected = [
        "1 run - running <- ben",
        "2 worker 1.2 failed <- 1",
        "4 worker 1.2 running <- 2",
        "5 merge 1.1 done <- ben",
        "7 merge 1.2 stopped <- 4",
        "9 rebase 1.2 done <- 5",
        "10 gate 1.2 failed <- 9",
        "11 task 1.2 failed <- 10",
        "13 control 1.2 done <- ben",
        "14 worker 1.2 running <- 13",
    ];
    assert_eq!(words(&entries), expected);
    assert_eq!((entries[0].ended_at, entries[1].detail.as_str()), (None, "lost: killed"));
}

#[test]
fn what_waits_is_open_until_it_is_answered_resumed_or_released() {
    let need = NeedId::from_bits(1);
    let asked =
        RunEvent::PersonAsked { task: task("1.1"), worker: worker(1), need: need.clone(), reason: "rm".to_owned() };
    let (answer, note) = (PersonAnswer::Allow, String::new());
    let open = [configured(), intended("1.1", 1, 1), asked, RunEvent::RunPaused { cause: PauseCause::Budget }];
    let answered = RunEvent::PersonAnswered { task: task("1.1"), need, answer, note };
    let closed = [open.clone().to_vec(), vec![RunEvent::RunResumed, answered]].concat();

    let states = |entries: &[TimelineEntry]| {
        entries.iter().skip(2).map(|entry| (entry.state, entry.ended_at)).collect::<Vec<_>>()
    };
    assert_eq!(states(&folded(&open)), [(TimelineState::Running, None); 2]);
    let entries = folded(&closed);
    let expected = [(TimelineState::Done, Some(Millis(6000))), (TimelineState::Done, Some(Millis(5000)))];
    assert_eq!(states(&entries), expected);
    assert_eq!((entries[2].detail.as_str(), entries[3].detail.as_str()), ("allowed", "the run's ceiling"));
}

#[test]
fn the_same_events_give_the_same_timeline_however_often_they_are_folded_and_a_prefix_gives_its_beginning() {
    let [merging, merged] = merge("1.1", 1);
    let facts = [configured(), intended("1.1", 1, 1), gate("1.1", 1, "lint", Verdict::NotConfigured), merging, merged];

    let ids = |entries: Vec<TimelineEntry>| entries.iter().map(|entry| entry.id).collect::<Vec<_>>();

    assert_eq!(folded(&facts), folded(&facts));
    let whole = ids(folded(&facts));
    assert_eq!(whole, [1, 2, 4]);
    for end in 0..facts.len() {
        let part = ids(folded(&facts[..end]));
        assert_eq!(part, whole[..part.len()]);
    }
}

fn of_worker(events: &[WorkerEvent]) -> Vec<TimelineEntry> {
    let worker_entry = folded(&[intended("1.1", 1, 1)]).remove(0);
    let mut timeline = WorkerTimeline::new(worker_entry);
    for (seq, what) in (1..).zip(events) {
        let fact = WorkerFact::WorkerReported { worker: worker(1), epoch: 1, seq, what: what.clone() };
        timeline.take(&event(seq + 1, "worker/1", &fact));
    }
    timeline.into_entries()
}

fn begun(turn: u32) -> WorkerEvent {
    WorkerEvent::TurnStarted { turn, mail: Vec::new() }
}

fn over(turn: u32, stop: &str) -> WorkerEvent {
    WorkerEvent::TurnEnded { turn, stop: stop.to_owned(), text: String::new() }
}

fn cost(micro_usd: Option<u64>) -> WorkerEvent {
    WorkerEvent::CostReported { micro_usd, input_tokens: 1, output_tokens: 1 }
}

#[test]
fn turns_have_their_cost_and_the_worker_has_the_sum() {
    let entries = of_worker(&[
        begun(1),
        cost(Some(5)),
        over(1, "wrap_up"),
        begun(2),
        cost(Some(7)),
        cost(None),
        over(2, "end_turn"),
        cost(Some(1)),
    ]);

    let costs: Vec<_> = entries.iter().map(|entry| entry.micro_usd).collect();
    assert_eq!(costs, [Some(13), Some(5), Some(8)]);
    let expected = ["1 worker 1.1 running <- ben", "2 turn 1.1 paused <- 1", "5 turn 1.1 done <- 1"];
    assert_eq!(words(&entries), expected);
    assert_eq!((entries[1].turn, entries[1].ended_at), (Some(1), Some(Millis(4000))));
}

#[test]
fn a_turn_that_a_fault_or_an_exit_ended_has_failed_and_one_that_goes_on_is_open() {
    let fault = WorkerEvent::Faulted { code: "agent.login".to_owned(), what: String::new(), retry_after_ms: None };
    let exit = WorkerEvent::AgentExited { code: Some(1), signal: None, stderr: String::new(), by_us: false };

    let entries = of_worker(&[begun(1), fault, begun(2), exit, begun(3)]);

    let turns: Vec<_> = entries.iter().skip(1).map(|turn| (turn.state, turn.detail.as_str())).collect();
    let (failed, running) = (TimelineState::Failed, TimelineState::Running);
    assert_eq!(turns, [(failed, "agent.login"), (failed, "the agent's process ended"), (running, "")]);
}

#[test]
fn questions_of_a_turn_are_shown_but_not_those_that_a_rule_answered() {
    let asked = |ask: &str| WorkerEvent::PermissionAsked {
        ask: ask.to_owned(),
        title: String::new(),
        options: Vec::new(),
        detail: String::new(),
        tool_kind: String::new(),
        paths: Vec::new(),
    };
    let settled = |ask: &str, option: Option<&str>, rule: Option<&str>| WorkerEvent::PermissionSettled {
        ask: ask.to_owned(),
        option: option.map(str::to_owned),
        rule: rule.map(str::to_owned),
    };

    let entries = of_worker(&[
        begun(1),
        asked("a"),
        settled("a", Some("allow"), Some("edits")),
        asked("b"),
        settled("b", Some("allow"), None),
        asked("c"),
        settled("c", None, None),
        asked("d"),
    ]);

    let expected = [
        "1 worker 1.1 running <- ben",
        "2 turn 1.1 running <- 1",
        "5 question 1.1 done <- 2",
        "7 question 1.1 stopped <- 2",
        "9 question 1.1 running <- 2",
    ];
    assert_eq!(words(&entries), expected);
}

#[test]
fn of_a_worker_with_very_many_turns_the_first_are_shown_and_the_rest_is_counted() {
    let turns = u32::try_from(MAX_TURNS).unwrap();
    let many = |count: u32| (1..=count).flat_map(|turn| [begun(turn), over(turn, "end_turn")]).collect::<Vec<_>>();

    let (full, over) = (of_worker(&many(turns)), of_worker(&many(turns + 3)));

    assert_eq!((full.len(), full[0].left_out), (MAX_TURNS + 1, 0));
    assert_eq!((over.len(), over[0].left_out), (MAX_TURNS + 1, 3));
}
