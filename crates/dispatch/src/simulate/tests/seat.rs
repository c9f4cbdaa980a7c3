//! Tests which actions an agent may take from the architect's seat of a run, and which are refused.

use std::collections::BTreeSet;

use switchboard_protocol::action::StepState;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::coordination::Control;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::plan::TaskStatus;
use switchboard_protocol::run::{AtCeiling, Budget, RunEvent, TurnOutcome, WorkerTimeout};
use switchboard_protocol::verb::lead::{
    BeginStepReply, BeginStepRequest, DeclareScopeRequest, LeadRunRequest, LeaveSeatRequest, MAX_FILES, MAX_WAIT_MS,
    SavePlanRequest, SeatReply, SeatStatusRequest, SetQaGatesRequest, StepExecutor, UpdateTaskStatusRequest,
};
use switchboard_protocol::verb::run::{
    AgentChoice, Drive, InheritedEnv, PauseRunRequest, ResumeRunRequest, StopRunRequest,
};
use switchboard_protocol::verb::step::ReportStepRequest;

use super::super::answers::answer_of;
use super::*;
use crate::drive::{SeatAsk, SeatCaller};

/// Maximum number of checks by a test whether something has happened, one second apart.
pub(super) const LOOKS: usize = 1_000;

/// Task that the tests concern.
pub(super) const TASK: &str = "1.1";

fn id(task: &str) -> TaskId {
    TaskId::new(task).unwrap()
}

/// Run that lea leads.
pub(super) struct Led<'a> {
    pub(super) stage: &'a Arc<Stage>,
    pub(super) daemon: &'a Dispatch,
    pub(super) run: RunId,
    pub(super) fence: u64,
    pub(super) lea: SeatCaller,
}

impl Led<'_> {
    pub(super) async fn ask<T: serde::de::DeserializeOwned>(&self, ask: SeatAsk) -> Result<T, Failure> {
        let asked = self.daemon.ask_seat(ask, self.lea.clone(), None).await;
        asked.map_err(|error| error.to_failure())
    }

    pub(super) async fn status(&self) -> SeatReply {
        let run = self.run.to_string();
        self.ask(SeatAsk::Status(SeatStatusRequest { run, wait_ms: None })).await.unwrap()
    }

    pub(super) async fn begin(
        &self,
        task: Option<&str>,
        step: Option<&str>,
        by: StepExecutor,
    ) -> Result<BeginStepReply, Failure> {
        let (run, fence) = (self.run.to_string(), self.fence);
        let request = BeginStepRequest { run, fence, task: task.map(id), step: step.map(str::to_owned), by };
        self.daemon.begin_step(request, self.lea.clone(), None).await.map_err(|error| error.to_failure())
    }

    pub(super) async fn set(&self, task: &str, status: TaskStatus, reason: Option<&str>) -> Result<SeatReply, Failure> {
        let (run, fence, task) = (self.run.to_string(), self.fence, id(task));
        let reason = reason.map(str::to_owned);
        self.ask(SeatAsk::SetStatus(UpdateTaskStatusRequest { run, fence, task, status, reason })).await
    }

    async fn declare(&self, fence: u64, task: &str, files: &[&str]) -> Result<SeatReply, Failure> {
        let (run, task) = (self.run.to_string(), id(task));
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        self.ask(SeatAsk::DeclareScope(DeclareScopeRequest { run, fence, task, files })).await
    }

    pub(super) async fn report(&self, task: Option<&str>, answer: Option<Value>) -> Result<(), Failure> {
        self.say(StepState::Done, "as asked", task, answer).await
    }

    async fn say(
        &self,
        state: StepState,
        note: &str,
        task: Option<&str>,
        answer: Option<Value>,
    ) -> Result<(), Failure> {
        let request = ReportStepRequest {
            state,
            note: note.to_owned(),
            answer,
            task: task.map(id),
            attempt: None,
            run: Some(self.run.to_string()),
            fence: Some(self.fence),
        };
        let reported = self.daemon.report_from_seat(request, self.lea.clone(), None).await;
        reported.map(drop).map_err(|error| error.to_failure())
    }

    async fn add_gates(&self, add: &[&str]) -> Result<SeatReply, Failure> {
        let (run, fence) = (self.run.to_string(), self.fence);
        let add = add.iter().map(|gate| (*gate).to_owned()).collect();
        self.ask(SeatAsk::AddGates(SetQaGatesRequest { run, fence, add })).await
    }

    /// Does open steps, as the steps of roles and the answers of the architect come up, until the condition holds.
    pub(super) async fn up_to(&self, is_there: impl Fn(&SeatReply) -> bool) -> SeatReply {
        for _ in 0..LOOKS {
            let status = self.status().await;
            if is_there(&status) {
                return status;
            }
            let (run, fence) = (self.run.to_string(), self.fence);
            match status.open.first() {
                Some(open) if open.verb == "save_plan" => {
                    let plan = answer_of(AnswerKind::PlanDraft, 1, 2, 7)["plan"].take();
                    let _: SeatReply = self.ask(SeatAsk::SavePlan(SavePlanRequest { run, fence, plan })).await.unwrap();
                }
                Some(open) if open.verb == "report_step" => {
                    self.report(None, open.answer.map(|kind| answer_of(kind, 1, 2, 0))).await.unwrap();
                }
                Some(open) => {
                    drop(self.begin(open.task.as_ref().map(TaskId::as_str), None, StepExecutor::Worker).await)
                }
                None => {
                    modes::answer(self.stage, self.daemon).await.unwrap();
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
        panic!("it does not come: {:?}", self.status().await);
    }

    /// Same until a step of the task is open.
    pub(super) async fn up_to_step(&self, step: &str) -> SeatReply {
        let is_open = |status: &SeatReply| {
            status
                .open
                .iter()
                .any(|open| open.task.as_ref().is_some_and(|task| task.as_str() == TASK) && open.step == step)
        };
        self.up_to(is_open).await
    }

    /// Returns the events of one kind in the phases of the run.
    pub(super) fn events(&self, kind: &str) -> Vec<RunEvent> {
        let all = self.daemon.world.store.events(0, &Filter::all(), 10_000).unwrap();
        all.iter().filter(|event| event.kind == kind).filter_map(|event| event.fact()).collect()
    }
}

pub(super) fn ceiling(ceiling: u64) -> Option<Budget> {
    Some(Budget { ceiling, task: None, reserve: None, at_ceiling: AtCeiling::Pause })
}

pub(super) fn person() -> SeatCaller {
    SeatCaller { name: people::ann().unwrap().name, is_person: true, is_proven: true }
}

pub(super) fn lead(run: &RunId, agent: Option<&str>, budget: Option<Budget>, lease_ms: Option<u64>) -> SeatAsk {
    let agent = agent.map(|name| architect::agent(name).unwrap().name);
    SeatAsk::Lead(LeadRunRequest { run: run.to_string(), agent, budget, lease_ms })
}

/// Returns the request for a run that a team leads, with these optional steps.
pub(super) fn led(request: StartRunRequest, steps: OptionalSteps) -> StartRunRequest {
    StartRunRequest {
        plan: String::new(),
        source: String::new(),
        budget: None,
        worker_timeout_ms: Some(WorkerTimeout { soft: None, hard: Some(3_600_000) }),
        drive: Some(Drive { lead: None, request: Some("Add numbers".to_owned()), steps, auto: true }),
        ..request
    }
}

/// Starts a run that a team leads.
pub(super) async fn start(daemon: &Dispatch, request: StartRunRequest) -> RunId {
    let request = led(request, OptionalSteps::default());
    daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap()
}

/// Runs a test with a run that lea leads from its beginning.
pub(super) fn with_seat(test: impl AsyncFn(Led<'_>)) {
    with_seat_of(Coordination::Managed, test);
}

/// Same with a run whose workers are coordinated in this way.
pub(super) fn with_seat_of(coordination: Coordination, test: impl AsyncFn(Led<'_>)) {
    with_lease(60 * 60_000, coordination, test);
}

/// Same with a lease of so many milliseconds.
pub(super) fn with_lease(lease_ms: u64, coordination: Coordination, test: impl AsyncFn(Led<'_>)) {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let run = start(daemon, StartRunRequest { coordination, ..request }).await;
        let lea = architect::agent("lea").unwrap();
        let given = lead(&run, Some("lea"), ceiling(1_000_000), Some(lease_ms));
        let _: SeatReply = daemon.ask_seat(given, person(), None).await.unwrap();
        let ask = SeatAsk::Status(SeatStatusRequest { run: run.to_string(), wait_ms: None });
        let status: SeatReply = daemon.ask_seat(ask, lea.clone(), None).await.unwrap();
        test(Led { stage, daemon, run, fence: status.fence.unwrap(), lea }).await;
    });
}

#[test]
fn later_parts_get_the_variables_that_a_person_has_passed_to_the_run() {
    with_seat(async |led| {
        let env = vec![("KEY".to_owned(), "new".to_owned())];
        let given = |agent: &AgentChoice| InheritedEnv {
            agent: agent.name.clone(),
            driver: agent.driver.clone(),
            env: env.clone(),
        };
        let agents = super::super::request::request(led.stage, "").unwrap().agents;
        let passed = ResumeRunRequest {
            run: Some(led.run.to_string()),
            tasks: Vec::new(),
            ends_daemon: false,
            env: agents.iter().map(given).collect(),
        };
        led.daemon.resume_run(&passed, &people::ann().unwrap().name, None).await.unwrap();
        let before: BTreeSet<_> = lock(&led.stage.shims).paths().collect();

        led.up_to_step("work").await;

        let shims = lock(&led.stage.shims);
        let later = shims.paths().filter(|folder| !before.contains(folder));
        let later: Vec<_> = later.filter_map(|folder| Some(shims.get(&folder)?.spec.env.clone())).collect();
        assert!(!later.is_empty() && later.iter().all(|got| got.contains(&env[0])), "{later:?}");
    });
}

#[test]
fn a_run_whose_driver_does_not_end_gets_no_second_one() {
    with_seat(async |led| {
        let lea = led.lea.name.clone();

        let second = led.daemon.start_driver(&led.run, Some(&lea)).await;

        refused(second.map_err(|error| error.to_failure()), "request.conflict", "is still being stopped");
    });
}

#[test]
fn a_question_of_a_run_that_is_stopped_is_withdrawn() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |_, daemon, request| {
        let drive = Drive { lead: None, request: Some("Add".to_owned()), steps: OptionalSteps::default(), auto: false };
        let request = StartRunRequest { plan: String::new(), source: String::new(), drive: Some(drive), ..request };
        let ann = people::ann().unwrap();
        let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        let open = || switchboard_needs::list(&daemon.world.store, false).unwrap();
        for _ in 0..LOOKS {
            if !open().is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let asked = open().remove(0);

        let stop = StopRunRequest { what: run.to_string(), tasks: Vec::new(), grace_ms: None };
        daemon.stop_run(&stop, &ann.name, None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let row = daemon.world.store.get(switchboard_needs::NEEDS, &[asked.id.as_str().into()]).unwrap().unwrap();
        assert!(open().is_empty() && row.get_text("outcome") == Some("withdrawn"), "{row:?}");
    });
}

#[test]
fn a_call_stops_tasks_of_the_present_part_of_a_led_run_and_of_no_other_beside_them() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let ann = people::ann().unwrap().name;
        let stop = async |tasks: &[String]| {
            let request = StopRunRequest { what: led.run.to_string(), tasks: tasks.to_vec(), grace_ms: None };
            led.daemon.stop_run(&request, &ann, None).await.map_err(|error| error.to_failure())
        };
        let parts = led.daemon.world.store.read(&Query::table(RUNS).asc("seq")).unwrap();
        let earlier = parts.iter().find(|part| part.get_text("part_of") == Some(led.run.as_str())).unwrap();
        let earlier = RunId::new(earlier.get_text("id").unwrap()).unwrap();
        let first = led.daemon.views(&earlier).await.unwrap().remove(0).task;

        let both = stop(&[TASK.to_owned(), format!("{earlier}/{first}")]).await;
        refused(both, "request.bad-args", "is no task of");
        assert!(led.events("task_stop_requested").is_empty());
        let reply = stop(&[TASK.to_owned()]).await.unwrap();

        assert_ne!(reply.run, led.run, "the part that has the task");
        assert_eq!(led.events("task_stop_requested").len(), 1, "{reply:?}");
    });
}

#[test]
fn a_message_steers_a_task_of_a_led_run_and_not_the_whole() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let ann = people::ann().unwrap();
        let pause = async |number, unit: String| {
            let control = Control::Pause { unit: Some(unit) };
            let done = led.daemon.control(&control, &MessageId::from_bits(number), &ann, None).await;
            done.map_err(|error| error.to_failure())
        };

        refused(pause(1, led.run.to_string()).await, "request.conflict", "a message steers one task of it");
        assert!(led.events("run_paused").is_empty());
        let of_task = pause(2, format!("{}/{TASK}", led.run)).await;
        assert!(of_task.is_ok() && led.events("task_paused").len() == 1, "{of_task:?}");
    });
}

#[test]
fn the_trouble_of_a_led_run_is_over_once_its_driver_goes_on() {
    with_seat(async |led| {
        let troubles = &led.daemon.world.troubles;
        troubles.failed(&led.run, Failure::new("io.denied", "no way"));

        led.up_to_step("work").await;

        assert_eq!(troubles.of(&led.run), None);
    });
}

#[test]
fn a_status_that_a_task_has_not_earned_is_refused_with_what_is_missing() {
    with_seat(async |led| {
        refused(led.set(TASK, TaskStatus::Completed, None).await, "seat.not-open", "no phase is carried out");
        led.up_to_step("work").await;

        refused(
            led.set("1.7", TaskStatus::Completed, None).await,
            "dispatch.unknown-task",
            "the present phase has no task 1.7",
        );
        refused(
            led.set(TASK, TaskStatus::Completed, None).await,
            "seat.not-earned",
            "begin_step work of task 1.1 comes next",
        );
        refused(led.set(TASK, TaskStatus::InProgress, None).await, "seat.not-earned", "nobody works on it");
        refused(led.set(TASK, TaskStatus::Pending, None).await, "seat.not-earned", "is not set to pending");
        refused(led.set(TASK, TaskStatus::Closed, None).await, "seat.not-earned", "is not set to closed");
        for reason in [None, Some(""), Some(" \n")] {
            refused(led.set(TASK, TaskStatus::Blocked, reason).await, "request.bad-args", "blocked for a reason");
        }
        let excuse = Some("just updating docs");
        refused(led.set(TASK, TaskStatus::Blocked, excuse).await, "request.bad-args", "is no reason to leave a task");
        led.begin(Some(TASK), None, StepExecutor::Worker).await.unwrap();
        led.set(TASK, TaskStatus::InProgress, None).await.unwrap();
        assert!(led.events("task_blocked").is_empty());
    });
}

#[test]
fn a_task_is_blocked_from_the_seat_for_a_reason_that_names_who_says_so() {
    with_seat(async |led| {
        led.up_to_step("work").await;

        led.set(TASK, TaskStatus::Blocked, Some("the service is down")).await.unwrap();

        let blocked = led.events("task_blocked");
        let [RunEvent::TaskBlocked { reason, .. }] = blocked.as_slice() else { panic!("{blocked:?}") };
        assert_eq!(reason, "the service is down (lea says so)");
        refused(led.set(TASK, TaskStatus::InProgress, None).await, "seat.not-earned", "it is not in progress");
    });
}

#[test]
fn files_of_a_task_are_declared_as_paths_that_the_plan_names() {
    with_seat(async |led| {
        refused(led.declare(led.fence, TASK, &["t/1.1"]).await, "seat.not-open", "no phase is carried out");
        led.up_to_step("work").await;
        let many = vec!["t/1.1"; MAX_FILES + 1];
        let long = "x".repeat(4_097);

        for files in [&[][..], &many] {
            refused(led.declare(led.fence, TASK, files).await, "request.bad-args", "files are declared");
        }
        for file in
            ["", "/t/1.1", "t/1.1\0", &long, "t/*", "t/?", "t/[1]", "t/{1,2}", "t/", "t//1.1", "./t", "t/../1.1"]
        {
            refused(led.declare(led.fence, TASK, &["t/1.1", file]).await, "request.bad-args", "no path of a file");
        }
        refused(led.declare(led.fence, TASK, &["src/other.rs"]).await, "seat.not-open", "src/other.rs is not in the");
        refused(led.declare(led.fence, "1.7", &["t/1.1"]).await, "dispatch.unknown-task", "1.7");
        refused(led.declare(led.fence + 1, TASK, &["t/1.1"]).await, "seat.not-yours", "");
        assert!(led.events("scope_declared").is_empty());
        led.declare(led.fence, TASK, &["t/1.1"]).await.unwrap();
        assert_eq!(led.events("scope_declared").len(), 1);
    });
}

#[test]
fn a_step_is_begun_once_by_whoever_began_it_and_no_other_step_in_its_place() {
    with_seat(async |led| {
        let status = led.up_to(|status| status.open.iter().any(|open| open.verb == "begin_step")).await;
        assert!(status.open[0].role.is_some(), "{status:?}");
        refused(led.begin(None, None, StepExecutor::Seat).await, "seat.not-open", "another one than who plans has to");
        refused(led.begin(None, Some("coffee"), StepExecutor::Worker).await, "seat.not-open", "is open: begin that");
        for _ in 0..2 {
            let begun = led.begin(None, None, StepExecutor::Worker).await.unwrap();
            assert_eq!((begun.state.as_str(), begun.task), ("begun", None));
        }
        led.up_to_step("work").await;
        refused(led.begin(None, None, StepExecutor::Worker).await, "seat.not-open", "name a task: ");
        refused(led.begin(Some("1.7"), None, StepExecutor::Worker).await, "dispatch.unknown-task", "1.7");
        refused(
            led.begin(Some(TASK), Some("review"), StepExecutor::Worker).await,
            "seat.not-open",
            "work is open: begin that",
        );
        refused(led.report(Some(TASK), None).await, "seat.not-open", "it lacks work");
        for (fence, name) in [(led.fence + 1, "lea"), (led.fence, "eve")] {
            let report = ReportStepRequest {
                state: StepState::Done,
                note: "done".to_owned(),
                answer: None,
                task: None,
                attempt: None,
                run: Some(led.run.to_string()),
                fence: Some(fence),
            };
            let reported = led.daemon.report_from_seat(report, architect::agent(name).unwrap(), None).await;
            refused(reported.map_err(|error| error.to_failure()), "seat.not-yours", "");
        }

        let first = led.begin(Some(TASK), Some("work"), StepExecutor::Worker).await.unwrap();
        let again = led.begin(Some(TASK), Some("work"), StepExecutor::Worker).await.unwrap();
        assert_eq!((first.state.as_str(), first.step.as_str(), again.step.as_str()), ("begun", "work", "work"),);
        tokio::time::sleep(Duration::from_millis(150)).await;
        let later = led.begin(Some(TASK), None, StepExecutor::Worker).await.unwrap();
        assert!(["starting", "working"].contains(&later.state.as_str()), "{later:?}");
        refused(led.begin(Some(TASK), None, StepExecutor::Seat).await, "seat.not-open", "it lacks");
        refused(led.begin(Some(TASK), Some("review"), StepExecutor::Worker).await, "seat.not-open", "it lacks");
        refused(led.report(Some(TASK), None).await, "seat.not-open", "a worker of the run works on task 1.1");

        led.up_to_step("review").await;
        refused(led.begin(Some(TASK), None, StepExecutor::Seat).await, "seat.not-open", "judges the change");
        refused(
            led.begin(Some(TASK), Some("work"), StepExecutor::Worker).await,
            "seat.not-open",
            "review is open: begin that",
        );
        assert_eq!(led.begin(Some(TASK), None, StepExecutor::Worker).await.unwrap().step, "review");
    });
}

#[test]
fn who_leads_does_a_task_with_its_own_hands_and_says_when_it_is_done() {
    with_seat(async |led| {
        led.up_to_step("work").await;

        let begun = led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();

        assert_eq!((begun.state.as_str(), begun.by), ("working", StepExecutor::Seat));
        assert!(begun.worktree.is_some() && begun.branch.is_some() && begun.worker.is_some(), "{begun:?}");
        let again = led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();
        assert_eq!((again.state.as_str(), &again.worker), ("working", &begun.worker));
        refused(led.begin(Some(TASK), None, StepExecutor::Worker).await, "seat.not-open", "it lacks");
        led.report(Some(TASK), None).await.unwrap();
        assert!(led.up_to_step("review").await.open.len() == 1);
    });
}

#[test]
fn who_leads_and_is_stuck_with_its_own_hands_ends_the_attempt_with_its_reason() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();
        let stuck = async |why: &str| led.say(StepState::Stuck, why, Some(TASK), None).await;
        refused(stuck(" ").await, "request.bad-args", "for a reason");
        refused(stuck("It's a simple change").await, "request.bad-args", "is no reason to leave a task");

        stuck("the vendor has given no key").await.unwrap();

        led.up_to_step("work").await;
        let ended = led.events("turn_ended");
        let Some(RunEvent::TurnEnded { task, outcome, reason, .. }) = ended.last() else { panic!("{ended:?}") };
        assert_eq!((task.as_str(), *outcome), (TASK, TurnOutcome::Failed));
        assert_eq!(reason, "lea is stuck: the vendor has given no key");
        led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();
        stuck("the vendor has given no key").await.unwrap();
        let wants = led.up_to(|status| status.open.iter().any(|open| open.answer == Some(AnswerKind::Decision))).await;
        assert_eq!(wants.open.len(), 1, "the architect is asked about the task that failed twice alike");
        let blocked = led.events("task_blocked");
        let [RunEvent::TaskBlocked { reason, .. }] = blocked.as_slice() else { panic!("{blocked:?}") };
        assert!(reason.contains("the vendor has given no key"), "{reason}");
    });
}

#[test]
fn gates_are_added_between_phases_and_only_added() {
    with_seat(async |led| {
        refused(led.add_gates(&[]).await, "request.bad-args", "no gate is named");
        refused(led.add_gates(&["-secretscan"]).await, "request.bad-args", "would leave a gate out");
        refused(led.add_gates(&["secretscam"]).await, "plan.unknown-gate", "secretscan");
        led.add_gates(&["secretscan"]).await.unwrap();
        led.up_to_step("work").await;
        refused(led.add_gates(&["secretscan"]).await, "seat.not-open", "phase 1 is carried out");
    });
}

#[test]
fn the_seat_is_given_by_people_under_a_ceiling_and_left_by_its_holder() {
    with_daemon(async |daemon, request| {
        let run = start(daemon, request).await;
        let (ann, lea, eve) = (person(), architect::agent("lea").unwrap(), architect::agent("eve").unwrap());
        let ask = async |ask, by: &SeatCaller| {
            daemon.ask_seat::<SeatReply>(ask, by.clone(), None).await.map_err(|error| error.to_failure())
        };
        let leave = |fence| SeatAsk::Leave(LeaveSeatRequest { run: run.to_string(), fence });
        let hour = Some(60 * 60_000);

        refused(ask(lead(&run, None, ceiling(9), hour), &ann).await, "request.bad-args", "a person has no seat");
        refused(ask(lead(&run, Some("ann"), ceiling(9), hour), &ann).await, "request.bad-args", "a person has no seat");
        refused(
            ask(lead(&run, Some("lea"), ceiling(9), hour), &eve).await,
            "request.bad-args",
            "asks for the seat for itself",
        );
        let unproven = SeatCaller { is_proven: false, ..lea.clone() };
        refused(ask(lead(&run, None, ceiling(9), hour), &unproven).await, "seat.not-yours", "anybody may say so");
        refused(ask(lead(&run, Some("lea"), None, hour), &ann).await, "seat.no-ceiling", "--budget USD");
        refused(ask(lead(&run, Some("lea"), ceiling(9), Some(0)), &ann).await, "request.bad-args", "lease_ms");
        refused(ask(leave(Some(1)), &lea).await, "seat.not-yours", "");
        let taken = ask(lead(&run, Some("lea"), ceiling(1_000_000), hour), &ann).await.unwrap();
        assert_eq!((taken.form.as_str(), taken.ceiling, taken.fence), ("led", Some(1_000_000), None));
        refused(ask(lead(&run, Some("eve"), None, hour), &ann).await, "seat.taken", "");
        let fence =
            ask(SeatAsk::Status(SeatStatusRequest { run: run.to_string(), wait_ms: None }), &lea).await.unwrap().fence;
        refused(ask(leave(None), &lea).await, "seat.not-yours", "with its fence");
        refused(ask(leave(fence), &eve).await, "seat.not-yours", "eve calls");
        assert_eq!(ask(leave(fence), &lea).await.unwrap().form, "driven");
        // The ceiling stays.
        let again = ask(lead(&run, None, None, hour), &eve).await.unwrap();
        assert_eq!(
            (again.agent.map(|agent| agent.to_string()).as_deref(), again.ceiling),
            (Some("eve"), Some(1_000_000))
        );
        assert_eq!(ask(leave(None), &ann).await.unwrap().form, "driven", "a person needs no fence");
        let by_name = ask(lead(&run, Some("eve"), None, hour), &eve).await.unwrap();
        assert_eq!(by_name.agent.map(|agent| agent.to_string()).as_deref(), Some("eve"));
    });
}

#[test]
fn a_look_at_the_seat_waits_as_long_as_it_is_told_for_something_to_do() {
    with_seat(async |led| {
        let look = async |wait_ms| {
            let request = SeatStatusRequest { run: led.run.to_string(), wait_ms };
            let began = tokio::time::Instant::now();
            let status = led.daemon.seat_status(&request, led.lea.clone()).await;
            (status.map_err(|error| error.to_failure()), began.elapsed())
        };
        refused(look(Some(MAX_WAIT_MS + 1)).await.0, "request.bad-args", "a call waits at most");
        let status = led.up_to(|status| status.open.iter().any(|open| open.verb == "begin_step")).await;
        let (open, waited) = look(Some(MAX_WAIT_MS)).await;
        assert_eq!((open.unwrap().open.len(), waited), (status.open.len(), Duration::ZERO));
        led.begin(None, None, StepExecutor::Worker).await.unwrap();

        for wait in [None, Some(1)] {
            let (at_once, waited) = look(wait).await;
            assert_eq!(at_once.unwrap().open.len(), 0);
            assert!(waited < Duration::from_secs(1), "{waited:?}");
        }
        let (later, waited) = look(Some(MAX_WAIT_MS)).await;
        assert!(waited > Duration::ZERO && waited < Duration::from_millis(MAX_WAIT_MS), "{waited:?}");
        assert_eq!(later.unwrap().open.len(), 1);
    });
}

#[test]
fn a_resume_of_a_run_that_a_team_carries_out_goes_on_with_the_part_that_is_paused_and_tells_no_other() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let ann = people::ann().unwrap().name;
        let resume = async || {
            let request = ResumeRunRequest {
                run: Some(led.run.to_string()),
                tasks: Vec::new(),
                ends_daemon: false,
                env: Vec::new(),
            };
            led.daemon.resume_run(&request, &ann, None).await.unwrap().state
        };

        assert_eq!((resume().await.as_str(), led.events("run_resumed").len()), ("running", 0));
        led.daemon.pause_run(&PauseRunRequest { what: led.run.to_string(), tasks: Vec::new() }, None).await.unwrap();
        assert_eq!((resume().await.as_str(), led.events("run_resumed").len()), ("running", 1));
    });
}
