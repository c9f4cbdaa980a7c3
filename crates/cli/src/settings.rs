//! The settings that commands need: the agents, checks, roles and limits of `config.toml` in the user's settings folder.
//!
//! A repository may describe agents too, in `.switchboard/config.toml`. Their commands come from other people, so they
//! count only once the user has trusted exactly them.

mod parse;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_agents::catalog;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::isolation::{Host, Isolation, Reach};
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::run::{AtCeiling, Limits, TeamLimits};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::{MODEL, TEMPERATURE, TokenPrice};

/// Maximum ceiling for the cost of a day, in US dollars.
const MAX_DAY_DOLLARS: f64 = 1e6;
/// Maximum number of workers that a setting may allow.
const MOST_WORKERS: u32 = 1024;
/// Maximum size of a settings file in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum price of a million tokens in US dollars: a hundred times the dearest model of 2026, so that a typing error is noticed.
const MOST_DOLLARS: f64 = 10_000.0;

/// An agent that a settings file describes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Agent")]
pub(crate) struct Described {
    /// `acp` or `exec`; may be left out together with `command` for an agent that Switchboard knows by name.
    #[serde(default)]
    driver: Option<Driver>,
    /// Program and arguments.
    #[serde(default)]
    command: Vec<String>,
    /// Names of environment variables that the agent may inherit.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Instructions that the agent is given with every task.
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// A file with more instructions; its path is relative to this file.
    #[serde(default)]
    pub(crate) instructions_file: Option<PathBuf>,
    /// True if the agent is a script that plays an agent.
    #[serde(default)]
    pub(crate) scripted: bool,
    /// True if runs with the agent cost money: it is never chosen unless it is named, and a run with it needs a confirmation. If not set, both
    /// hold for `acp`, and only the first for `exec`.
    #[serde(default)]
    pub(crate) spends: Option<bool>,
    /// What the agent may do without asking a person, unless the plan says otherwise: `ask`, `edits` (default) or `all`.
    #[serde(default)]
    pub(crate) permissions: Permissions,
    /// Model, in the agent's own name for it, if neither a flag nor the plan sets one.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// Arguments that pass the model to the agent's program, for an agent that offers no choice itself; `{model}` stands for it.
    #[serde(default)]
    pub(crate) model_args: Vec<String>,
    /// Environment variables that pass the model to the agent's program; `{model}` stands for it.
    #[serde(default)]
    pub(crate) model_env: BTreeMap<String, String>,
    /// Arguments that pass the temperature of a role to the agent's program (`docs/team.md`); `{temperature}` stands for it.
    #[serde(default)]
    pub(crate) temperature_args: Vec<String>,
    /// Maximum number of attempts at a task, 1 to 20, unless the plan sets it. Default: 5, and 1 for `exec`.
    #[serde(default)]
    pub(crate) attempts: Option<u32>,
    /// Price of a million tokens in US dollars, for an agent that reports tokens but no cost: `{ input = 3.0, output = 15.0 }`. Used to
    /// estimate costs.
    #[serde(default)]
    price: Option<Dollars>,
    /// Minimum isolation of the agent's workers: `full` (default), or `constrained` to four tools in a sandbox. A plan may only tighten it.
    #[serde(default)]
    pub(crate) isolation: Isolation,
    /// Files and folders that constrained workers may read and start programs from: absolute paths, or `~/...`.
    #[serde(default)]
    read: Vec<String>,
    /// Files and folders of your home that constrained workers get copies of in theirs: paths relative to the home.
    #[serde(default)]
    home: Vec<String>,
    /// Hosts that constrained workers may reach, each with its port: `api.example.com:443`. None by default.
    #[serde(default)]
    network: Vec<String>,
    /// True if the agent has no tools but read, search, edit and shell, so that it may be constrained. Needed only for agents that Switchboard
    /// doesn't know.
    #[serde(default)]
    pub(crate) four_tools: bool,
}

/// Price of a million tokens in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dollars {
    /// Price of a million input tokens.
    input: f64,
    /// Price of a million output tokens.
    output: f64,
}

/// How an agent is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Driver {
    /// The agent speaks the Agent Client Protocol.
    Acp,
    /// The agent is a command that works in the work tree and exits.
    Exec,
}

/// Settings: agents, checks, roles and limits.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Settings")]
struct File {
    /// Agents by name.
    #[serde(default)]
    agents: BTreeMap<String, Described>,
    /// Settings of the file checks.
    #[serde(default)]
    checks: Checks,
    /// Agent and model of each role of a team (`docs/team.md`). Counts in the user's file only.
    #[serde(default)]
    roles: BTreeMap<String, RoleSettings>,
    /// Maximum number of failures in a team before a task waits for a person (`docs/team.md`). Counts in the user's file only.
    #[serde(default)]
    #[schemars(with = "TeamLimits")]
    team: Option<TeamLimits>,
    /// Limits that all runs of a repository share. Counts in the user's file only.
    #[serde(default)]
    #[schemars(with = "Shared")]
    limits: Option<Shared>,
    /// Settings of the runs' work trees.
    #[serde(default)]
    worktrees: Worktrees,
}

/// Settings of the runs' work trees.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Worktrees {
    /// Folder for the work trees: absolute, or `~/...`; in a repository's own file, which counts once it is trusted, also relative to the
    /// repository's top. Default: `worktrees` in the state folder. `--worktrees` and `SWITCHBOARD_WORKTREES` take precedence.
    #[serde(default)]
    folder: Option<PathBuf>,
}

/// Agent and model of a role of a team.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Role")]
pub(crate) struct RoleSettings {
    /// Agent of the role; the run's default agent if not set.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Model, in the agent's own name for it.
    #[serde(default)]
    pub(crate) model: Option<String>,
}

/// Limits that all runs of a repository share. Counts in the user's file only.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits")]
struct Shared {
    /// Maximum cost of all runs of a day (UTC) together, in US dollars.
    #[serde(default)]
    day: Option<f64>,
    /// What happens when the ceiling of a day is reached: `warn`, `pause` (default) or `halt`.
    #[serde(default)]
    at_ceiling: AtCeiling,
    /// Maximum number of live workers over all runs, 1 to 1024. Default: one for each 256 MB of memory, 4 to 256, not counting scripts that play
    /// agents.
    #[serde(default)]
    workers: Option<u32>,
}

// === impl Shared ===

impl Shared {
    fn limits(&self) -> Result<Limits, Failure> {
        let bad = |what: String| Err(Failure::new("config.bad-value", what).hint("leave it out for none"));
        if let Some(dollars) = self.day.filter(|dollars| !(1e-6..=MAX_DAY_DOLLARS).contains(dollars)) {
            return bad(format!("`day` under [limits] is {dollars}: nothing could start, or it can't be reached"));
        }
        if let Some(workers) = self.workers.filter(|workers| !(1..=MOST_WORKERS).contains(workers)) {
            return bad(format!("`workers` under [limits] is {workers}, not 1 to {MOST_WORKERS}"));
        }
        let day = self.day.map(micro_usd);
        Ok(Limits { day, at_ceiling: self.at_ceiling, workers: self.workers, ..Limits::default() })
    }
}

/// Converts dollars to millionths; validation limits them to 0 to [`MAX_DAY_DOLLARS`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a check has them in the range")]
fn micro_usd(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

/// Settings of the file checks. A repository's own file counts as it is in the commit that a change is compared with, the user's only for
/// `switchboard check`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Checks {
    /// Globs, as in a `.gitignore`, of files that the checks leave out; each is counted and named.
    #[serde(default)]
    exclude: Vec<String>,
}

/// Content of a settings file: its agents, its path, and its other settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agents {
    /// Path of the settings file.
    pub(crate) path: PathBuf,
    /// Agents by name.
    pub(crate) list: BTreeMap<String, Described>,
    /// Globs of files that the checks leave out.
    pub(crate) exclude: Vec<String>,
    /// Agent and model of each role of a team.
    pub(crate) roles: BTreeMap<RoleId, RoleSettings>,
    /// Failure limits of a team.
    pub(crate) team: TeamLimits,
    has_team: bool,
    /// Limits that all runs share.
    pub(crate) limits: Limits,
    has_limits: bool,
    /// Folder for work trees, as written in the file.
    worktrees: Option<PathBuf>,
}

// === impl Described ===

impl Described {
    /// Returns how to drive the agent.
    pub(crate) fn driver(&self) -> DriverSpec {
        let argv = self.command.clone();
        match self.driver {
            Some(Driver::Acp) | None => DriverSpec::Acp { argv },
            Some(Driver::Exec) => DriverSpec::Exec { argv },
        }
    }

    /// Returns true if the description only extends an agent that Switchboard knows by that name.
    pub(crate) fn is_addition(&self) -> bool {
        self.driver.is_none() && self.command.is_empty()
    }

    /// Rejects an agent that can't be started: one without a command or a driver, unless Switchboard knows its name.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let is_known = catalog::find(name).is_some();
        let lacks = match (self.driver.is_none(), self.command.is_empty()) {
            (true, true) if is_known => return self.check_values(name),
            (_, true) => "command",
            (true, false) => "driver",
            (false, false) => return self.check_values(name),
        };
        let what = format!("the settings do not parse: the agent {name} has no `{lacks}`");
        Err(Failure::new("config.syntax", what).hint("all fields and their values: switchboard schema config"))
    }

    fn check_values(&self, name: &str) -> Result<(), Failure> {
        let lacks = |field: &str| {
            let what = format!("`{field}` of {name} does not say where the model goes");
            Err(Failure::new("config.bad-value", what).hint("write {model} where it goes"))
        };
        if !self.model_args.is_empty() && !self.model_args.iter().any(|arg| arg.contains(MODEL)) {
            return lacks("model_args");
        }
        if self.model_env.values().any(|value| !value.contains(MODEL)) {
            return lacks("model_env");
        }
        if !self.temperature_args.is_empty() && !self.temperature_args.iter().any(|arg| arg.contains(TEMPERATURE)) {
            let what = format!("`temperature_args` of {name} does not say where the temperature goes");
            return Err(Failure::new("config.bad-value", what).hint("write {temperature} where it goes"));
        }
        let is_sane = |dollars: f64| dollars.is_finite() && (0.0..=MOST_DOLLARS).contains(&dollars);
        if self.price.is_some_and(|price| !is_sane(price.input) || !is_sane(price.output)) {
            let what = format!("`price` of {name} is not 0 to {MOST_DOLLARS} dollars for a million tokens");
            return Err(Failure::new("config.bad-value", what));
        }
        self.check_variables(name)?;
        self.check_reach(name)?;
        if let Some((field, why)) = self.effectless(name) {
            let what = format!("`{field}` of {name} has no effect: {why}");
            return Err(Failure::new("config.bad-value", what).hint("leave it out"));
        }
        match self.attempts {
            Some(0 | 21..) => Err(Failure::new("config.bad-value", format!("`attempts` of {name} is not 1 to 20"))),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns a field that has no effect on any worker of this agent, and why.
    fn effectless(&self, name: &str) -> Option<(&'static str, &'static str)> {
        if self.driver == Some(Driver::Exec) {
            let (model, tokens) = ("a command is told no model", "a command tells no tokens");
            let fields = [
                ("model", self.model.is_some(), model),
                ("model_args", !self.model_args.is_empty(), model),
                ("model_env", !self.model_env.is_empty(), model),
                ("temperature_args", !self.temperature_args.is_empty(), "a command is told no temperature"),
                ("price", self.price.is_some(), tokens),
                ("four_tools", self.four_tools, "a command has the shell of its sandbox and nothing else"),
            ];
            return fields.into_iter().find(|(_, is_said, _)| *is_said).map(|(field, _, why)| (field, why));
        }
        let known = if self.is_addition() { catalog::find(name) } else { catalog::of_command(&self.command) };
        let is_cut = known.is_some_and(|known| known.four_tools.is_some());
        (self.four_tools && is_cut).then_some(("four_tools", "Switchboard cuts the tools of this one itself"))
    }

    /// Rejects text that is no name of an environment variable, such as `NAME=value`: no agent could inherit it.
    fn check_variables(&self, name: &str) -> Result<(), Failure> {
        let is_name = |text: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            text.chars().all(is_letter) && text.starts_with(|first: char| !first.is_ascii_digit())
        };
        let all =
            self.env.iter().map(|text| ("env", text)).chain(self.model_env.keys().map(|text| ("model_env", text)));
        let Some((field, text)) = all.into_iter().find(|(_, text)| !is_name(text)) else { return Ok(()) };
        let what = format!("`{field}` of {name} lists {:?}, which is no name of a variable", cut(text, 200));
        let hint = "list the name alone; its value comes from your environment";
        Err(Failure::new("config.bad-value", what).hint(if field == "env" {
            hint
        } else {
            "write it as NAME = \"{model}\""
        }))
    }

    /// Rejects hosts and paths that no sandbox could open, even if the agent is not constrained.
    fn check_reach(&self, name: &str) -> Result<(), Failure> {
        let bad = |field: &str, value: &str, hint: &str| {
            let what = format!("`{field}` of {name} lists {:?}", cut(value, 200));
            Err(Failure::new("config.bad-value", what).hint(hint))
        };
        if let Some(host) = self.network.iter().find(|host| Host::parse(host).is_none()) {
            return bad("network", host, "write each host with its port: api.example.com:443");
        }
        let is_inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let may_read = |path: &str| {
            path.strip_prefix("~/").map_or(Path::new(path).is_absolute(), |path| is_inside(Path::new(path)))
        };
        if let Some(path) = self.read.iter().find(|path| !may_read(path)) {
            return bad("read", path, "`read` takes absolute paths and ~/...");
        }
        if let Some(path) = self.home.iter().find(|path| path.is_empty() || !is_inside(Path::new(path))) {
            return bad("home", path, "`home` takes paths inside the home: .config/tool");
        }
        Ok(())
    }

    /// Returns the price of the agent's tokens.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked when it was read"
    )]
    pub(crate) fn price(&self) -> Option<TokenPrice> {
        let micro = |dollars: f64| (dollars * 1e6).round() as u64;
        self.price.map(|price| TokenPrice { input: micro(price.input), output: micro(price.output) })
    }

    /// Returns the paths and hosts that the agent may reach when it is constrained.
    pub(crate) fn reach(&self, home: Option<&Path>) -> Reach {
        let expanded = |path: &String| match (path.strip_prefix("~/"), home) {
            (Some(inside), Some(home)) => home.join(inside).display().to_string(),
            _ => path.clone(),
        };
        Reach { read: self.read.iter().map(expanded).collect(), home: self.home.clone(), network: self.network.clone() }
    }

    /// Returns the names of the set fields that affect only constrained workers.
    pub(crate) fn for_constrained(&self) -> impl Iterator<Item = &'static str> {
        let Self { read, home, network, four_tools, .. } = self;
        let lists = [("read", read), ("home", home), ("network", network)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| name);
        lists.chain(four_tools.then_some("four_tools"))
    }

    /// Returns program and arguments.
    pub(crate) fn command(&self) -> &[String] {
        &self.command
    }
}

// === impl Agents ===

/// Returns the JSON Schema of the settings file.
pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(File).to_value()
}

impl Agents {
    /// Reads the agents of a settings folder; none if the file is missing.
    ///
    /// # Errors
    /// `config.syntax` with file and line; `io.denied` when the file can't be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("config.toml");
        let text = match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self { path, ..Self::default() }),
            Ok(data) if data.len() > MAX_BYTES => {
                let what = format!("the settings are larger than {MAX_BYTES} bytes");
                return Err(Failure::new("config.syntax", what).at(path.display().to_string()));
            }
            Ok(_) => fs::read_to_string(&path),
            Err(error) => Err(error),
        };
        let text = text.map_err(|error| {
            Failure::new("io.denied", "the settings can't be read").at(path.display().to_string()).because(&error)
        })?;
        let file: File = parse::parse(&path, &text)?;
        for (name, agent) in &file.agents {
            agent.check(name).map_err(|failure| failure.at(path.display().to_string()))?;
        }
        let has_limits = file.limits.is_some();
        let limits = file.limits.unwrap_or_default().limits();
        let limits = limits.map_err(|failure| failure.at(path.display().to_string()))?;
        let roles = roles(file.roles).map_err(|failure| failure.at(path.display().to_string()))?;
        let (has_team, team) = (file.team.is_some(), file.team.unwrap_or_default());
        if let Some(what) = team.out_of_range() {
            let failure = Failure::new("config.bad-value", format!("{what}, under [team]"));
            return Err(failure.at(path.display().to_string()));
        }
        let limits = Limits { loops: team.loops(), ..limits };
        let worktrees = file.worktrees.folder;
        let (list, exclude) = (file.agents, file.checks.exclude);
        Ok(Self { path, list, exclude, roles, team, has_team, limits, has_limits, worktrees })
    }

    /// Returns the folder for work trees as written; empty text counts as not set.
    pub(crate) fn worktrees(&self) -> Option<&Path> {
        self.worktrees.as_deref().filter(|folder| !folder.as_os_str().is_empty())
    }

    /// Returns the folder for work trees; a relative one is resolved below `top`.
    ///
    /// # Errors
    /// `config.bad-value` for a relative one without `top`, and for `~` without a home.
    pub(crate) fn worktrees_below(&self, top: Option<&Path>, home: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = self.worktrees() else { return Ok(None) };
        let found = match (folder.strip_prefix("~"), folder.is_absolute()) {
            (Ok(inside), _) => home.map(|home| home.join(inside)),
            (Err(_), true) => Some(folder.to_owned()),
            (Err(_), false) => top.map(|top| top.join(folder)),
        };
        let bad = || {
            let what = format!("`folder` under [worktrees] is {}, which is no absolute path", folder.display());
            Failure::new("config.bad-value", what).at(self.path.display().to_string()).hint("begin it with / or ~/")
        };
        found.map(Some).ok_or_else(bad)
    }

    /// Reads the agents of a repository's own file.
    ///
    /// # Errors
    /// As [`Self::read`], and `config.syntax` if it sets limits, roles or a team, which only the user's file may do.
    pub(crate) fn read_project(folder: &Path) -> Result<Self, Failure> {
        let agents = Self::read(folder)?;
        let of_user = [("limits", agents.has_limits), ("roles", !agents.roles.is_empty()), ("team", agents.has_team)];
        if let Some((section, _)) = of_user.into_iter().find(|(_, is_there)| *is_there) {
            let what = format!("a repository can't set [{section}]: they are the user's own");
            let failure = Failure::new("config.syntax", what).at(agents.path.display().to_string());
            return Err(failure.hint("put them into ~/.config/switchboard/config.toml"));
        }
        Ok(agents)
    }

    /// Returns the agent of a name; spellings that differ in case, spaces or `_` are equal.
    pub(crate) fn find(&self, name: &str) -> Option<&Described> {
        let wanted = switchboard_protocol::id::fold(name);
        self.list.iter().find(|(name, _)| switchboard_protocol::id::fold(name) == wanted).map(|(_, agent)| agent)
    }
}

/// Returns the settings by role; rejects two spellings of one role.
fn roles(described: BTreeMap<String, RoleSettings>) -> Result<BTreeMap<RoleId, RoleSettings>, Failure> {
    let mut roles = BTreeMap::new();
    for (name, one) in described {
        let role = RoleName::among(&RoleName::OF_MODES, &name)
            .map_err(|failure| Failure { code: "config.bad-value".into(), ..failure })?;
        if roles.insert(role.id(), one).is_some() {
            let what = format!("two sections under [roles] are for the {role}");
            return Err(Failure::new("config.bad-value", what).hint("leave one of them out"));
        }
    }
    Ok(roles)
}

#[cfg(test)]
mod tests;
