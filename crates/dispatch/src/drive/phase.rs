//! Runs the tasks of a phase: a run of that part of the approved plan, reviewed and tested like every change of a team.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use switchboard_pipeline::plan_json;
use switchboard_pipeline::run::words_of;
use switchboard_protocol::answer::Answer;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::id::RunId;
use switchboard_protocol::modes::{FailedTask, ModeEvent, PartWork, PhaseOutcome};
use switchboard_protocol::plan::{Plan, TaskId, TaskStatus};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{Refusal, RefusalCause, TaskState, TaskView};
use switchboard_protocol::verb::run::{RoleChoice, StartRunRequest};

use super::added_gates::add_to;
use super::record::Part;
use super::role_prompts::guidance;
use super::{Driver, Follows, Waited};
use crate::{Error, plan, report};

/// Number of digits of the plan's digest in the name of a part.
const DIGEST_DIGITS: usize = 12;

/// Maximum number of causes named in a failure.
const MAX_NAMED: usize = 5;

/// Tasks of a phase that have run, and their results.
pub(super) struct Ran {
    pub(super) run: RunId,
    pub(super) view: TaskView,
}

// === impl Driver ===

impl Driver {
    /// Carries out the tasks of a phase; resumes tasks that did not succeed before.
    pub(super) async fn run_phase(&mut self, step: u32, phase: u64) -> Result<Follows, Error> {
        let held = |why: String| {
            let outcome = PhaseOutcome::Held { why, failed: None };
            Follows::Event(ModeEvent::PhaseEnded { step, phase, outcome }, String::new())
        };
        let (plan, digest) = self.plan()?;
        let what = format!("phase {phase} of plan {}", digest.chars().take(DIGEST_DIGITS).collect::<String>());
        let begun = match self.earlier(step, &what).await? {
            Ok(None) => self.start_phase(step, phase, what, plan).await?,
            Ok(Some(part)) => Ok(part),
            Err(failure) => Err(failure),
        };
        let part = match begun {
            Ok(part) => part,
            Err(failure) => return Ok(held(format_failure(&failure))),
        };
        self.apply_form().await?;
        let state = match self.end_of_part(&part).await? {
            Waited::For(state) => state,
            Waited::Changed => return Ok(Follows::Changed),
            Waited::Stop(stop) => return Ok(Follows::Stop(stop)),
            Waited::Down => return Ok(Follows::Down),
        };
        if state != "succeeded" {
            return self.held(step, phase, &part.run).await;
        }
        Ok(Follows::Event(ModeEvent::PhaseEnded { step, phase, outcome: PhaseOutcome::Done }, String::new()))
    }

    /// Handles a phase that can't go on. Includes the refused attempts of a task that has none left, which may help the
    /// architect to fix it.
    async fn held(&self, step: u32, phase: u64, part: &RunId) -> Result<Follows, Error> {
        let why = self.why_not(part).await?;
        let views = self.dispatch.views(part).await?;
        let (plan, _) = self.plan()?;
        let (mut failed, mut body) = (None, String::new());
        if let Some(view) = views.iter().find(|view| is_refused_for_good(view)) {
            body = tried(&plan, view);
            failed = Some(FailedTask { task: view.task.clone(), text: Digest::of(body.as_bytes()) });
        }
        let outcome = PhaseOutcome::Held { why, failed };
        Ok(Follows::Event(ModeEvent::PhaseEnded { step, phase, outcome }, body))
    }

    /// Returns the architect's advice for the next attempt at a task, with the task.
    fn advice(&self) -> Result<Option<(TaskId, String)>, Error> {
        let Some((task, text)) = self.record.state().known().and_then(|known| known.advice.clone()) else {
            return Ok(None);
        };
        let text = self.record.text(&self.dispatch.world.store, &text)?;
        Ok(match serde_json::from_str::<Answer>(&text) {
            Ok(Answer::Decision(decision)) => Some((task, decision.note.unwrap_or(decision.reason))),
            Ok(_) | Err(_) => None,
        })
    }

    /// Returns a part that began the same work and did not end it; it is continued.
    async fn earlier(&mut self, step: u32, what: &str) -> Result<Result<Option<Part>, Failure>, Error> {
        if let Some(part) = self.record.part_of(step) {
            return Ok(Ok(Some(part.clone())));
        }
        let Some(last) = self.record.parts().iter().rev().find(|part| part.what == what).cloned() else {
            return Ok(Ok(None));
        };
        match self.dispatch.state_of(&last.run)?.as_str() {
            // A person wants its tasks done again.
            "succeeded" if self.record.is_carried_out(last.step) => return Ok(Ok(None)),
            // A person retried its tasks while it was held.
            "succeeded" | "running" => {}
            _ => match self.go_on_with(&last.run).await {
                Ok(_) => {}
                Err(error) if error.may_pass() => return Err(error),
                Err(Error::Refused(failure)) => return Ok(Err(*failure)),
                Err(error) => return Err(error),
            },
        }
        let part = Part { step, ..last };
        self.record.link(&self.dispatch.world, part.clone()).await?;
        Ok(Ok(Some(part)))
    }

    /// Retries the tasks that did not succeed; if the architect left a note, only the task that the note is about.
    async fn go_on_with(&self, part: &RunId) -> Result<serde_json::Value, Error> {
        let (tasks, note) = self.advice()?.map_or((Vec::new(), String::new()), |(task, note)| (vec![task], note));
        self.dispatch.retry(part, (None, tasks, note), None, serde_json::Value::Null).await
    }

    async fn start_phase(
        &mut self,
        step: u32,
        phase: u64,
        what: String,
        mut plan: Plan,
    ) -> Result<Result<Part, Failure>, Error> {
        let done = self.tasks_done().await?;
        add_to(&mut plan, self.record.state().gates());
        for task in plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
            if done.contains(&task.id) && task.phase != phase {
                task.status = TaskStatus::Completed;
            }
        }
        let text = plan_json::write(&plan);
        let path = plan::folder(&self.dispatch.world.config, &self.run).join("plan.json");
        let (files, bytes, at) = (std::sync::Arc::clone(&self.dispatch.world.ports.files), text.clone(), path.clone());
        self.dispatch.world.blocking(move || files.write(&at, bytes.as_bytes())).await?;
        let roles = self.setup.template.roles.iter().filter(|choice| is_of_tasks(choice));
        let request = StartRunRequest {
            plan: text,
            source: plan::text(&path),
            team: true,
            scope: Some(UnitId::Phase(phase)),
            roles: roles.cloned().collect(),
            parent_trace: guidance(&self.dispatch.world.store, &self.record)?,
            ..self.template()
        };
        let started = self.start_part(step, (PartWork::Phase, what), request).await?;
        Ok(started.map_err(|failure| match failure.code.as_str() {
            "config.untrusted" => {
                failure.hint(format!("look at what it runs, then: switchboard trust {}", path.display()))
            }
            _ => failure,
        }))
    }

    /// Returns the current plan and its digest.
    pub(super) fn plan(&self) -> Result<(Plan, String), Error> {
        let digest = self.record.state().known().and_then(|known| known.plan.as_ref()).map(|plan| plan.plan);
        let digest = digest.ok_or_else(|| Error::Missing(format!("the plan of {}", self.run)))?;
        let text = self.record.text(&self.dispatch.world.store, &digest)?;
        let plan = plan_json::parse(&text).map_err(|error| error.failure("the plan"))?;
        Ok((plan, digest.hex()))
    }

    /// Returns the tasks of all phases that have run, each in its latest state.
    pub(super) async fn ran(&self) -> Result<Vec<Ran>, Error> {
        let mut seen = BTreeSet::new();
        let mut ran: Vec<Ran> = Vec::new();
        for part in self.record.parts().iter().filter(|part| part.work == PartWork::Phase) {
            if !seen.insert(part.run.clone()) {
                continue;
            }
            for view in self.dispatch.views(&part.run).await? {
                ran.retain(|known| known.view.task != view.task);
                ran.push(Ran { run: part.run.clone(), view });
            }
        }
        Ok(ran)
    }

    async fn tasks_done(&self) -> Result<BTreeSet<TaskId>, Error> {
        let (plan, _) = self.plan()?;
        let before = self.record.state().known().map(|known| known.done.clone()).unwrap_or_default();
        let of_before = plan.tasks().filter(|task| before.contains(&task.phase)).map(|task| task.id.clone());
        let ran = self.ran().await?.into_iter();
        Ok(ran.filter(|ran| ran.view.state.is_done()).map(|ran| ran.view.task).chain(of_before).collect())
    }

    /// Returns the counts that the record has for a phase, for its retrospective.
    pub(super) async fn counted(&self, phase: u64) -> Result<String, Error> {
        let (plan, _) = self.plan()?;
        let of_phase: BTreeSet<_> =
            plan.tasks().filter(|task| task.phase == phase).map(|task| task.id.clone()).collect();
        let ran = self.ran().await?;
        let views: Vec<_> = ran.iter().map(|ran| &ran.view).filter(|view| of_phase.contains(&view.task)).collect();
        Ok(counts(phase, &views))
    }
}

/// Formats the counts of the tasks of a phase.
fn counts(phase: u64, views: &[&TaskView]) -> String {
    let refused = |is_it: &dyn Fn(&RefusalCause) -> bool| {
        views.iter().flat_map(|view| &view.refusals).filter(|refusal| is_it(&refusal.cause)).count()
    };
    let by_step = |names: &'static [&'static str]| {
        refused(&move |cause| matches!(cause, RefusalCause::Step { step } if names.contains(&step.as_str())))
    };
    let tests = by_step(&["tests", "adversarial_tests"])
        + refused(&|cause| matches!(cause, RefusalCause::Gate { gate } if gate == "test_runner"));
    let revisions: u32 = views.iter().map(|view| view.attempt.saturating_sub(1)).sum();
    format!(
        "phase_number {phase}, task_count {}, coder_revisions {revisions}, reviewer_rejections {}, test_failures {tests}, security_findings {}, integration_issues {}",
        views.len(),
        by_step(&["review"]),
        by_step(&["security_review"]),
        refused(&|cause| matches!(cause, RefusalCause::MergeConflict)),
    )
}

/// Returns true if the task has no attempts left: the change of the last one was refused.
fn is_refused_for_good(view: &TaskView) -> bool {
    let is_last = |refusal: &Refusal| refusal.attempt == view.attempt && refusal.cause != RefusalCause::Person;
    matches!(view.state, TaskState::Blocked { .. }) && view.refusals.last().is_some_and(is_last)
}

/// Describes a task, its attempts, and why each of them was refused.
fn tried(plan: &Plan, view: &TaskView) -> String {
    let task = plan.tasks().find(|task| task.id == view.task);
    let mut text = format!("task {}: {}\n", view.task, task.map(|task| task.description.as_str()).unwrap_or_default());
    if let Some(files) = task.map(|task| task.files_touched.join(", ")).filter(|files| !files.is_empty()) {
        let _ = writeln!(text, "files: {files}");
    }
    if let Some(ending) = report::ending(&view.state) {
        let _ = writeln!(text, "{ending}");
    }
    for Refusal { attempt, cause, reasons } in &view.refusals {
        let _ = writeln!(text, "attempt {attempt} was refused, {}:", words_of(cause));
        reasons.iter().for_each(|reason| text.push_str(&format!("- {reason}\n")));
    }
    text
}

/// Returns true if the choice concerns a role that the tasks of a phase have.
pub(super) fn is_of_tasks(choice: &RoleChoice) -> bool {
    RoleName::IN_TASKS.into_iter().chain([RoleName::Coder]).any(|role| role.id() == choice.role)
}

/// Formats a failure with its causes and hint, in one line.
pub(super) fn format_failure(failure: &Failure) -> String {
    let Failure { what, code, hint, cause, .. } = failure;
    // What was said before is not repeated, whole or in parts.
    let is_new = |part: &&str, before: &str| !part.split("; ").all(|part| before.contains(part));
    let hint = Some(hint.as_str()).filter(|hint| is_new(hint, what)).map(|hint| format!("; {hint}"));
    // The hint comes first, because the end may be cut.
    let text = format!("{what} [{code}]{}", hint.unwrap_or_default());
    let causes: Vec<_> =
        cause.iter().take(MAX_NAMED).map(String::as_str).filter(|cause| is_new(cause, &text)).collect();
    if causes.is_empty() { text } else { format!("{text} ({})", causes.join("; ")) }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::run::TaskState;
    use switchboard_protocol::run::way::StepId;

    use super::*;
    use crate::tests::view;

    #[test]
    fn the_counts_of_a_phase_are_of_attempts_and_of_refusals_by_cause() {
        let step = |step: &str| RefusalCause::Step { step: StepId::new(step).unwrap() };
        let gate = |gate: &str| RefusalCause::Gate { gate: gate.to_owned() };
        let task = |id: &str, attempt: u32, causes: Vec<RefusalCause>| {
            let refused = |cause| Refusal { attempt: 1, cause, reasons: Vec::new() };
            TaskView { attempt, refusals: causes.into_iter().map(refused).collect(), ..view(id, TaskState::Ready) }
        };
        let of_first = vec![step("review"), step("review"), step("tests"), gate("test_runner"), gate("lint")];
        let of_second = vec![step("adversarial_tests"), step("security_review"), RefusalCause::MergeConflict];
        let (first, second, third) = (task("2.1", 4, of_first), task("2.2", 3, of_second), task("2.3", 0, Vec::new()));

        assert_eq!(
            counts(2, &[&first, &second, &third]),
            "phase_number 2, task_count 3, coder_revisions 5, reviewer_rejections 2, test_failures 3, security_findings 1, integration_issues 1"
        );
    }

    fn refused(attempt: u32, cause: RefusalCause, reasons: &[&str]) -> Refusal {
        Refusal { attempt, cause, reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect() }
    }

    #[test]
    fn the_architect_decides_about_a_task_that_ended_with_a_refusal_of_its_last_attempt_and_about_no_other() {
        let blocked = || TaskState::Blocked { reason: "no attempts left".to_owned() };
        let gate = || RefusalCause::Gate { gate: "lint".to_owned() };
        let wants = |state, last: Option<(u32, RefusalCause)>| {
            let refusals = last.into_iter().map(|(attempt, cause)| refused(attempt, cause, &[])).collect();
            is_refused_for_good(&TaskView { attempt: 2, refusals, ..view("1.1", state) })
        };

        assert!(wants(blocked(), Some((2, gate()))));
        assert!(!wants(blocked(), Some((1, gate()))), "the last attempt ended for another reason");
        assert!(!wants(blocked(), Some((2, RefusalCause::Person))));
        assert!(!wants(blocked(), None));
        assert!(!wants(TaskState::Ready, Some((2, gate()))));
    }

    #[test]
    fn what_was_tried_for_a_task_names_its_files_its_end_and_all_refusals() {
        let task = |id: &str, files: &[&str]| serde_json::json!({ "id": id, "phase": 1, "description": format!("do {id}"), "files_touched": files });
        let plan = crate::tests::run_plan(&serde_json::json!([task("1.1", &["a.rs", "b.rs"]), task("1.2", &[])])).plan;
        let gate = RefusalCause::Gate { gate: "lint".to_owned() };
        let refusals = vec![refused(1, gate, &["too long", "too wide"]), refused(2, RefusalCause::NothingChanged, &[])];
        let blocked = TaskState::Blocked { reason: "no attempts left".to_owned() };

        assert_eq!(
            tried(&plan, &TaskView { refusals, ..view("1.1", blocked) }),
            "task 1.1: do 1.1\nfiles: a.rs, b.rs\nblocked: no attempts left\nattempt 1 was refused, gate lint:\n- too long\n- too wide\n\
             attempt 2 was refused, nothing changed:\n"
        );
        assert_eq!(tried(&plan, &view("1.2", TaskState::Ready)), "task 1.2: do 1.2\n");
    }

    #[test]
    fn the_tasks_of_a_phase_have_a_coder_and_those_who_judge_and_no_role_of_the_modes() {
        let is_of_tasks = |role: RoleName| is_of_tasks(&RoleChoice::new(role.id()));

        assert_eq!([RoleName::Coder, RoleName::Reviewer, RoleName::Explorer].map(is_of_tasks), [true; 3]);
        assert_eq!([RoleName::Architect, RoleName::Critic, RoleName::Docs].map(is_of_tasks), [false; 3]);
    }

    #[test]
    fn a_failure_is_told_without_repetition() {
        let line = "task 1.1: the plan names no test command; set test";
        let mut failure = Failure::new("gate.not-configured", line).hint("set test");
        failure.cause = vec![line.to_owned()];
        assert_eq!(format_failure(&failure), format!("{line} [gate.not-configured]"));

        failure.hint = "look at it".to_owned();
        failure.cause.push("task 1.2: nobody".to_owned());
        assert_eq!(format_failure(&failure), format!("{line} [gate.not-configured]; look at it (task 1.2: nobody)"));
    }
}
