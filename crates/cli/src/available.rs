//! Agents available here, in this order: those of the user's settings, those of a repository that the user trusts, and those that Switchboard
//! knows and finds on `PATH`. The first one of a name counts. A definition is one of these agents with instructions and another name.

mod defined;
pub(crate) mod own_sandbox;

use std::path::Path;

use switchboard_agents::catalog::{self, Known};
use switchboard_daemon::trust::{Commands, Pins};
use switchboard_daemon::{FOLDER, NamedFolder};
use switchboard_process::env::PROXIES;
use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest, fold};
use switchboard_protocol::isolation::Reach;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::verb::run::AgentChoice;

use crate::context::Context;
use crate::definitions::{Definitions, Origin};
use crate::role_files::RoleFiles;
use crate::session::work_tree;
use crate::settings::{Agents, Described};

/// All agents, definitions and role files that were found.
#[derive(Debug)]
pub(crate) struct Available {
    user: Agents,
    project: Agents,
    /// The repository's commands, as the user pins them with `switchboard trust`.
    of_project: Commands,
    is_project_trusted: bool,
    /// Agents that files define, in the requested scope.
    pub(crate) definitions: Definitions,
    role_files: RoleFiles,
}

/// An agent that can be given tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Name of the agent.
    pub(crate) name: String,
    /// True if runs with the agent may cost money.
    pub(crate) spends: bool,
    /// True if the agent's settings say explicitly that its runs cost money.
    pub(crate) says_spends: bool,
    /// Where the agent is described.
    pub(crate) origin: String,
}

// === impl Available ===

impl Available {
    /// Reads settings, definitions and role files; of the definitions, only the user's.
    ///
    /// # Errors
    /// `config.syntax` when a settings file does not parse.
    pub(crate) fn read(context: &Context) -> Result<Self, Failure> {
        Self::within(AgentScope::User, context)
    }

    /// Reads settings, definitions and role files, with the definitions of a scope.
    ///
    /// # Errors
    /// `config.syntax` when a settings file does not parse.
    pub(crate) fn within(scope: AgentScope, context: &Context) -> Result<Self, Failure> {
        Self::of(context.environment.config_folder().as_deref(), work_tree(context.folder()).as_deref(), scope)
    }

    /// Reads a settings folder and a work tree.
    ///
    /// # Errors
    /// `config.syntax` when a settings file does not parse.
    pub(crate) fn of(settings: Option<&Path>, root: Option<&Path>, scope: AgentScope) -> Result<Self, Failure> {
        let user = settings.map(Agents::read).transpose()?.unwrap_or_default();
        let project = root.map(|root| Agents::read_project(&root.join(FOLDER))).transpose()?.unwrap_or_default();
        let of_user = settings.map(|folder| Definitions::read(folder, Origin::User)).unwrap_or_default();
        let of_root = root.map(|root| Definitions::read(&root.join(FOLDER), Origin::Project));
        let role_files = RoleFiles::read(settings, root);
        let (of_root, root) = (of_root.unwrap_or_default(), root.unwrap_or(Path::new("")));
        let of_project = commands(&project, [of_root.pinned(root), role_files.pinned(root)].concat());
        let pins = settings.map(Pins::at);
        let is_project_trusted = pins.is_some_and(|pins| pins.has(&of_project.digest));
        let definitions = Definitions::within(of_user, of_root, scope);
        Ok(Self { user, project, of_project, is_project_trusted, definitions, role_files })
    }

    /// Returns the role files that were found.
    pub(crate) fn role_files(&self) -> RoleFiles {
        self.role_files.clone().trusted(self.is_project_trusted)
    }

    /// Returns the folder for work trees that the user's settings name, or those of the repository once they are trusted, and the file that names it.
    ///
    /// # Errors
    /// `config.bad-value` when it is no absolute path.
    pub(crate) fn worktrees(&self, root: &Path, home: Option<&Path>) -> Result<Option<NamedFolder>, Failure> {
        if let Some(folder) = self.user.worktrees_below(None, home)? {
            return Ok(Some((folder, self.user.path.clone())));
        }
        if !self.is_project_trusted {
            return Ok(None);
        }
        let folder = self.project.worktrees_below(Some(root), home)?;
        Ok(folder.map(|folder| (folder, self.project.path.clone())))
    }

    /// Returns the commands and files of the repository's agents, which need the user's trust.
    pub(crate) fn of_project(&self) -> &Commands {
        &self.of_project
    }

    /// Returns how to start a configured agent.
    ///
    /// # Errors
    /// `agent.unknown`, `agent.missing`, or `config.untrusted` for one that only the repository describes.
    pub(crate) fn choice(&self, name: &AgentName, context: &Context) -> Result<AgentChoice, Failure> {
        if let Some(agent) = self.user.find(name.as_str()) {
            return described(name, agent, context);
        }
        match self.project.find(name.as_str()) {
            Some(agent) if self.is_project_trusted => return described(name, agent, context),
            Some(agent) => return Err(self.untrusted(name, agent)),
            None => {}
        }
        let known = catalog::find(name.as_str()).ok_or_else(|| self.unknown(name))?;
        of_catalog(name, known, context)
    }

    /// Returns the description in force for an agent, and the file that holds it; `None` for an agent that is known only by name.
    pub(crate) fn described(&self, name: &AgentName) -> Option<(&Described, &Path)> {
        let project = self.is_project_trusted.then_some(&self.project);
        let files = [Some(&self.user), project];
        files.into_iter().flatten().find_map(|file| Some((file.find(name.as_str())?, file.path.as_path())))
    }

    /// Returns all agents that can be used: those whose program is installed.
    pub(crate) fn candidates(&self, context: &Context) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut files = vec![(&self.user, true)];
        files.extend(self.is_project_trusted.then_some((&self.project, false)));
        for (file, is_users) in files {
            for (name, agent) in &file.list {
                // Settings that extend a known agent name no program.
                let known = catalog::find(name).filter(|_| agent.is_addition());
                if !is_present(&known.map_or_else(|| agent.driver(), Known::driver), context) {
                    continue;
                }
                // A repository can't say that a known agent is free: `switchboard trust` shows commands, not this.
                let says = agent.spends.filter(|spends| is_users || *spends || known.is_none());
                found.push(Candidate {
                    name: name.clone(),
                    spends: says.unwrap_or(known.is_none_or(|known| known.spends)),
                    says_spends: says.unwrap_or(known.is_some_and(|known| known.spends)),
                    origin: known.map_or_else(|| file.path.display().to_string(), |known| known.title.to_owned()),
                });
            }
        }
        let known = catalog::ALL.iter().filter(|known| is_present(&known.driver(), context));
        found.extend(known.map(|Known { name, title, spends, .. }| Candidate {
            name: (*name).to_owned(),
            spends: *spends,
            says_spends: *spends,
            origin: (*title).to_owned(),
        }));
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|candidate| seen.insert(fold(&candidate.name)));
        found
    }

    fn untrusted(&self, name: &AgentName, agent: &Described) -> Failure {
        let what = format!("the agent {name} is a command that came with this repository");
        let mut failure = Failure::new("config.untrusted", what)
            .at(self.project.path.display().to_string())
            .hint("look at it, then: switchboard trust");
        failure.cause.push(agent.command().join(" "));
        failure
    }

    fn unknown(&self, name: &AgentName) -> Failure {
        let ours = self.user.list.keys().map(String::as_str);
        let known = catalog::ALL.iter().map(|known| known.name);
        let names: Vec<_> = known.chain(ours).chain(self.definitions.names()).collect();
        let failure = Failure::new("agent.unknown", format!("no agent is called {name}"));
        match near_matches(name.as_str(), names).as_slice() {
            [] => failure.hint("describe it in your settings: switchboard explain agent.unknown"),
            near => failure.hint(format!("did you mean {}?", near.join(" or "))),
        }
    }
}

fn of_catalog(name: &AgentName, known: &Known, context: &Context) -> Result<AgentChoice, Failure> {
    present(name, &known.driver(), known.install, context)?;
    let env = with_defaults(inherited(&[known.env, PROXIES].concat(), context), known.set);
    let home = known.home.iter().map(|path| (*path).to_owned()).collect();
    let owned = |text: &&str| (*text).to_owned();
    Ok(AgentChoice {
        env,
        four_tools: known.four_tools.is_some(),
        reach: Reach { home, ..Reach::default() },
        model_args: known.model_args.iter().map(owned).collect(),
        model_env: known.model_env.iter().map(|(name, value)| (owned(name), owned(value))).collect(),
        ..AgentChoice::new(name.clone(), known.driver())
    })
}

fn described(name: &AgentName, agent: &Described, context: &Context) -> Result<AgentChoice, Failure> {
    let names: Vec<_> = agent.env.iter().map(String::as_str).collect();
    let mut env = inherited(&names, context);
    let base = match catalog::find(name.as_str()).filter(|_| agent.is_addition()) {
        Some(known) => of_catalog(name, known, context)?,
        None => {
            present(name, &agent.driver(), "correct its command in your settings", context)?;
            AgentChoice::new(name.clone(), agent.driver())
        }
    };
    let own = agent.reach(context.environment.home().as_deref());
    // A scripted agent is our own program; its command names the script file, which the sandbox must let it read.
    let scripts = agent.command().iter().filter(|word| agent.scripted && Path::new(word).is_absolute());
    let read = own.read.iter().chain(scripts).cloned().collect();
    let reach = Reach { read, home: base.reach.home.iter().cloned().chain(own.home).collect(), ..own };
    // The command may start an agent that the catalog recognises by its program.
    let is_known = || catalog::of_command(agent.command()).is_some_and(|known| known.four_tools.is_some());
    let four_tools = base.four_tools || agent.four_tools || is_known();
    env.extend(base.env.iter().filter(|(known, _)| !names.contains(&known.as_str())).cloned());
    let says_model = !agent.model_args.is_empty() || !agent.model_env.is_empty();
    let for_constrained = agent.for_constrained().map(str::to_owned).collect();
    Ok(AgentChoice {
        for_constrained,
        scripted: agent.scripted,
        env,
        permissions: agent.permissions,
        model: agent.model.clone(),
        model_args: if says_model { agent.model_args.clone() } else { base.model_args },
        temperature_args: agent.temperature_args.clone(),
        model_env: if says_model { agent.model_env.clone().into_iter().collect() } else { base.model_env },
        attempts: agent.attempts,
        price: agent.price(),
        isolation: agent.isolation,
        four_tools,
        reach,
        ..base
    })
}

/// Returns the inherited variables, with defaults for those that the user has not set.
fn with_defaults(mut env: Vec<(String, String)>, defaults: &[(&str, &str)]) -> Vec<(String, String)> {
    for (name, value) in defaults {
        if !env.iter().any(|(known, _)| known == name) {
            env.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    env
}

fn inherited(names: &[&str], context: &Context) -> Vec<(String, String)> {
    let value = |name: &&str| Some(((*name).to_owned(), context.environment.variable(name)?.to_owned()));
    names.iter().filter_map(value).collect()
}

fn program(driver: &DriverSpec) -> &str {
    let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = driver;
    argv.first().map_or("", String::as_str)
}

fn is_present(driver: &DriverSpec, context: &Context) -> bool {
    context.environment.find_program(program(driver)).is_some()
}

fn present(name: &AgentName, driver: &DriverSpec, hint: &str, context: &Context) -> Result<(), Failure> {
    if is_present(driver, context) {
        return Ok(());
    }
    let what = format!("the agent {name} needs the program {:?}, which is not on PATH", program(driver));
    Err(Failure::new("agent.missing", what).hint(hint))
}

/// Returns the commands of a file's agents and the files that define agents, under the digest that pins them.
fn commands(agents: &Agents, definitions: Vec<(String, Vec<String>)>) -> Commands {
    let of = |(name, agent): (&String, &Described)| (format!("agent {name}"), agent.command().to_vec());
    let told = |(name, agent): (&String, &Described)| {
        let env = agent.model_env.iter().map(|(name, value)| format!("{name}={value}"));
        let told: Vec<_> = agent.model_args.iter().chain(&agent.temperature_args).cloned().chain(env).collect();
        (!told.is_empty()).then(|| (format!("agent {name}, its model"), told))
    };
    let widens = |(name, agent): (&String, &Described)| {
        let all = vec!["permissions".to_owned(), "all".to_owned()];
        (agent.permissions == Permissions::All).then(|| (format!("agent {name}"), all))
    };
    let opens = |(name, agent): (&String, &Described)| {
        let Reach { read, home, network } = agent.reach(None);
        let lists = [("read", read), ("home", home), ("network", network)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let argv = lists.flat_map(|(word, list)| std::iter::once(word.to_owned()).chain(list));
        let argv: Vec<_> = argv.chain(agent.four_tools.then(|| "four_tools".to_owned())).collect();
        (!argv.is_empty()).then(|| (format!("sandbox of agent {name}"), argv))
    };
    let widened = agents.list.iter().filter_map(widens).chain(agents.list.iter().filter_map(opens));
    let more = agents.list.iter().filter_map(told).chain(widened);
    let folder =
        agents.worktrees().map(|folder| ("folder of work trees".to_owned(), vec![folder.display().to_string()]));
    let list: Vec<_> = agents.list.iter().map(of).chain(more).chain(definitions).chain(folder).collect();
    let digest = Digest::of(serde_json::json!(list).to_string().as_bytes());
    Commands { list, digest }
}
