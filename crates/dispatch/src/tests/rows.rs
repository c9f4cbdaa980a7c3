//! Tests the rows of runs and workers as events change them.

use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, Digest, RunId, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{RoleId, StepId};
use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, RunEvent, RunOutcome, TurnOutcome, WorkerTimeout};
use switchboard_protocol::worker::{JudgingStep, PauseState, PortRange, WorkerEvent, WorkerFact};
use switchboard_store::{Batch, Clock, Row, Store};

use crate::shared::spent_by_plan;
use crate::work::{RUNS, WORKERS, Work};

/// Store with one run and one worker of its task `1.1`.
struct Record {
    store: Store,
    frames: u64,
}

fn run() -> RunId {
    RunId::from_bits(1)
}

fn worker() -> WorkerId {
    WorkerId::from_bits(2)
}

fn task() -> TaskId {
    TaskId::new("1.1").unwrap()
}

impl Record {
    async fn new() -> Self {
        let store = Store::in_memory(vec![Box::new(Work)], Clock::system());
        let mut record = Self { store, frames: 0 };
        record
            .run(RunEvent::RunConfigured {
                run: run(),
                title: "t".to_owned(),
                plan_hash: "h".to_owned(),
                source: "plan.json".to_owned(),
                target: "main".to_owned(),
                base: "b".to_owned(),
                branch: "switchboard/run".to_owned(),
                worktrees: "/trees".to_owned(),
                default_agent: Some(AgentName::new("ann").unwrap()),
                merge: true,
                tasks: 3,
                isolation: Some(Isolation::Constrained),
                unenforced: true,
                coordination: Coordination::Managed,
                tree: String::new(),
                timeout: WorkerTimeout::default(),
                confirms_merge: true,
                plan_key: "k".to_owned(),
                asked: "a".to_owned(),
            })
            .await;
        let review = JudgingStep {
            step: StepId::new("review").unwrap(),
            role: RoleId::new("reviewer").unwrap(),
            answer: AnswerKind::Review,
        };
        record
            .worker(&WorkerFact::WorkerEquipped {
                worker: worker(),
                run: run(),
                task: "1.1".to_owned(),
                attempt: 2,
                agent: AgentName::new("ann-2").unwrap(),
                driver: "acp".to_owned(),
                scripted: true,
                judges: Some(review),
                base: "b".to_owned(),
                start: "s".to_owned(),
                worktree: "/trees/1.1".to_owned(),
                token: Digest::of(b"token"),
                ports: Some(PortRange { first: 20_010, count: 10 }),
                isolation: Isolation::Constrained,
                model: None,
            })
            .await;
        record
    }

    async fn commit(&mut self, event: NewEvent) {
        self.store.commit(Batch::written().event(event)).await.unwrap();
    }

    async fn run(&mut self, event: RunEvent) {
        self.commit(NewEvent::of(&event, format!("run/{}", run()), "daemon").unwrap()).await;
    }

    async fn worker(&mut self, fact: &WorkerFact) {
        self.commit(NewEvent::of(fact, format!("worker/{}", worker()), "daemon").unwrap()).await;
    }

    async fn reports(&mut self, what: WorkerEvent) {
        self.frames += 1;
        self.worker(&WorkerFact::WorkerReported { worker: worker(), epoch: 1, seq: self.frames, what }).await;
    }

    fn of_run(&self) -> Row {
        self.store.get(RUNS, &[run().as_str().into()]).unwrap().unwrap()
    }

    fn of_worker(&self) -> Row {
        self.store.get(WORKERS, &[worker().as_str().into()]).unwrap().unwrap()
    }
}

fn texts<'a, const N: usize>(row: &'a Row, columns: [&str; N]) -> [Option<&'a str>; N] {
    columns.map(|column| row.get_text(column))
}

fn numbers<const N: usize>(row: &Row, columns: [&str; N]) -> [Option<i64>; N] {
    columns.map(|column| row.get_int(column))
}

#[tokio::test]
async fn a_run_and_a_worker_begin_with_what_was_configured() {
    let record = Record::new().await;
    let (run, worker) = (record.of_run(), record.of_worker());

    let columns = ["state", "target", "default_agent", "isolation", "merging_from", "merging_to", "paused"];
    assert_eq!(
        texts(&run, columns),
        [Some("running"), Some("main"), Some("ann"), Some("constrained"), None, Some(""), None]
    );
    let columns = ["tasks", "merged", "blocked", "merge", "unenforced", "confirms_merge", "is_merged", "cleaning"];
    assert_eq!(numbers(&run, columns).map(Option::unwrap), [3, 0, 0, 1, 1, 1, 0, 0]);
    assert_eq!(numbers(&run, ["ended_at", "configured", "seq"]), [None, Some(1), Some(1)]);
    let columns = ["agent", "judges", "role", "wanted", "isolation"];
    assert_eq!(
        texts(&worker, columns).map(Option::unwrap),
        ["ann-2", "review", "reviewer", AnswerKind::Review.as_str(), "constrained"]
    );
    assert_eq!(worker.get_text("token"), Some(&*Digest::of(b"token").hex()));
    let columns = ["attempt", "scripted", "exited", "frame", "port", "ports", "seq"];
    assert_eq!(numbers(&worker, columns).map(Option::unwrap), [2, 1, 0, 0, 20_010, 10, 2]);
}

#[tokio::test]
async fn ends_of_tasks_are_counted_and_those_of_subtasks_are_not() {
    let mut record = Record::new().await;
    let (attempt, reason) = (1, String::new());

    record.run(RunEvent::TaskMerged { task: task(), attempt, commit: "c".to_owned() }).await;
    record.run(RunEvent::TaskDone { task: task(), attempt, of: None }).await;
    record.run(RunEvent::TaskDone { task: task(), attempt, of: Some(task()) }).await;
    record.run(RunEvent::TaskBlocked { task: task(), attempt, retries: None, reason }).await;
    record.run(RunEvent::TaskDepFailed { task: task(), root: task() }).await;

    assert_eq!(numbers(&record.of_run(), ["merged", "blocked"]), [Some(2), Some(2)]);
}

#[tokio::test]
async fn a_run_that_has_ended_is_running_again_once_a_task_is_retried() {
    let mut record = Record::new().await;

    record.run(RunEvent::RunFinished { outcome: RunOutcome::Failed }).await;
    let ended = record.of_run();
    record.run(RunEvent::TaskRetryRequested { task: task(), note: String::new() }).await;
    let again = record.of_run();

    assert_eq!(ended.get_text("state"), Some("failed"));
    assert!(ended.get_int("ended_at").is_some());
    assert_eq!((again.get_text("state"), again.get_int("ended_at")), (Some("running"), None));
}

#[tokio::test]
async fn a_merge_into_the_users_branch_is_under_way_until_its_outcome_and_can_be_taken_back() {
    let mut record = Record::new().await;
    let intent = |undo| RunEvent::RunMergeIntended {
        run: run(),
        target: "main".to_owned(),
        from: "f".to_owned(),
        to: "t".to_owned(),
        undo,
    };
    let columns = ["merging_target", "merging_from", "merging_to"];

    record.run(intent(false)).await;
    let under_way = record.of_run();
    record.run(RunEvent::RunMergeAbandoned { run: run(), why: String::new() }).await;
    let abandoned = record.of_run();
    record.run(intent(false)).await;
    let (target, from, to) = ("main".to_owned(), "f".to_owned(), "t".to_owned());
    record.run(RunEvent::RunMerged { run: run(), target, from, to }).await;
    let merged = record.of_run();
    record.run(intent(true)).await;
    let undoing = record.of_run();
    let (target, from, to) = ("main".to_owned(), "t".to_owned(), "f".to_owned());
    record.run(RunEvent::RunMergeUndone { run: run(), target, from, to }).await;
    let undone = record.of_run();

    assert_eq!(texts(&under_way, columns), [Some("main"), Some("f"), Some("t")]);
    assert_eq!(texts(&abandoned, columns)[1..], [None, Some("")]);
    assert_eq!(numbers(&abandoned, ["is_merged", "merging_undo"]), [Some(0), Some(0)]);
    assert_eq!((texts(&merged, columns)[1], merged.get_int("is_merged")), (None, Some(1)));
    assert_eq!(numbers(&undoing, ["is_merged", "merging_undo"]), [Some(1), Some(1)]);
    assert_eq!((texts(&undone, columns)[1], undone.get_int("is_merged")), (None, Some(0)));
}

#[tokio::test]
async fn budget_and_pause_stand_in_the_row_as_long_as_they_hold() {
    let mut record = Record::new().await;
    let budget = Budget { ceiling: 5, task: None, reserve: None, at_ceiling: AtCeiling::Halt };

    record.run(RunEvent::BudgetSet { budget: Some(budget), plan: Some(7), day: false }).await;
    record.run(RunEvent::RunPaused { cause: PauseCause::Budget }).await;
    let set = record.of_run();
    record.run(RunEvent::BudgetSet { budget: None, plan: None, day: false }).await;
    record.run(RunEvent::RunResumed).await;
    let gone = record.of_run();

    let read: Budget = serde_json::from_str(set.get_text("budget").unwrap()).unwrap();
    assert_eq!((read, set.get_int("plan_budget"), set.get_text("paused")), (budget, Some(7), Some("budget")));
    assert_eq!(texts(&gone, ["budget", "paused"]), [None, None]);
    assert_eq!(gone.get_int("plan_budget"), None);
}

#[tokio::test]
async fn a_worker_has_ended_however_it_did() {
    let reason = String::new;
    let ends = [
        RunEvent::WorkerLost { task: task(), worker: worker(), reason: reason() },
        RunEvent::TreeSetupFailed { task: task(), worker: worker(), reason: reason() },
        RunEvent::TurnEnded { task: task(), worker: worker(), outcome: TurnOutcome::Finished, reason: reason() },
    ];

    for end in ends {
        let mut record = Record::new().await;
        record.run(end.clone()).await;
        assert_eq!(record.of_worker().get_int("exited"), Some(1), "{end:?}");
    }
    let mut record = Record::new().await;
    record.reports(WorkerEvent::AgentExited { code: Some(0), signal: None, stderr: String::new(), by_us: false }).await;
    assert_eq!(record.of_worker().get_int("exited"), Some(1));
}

#[tokio::test]
async fn what_a_worker_is_doing_ends_with_the_tool_and_with_the_turn() {
    let mut record = Record::new().await;
    let called = |status: &str| WorkerEvent::ToolCalled {
        call: "1".to_owned(),
        title: "cargo test".to_owned(),
        tool_kind: "execute".to_owned(),
        status: status.to_owned(),
        paths: Vec::new(),
        why: String::new(),
    };
    let doing = |record: &Record| record.of_worker().get_text("doing").map(str::to_owned);

    for over in ["completed", "failed"] {
        record.reports(called("in_progress")).await;
        assert_eq!(doing(&record).as_deref(), Some("cargo test"));
        record.reports(called(over)).await;
        assert_eq!(doing(&record).as_deref(), Some(""), "{over}");
    }
    record.reports(called("in_progress")).await;
    record.reports(WorkerEvent::TurnEnded { turn: 1, stop: "end_turn".to_owned(), text: String::new() }).await;

    let row = record.of_worker();
    assert_eq!(texts(&row, ["doing", "stop"]), [Some(""), Some("end_turn")]);
    assert_eq!(row.get_int("said"), Some(8));
    assert!(row.get_int("heard_at").is_some());
    assert_eq!(row.get_int("frame"), Some(crate::event::frame_key(1, 6)));
}

#[tokio::test]
async fn costs_add_up_and_an_estimate_stands_beside_them() {
    let mut record = Record::new().await;
    let cost = |micro_usd| WorkerEvent::CostReported { micro_usd, input_tokens: 10, output_tokens: 1 };
    let counted = |estimated| RunEvent::CostCounted { task: task(), worker: worker(), total_micro_usd: 9, estimated };

    record.reports(cost(Some(2))).await;
    record.reports(cost(Some(3))).await;
    record.reports(cost(None)).await;
    record.run(counted(false)).await;
    assert_eq!(record.of_worker().get_int("estimated"), None);
    record.run(counted(true)).await;

    let columns = ["micro_usd", "input_tokens", "output_tokens", "estimated"];
    assert_eq!(numbers(&record.of_worker(), columns), [Some(5), Some(30), Some(3), Some(9)]);
}

#[tokio::test]
async fn a_pause_of_a_worker_is_shown_until_it_goes_on() {
    let mut record = Record::new().await;

    record.reports(WorkerEvent::PauseChanged { state: PauseState::Paused }).await;
    let paused = record.of_worker();
    record.reports(WorkerEvent::PauseChanged { state: PauseState::Resumed }).await;

    assert_eq!(paused.get_text("pause").and_then(PauseState::of), Some(PauseState::Paused));
    assert_eq!(record.of_worker().get_text("pause"), None);
}

#[tokio::test]
async fn a_workers_own_word_on_its_step_and_its_proposals_are_counted() {
    let mut record = Record::new().await;
    let says = |index, answer| WorkerFact::WorkerActed {
        worker: worker(),
        index,
        action: WorkerAction::ReportStep { state: StepState::Working, note: "half".to_owned(), answer },
    };

    record.worker(&says(0, None)).await;
    let first = record.of_worker();
    record.worker(&says(1, Some(serde_json::json!({})))).await;
    let proposal = WorkerAction::ProposeTask { description: "d".to_owned(), files: Vec::new(), after: Vec::new() };
    record.worker(&WorkerFact::WorkerActed { worker: worker(), index: 2, action: proposal }).await;
    record.worker(&WorkerFact::WorkerToolsListed { worker: worker() }).await;
    let last = record.of_worker();

    assert_eq!(first.get_text("step"), Some(&*format!("{}: half", StepState::Working.as_str())));
    assert_eq!(numbers(&first, ["answered", "acted", "proposed", "lists_tools"]), [None, Some(1), None, None]);
    assert_eq!(numbers(&last, ["answered", "acted", "proposed", "lists_tools"]), [Some(4), Some(3), Some(1), Some(1)]);
}

#[tokio::test]
async fn a_plan_has_spent_what_its_workers_report_and_what_is_estimated() {
    let mut record = Record::new().await;
    record.reports(WorkerEvent::CostReported { micro_usd: Some(5), input_tokens: 10, output_tokens: 1 }).await;
    let estimated = RunEvent::CostCounted { task: task(), worker: worker(), total_micro_usd: 9, estimated: true };
    record.run(estimated).await;

    let spent = |hash| spent_by_plan(&record.store, hash).unwrap();
    assert_eq!((spent("h"), spent("another plan")), (14, 0));
}

#[tokio::test]
async fn a_permission_that_no_rule_settled_was_a_question_to_a_person() {
    for (rule, asked) in [(Some("edits: src/a.rs".to_owned()), None), (None, Some(1))] {
        let mut record = Record::new().await;
        record.reports(WorkerEvent::PermissionSettled { ask: "a1".to_owned(), option: None, rule }).await;

        assert_eq!(record.of_worker().get_int("asked"), asked);
    }
}
