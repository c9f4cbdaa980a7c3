//! Finds out what an agent's own sandbox needs and this machine lacks. Codex runs every command in bubblewrap on Linux; without it, it writes nothing
//! and reports no error.

use std::path::Path;

use switchboard_agents::catalog;
use switchboard_process::sandbox;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::verb::run::AgentChoice;

use crate::environment::Environment;

/// Mode in which codex-acp 2.6 works without its sandbox.
const UNSANDBOXED_MODE: &str = "agent-full-access";

/// A missing requirement of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lack {
    /// What is missing, and the consequence.
    pub(crate) what: &'static str,
    /// How to fix it.
    pub(crate) hint: &'static str,
}

/// Returns what an agent's own sandbox lacks on this machine; `None` for agents without one.
pub(crate) fn lack(choice: &AgentChoice, environment: &Environment) -> Option<Lack> {
    let DriverSpec::Acp { argv } = &choice.driver else { return None };
    let is_codex = catalog::of_command(argv).is_some_and(|known| known.name == "codex");
    let is_off = choice.env.iter().any(|(name, value)| name == "INITIAL_AGENT_MODE" && value == UNSANDBOXED_MODE);
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

/// Returns true if the npm packages that a program was installed with contain bubblewrap, as those of `@openai/codex` do.
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
