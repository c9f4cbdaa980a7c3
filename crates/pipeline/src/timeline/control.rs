//! Entries for actions of persons and ceilings: questions, pauses, stops, retries, and the merge into the user's
//! branch.

use switchboard_protocol::id::NeedId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{BudgetScope, PauseCause, PersonAnswer, TaskPauseCause};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::timeline::{TimelineCause, TimelineKind, TimelineState};

use super::{At, DETAIL, Timeline};

// === impl Timeline ===

impl Timeline {
    pub(super) fn asked(&mut self, at: At<'_>, of: (&TaskId, Option<u32>), need: NeedId, reason: &str) {
        let cause = self.line(of.0).last;
        let question = self.add_to(at, TimelineKind::Question, TimelineState::Running, of, cause);
        self.entries[question].name = need.to_string();
        self.entries[question].detail = cut(reason, DETAIL);
        self.questions.insert(need, question);
    }

    pub(super) fn answered(&mut self, at: At<'_>, need: &NeedId, answer: PersonAnswer) {
        let (state, word) = of_answer(answer);
        let question = self.questions.remove(need);
        self.close(question, at, state, word);
    }

    /// Adds an entry for a request or a reached ceiling.
    pub(super) fn control(&mut self, at: At<'_>, task: Option<&TaskId>, name: &str, detail: &str) {
        self.add_control(at, task, name, detail);
    }

    pub(super) fn tree_rebased(&mut self, at: At<'_>, task: &TaskId, onto: &str) {
        self.control(at, Some(task), "tree rebased", onto.get(..9).unwrap_or(onto));
    }

    pub(super) fn tree_not_rebased(&mut self, at: At<'_>, task: &TaskId, files: &[String]) {
        self.control(at, Some(task), "tree not rebased", &files.join(", "));
    }

    pub(super) fn run_resumed(&mut self, at: At<'_>) {
        let pause = self.pause.take();
        self.close(pause, at, TimelineState::Done, "");
    }

    pub(super) fn task_resumed(&mut self, at: At<'_>, task: &TaskId) {
        let pause = self.line(task).pause.take();
        self.close(pause, at, TimelineState::Done, "");
    }

    pub(super) fn tried_again(&mut self, at: At<'_>, task: &TaskId) {
        let retry = self.add_control(at, Some(task), "retry", "");
        if let Some(turn) = self.loop_turn {
            self.entries[retry].caused_by = TimelineCause::Entry(turn);
        }
        if let Some(run) = self.run.map(|run| &mut self.entries[run]) {
            (run.state, run.ended_at, run.detail) = (TimelineState::Running, None, String::new());
        }
    }

    pub(super) fn alert(&mut self, at: At<'_>, percent: u8, task: Option<&TaskId>, of: BudgetScope) {
        self.control(at, task, "ceiling", &format!("{percent} % of {}", ceiling_name(of, task)));
    }

    pub(super) fn run_paused(&mut self, at: At<'_>, cause: PauseCause) {
        let pause = self.add_control(at, None, "pause", why_run(cause));
        self.entries[pause].state = TimelineState::Running;
        self.pause = Some(pause);
    }

    pub(super) fn led_set(&mut self, at: At<'_>, is_led: bool) {
        let name = match (std::mem::replace(&mut self.is_led, is_led), is_led) {
            (false, true) => "lead",
            // The agent that led it has lost its seat.
            (true, true) => "vacate",
            (_, false) => "drive",
        };
        self.control(at, None, name, "");
    }

    pub(super) fn task_paused(&mut self, at: At<'_>, task: &TaskId, cause: TaskPauseCause) {
        let pause = self.add_control(at, Some(task), "pause", why_task(cause));
        self.entries[pause].state = TimelineState::Running;
        self.line(task).pause = Some(pause);
    }

    pub(super) fn branch_intended(&mut self, at: At<'_>, target: String, undo: bool) {
        let run = self.run.map(|run| self.entries[run].id);
        let entry = self.add(at, TimelineKind::Branch, TimelineState::Running, run);
        self.entries[entry].name = target;
        self.entries[entry].detail = if undo { "taken back" } else { "" }.to_owned();
        self.branch = Some(entry);
    }

    /// Records that the user's branch has moved, or stays. A branch that already has the run's work is merged without
    /// an intent.
    pub(super) fn branch_moved(&mut self, at: At<'_>, state: TimelineState, target: String, detail: &str) {
        let run = self.run.map(|run| self.entries[run].id);
        let entry = self.branch.take().unwrap_or_else(|| self.add(at, TimelineKind::Branch, state, run));
        if !target.is_empty() {
            self.entries[entry].name = target;
        }
        self.end(entry, at.at, state, detail);
    }

    fn add_control(&mut self, at: At<'_>, task: Option<&TaskId>, name: &str, detail: &str) -> usize {
        let entry = match task {
            Some(task) => self.add_to(at, TimelineKind::Control, TimelineState::Done, (task, None), None),
            None => self.add(at, TimelineKind::Control, TimelineState::Done, None),
        };
        name.clone_into(&mut self.entries[entry].name);
        detail.clone_into(&mut self.entries[entry].detail);
        entry
    }
}

fn of_answer(answer: PersonAnswer) -> (TimelineState, &'static str) {
    match answer {
        PersonAnswer::Allow => (TimelineState::Done, "allowed"),
        PersonAnswer::Retry => (TimelineState::Done, "to be tried again"),
        PersonAnswer::GiveUp => (TimelineState::Failed, "given up"),
        PersonAnswer::Expired => (TimelineState::Failed, "nobody answered in time"),
        PersonAnswer::Withdrawn => (TimelineState::Stopped, "withdrawn"),
    }
}

fn ceiling_name(of: BudgetScope, task: Option<&TaskId>) -> String {
    match (task, of) {
        (Some(task), _) => format!("the ceiling of task {task}"),
        (None, BudgetScope::Run) => "the run's ceiling".to_owned(),
        (None, BudgetScope::Plan) => "the plan's ceiling".to_owned(),
        (None, BudgetScope::Day) => "the day's ceiling".to_owned(),
    }
}

const fn why_run(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::Requested => "",
        PauseCause::Budget => "the run's ceiling",
        PauseCause::Plan => "the plan's ceiling",
        PauseCause::Day => "the day's ceiling",
        PauseCause::Disk => "the disk is full",
    }
}

const fn why_task(cause: TaskPauseCause) -> &'static str {
    match cause {
        TaskPauseCause::Requested => "",
        TaskPauseCause::Budget => "the task's ceiling",
        TaskPauseCause::Dear => "costs far more than others",
    }
}
