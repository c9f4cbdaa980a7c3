//! What the sandbox that an agent brings itself needs, and this machine lacks. Codex runs every command in bubblewrap on Linux; without it, it writes nothing
//! and says nothing.

use std::path::Path;

use switchboard_agents::catalog;
use switchboard_process::sandbox;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::verb::run::AgentChoice;

use crate::environment::Environment;

/// The mode of codex-acp 2.6 in which it works without its sandbox.
const WITHOUT: &str = "agent-full-access";

/// What is missing, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lack {
    /// What is missing, and what follows from that.
    pub(crate) what: &'static str,
    /// What to do.
    pub(crate) hint: &'static str,
}

/// What an agent's own sandbox lacks here; `None` for agents without one.
pub(crate) fn lack(choice: &AgentChoice, environment: &Environment) -> Option<Lack> {
    let DriverSpec::Acp { argv } = &choice.driver else { return None };
    let is_codex = catalog::of_command(argv).is_some_and(|known| known.name == "codex");
    let is_off = choice.env.iter().any(|(name, value)| name == "INITIAL_AGENT_MODE" && value == WITHOUT);
    if !is_codex || is_off || !cfg!(target_os = "linux") {
        return None;
    }
    let programs = argv.iter().filter_map(|word| environment.find_program(word));
    let is_there = environment.find_program("bwrap").is_some() || programs.into_iter().any(|path| is_bundled(&path));
    if !is_there {
        return Some(Lack {
            what: "bubblewrap is neither installed nor bundled, so that its sandbox lets it write nothing",
            hint: "install bubblewrap, or npm install -g @agentclientprotocol/codex-acp, which brings it",
        });
    }
    sandbox::supported().no_namespaces.is_some().then_some(Lack {
        what: "no name spaces can be made here, so that its sandbox lets it write nothing",
        hint: "switchboard doctor says why; INITIAL_AGENT_MODE=agent-full-access does without the sandbox",
    })
}

/// Whether the packages that a program of npm was installed with hold bubblewrap, as those of `@openai/codex` do.
fn is_bundled(program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    real.ancestors().skip(1).any(|folder| {
        let packages = entries(&folder.join("node_modules/@openai"));
        let targets = packages.iter().flat_map(|package| entries(&package.join("vendor")));
        targets.into_iter().any(|target| target.join("codex-resources/bwrap").is_file())
    })
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
