//! Combines the settings of one task with those of its phase and plan.

use std::collections::BTreeSet;

use switchboard_protocol::finding::CommandKind;
use switchboard_protocol::frame::DEFAULT_TIMEOUT_MS;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::plan::{
    CommandLine, Confirm, OnViolation, Phase, PhaseSettings, Plan, PlanSettings, RetryFrom, Task, TaskSettings,
    UnknownWrites,
};
use switchboard_protocol::role::{RoleName, Zone};
use switchboard_protocol::run::{DEFAULT_WORKERS, MAX_WORKERS, Verdict, WorkerTimeout};

use crate::paths::Pattern;
use crate::team::tier::Wishes;

/// Milliseconds in a minute.
const MINUTE_MS: i64 = 60_000;

/// Default time limit for setting up a work tree in minutes: a cold `npm ci` of a large project takes minutes.
const SETUP_MINUTES: u32 = 10;

/// Default number of TCP ports of a work tree: for a web server, its database and what a test starts beside them.
const TREE_PORTS: u16 = 10;

/// The settings of one task: its own, else its phase's, else its plan's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Agent that does the task, if the plan names one.
    pub agent: Option<String>,
    /// Command that the `exec` driver runs.
    pub command: Option<CommandLine>,
    /// The group of tasks in its phase.
    pub slice: Option<String>,
    /// Command of the test gate.
    pub test: Option<CommandLine>,
    /// Command of the build gate.
    pub build: Option<CommandLine>,
    /// Command of the lint gate, and of the lint in the batch.
    pub lint: Option<CommandLine>,
    /// Command that fixes lint findings, before the gates.
    pub lint_fix: Option<CommandLine>,
    /// Set-up command that the plan names for each new work tree; an empty argument list means none. With `None`, lock
    /// files decide.
    pub setup: Option<CommandLine>,
    /// Time limit for setting up one tree in milliseconds.
    pub setup_ms: u64,
    /// Number of TCP ports that are reserved for the task's tree.
    pub ports: u16,
    /// Gate changes by the plan, its phase and the task, in that order: a name adds a gate, `-name` leaves one out.
    pub gates: Vec<String>,
    /// Globs that the task may write; `None` allows everything.
    pub scope: Option<Vec<String>>,
    /// Globs that the task may not write.
    pub exclude: Vec<String>,
    /// Files, folders and globs that the task declares to write; empty if it declares none.
    pub files_touched: Vec<String>,
    /// Files that the task declares to produce.
    pub outputs: Vec<String>,
    /// Paths that the task is assumed to write while it runs; tasks with overlapping paths are kept apart.
    pub writes: Vec<String>,
    /// Files that the task declares to read.
    pub reads: Vec<String>,
    /// Time limit of one attempt in milliseconds.
    pub timeout_ms: Option<i64>,
    /// When the agent is asked to finish, in milliseconds from the start of the attempt, if the plan sets it.
    pub wrap_up_ms: Option<i64>,
    /// Author of the task's commit.
    pub author: Option<String>,
    /// Maximum number of attempts, if the plan sets it.
    pub attempts: Option<u32>,
    /// Start point of the next attempt's work tree, if the plan sets it.
    pub retry_from: Option<RetryFrom>,
    /// Question to a person before the change is merged, if the plan wants one.
    pub confirm: Option<String>,
    /// What happens if a change touches files that the task does not declare.
    pub on_violation: OnViolation,
    /// True if the plan sets `on_violation`.
    pub says_on_violation: bool,
    /// True if the plan forbids questions to a person, even about findings of gates.
    pub asks_nobody: bool,
    /// Isolation of the worker, if the plan sets it.
    pub isolation: Option<Isolation>,
    /// Hosts that the constrained worker may reach, out of those that the agent's settings list, if the plan sets them.
    pub hosts: Option<Vec<String>>,
    /// What the agent may do without asking a person, if the plan sets it.
    pub permissions: Option<Permissions>,
    /// The model, if the plan names one.
    pub model: Option<String>,
    /// True if a team carries out the task.
    pub team: bool,
    /// True if the change gets the security review, whatever files it touches.
    pub always_security_review: bool,
    /// True if a change that is not critical passes its gates only, without reviews.
    pub turbo: bool,
    /// Roles that must take part in the task's phase.
    pub required_roles: Vec<RoleName>,
}

impl Settings {
    /// Returns true if the task declares the files that it may change or must produce.
    #[must_use]
    pub fn declares_files(&self) -> bool {
        let lists = [&self.exclude, &self.files_touched, &self.outputs];
        self.scope.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    /// Returns the files of a change that the task may not write, each with the declaration that excludes it. A file
    /// must lie in the scope and in `files_touched` or `outputs`, where these are declared, and in nothing that is
    /// excluded. A team's test engineer may add tests anywhere else, but not change `by_maker`, the files that the
    /// task's own agent has changed.
    #[must_use]
    pub fn outside<'a>(
        &self,
        files: impl IntoIterator<Item = &'a str>,
        by_maker: &BTreeSet<String>,
    ) -> Vec<Outside<'a>> {
        let parse =
            |declared: &[String]| declared.iter().filter_map(|text| Pattern::parse(text).ok()).collect::<Vec<_>>();
        let scope = self.scope.as_deref().map(parse);
        let excluded = parse(&self.exclude);
        let touched = (!self.files_touched.is_empty()).then(|| parse(&[&*self.files_touched, &*self.outputs].concat()));
        let covers = |declared: &Option<Vec<Pattern>>, file: &str| {
            declared.as_ref().is_none_or(|declared| declared.iter().any(|pattern| pattern.covers(file)))
        };
        let outside = |file: &'a str| {
            if excluded.iter().any(|pattern| pattern.covers(file)) {
                return Some(Outside { file, of: "x-switchboard without `exclude`", is_forbidden: true });
            }
            if self.team && !by_maker.contains(file) && crate::roles::zone_of(file) == Zone::Test {
                return None;
            }
            if !covers(&scope, file) {
                return Some(Outside { file, of: "x-switchboard.scope", is_forbidden: false });
            }
            (!covers(&touched, file)).then_some(Outside { file, of: "files_touched", is_forbidden: false })
        };
        files.into_iter().filter_map(outside).collect()
    }

    /// Judges a change by its files outside of the task's declarations, and by whether it produced all outputs.
    #[must_use]
    pub fn judge_scope(&self, outside: &[Outside<'_>], has_made_all: bool) -> ScopeVerdict {
        let of = |verdict, asks, halts| ScopeVerdict { verdict, asks, halts };
        let is_refused = !has_made_all || outside.iter().any(|one| one.is_forbidden);
        if outside.iter().all(|one| one.is_forbidden) {
            return of(if is_refused { Verdict::Fail } else { Verdict::Pass }, false, false);
        }
        match self.on_violation {
            OnViolation::Halt => of(Verdict::Fail, false, true),
            OnViolation::Warn | OnViolation::Pause if is_refused => of(Verdict::Fail, false, false),
            OnViolation::Refuse => of(Verdict::Fail, false, false),
            OnViolation::Warn => of(Verdict::Warn, false, false),
            OnViolation::Pause => of(Verdict::Warn, true, false),
        }
    }

    /// Returns what decides, beside the tier of the change, which steps of a team are done.
    #[must_use]
    pub fn wishes(&self) -> Wishes {
        let needs = |role| self.required_roles.contains(&role);
        Wishes {
            turbo: self.turbo,
            always_security_review: self.always_security_review,
            needs_reviewer: needs(RoleName::Reviewer),
            needs_test_engineer: needs(RoleName::TestEngineer),
        }
    }

    /// Returns when the agent is asked to finish and when its attempt ends, in milliseconds from its start.
    #[must_use]
    pub fn limits_ms(&self) -> (i64, i64) {
        let hard = self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS.cast_signed());
        (self.wrap_up_ms.unwrap_or(hard / 5 * 4), hard)
    }

    /// Sets the limits that a run imposes on all of its tasks; they override those of the plan.
    pub fn limit(&mut self, timeout: WorkerTimeout) {
        let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        if let Some(hard) = timeout.hard {
            (self.timeout_ms, self.wrap_up_ms) = (Some(ms(hard)), None);
        }
        self.wrap_up_ms = timeout.soft.map(ms).or(self.wrap_up_ms);
    }

    /// Returns the command of a kind, if the plan names one.
    #[must_use]
    pub const fn command_of(&self, kind: CommandKind) -> Option<&CommandLine> {
        match kind {
            CommandKind::Build => self.build.as_ref(),
            CommandKind::Test => self.test.as_ref(),
            CommandKind::Lint => self.lint.as_ref(),
        }
    }
}

/// Returns what a task is assumed to write while it runs: the paths that it declares in `files_touched`, or the plan's
/// default if it declares none there; and its outputs.
#[must_use]
pub fn writes(plan: &Plan, task: &Task) -> Vec<String> {
    let said = plan.switchboard.as_ref().and_then(|settings| settings.unknown_writes);
    // A plan with an execution profile is written for the swarm, which assumes that a task without declared files runs
    // alone.
    let of_profile = || plan.execution_profile.as_ref().map(|_| UnknownWrites::Serial);
    let unknown = said.or_else(of_profile).unwrap_or_default();
    let own = task.switchboard.as_ref();
    let mut writes = match unknown {
        UnknownWrites::Serial if task.files_touched.is_empty() => {
            own.and_then(|settings| settings.scope.clone()).unwrap_or_else(|| vec!["**".to_owned()])
        }
        UnknownWrites::Serial | UnknownWrites::Judged => task.files_touched.clone(),
    };
    writes.extend(own.and_then(|settings| settings.outputs.clone()).into_iter().flatten());
    writes
}

/// Returns what a task declares to read, its inputs included.
#[must_use]
pub fn reads(task: &Task) -> Vec<String> {
    let own = task.switchboard.iter();
    own.flat_map(|settings| [&settings.reads, &settings.inputs]).flatten().flatten().cloned().collect()
}

/// A file of a change that its task may not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside<'a> {
    /// Path of the file, relative to the repository's root.
    pub file: &'a str,
    /// Name of the declaration that excludes the file.
    pub of: &'static str,
    /// True if the plan forbids the file explicitly, so that no setting allows it.
    pub is_forbidden: bool,
}

/// Result of the gate `scope` for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeVerdict {
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// True if a person is asked before the change is merged.
    pub asks: bool,
    /// True if the run stops.
    pub halts: bool,
}

/// Combines the settings that apply to a task.
#[must_use]
pub fn of(plan: &Plan, phase: &Phase, task: &Task) -> Settings {
    let (plan_default, phase_default, task_default) =
        (PlanSettings::default(), PhaseSettings::default(), TaskSettings::default());
    let writes = writes(plan, task);
    let required = phase.required_agents.iter().flatten();
    let required_roles = required.filter_map(|name| crate::roles::shipped_role_of(name, &plan.swarm)).collect();
    let plan = plan.switchboard.as_ref().unwrap_or(&plan_default);
    let phase = phase.switchboard.as_ref().unwrap_or(&phase_default);
    let own = task.switchboard.as_ref().unwrap_or(&task_default);
    let confirm = [&own.confirm, &phase.confirm, &plan.confirm].into_iter().flatten().next();
    let on_violation = own.on_violation.or(phase.on_violation).or(plan.on_violation);
    let minutes = own.timeout_minutes.or(plan.timeout_minutes);
    // The soft limit of the plan goes with its hard limit. A task with its own hard limit also has its own soft limit.
    let inherited = plan.wrap_up_minutes.filter(|_| own.timeout_minutes.is_none());
    let wrap_up = own.wrap_up_minutes.or(inherited);
    Settings {
        // The agents of phase and plan apply only to tasks that need an agent.
        agent: own
            .agent
            .clone()
            .or_else(|| first([&None, &phase.agent, &plan.agent]).filter(|_| own.command.is_none())),
        command: own.command.clone(),
        slice: own.slice.clone(),
        test: first([&own.test, &phase.test, &plan.test]),
        build: plan.build.clone(),
        lint: plan.lint.clone(),
        lint_fix: plan.lint_fix.clone(),
        setup: plan.setup.clone(),
        setup_ms: u64::from(plan.setup_minutes.unwrap_or(SETUP_MINUTES)) * MINUTE_MS.unsigned_abs(),
        ports: plan.ports.map_or(TREE_PORTS, |ports| u16::try_from(ports).unwrap_or(u16::MAX)),
        gates: [&plan.gates, &phase.gates, &own.gates].into_iter().flatten().flatten().cloned().collect(),
        scope: own.scope.clone(),
        exclude: [&plan.exclude, &own.exclude].into_iter().flatten().flatten().cloned().collect(),
        files_touched: task.files_touched.clone(),
        outputs: own.outputs.clone().unwrap_or_default(),
        writes,
        reads: reads(task),
        timeout_ms: minutes.map(|minutes| i64::from(minutes) * MINUTE_MS),
        wrap_up_ms: wrap_up.map(|minutes| i64::from(minutes) * MINUTE_MS),
        author: own.author.clone(),
        attempts: own.attempts.or(phase.attempts).or(plan.attempts),
        retry_from: own.retry_from.or(phase.retry_from).or(plan.retry_from),
        confirm: confirm.and_then(Confirm::question).map(str::to_owned),
        on_violation: on_violation.unwrap_or_default(),
        says_on_violation: on_violation.is_some(),
        asks_nobody: confirm == Some(&Confirm::Always(false)),
        isolation: own.isolation.or(phase.isolation).or(plan.isolation),
        hosts: first([&own.hosts, &phase.hosts, &plan.hosts]),
        permissions: own.permissions.or(phase.permissions).or(plan.permissions),
        model: first([&own.model, &phase.model, &plan.model]),
        team: plan.team == Some(true),
        always_security_review: plan.always_security_review == Some(true),
        turbo: plan.turbo == Some(true),
        required_roles,
    }
}

fn first<T: Clone>(options: [&Option<T>; 3]) -> Option<T> {
    options.into_iter().find_map(Clone::clone)
}

/// Returns the maximum number of concurrent workers: that of the flag, else 1 if the plan's execution profile forbids
/// more, else the smaller of the numbers in `x-switchboard` and the profile, else [`DEFAULT_WORKERS`]; always 1 to
/// [`MAX_WORKERS`].
#[must_use]
pub fn max_workers(plan: &Plan, flag: Option<u32>) -> u32 {
    let profile = plan.execution_profile.as_ref();
    let allowed = match profile {
        Some(profile) if profile.parallelization_enabled => Some(profile.max_concurrent_tasks),
        Some(_) => Some(1),
        None => None,
    };
    let named = plan.switchboard.as_ref().and_then(|settings| settings.max_workers);
    let planned = [named, allowed].into_iter().flatten().min();
    flag.or(planned).unwrap_or(DEFAULT_WORKERS).clamp(1, MAX_WORKERS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_is_told_to_finish_before_its_time_is_over_and_a_run_goes_before_the_plan() {
        let limits = |(plan_soft, plan_hard): (Option<u32>, Option<u32>),
                      (soft, hard): (Option<u32>, Option<u32>),
                      run| {
            let of = |soft, hard| json!({ "timeout_minutes": hard, "wrap_up_minutes": soft });
            let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": of(plan_soft, plan_hard), "phases": [
                { "id": 1, "name": "n", "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": of(soft, hard) }] }] });
            let plan: Plan = serde_json::from_value(plan).unwrap();
            let mut settings = super::of(&plan, &plan.phases[0], &plan.phases[0].tasks[0]);
            settings.limit(run);
            let (soft, hard) = settings.limits_ms();
            (soft / MINUTE_MS, hard / MINUTE_MS)
        };
        let (none, unsaid) = ((None, None), WorkerTimeout::default());

        assert_eq!(limits(none, none, unsaid), (48, 60));
        assert_eq!(limits((Some(20), Some(30)), none, unsaid), (20, 30));
        assert_eq!(
            limits((Some(20), Some(30)), (None, Some(10)), unsaid),
            (8, 10),
            "a limit of its own has its own soft one"
        );
        assert_eq!(limits((Some(20), Some(30)), (Some(5), None), unsaid), (5, 30));
        let run = WorkerTimeout { soft: None, hard: Some(6_000_000) };
        assert_eq!(limits((Some(20), Some(30)), (Some(5), None), run), (80, 100));
        let run = WorkerTimeout { soft: Some(60_000), hard: None };
        assert_eq!(limits(none, (Some(5), Some(9)), run), (1, 9));
    }

    #[test]
    fn a_file_has_to_lie_in_every_declaration_that_there_is() {
        let declared = |scope: Option<&[&str]>, touched: &[&str]| Settings {
            scope: scope.map(|scope| scope.iter().map(ToString::to_string).collect()),
            files_touched: touched.iter().map(ToString::to_string).collect(),
            ..Settings::default()
        };
        let outside = |settings: &Settings| -> Vec<(String, &str)> {
            let files = ["src/a.rs", "src/b.rs", ".github/workflows/ci.yml"];
            settings.outside(files, &BTreeSet::new()).iter().map(|one| (one.file.to_owned(), one.of)).collect()
        };

        assert_eq!(outside(&declared(None, &[])), []);
        let ci = || (".github/workflows/ci.yml".to_owned(), "x-switchboard.scope");
        assert_eq!(outside(&declared(Some(&["src/**"]), &[])), [ci()]);
        assert_eq!(outside(&declared(Some(&["src"]), &["src/a.rs"])), [("src/b.rs".to_owned(), "files_touched"), ci()]);
        let without = Settings { exclude: vec!["src/b.*".to_owned(), ".github".to_owned()], ..Settings::default() };
        assert_eq!(outside(&without).len(), 2, "what is excluded may not be written, wherever else one may write");
        assert_eq!(outside(&declared(Some(&[]), &[])).len(), 3, "an empty scope lets nothing be written");
    }

    #[test]
    fn tests_outside_of_the_declared_files_are_the_test_engineers_alone() {
        let outside = |team, by_maker: &[&str]| {
            let settings = Settings { team, files_touched: vec!["src/a.rs".to_owned()], ..Settings::default() };
            let by_maker = by_maker.iter().map(ToString::to_string).collect();
            let found = settings.outside(["src/a.rs", "src/b.rs", "tests/a.rs"], &by_maker);
            found.iter().map(|one| one.file).collect::<Vec<_>>()
        };

        assert_eq!(outside(true, &["src/a.rs"]), ["src/b.rs"]);
        assert_eq!(outside(true, &["src/a.rs", "tests/a.rs"]), ["src/b.rs", "tests/a.rs"]);
        assert_eq!(outside(false, &[]), ["src/b.rs", "tests/a.rs"]);
    }

    #[test]
    fn what_happens_outside_of_the_declared_files_is_for_the_plan_to_say_but_what_it_forbids_is_refused() {
        let settings = |on_violation| Settings { on_violation, ..Settings::default() };
        let outside = |is_forbidden| Outside { file: "x", of: "files_touched", is_forbidden };
        let judge = |on, all: &[bool], has_made_all| {
            let all: Vec<_> = all.iter().map(|is_forbidden| outside(*is_forbidden)).collect();
            let ScopeVerdict { verdict, asks, halts } = settings(on).judge_scope(&all, has_made_all);
            (verdict, asks, halts)
        };
        use OnViolation::{Halt, Pause, Refuse, Warn};

        for on in [Refuse, Warn, Pause, Halt] {
            assert_eq!(judge(on, &[], true), (Verdict::Pass, false, false), "{on:?}");
            assert_eq!(judge(on, &[], false), (Verdict::Fail, false, false), "{on:?}");
            assert_eq!(judge(on, &[true], true), (Verdict::Fail, false, false), "{on:?}");
        }
        let of = |on| judge(on, &[false], true);
        assert_eq!([of(Refuse), of(Halt)], [(Verdict::Fail, false, false), (Verdict::Fail, false, true)]);
        assert_eq!([of(Warn), of(Pause)], [(Verdict::Warn, false, false), (Verdict::Warn, true, false)]);
        for on in [Warn, Pause] {
            assert_eq!(judge(on, &[false, true], true), (Verdict::Fail, false, false), "{on:?}");
            assert_eq!(judge(on, &[false], false), (Verdict::Fail, false, false), "{on:?}");
        }
        assert_eq!(judge(Halt, &[true, false], true), (Verdict::Fail, false, true));
    }

    #[test]
    fn a_tasks_own_setting_goes_before_its_phases_and_its_plans_and_gates_add_up() {
        let plan: Plan = serde_json::from_value(json!({
            "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "x-switchboard": { "agent": "one", "test": "plan", "build": ["make"], "lint": ["ruff", "check"], "gates": ["a"], "timeout_minutes": 2 },
            "phases": [{
                "id": 1, "name": "p", "x-switchboard": { "test": ["phase"], "gates": ["b"] },
                "tasks": [
                    { "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "two", "gates": [] } },
                    { "id": "1.2", "phase": 1, "description": "d" }
                ]
            }]
        }))
        .unwrap();
        let phase = &plan.phases[0];

        let (first, second) = (of(&plan, phase, &phase.tasks[0]), of(&plan, phase, &phase.tasks[1]));

        assert_eq!((first.agent.as_deref(), first.gates), (Some("two"), vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((second.agent.as_deref(), second.gates.len()), (Some("one"), 2));
        assert_eq!(second.test, Some(CommandLine::Argv(vec!["phase".to_owned()])));
        assert_eq!(second.lint.unwrap().argv(), ["ruff", "check"]);
        assert_eq!((second.build.unwrap().argv(), second.timeout_ms), (vec!["make".to_owned()], Some(120_000)));
    }
}
