//! The scratch folder: a repository, agents, and separate folders for everything that would otherwise be in the home.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::git::Git;
use switchboard_process::spawn::Spawn;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::AgentName;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::catalog::Example;
use crate::available::Available;
use crate::client::new_key;
use crate::context::Context;

/// Subfolders of the scratch folder.
const FOLDERS: &[&str] = &["home", "state", "config/switchboard", "cargo", "tmp", "agents"];

/// A scratch folder in which the example can run.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Path of the folder; it stays after the example.
    pub(super) folder: PathBuf,
    /// Path of the repository in it.
    pub(super) repo: PathBuf,
    /// Environment of every command.
    pub(super) env: Env,
    /// True if tasks are gated by the plan's test command.
    pub(super) has_test: bool,
}

// === impl Scratch ===

impl Scratch {
    /// Creates a scratch folder.
    ///
    /// # Errors
    /// When a file can't be written, git fails, or the agent or a program that the example needs is missing.
    pub(super) fn make(example: &Example, agent: Option<&str>, context: &Context) -> Result<Self, Failure> {
        // The agent is looked up before anything is written.
        let player = agent.map(|name| driver(name, context)).transpose()?;
        let folder = std::env::temp_dir().join(format!("switchboard-example-{}", &new_key()?[..8]));
        let failed = |error: std::io::Error| {
            Failure::new("io.denied", "the scratch folder can't be filled")
                .at(folder.display().to_string())
                .because(&error)
        };
        private(&folder)
            .and_then(|()| FOLDERS.iter().try_for_each(|name| private(&folder.join(name))))
            .map_err(failed)?;
        let env = environment(&folder, player.is_some(), context);
        let repo = folder.join(example.name);
        private(&repo).map_err(failed)?;
        let has_test = has_tool(example, &env, &repo)?;
        fill(example, &folder, &repo, has_test).map_err(failed)?;
        let settings = settings(example, &folder, player, &context.environment.program);
        fs::write(folder.join("config/switchboard/config.toml"), settings.to_string()).map_err(failed)?;
        fs::write(folder.join("env"), exports(&folder, context)).map_err(failed)?;
        commit(example, &repo, &env)?;
        Ok(Self { folder, repo, env, has_test })
    }
}

fn private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn driver(name: &str, context: &Context) -> Result<DriverSpec, Failure> {
    let name = AgentName::new(name).map_err(|error| Failure::new("agent.unknown", error.to_string()))?;
    Ok(Available::read(context)?.choice(&name, context)?.driver)
}

/// Builds the environment of the commands. A real agent needs the user's own home, where its login lies.
fn environment(folder: &Path, is_real: bool, context: &Context) -> Env {
    let text = |name: &str| folder.join(name).display().to_string();
    let own = context.environment.variables().iter().filter(|(name, _)| !name.starts_with("SWITCHBOARD_"));
    let base: Env = if is_real { own.cloned().collect() } else { Env::plain() };
    let env = base
        .set("XDG_STATE_HOME", text("state"))
        .set("XDG_CONFIG_HOME", text("config"))
        .set("CARGO_HOME", text("cargo"))
        .set("TMPDIR", text("tmp"))
        .set("GIT_CONFIG_NOSYSTEM", "1");
    if is_real {
        return env;
    }
    let env = env
        .set("HOME", text("home"))
        .set("XDG_CACHE_HOME", text("home/.cache"))
        .set("XDG_DATA_HOME", text("home/.data"));
    // This alone leads to a toolchain that rustup has installed; it is only read.
    let rustup = context.environment.variable("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| context.environment.home().map(|home| home.join(".rustup")));
    match rustup.filter(|folder| folder.is_dir()) {
        Some(rustup) => env.set("RUSTUP_HOME", rustup.display().to_string()),
        None => env,
    }
}

/// Returns true if the program that runs the example's tests is installed.
fn has_tool(example: &Example, env: &Env, repo: &Path) -> Result<bool, Failure> {
    let tool = example.tests_with;
    let asked = Spawn::new([tool.program, "--version"]).cwd(repo).env_only(env.clone()).output();
    let is_there = asked.is_ok_and(|output| output.succeeded());
    if tool.is_needed && !is_there {
        let what = format!("{} can't be used here, and every task of the example is held to its tests", tool.program);
        return Err(Failure::new("gate.not-configured", what).hint(format!("install {}", tool.program)));
    }
    Ok(is_there)
}

fn fill(example: &Example, folder: &Path, repo: &Path, has_test: bool) -> std::io::Result<()> {
    for (path, text) in example.files {
        let text = if *path == "plan.json" && !has_test { without_tests(text) } else { (*text).to_owned() };
        let path = repo.join(path);
        path.parent().map_or(Ok(()), private)?;
        fs::write(path, text)?;
    }
    for (name, text) in example.scripts {
        fs::write(folder.join(format!("agents/{name}.json")), text)?;
    }
    Ok(())
}

/// Returns the plan without its test commands; text that does not parse stays as it is and is reported when it is run.
fn without_tests(text: &str) -> String {
    let Ok(mut plan) = serde_json::from_str::<serde_json::Value>(text) else { return text.to_owned() };
    let tasks = plan["phases"].as_array_mut().into_iter().flatten();
    for task in tasks.filter_map(|phase| phase["tasks"].as_array_mut()).flatten() {
        if let Some(settings) = task["x-switchboard"].as_object_mut() {
            settings.remove("test");
        }
    }
    plan.to_string()
}

/// Builds the settings of the scratch folder's user: the agents, and the agent of each role.
fn settings(example: &Example, folder: &Path, player: Option<DriverSpec>, program: &Path) -> DocumentMut {
    let mut agents = Table::new();
    agents.set_implicit(true);
    let player = player.map(|(DriverSpec::Acp { argv } | DriverSpec::Exec { argv })| argv);
    for (name, _) in example.scripts {
        let script = folder.join(format!("agents/{name}.json")).display().to_string();
        let own = vec![program.display().to_string(), "script-agent".to_owned(), script];
        let mut agent = Table::new();
        agent.insert("driver", value("acp"));
        agent.insert("command", value(Array::from_iter(player.clone().unwrap_or(own))));
        agent.insert("scripted", value(player.is_none()));
        agent.insert("spends", value(player.is_some()));
        agents.insert(name, Item::Table(agent));
    }
    let mut document = DocumentMut::new();
    document.insert("agents", Item::Table(agents));
    let mut roles = Table::new();
    roles.set_implicit(true);
    for (role, agent) in example.roles {
        let mut described = Table::new();
        described.insert("agent", value(*agent));
        roles.insert(role, Item::Table(described));
    }
    document.insert("roles", Item::Table(roles));
    document
}

/// Returns the shell commands that point `switchboard` at the scratch folder.
fn exports(folder: &Path, context: &Context) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let program = context.environment.program.parent().unwrap_or(Path::new("/"));
    format!(
        "export XDG_STATE_HOME={}\nexport XDG_CONFIG_HOME={}\nexport PATH={}:\"$PATH\"\n",
        quoted(&folder.join("state")),
        quoted(&folder.join("config")),
        quoted(program)
    )
}

/// Creates the repository with one commit, under a committer name of its own.
fn commit(example: &Example, repo: &Path, env: &Env) -> Result<(), Failure> {
    Git::find(env.clone()).map_err(|error| error.failure())?;
    let who = ["-c", "user.name=Example", "-c", "user.email=example@localhost", "-c", "commit.gpgSign=false"];
    let message = format!("--message={}", example.message);
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--no-verify", &message],
    ] {
        let argv = ["git"].iter().chain(&who).chain(args).copied();
        let output = Spawn::new(argv).cwd(repo).env_only(env.clone()).output().map_err(|error| error.failure())?;
        if !output.succeeded() {
            let said = output.stderr.text();
            return Err(
                Failure::new("git.failed", format!("git {}: {}", args[0], said.trim())).at(repo.display().to_string())
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::hello::HELLO;
    use super::super::team::TEAM;
    use super::*;

    #[test]
    fn a_plan_without_tests_brings_no_commands() {
        let plan = HELLO.text("plan.json");

        assert!(!switchboard_daemon::trust::commands(plan, "plan.json", &[]).unwrap().list.is_empty());
        assert!(switchboard_daemon::trust::commands(&without_tests(plan), "plan.json", &[]).unwrap().list.is_empty());
    }

    #[test]
    fn the_agents_say_that_they_are_scripts() {
        let settings = settings(&TEAM, Path::new("/s"), None, Path::new("/bin/switchboard")).to_string();

        assert_eq!(settings.matches("scripted = true").count(), 9, "{settings}");
        assert!(settings.contains("[roles.reviewer]\nagent = \"cleo\"\n"), "{settings}");
        assert!(
            settings.contains(r#"command = ["/bin/switchboard", "script-agent", "/s/agents/ada.json"]"#),
            "{settings}"
        );
    }
}
