//! The user's settings, `config.toml` in the settings folder, as far as commands need them: agents of one's own.
//!
//! A repository may describe agents too, in `.switchboard/config.toml`. Those are commands of somebody else, so they
//! count only when the user has trusted exactly them.

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

/// Highest ceiling of a day in dollars.
const MOST_OF_DAY: f64 = 1e6;
/// Most workers that may be asked for.
const MOST_WORKERS: u32 = 1024;
/// Largest settings file in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Highest price of a million tokens: a hundred times the dearest model of 2026, so that a slip of the pen is noticed.
const MOST_DOLLARS: f64 = 10_000.0;

/// An agent that somebody has described.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Agent")]
pub(crate) struct Described {
    /// `acp` or `exec`; may be left out with `command` for an agent that Switchboard knows by name.
    #[serde(default)]
    driver: Option<Driver>,
    /// Program and arguments.
    #[serde(default)]
    command: Vec<String>,
    /// Names of variables that it may inherit.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// What it is told with every task.
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// A file with more of that, relative to this one.
    #[serde(default)]
    pub(crate) instructions_file: Option<PathBuf>,
    /// It is a script that plays an agent.
    #[serde(default)]
    pub(crate) scripted: bool,
    /// Runs with it cost money: it is never chosen without being named, and a run with it wants a yes. Where nothing is said, both hold for `acp`, and the
    /// first for `exec`.
    #[serde(default)]
    pub(crate) spends: Option<bool>,
    /// What it may do without asking a person, where the plan doesn't say: `ask`, `edits` (default) or `all`.
    #[serde(default)]
    pub(crate) permissions: Permissions,
    /// The model, by the agent's own name for it, where neither flag nor plan says so.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// Arguments that tell its program the model, for an agent that offers no choice itself; `{model}` stands for it.
    #[serde(default)]
    pub(crate) model_args: Vec<String>,
    /// Variables that tell its program the model; `{model}` stands for it.
    #[serde(default)]
    pub(crate) model_env: BTreeMap<String, String>,
    /// Arguments that tell its program the temperature of a role (`docs/team.md`); `{temperature}` stands for it.
    #[serde(default)]
    pub(crate) temperature_args: Vec<String>,
    /// How often its tasks are tried, where the plan doesn't say. Default: 5, and 1 for `exec`.
    #[serde(default)]
    pub(crate) attempts: Option<u32>,
    /// What a million tokens cost in US dollars, for an agent that tells tokens and no price: `{ input = 3.0, output = 15.0 }`. Costs are estimated by it.
    #[serde(default)]
    price: Option<Dollars>,
    /// How its workers are held at least: `full` (default), or `constrained` to four tools in a sandbox. A plan may only hold them tighter.
    #[serde(default)]
    pub(crate) isolation: Isolation,
    /// Constrained workers read these files and folders and start programs in them: absolute paths, or `~/...`.
    #[serde(default)]
    read: Vec<String>,
    /// Constrained workers get copies of these files and folders of your home in theirs: paths inside the home.
    #[serde(default)]
    home: Vec<String>,
    /// Constrained workers reach these hosts, each with its port: `api.example.com:443`. None by default.
    #[serde(default)]
    network: Vec<String>,
    /// It has no tools but read, search, edit and shell, so that it may do constrained work. Needed only for agents that Switchboard doesn't know.
    #[serde(default)]
    pub(crate) four_tools: bool,
}

/// What a million tokens cost in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dollars {
    /// A million tokens read.
    input: f64,
    /// A million tokens written.
    output: f64,
}

/// How an agent is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Driver {
    /// It speaks the Agent Client Protocol.
    Acp,
    /// A command that works in the tree and exits.
    Exec,
}

/// Settings: agents of one's own, and what the checks leave out.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Settings")]
struct File {
    /// Agents by name.
    #[serde(default)]
    agents: BTreeMap<String, Described>,
    /// The checks of files.
    #[serde(default)]
    checks: Checks,
    /// Who has which role in a team (`docs/team.md`). Counts in the user's file only.
    #[serde(default)]
    roles: BTreeMap<String, RoleSettings>,
    /// How often something may fail in a team before somebody else decides (`docs/team.md`). Counts in the user's file only.
    #[serde(default)]
    #[schemars(with = "TeamLimits")]
    team: Option<TeamLimits>,
    /// What all runs of a repository have in common. Counts in the user's file only.
    #[serde(default)]
    #[schemars(with = "Shared")]
    limits: Option<Shared>,
    /// The work trees of runs.
    #[serde(default)]
    worktrees: Worktrees,
}

/// The work trees of runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Worktrees {
    /// Folder in which they are made: absolute, or `~/...`; in a repository's own file, which counts once it is trusted, also relative to the repository's top.
    /// Where nothing is said, the state folder's `worktrees`. `--worktrees` and `SWITCHBOARD_WORKTREES` go before it.
    #[serde(default)]
    folder: Option<PathBuf>,
}

/// Who has a role in a team.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Role")]
pub(crate) struct RoleSettings {
    /// The agent; the run's default agent where nothing is said.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// The model, by the agent's own name for it.
    #[serde(default)]
    pub(crate) model: Option<String>,
}

/// What all runs of a repository have in common. Counts in the user's file only.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits")]
struct Shared {
    /// What all runs of a day (UTC) may cost together, in US dollars.
    #[serde(default)]
    day: Option<f64>,
    /// What happens at that ceiling: `warn`, `pause` (default) or `halt`.
    #[serde(default)]
    at_ceiling: AtCeiling,
    /// Most workers alive over all runs, 1 to 1024. Where nothing is said: one for each 256 MB of memory, 4 to 256, not counting scripts that play agents.
    #[serde(default)]
    workers: Option<u32>,
}

// === impl Shared ===

impl Shared {
    fn limits(&self) -> Result<Limits, Failure> {
        let bad = |what: String| Err(Failure::new("config.bad-value", what).hint("leave it out for none"));
        if let Some(dollars) = self.day.filter(|dollars| !(1e-6..=MOST_OF_DAY).contains(dollars)) {
            return bad(format!("`day` under [limits] is {dollars}: nothing could start, or it can't be reached"));
        }
        if let Some(workers) = self.workers.filter(|workers| !(1..=MOST_WORKERS).contains(workers)) {
            return bad(format!("`workers` under [limits] is {workers}, not 1 to {MOST_WORKERS}"));
        }
        let day = self.day.map(micro_usd);
        Ok(Limits { day, at_ceiling: self.at_ceiling, workers: self.workers })
    }
}

/// Dollars as millionths; a check has them between 0 and [`MOST_OF_DAY`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a check has them in the range")]
fn micro_usd(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

/// The checks of files. A repository's own file counts as the commit has it that a change is compared with, and the user's for
/// `switchboard check`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Checks {
    /// Globs as in a `.gitignore` of files that the checks leave out; each is counted and named.
    #[serde(default)]
    exclude: Vec<String>,
}

/// Agents that are described in a file, the file, and what else it says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agents {
    /// Where they are described.
    pub(crate) path: PathBuf,
    /// By name.
    pub(crate) list: BTreeMap<String, Described>,
    /// Globs of files that the checks leave out.
    pub(crate) exclude: Vec<String>,
    /// Who has which role in a team.
    pub(crate) roles: BTreeMap<RoleId, RoleSettings>,
    /// How often something may fail in a team.
    pub(crate) team: TeamLimits,
    has_team: bool,
    /// What all runs have in common.
    pub(crate) limits: Limits,
    has_limits: bool,
    /// Folder for work trees, as it is written.
    worktrees: Option<PathBuf>,
}

// === impl Described ===

impl Described {
    /// How to drive it.
    pub(crate) fn driver(&self) -> DriverSpec {
        let argv = self.command.clone();
        match self.driver {
            Some(Driver::Acp) | None => DriverSpec::Acp { argv },
            Some(Driver::Exec) => DriverSpec::Exec { argv },
        }
    }

    /// Whether it only adds to what is known of an agent of its name.
    pub(crate) fn is_addition(&self) -> bool {
        self.driver.is_none() && self.command.is_empty()
    }

    /// Refuses one that can't be started: without a command or a driver, unless Switchboard knows its name.
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

    /// A field that no worker of this agent can heed, and why.
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

    /// Refuses hosts and paths that no sandbox could open, also where the agent is not constrained yet.
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

    /// What its tokens cost.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked when it was read"
    )]
    pub(crate) fn price(&self) -> Option<TokenPrice> {
        let micro = |dollars: f64| (dollars * 1e6).round() as u64;
        self.price.map(|price| TokenPrice { input: micro(price.input), output: micro(price.output) })
    }

    /// What it may touch when it is constrained.
    pub(crate) fn reach(&self, home: Option<&Path>) -> Reach {
        let expanded = |path: &String| match (path.strip_prefix("~/"), home) {
            (Some(inside), Some(home)) => home.join(inside).display().to_string(),
            _ => path.clone(),
        };
        Reach { read: self.read.iter().map(expanded).collect(), home: self.home.clone(), network: self.network.clone() }
    }

    /// Its settings that only constrained workers heed, by name.
    pub(crate) fn for_constrained(&self) -> impl Iterator<Item = &'static str> {
        let Self { read, home, network, four_tools, .. } = self;
        let lists = [("read", read), ("home", home), ("network", network)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| name);
        lists.chain(four_tools.then_some("four_tools"))
    }

    /// Program and arguments.
    pub(crate) fn command(&self) -> &[String] {
        &self.command
    }
}

// === impl Agents ===

/// The JSON Schema of the file.
pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(File).to_value()
}

impl Agents {
    /// Reads the agents of a settings folder; none where there is no file.
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
        let worktrees = file.worktrees.folder;
        let (list, exclude) = (file.agents, file.checks.exclude);
        Ok(Self { path, list, exclude, roles, team, has_team, limits, has_limits, worktrees })
    }

    /// The folder for work trees, as it is written; empty text is none.
    pub(crate) fn worktrees(&self) -> Option<&Path> {
        self.worktrees.as_deref().filter(|folder| !folder.as_os_str().is_empty())
    }

    /// The folder for work trees; a relative one lies below `top`.
    ///
    /// # Errors
    /// `config.bad-value` for a relative one where there is no top, and for `~` without a home.
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

    /// Reads the agents that a repository brings.
    ///
    /// # Errors
    /// As [`Self::read`], and `config.syntax` where it sets limits, roles or a team, which are the user's own.
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

    /// The agent of a name; spellings that differ in case, spaces or `_` meet.
    pub(crate) fn find(&self, name: &str) -> Option<&Described> {
        let wanted = switchboard_protocol::id::fold(name);
        self.list.iter().find(|(name, _)| switchboard_protocol::id::fold(name) == wanted).map(|(_, agent)| agent)
    }
}

/// Who has which role; two spellings of one role are a mistake.
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
