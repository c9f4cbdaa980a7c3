//! Opens a session with each installed agent, and names what is missing: the program, a login, trust, a working sandbox.

use std::time::Duration;

use switchboard_agents::catalog;
use switchboard_agents::driver::Start;
use switchboard_agents::handshake::{Handshake, shake_hands};
use switchboard_process::env::Env;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::AgentChoice;

use super::check_result::CheckResult;
use super::version;
use crate::available::own_sandbox::{self, Lack};
use crate::available::{Available, Candidate};
use crate::context::Context;
use crate::environment::Environment;
use crate::output::one_line;

/// Time limit for an agent to open a session: OpenCode without a network was measured at 85 s.
const LIMIT: Duration = Duration::from_secs(100);

/// Checks each agent whose program is installed; all at the same time.
pub(super) fn run_checks(context: &Context) -> Vec<CheckResult> {
    let available = match Available::read(context) {
        Ok(available) => available,
        Err(failure) => return vec![CheckResult::failure("settings", &failure)],
    };
    let candidates = available.candidates(context);
    let choice = |candidate: &Candidate| -> Result<AgentChoice, Failure> {
        let name = AgentName::new(candidate.name.clone());
        let name = name.map_err(|error| Failure::new("agent.unknown", error.to_string()))?;
        available.choice(&name, context)
    };
    let choices: Vec<_> = candidates.iter().map(|candidate| (candidate.name.clone(), choice(candidate))).collect();
    let environment = &context.environment;
    std::thread::scope(|scope| {
        let shaking: Vec<_> =
            choices.iter().map(|(name, choice)| (name, scope.spawn(move || one(name, choice, environment)))).collect();
        let failed = |name: &String| vec![CheckResult::bad("handshake", format!("{name}: the handshake broke off"))];
        shaking.into_iter().flat_map(|(name, shaking)| shaking.join().unwrap_or_else(|_| failed(name))).collect()
    })
}

fn one(name: &str, choice: &Result<AgentChoice, Failure>, environment: &Environment) -> Vec<CheckResult> {
    let choice = match choice {
        Ok(choice) => choice,
        Err(failure) => return vec![CheckResult::failure("handshake", failure)],
    };
    let argv = match &choice.driver {
        DriverSpec::Acp { argv } => argv.clone(),
        DriverSpec::Exec { .. } => {
            return vec![CheckResult::ok("handshake", format!("{name}: a command, which is not asked"))];
        }
    };
    let folder = std::env::temp_dir().join(format!("switchboard-doctor-{}-{name}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        return vec![CheckResult::bad("handshake", format!("{name}: {}: {error}", folder.display()))];
    }
    let env = choice.env.iter().fold(Env::plain(), |env, (name, value)| env.set(name, value));
    let start = Start {
        argv: argv.clone(),
        cwd: folder.clone(),
        env,
        mcp: None,
        sandbox: None,
        tools: Vec::new(),
        hosts: Vec::new(),
        model: None,
        keeps_input: false,
    };
    let done = shake_hands(&start, LIMIT);
    if let Err(error) = std::fs::remove_dir_all(&folder) {
        eprintln!("{} stays behind: {error}", folder.display());
    }
    let told = done.as_ref().ok().map(|done| done.version.as_str()).filter(|version| !version.is_empty());
    let version = version::of(name, choice, told, environment);
    let mut looks = vec![match done {
        Ok(done) => shaken(name, &done),
        Err(error) => CheckResult::bad("handshake", format!("{name}: {error}")),
    }];
    looks.extend(version);
    looks.extend(missing(name, choice, environment));
    looks
}

fn shaken(name: &str, done: &Handshake) -> CheckResult {
    let who = if done.agent.is_empty() { String::new() } else { format!(" ({})", done.agent) };
    let seconds = done.took.as_secs_f32();
    let Some((code, what)) = &done.fault else {
        return CheckResult::ok("handshake", format!("{name}{who}: opens a session in {seconds:.1} s"));
    };
    let login = catalog::find(name).map(|known| known.login).unwrap_or_default();
    let hint = match code.as_str() {
        "agent.login" if !login.is_empty() => format!("log in: {login}"),
        code => format!("switchboard explain {code}"),
    };
    // The failure names a missing login itself; in all other cases the agent's last line of standard error helps.
    let last = done.stderr.lines().last().filter(|_| code != "agent.login").unwrap_or_default();
    let said = if last.is_empty() { String::new() } else { format!("; it wrote: {last}") };
    CheckResult::bad("handshake", format!("{name}{who}: {}{said} [{code}]", one_line(what, 300))).hint(&hint)
}

/// Returns what an agent lacks that a handshake does not show.
fn missing(name: &str, choice: &AgentChoice, environment: &Environment) -> Option<CheckResult> {
    if let Some(Lack { what, hint }) = own_sandbox::lack(choice, environment) {
        return Some(CheckResult::bad("sandbox", format!("{name}: {what}")).hint(hint));
    }
    // In a folder that it does not trust, Gemini drops all MCP servers, including ours.
    let trusted = environment.home().map(|home| home.join(".gemini/trustedFolders.json"));
    if name == "gemini" && trusted.is_some_and(|file| !file.exists()) && !skips_trust(name) {
        let what = "gemini: where its folder trust is on, it uses no MCP server in a work tree, ours neither";
        return Some(CheckResult::note("trust", what).hint("trust the folder of the work trees in its settings"));
    }
    None
}

/// Returns true if an agent is started in a way that makes it trust its folder.
fn skips_trust(name: &str) -> bool {
    catalog::find(name).is_some_and(|known| known.argv.contains(&"--skip-trust"))
}
