//! Fixed settings of a run: the plan, the agents and roles, and the paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use switchboard_pipeline::plan_json::UnknownField;
use switchboard_pipeline::plan_md::Warning;
use switchboard_pipeline::roles::{Role, Roles};
use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::subtasks::Shape;
use switchboard_pipeline::team::fallback::Models;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest, RunId, WorkerId};
use switchboard_protocol::isolation::{Isolation, Tool};
use switchboard_protocol::job::Coordination;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::plan::{AskSettings, AutoMerge, CommandLine, MigrationStatus, Phase, Plan, Task, TaskId};
use switchboard_protocol::role::{Rights, RoleLimits};
use switchboard_protocol::run::StepWork;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::run::{MAX_COMMAND_ATTEMPTS, SetupCommand, TeamLimits, WorkerTimeout};
use switchboard_protocol::verb::run::{AgentChoice, InheritedEnv, RoleChoice};

use crate::lock::lock;
use crate::{Config, Error};
use switchboard_protocol::text::cut;

/// Worker that a run may start: for a task, or for a step in which another agent judges the task's change.
pub(crate) struct RunPart<'a> {
    pub(crate) task: &'a TaskId,
    pub(crate) settings: Settings,
    /// Step of the worker; `None` for the worker that makes the change.
    pub(crate) work: Option<&'a StepWork>,
    pub(crate) choice: AgentChoice,
}

/// Fixed settings of a run.
#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) run: RunId,
    /// Plan with its subtasks.
    pub(crate) plan: Plan,
    /// Shapes of the tasks that are not done by one worker whose change is merged.
    pub(crate) shapes: BTreeMap<TaskId, Shape>,
    /// Position of each task in the plan.
    pub(crate) positions: TaskPositions,
    pub(crate) base: String,
    pub(crate) branch: String,
    pub(crate) worktrees: PathBuf,
    pub(crate) default_agent: Option<AgentName>,
    pub(crate) agents: BTreeMap<String, AgentChoice>,
    /// Variables of agents, by folded name, that a person's command has passed since the start of the run.
    pub(crate) renewed_env: Mutex<BTreeMap<String, Vec<(String, String)>>>,
    /// Agent and settings of each role in the team.
    pub(crate) roles: BTreeMap<RoleId, RoleChoice>,
    pub(crate) merge: bool,
    /// True if a person is asked at the end whether to merge.
    pub(crate) confirms_merge: bool,
    /// Commands that set up each new work tree.
    pub(crate) setup: Vec<SetupCommand>,
    /// Time limit of each attempt, if the request set one.
    pub(crate) timeout: WorkerTimeout,
    /// Limits of the team. Those of attempts and failures apply when the run's ways are compiled.
    pub(crate) limits: TeamLimits,
    /// Isolation of all workers, if the request set one.
    pub(crate) isolation: Option<Isolation>,
    /// True if constrained workers also start where their sandbox can't be fully enforced.
    pub(crate) unenforced: bool,
    /// Participation of the run's workers in the mail.
    pub(crate) coordination: Coordination,
    /// Name of the user's work tree that the run was started from.
    pub(crate) tree: String,
    /// Description of the larger work that the run belongs to, for its workers; empty if there is none.
    pub(crate) parent_trace: String,
}

/// Position of each task of a plan: its phase and its index there, both from 0.
#[derive(Debug)]
pub(crate) struct TaskPositions(BTreeMap<TaskId, (usize, usize)>);

// === impl TaskPositions ===

impl TaskPositions {
    pub(crate) fn of(plan: &Plan) -> Self {
        let tasks = plan.phases.iter().enumerate().flat_map(|(phase_at, phase)| {
            phase.tasks.iter().enumerate().map(move |(task_at, task)| (task.id.clone(), (phase_at, task_at)))
        });
        Self(tasks.collect())
    }

    /// Returns a task of the plan from which this was made, with its phase.
    pub(crate) fn find<'a>(&self, plan: &'a Plan, id: &TaskId) -> Option<(&'a Phase, &'a Task)> {
        let (phase_at, task_at) = self.0.get(id)?;
        let phase = plan.phases.get(*phase_at)?;
        Some((phase, phase.tasks.get(*task_at)?))
    }
}

// === impl RunPlan ===

impl RunPlan {
    /// Returns a task and its settings, combined from the task, its phase and its plan.
    pub(crate) fn settings(&self, id: &TaskId) -> Result<(Task, Settings), Error> {
        let found = self.positions.find(&self.plan, id);
        let (phase, task) = found.ok_or_else(|| Error::Missing(format!("task {id}")))?;
        let mut settings = switchboard_pipeline::settings::of(&self.plan, phase, task);
        settings.limit(self.timeout);
        Ok((task.clone(), settings))
    }

    /// Returns the shape of a task, unless it is done by one worker whose change is merged.
    pub(crate) fn shape(&self, id: &TaskId) -> Option<&Shape> {
        self.shapes.get(id)
    }

    /// Returns true if a task is the landing of a group.
    pub(crate) fn is_landing(&self, id: &TaskId) -> bool {
        self.shape(id).is_some_and(Shape::is_landing)
    }

    /// Returns the branch of the group that a task is merged into; `None` if it is merged into the run's branch.
    pub(crate) fn group_branch(&self, id: &TaskId) -> Option<String> {
        switchboard_pipeline::subtasks::into(&self.shapes, id).map(|landing| self.task_branch(landing))
    }

    /// Returns the branch that a task's change is merged into.
    pub(crate) fn branch_into(&self, id: &TaskId) -> String {
        self.group_branch(id).unwrap_or_else(|| self.branch.clone())
    }

    /// Returns the agent of a task, if one is named. A command runs without an agent unless its task names one.
    pub(crate) fn agent_name(&self, settings: &Settings) -> Option<String> {
        let usual = || self.default_agent.as_ref().map(ToString::to_string);
        match &settings.command {
            Some(_) => Some(settings.agent.clone().unwrap_or_else(|| COMMAND.to_owned())),
            None => settings.agent.clone().or_else(usual),
        }
    }

    /// Returns the role that a task asks, and the expected answer; `None` for a task that is work.
    pub(crate) fn asks(&self, id: &TaskId) -> Option<AskSettings> {
        self.shape(id).and_then(|shape| shape.asks)
    }

    /// Returns how to start the agent of a task. A task with a command needs no agent; if it names one, the command
    /// runs with that agent's isolation, environment and instructions. A task that chooses among changes, or that joins
    /// what others have merged, has none itself: the agent of the first one is used.
    pub(crate) fn choice(&self, id: &TaskId, settings: &Settings) -> Result<AgentChoice, Failure> {
        if let Some(candidate) = self.shape(id).and_then(|shape| shape.among.first().or(shape.gathers.first())) {
            let (_, settings) = self.settings(candidate)?;
            return self.choice(candidate, &settings);
        }
        let configured = |name: &str| {
            let unknown =
                || Failure::new("agent.unknown", format!("task {id} wants the agent {name}, which is not configured"));
            self.configured(name).ok_or_else(unknown)
        };
        match (&settings.command, self.agent_name(settings)) {
            (Some(command), _) => {
                let driver = DriverSpec::Exec { argv: command.argv() };
                match &settings.agent {
                    Some(name) => Ok(configured(name)?.with_command(driver)),
                    None => Ok(AgentChoice::new(command_name()?, driver)),
                }
            }
            (None, Some(name)) => configured(&name),
            (None, None) => {
                let what = format!("task {id} names no agent and has no command");
                let hint = "name one with --agent, or in the task's x-switchboard";
                Err(Failure::new("plan.no-agent", what).hint(hint))
            }
        }
    }

    fn configured(&self, name: &str) -> Option<AgentChoice> {
        let name = switchboard_protocol::id::fold(name);
        self.agents.get(&name).map(|choice| self.with_renewed_env(&name, choice))
    }

    fn with_renewed_env(&self, name: &str, choice: &AgentChoice) -> AgentChoice {
        let renewed = lock(&self.renewed_env).get(name).cloned();
        renewed.map_or_else(|| choice.clone(), |env| AgentChoice { env, ..choice.clone() })
    }

    /// Returns how to start each agent.
    pub(crate) fn all_agents(&self) -> Vec<AgentChoice> {
        self.agents.iter().map(|(name, choice)| self.with_renewed_env(name, choice)).collect()
    }

    /// Passes the variables of a person's command to the agents; the next workers get them. Returns true if any has
    /// changed.
    pub(crate) fn renew_env(&self, given: &[InheritedEnv]) -> bool {
        let mut has_changed = false;
        for choice in self.all_agents() {
            let Some(env) = renewed_env(&choice, given).filter(|env| *env != choice.env) else { continue };
            lock(&self.renewed_env).insert(choice.name.folded(), env);
            has_changed = true;
        }
        has_changed
    }

    /// Returns how to start the worker of a step: the agent of the role if the step judges, else that of the task.
    pub(crate) fn choice_of(&self, id: &TaskId, settings: &Settings, work: &StepWork) -> Result<AgentChoice, Failure> {
        match work.answer {
            Some(_) => self.choice_in_role(settings, &work.role),
            None => self.choice(id, settings),
        }
    }

    /// Returns the agents of a run: that of each task, and that of each step in which another agent judges, with the
    /// step.
    pub(crate) fn parts<'a>(
        &self,
        tasks: &'a [TaskId],
        judges: &'a [(TaskId, StepWork)],
    ) -> Result<Vec<RunPart<'a>>, Error> {
        // A task that asks a role has only the role's worker.
        let works = tasks.iter().filter(|id| self.asks(id).is_none());
        let parts = works.map(|id| (id, None)).chain(judges.iter().map(|(id, work)| (id, Some(work))));
        let part = |(task, work): (&'a TaskId, Option<&'a StepWork>)| {
            let (_, settings) = self.settings(task)?;
            let choice = match work {
                Some(work) => self.choice_of(task, &settings, work)?,
                None => self.choice(task, &settings)?,
            };
            Ok(RunPart { task, settings, work, choice })
        };
        parts.map(part).collect()
    }

    /// Returns how to start the agent of a role: the one that the role names, else the run's, else the task's.
    pub(crate) fn choice_in_role(&self, settings: &Settings, role: &RoleId) -> Result<AgentChoice, Failure> {
        let of_role = self.roles.get(role);
        let named = of_role.and_then(|choice| choice.agent.as_ref()).or(self.default_agent.as_ref());
        let of_task = || settings.agent.clone().filter(|_| settings.command.is_none());
        let Some(name) = named.map(ToString::to_string).or_else(of_task) else {
            let what = format!("nobody is named for the role {role}");
            let hint = format!(
                "--agent NAME has every role; for this one alone: --role {role}=AGENT, or [roles.{role}] of your settings"
            );
            return Err(Failure::new("plan.no-agent", what).hint(hint));
        };
        let unknown = || Failure::new("agent.unknown", format!("the {role} is {name}, which is not configured"));
        let mut choice = self.configured(&name).ok_or_else(unknown)?;
        if let Some(model) = of_role.and_then(|role| role.model.clone()) {
            (choice.model, choice.model_first) = (Some(model), true);
        }
        Ok(choice)
    }

    /// Returns the rights of a worker in a role.
    pub(crate) fn rights(&self, role: &RoleId) -> Rights {
        let said = self.roles.get(role).and_then(|choice| choice.rights.clone());
        said.or_else(|| shipped(role).map(|role| role.rights.clone())).unwrap_or_default()
    }

    /// Returns true if a worker gets an empty folder in place of a work tree: its role may not read the repository.
    pub(crate) fn is_kept_out(&self, work: &StepWork) -> bool {
        work.answer.is_some() && work.writes.is_empty() && !self.rights(&work.role).read
    }

    /// Returns the tools that its agent, and its role if it follows one, allow a constrained worker; empty for all four.
    /// A command has the shell of its sandbox.
    pub(crate) fn tools(&self, choice: &AgentChoice, settings: &Settings, work: &StepWork) -> Vec<Tool> {
        if matches!(choice.driver, DriverSpec::Exec { .. }) || !follows_role(settings, work) {
            return choice.tools.clone();
        }
        let rights = self.rights(&work.role);
        let may = |tool: &Tool| match tool {
            Tool::Read | Tool::Search => true,
            Tool::Edit => !rights.is_read_only(),
            Tool::Shell => rights.execute,
        };
        let has = |tool: &Tool| choice.tools.is_empty() || choice.tools.contains(tool);
        let left: Vec<_> = Tool::ALL.into_iter().filter(|tool| has(tool) && may(tool)).collect();
        if left.len() == Tool::ALL.len() { Vec::new() } else { left }
    }

    /// Returns the limits of a worker in a role.
    pub(crate) fn role_limits(&self, role: &RoleId) -> RoleLimits {
        let said = self.roles.get(role).and_then(|choice| choice.limits);
        said.or_else(|| shipped(role).map(|role| role.limits)).unwrap_or_default()
    }

    /// Returns the text with which a worker in a role is instructed.
    pub(crate) fn role_text(&self, role: &RoleId) -> &str {
        let own = self.roles.get(role).map(|choice| choice.instructions.as_str()).filter(|text| !text.is_empty());
        own.or_else(|| shipped(role).map(|role| role.prompt.as_str())).unwrap_or_default()
    }

    /// Returns the models of a worker. The setting of its role takes precedence over that of its agent, and the plan's
    /// setting for the task over both.
    pub(crate) fn models(&self, choice: &AgentChoice, settings: &Settings, work: &StepWork) -> Models {
        let of_role = self.role_of(settings, work);
        let planned = settings.model.as_deref().filter(|_| work.answer.is_none());
        let own = planned.is_none().then(|| of_role.and_then(|role| role.model.clone())).flatten();
        let fallbacks = of_role.map(|role| role.fallback_models.as_slice()).unwrap_or_default();
        Models::new(own.or_else(|| choice.model_for(planned)), fallbacks)
    }

    /// Returns the temperature for a worker's program, if its role sets one.
    pub(crate) fn temperature(&self, settings: &Settings, work: &StepWork) -> Option<&str> {
        self.role_of(settings, work).and_then(|role| role.temperature.as_deref())
    }

    /// Returns the settings of the role that a worker follows.
    fn role_of(&self, settings: &Settings, work: &StepWork) -> Option<&RoleChoice> {
        self.roles.get(&work.role).filter(|_| follows_role(settings, work) && !is_command(settings, work))
    }

    /// Returns the tree of a worker that only reads. No task has a folder there, and each worker has its own.
    pub(crate) fn reader_tree(&self, worker: &WorkerId) -> PathBuf {
        self.reader_trees().join(worker.as_str())
    }

    /// Returns the folder of the trees of workers that only read.
    pub(crate) fn reader_trees(&self) -> PathBuf {
        self.worktrees.join(self.run.as_str()).join(".readers")
    }

    /// Returns the isolation of a task's worker: as the request says, else the stricter of the plan's and the agent's
    /// settings, because a plan may come from another source.
    pub(crate) fn isolation(&self, settings: &Settings, choice: &AgentChoice) -> Isolation {
        let planned = settings.isolation.unwrap_or_default();
        self.isolation.unwrap_or_else(|| planned.max(choice.isolation))
    }

    /// Returns the default number of attempts at a task: one for a command.
    pub(crate) fn attempts(&self, settings: &Settings) -> u32 {
        let usual = match settings.team && settings.command.is_none() {
            true => self.limits.gate_retries,
            false => switchboard_pipeline::way::usual_attempts(settings),
        };
        match self.agent_name(settings).and_then(|name| self.configured(&name)) {
            Some(AgentChoice { attempts: Some(attempts), .. }) => attempts,
            Some(_) if settings.command.is_some() => usual,
            Some(AgentChoice { driver: DriverSpec::Exec { .. }, .. }) => MAX_COMMAND_ATTEMPTS,
            Some(AgentChoice { driver: DriverSpec::Acp { .. }, .. }) | None => usual,
        }
    }

    /// Returns the path of a task's work tree.
    pub(crate) fn worktree(&self, task: &TaskId) -> PathBuf {
        self.worktrees.join(self.run.as_str()).join(task.as_str())
    }

    /// Returns the folder of the gate trees: no task has this name.
    pub(crate) fn gate_trees(&self) -> PathBuf {
        self.worktrees.join(self.run.as_str()).join(".gates")
    }

    /// Returns the path of a gate tree.
    pub(crate) fn gate_tree(&self, number: u32) -> PathBuf {
        self.gate_trees().join(number.to_string())
    }

    /// Returns the branch of a task's work tree, which holds its last captured change. The branch of a group is that of
    /// its landing.
    pub(crate) fn task_branch(&self, task: &TaskId) -> String {
        format!("{}{task}", task_branches(&self.run))
    }
}

/// Returns the beginning of the names of a run's task branches.
pub(crate) fn task_branches(run: &RunId) -> String {
    format!("switchboard-task/{run}/")
}

/// Returns true if the settings of its role hold for a worker: in a team, and for one whose answer is a verdict.
fn follows_role(settings: &Settings, work: &StepWork) -> bool {
    settings.team || work.answer.is_some()
}

/// Returns true if a command of the plan works instead of an agent.
const fn is_command(settings: &Settings, work: &StepWork) -> bool {
    work.answer.is_none() && settings.command.is_some()
}

/// Returns a built-in role.
fn shipped(role: &RoleId) -> Option<&'static Role> {
    Roles::shipped().find(role).ok()
}

/// Agent name of commands whose task names no agent.
const COMMAND: &str = "exec";

fn command_name() -> Result<AgentName, Failure> {
    AgentName::new(COMMAND).map_err(|error| Failure::new("internal.bug", error.to_string()))
}

/// Reads the text of a plan.json or a plan.md. A `source` that ends in `.json` is read as a plan.json, whatever its
/// content.
///
/// # Errors
/// The fault of the text and its position in `source`.
pub fn read(text: &str, source: &str) -> Result<Plan, Failure> {
    Ok(read_with_notes(text, source)?.0)
}

/// As [`read`], with the lines of a plan.md that say nothing to a run, a sentence each.
///
/// # Errors
/// The fault of the text and its position in `source`.
pub(crate) fn read_with_notes(text: &str, source: &str) -> Result<(Plan, Vec<String>), Failure> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let failure = Failure::new("plan.empty", "there is nothing in the plan's file").at(source);
        return Err(failure.hint("a plan has phases with tasks: switchboard explain plan.empty"));
    }
    let is_json = Path::new(source).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if is_json || text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let plan = switchboard_pipeline::plan_json::parse(text).map_err(|error| error.failure(source))?;
        return Ok((plan, Vec::new()));
    }
    let parsed = switchboard_pipeline::plan_md::parse(text).map_err(|error| error.failure(source))?;
    if parsed.plan.migration_status == Some(MigrationStatus::MigrationFailed) {
        let what =
            "this is neither a plan.json nor a plan.md: no line is a phase (`## Phase 1: …`) with tasks below it";
        return Err(Failure::new("plan.syntax", what)
            .at(source)
            .hint("see docs: a plan has phases, and phases have tasks"));
    }
    let name = if source.is_empty() { "plan.md" } else { source };
    let one = |warning: &Warning| format!("{name}:{}: {}", warning.line, warning.what);
    let notes = named(&parsed.warnings, one, |left| format!("{left} more such lines of {name}"));
    Ok((parsed.plan, notes))
}

/// Lists what a run ignores in a plan, a sentence each: fields of other tools, or misspelt ones.
pub(crate) fn ignored(plan: &Plan) -> Vec<String> {
    let unknown = switchboard_pipeline::plan_json::unknown_fields(plan);
    let one = |field: &UnknownField| {
        let near = field.near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        format!("{:?} in the plan is no field that a run knows, and is ignored{near}", cut(&field.pointer, 120))
    };
    named(&unknown, one, |left| format!("{left} more fields of the plan are ignored"))
}

/// Returns a sentence each for the first of them, and one for the others.
fn named<T>(all: &[T], one: impl Fn(&T) -> String, others: impl Fn(usize) -> String) -> Vec<String> {
    let left = all.len().saturating_sub(MAX_NAMED);
    all.iter().take(MAX_NAMED).map(one).chain((left > 0).then(|| others(left))).collect()
}

/// Maximum number of ignored fields, or lines, named individually.
const MAX_NAMED: usize = 20;

/// Returns all commands in a plan, and what it allows its agents beyond edits of their tree: what `switchboard trust`
/// shows and pins.
#[must_use]
pub fn commands(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let widens = |what: String, permissions: Option<Permissions>| {
        (permissions == Some(Permissions::All)).then(|| (what, vec!["permissions".to_owned(), "all".to_owned()]))
    };
    if let Some(settings) = &plan.switchboard {
        let setup = settings.setup.iter().map(CommandLine::argv).filter(|argv| !argv.is_empty());
        found.extend(setup.map(|argv| ("set-up of each work tree".to_owned(), argv)));
        found.extend(widens("agents of the plan".to_owned(), settings.permissions));
        let merges = (settings.auto_merge == Some(AutoMerge::Auto)).then(|| AutoMerge::Auto.as_str().to_owned());
        found.extend(
            merges.map(|word| ("merge into your branch at the end".to_owned(), vec!["auto_merge".to_owned(), word])),
        );
        found.extend(settings.build.iter().map(|line| ("build".to_owned(), line.argv())));
        found.extend(settings.lint.iter().map(|line| ("lint".to_owned(), line.argv())));
        found.extend(settings.lint_fix.iter().map(|line| ("lint_fix".to_owned(), line.argv())));
        found.extend(settings.test.iter().map(|line| ("test".to_owned(), line.argv())));
    }
    let of_phases = plan.phases.iter().filter_map(|phase| phase.switchboard.as_ref()?.debate.as_ref());
    let debates = plan.switchboard.iter().filter_map(|settings| settings.debate.as_ref()).chain(of_phases);
    found.extend(debates.flat_map(|debate| &debate.participants).filter_map(|participant| {
        Some((
            "command of a participant in a debate about a part of the plan".to_owned(),
            participant.command.as_ref()?.argv(),
        ))
    }));
    for phase in &plan.phases {
        let test = phase.switchboard.as_ref().and_then(|settings| settings.test.as_ref());
        found.extend(test.map(|line| (format!("test of phase {}", phase.id), line.argv())));
        let permissions = phase.switchboard.as_ref().and_then(|settings| settings.permissions);
        found.extend(widens(format!("agents of phase {}", phase.id), permissions));
    }
    for task in plan.tasks() {
        let Some(settings) = &task.switchboard else { continue };
        found.extend(widens(format!("agent of task {}", task.id), settings.permissions));
        found.extend(settings.command.iter().map(|line| (format!("command of task {}", task.id), line.argv())));
        let steps = settings.chain.iter().flatten().map(|step| ("step", step));
        let participants =
            settings.debate.iter().flat_map(|debate| &debate.participants).map(|one| ("participant", one));
        found.extend((1..).zip(steps).chain((1..).zip(participants)).filter_map(|(number, (what, worker))| {
            let argv = worker.command.as_ref()?.argv();
            Some((format!("command of {what} {number} of task {}", task.id), argv))
        }));
        found.extend(settings.test.iter().map(|line| (format!("test of task {}", task.id), line.argv())));
    }
    found
}

/// Returns the digest that pins a plan's commands.
#[must_use]
pub fn commands_digest(commands: &[(String, Vec<String>)]) -> Digest {
    Digest::of(serde_json::json!(commands).to_string().as_bytes())
}

/// Returns the path of a run's folder in the state folder.
pub(crate) fn folder(config: &Config, run: &RunId) -> PathBuf {
    config.state.join("runs").join(run.as_str())
}

/// Returns the path of a worker's folder: its spool, journal, lock and spec.
pub(crate) fn worker_folder(config: &Config, run: &RunId, worker: &switchboard_protocol::id::WorkerId) -> PathBuf {
    folder(config, run).join("workers").join(worker.as_str())
}

/// Returns the variables of an agent with those of a person's command, which replace others of the same name; `None` if
/// the command passes none. An agent that a file defines may be the run's own agent under another name: it is known by
/// its program then.
pub(crate) fn renewed_env(choice: &AgentChoice, given: &[InheritedEnv]) -> Option<Vec<(String, String)>> {
    let by_name = given.iter().find(|given| given.agent.folded() == choice.name.folded());
    let by_driver = || {
        let mut same = given.iter().filter(|given| given.driver == choice.driver);
        let first = same.next()?;
        same.all(|other| other.env == first.env).then_some(first)
    };
    let given = &by_name.or_else(by_driver)?.env;
    let is_kept = |(name, _): &&(String, String)| !given.iter().any(|(known, _)| known == name);
    Some(choice.env.iter().filter(is_kept).chain(given).cloned().collect())
}

/// Returns the path of the folder of a run's signal files.
pub(crate) fn signals_folder(config: &Config, run: &RunId) -> PathBuf {
    folder(config, run).join(switchboard_protocol::signal::FOLDER)
}

/// Returns the path of the file with the roles of a run's team.
pub(crate) fn roles_file(config: &Config, run: &RunId) -> PathBuf {
    folder(config, run).join("roles.json")
}

/// Returns the path of the file with the limits of a run's team; there is none if all have their defaults.
pub(crate) fn limits_file(config: &Config, run: &RunId) -> PathBuf {
    folder(config, run).join("limits.json")
}

/// Returns the path of the file with the variables for the set-up of a run's work trees, which may hold a proxy's password;
/// there is none if there are none. It is kept like that of the agents.
pub(crate) fn setup_env_file(config: &Config, run: &RunId) -> PathBuf {
    folder(config, run).join("setup-env.json")
}

/// Returns the path of the file that says how a run's agents are started. It may hold the values of environment
/// variables. So it is a 0600 file in the user's state folder, never in the log, and is removed when all tasks are
/// merged.
pub(crate) fn agents_file(config: &Config, run: &RunId) -> PathBuf {
    folder(config, run).join("agents.json")
}

/// Returns the path of the file that records what the set-up of a task's work tree depended on when it succeeded.
pub(crate) fn setup_stamp(config: &Config, run: &RunId, task: &TaskId) -> PathBuf {
    folder(config, run).join(format!("setup-{task}.done"))
}

/// Returns the path of the output of the set-up of a task's work tree.
pub(crate) fn setup_log(config: &Config, run: &RunId, task: &TaskId) -> PathBuf {
    folder(config, run).join(format!("setup-{task}.log"))
}

/// Files of a gate tree.
pub(crate) struct GateTreeFiles {
    /// Record of the last change that ran in the tree and passed.
    pub(crate) stamp: PathBuf,
    /// Record of what the tree's set-up depended on when it succeeded.
    pub(crate) set_up: PathBuf,
    /// Output of the tree's set-up.
    pub(crate) log: PathBuf,
}

/// Returns the paths of the files of a gate tree.
pub(crate) fn gate_tree_files(config: &Config, run: &RunId, number: u32) -> GateTreeFiles {
    let file = |name: String| folder(config, run).join(name);
    GateTreeFiles {
        stamp: file(format!("gates-{number}.passed")),
        set_up: file(format!("setup-gates-{number}.done")),
        log: file(format!("setup-gates-{number}.log")),
    }
}

/// Returns the path of a task's evidence.
pub(crate) fn evidence_file(config: &Config, run: &RunId, task: &TaskId) -> PathBuf {
    folder(config, run).join("evidence").join(task.as_str()).join("evidence.json")
}

/// Returns the path of a task's gate record.
pub(crate) fn gate_record_file(config: &Config, run: &RunId, task: &TaskId) -> PathBuf {
    folder(config, run).join("evidence").join(format!("{task}.json"))
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
