//! Real agent CLIs against a scripted model on this machine: no key, no network, no money.
//!
//! `SWITCHBOARD_REAL_AGENTS=1` runs all of them in every story, a list such as `qwen,claude` those; with `CI=true`
//! alone they run where npm is reachable. They are installed as `tests/real/package-lock.json` pins them, below the
//! target folder, once. Those of a story run at the same time, a few at once.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::env::{Env, var};
use switchboard_process::spawn::{Spawn, which};

use super::sandbox::Sandbox;

/// All agents that can be run.
const AGENTS: &[&str] = &["qwen", "claude", "codex", "gemini", "opencode"];

/// Content of the repository's AGENTS.md.
const FOR_ALL: &str = "Write British English in this repository.";

/// Time limit of npm.
const INSTALL: Duration = Duration::from_secs(300);

/// Time limit for a question to appear.
const RUN: Duration = Duration::from_secs(180);

#[test]
fn a_real_agent_asks_a_person_is_not_believed_after_a_refused_write_and_is_merged_after_an_approved_one() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    each(&agents, |agent| drive(agent, &programs));
}

#[test]
fn a_real_agent_without_a_login_is_asked_once_and_its_own_login_command_is_named() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    each(&agents, |agent| {
        for refusal in ["err401", "err403"] {
            let mut sandbox = Sandbox::new();
            let model = Model::start(sandbox.folder(), sandbox.folder());
            equip(&mut sandbox, agent, &programs, &format!("{}/{refusal}", model.url()));
            let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "Write hello.txt." }]));

            let done = sandbox.switchboard(&["run", &plan, "--agent", agent, "--yes"]).ends_with(1);

            let done = done.says("[agent.login]").says("log in first: ");
            assert_eq!(done.out.matches(" starts, attempt").count(), 1, "{agent}, {refusal}: {}", done.out);
            assert!(!done.out.contains("[3") && !done.out.contains("signal"), "{agent}, {refusal}: {}", done.out);
        }
    });
}

#[test]
fn what_a_real_agent_was_denied_is_tried_again_with_a_note_and_then_allowed_for_the_task() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    each(&agents, |agent| deny_note_allow(agent, &programs));
}

/// Denies the first attempt's write, so that it is retried with a note; denies the second one's, then allows writes for
/// the task, so that the third doesn't ask.
fn deny_note_allow(agent: &str, programs: &Path) {
    let mut sandbox = Sandbox::new();
    let worktrees = sandbox.folder().join("trees");
    let model = Model::start(sandbox.folder(), &worktrees);
    // Codex works in its own sandbox and asks only if its model wants to leave it.
    let mode = if agent == "codex" { "/escalate" } else { "" };
    equip(&mut sandbox, agent, programs, &format!("{}{mode}", model.url()));
    let task = format!("Write hello.txt with the word hello. You are called {agent}.");
    let asks = json!({ "permissions": "ask" });
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": task, "x-switchboard": asks }]));
    let run = sandbox.run_aside(&[&plan, "--agent", agent, "--yes", "--worktrees", worktrees.to_str().unwrap()]);

    let denied = asked(&sandbox, agent);
    sandbox.switchboard(&["deny", &denied]).ends_with(0);
    let held = asked(&sandbox, agent);
    sandbox.switchboard(&["answer", &held, "retry", "--note", "Go on in another file."]).ends_with(0);
    let again = asked(&sandbox, agent);
    assert!(model.heard("Go on in another file."), "{agent}: the note is not in the prompt");
    sandbox.switchboard(&["deny", &again]).ends_with(0);
    let held = asked(&sandbox, agent);
    sandbox.switchboard(&["answer", &held, "allow"]).ends_with(0);

    run.join().unwrap().ends_with(0).says("1 of 1 tasks merged");
    let needs = sandbox.call(&["list_needs", "include_settled=true"]);
    let outcomes: Vec<_> = needs["needs"].as_array().unwrap().iter().map(|need| need["outcome"].clone()).collect();
    assert_eq!(outcomes.len(), 5, "{agent}: {needs}");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == "granted").count(), 1, "{agent}: {needs}");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("hello.txt"), "hello\n", "{agent}");
}

#[test]
fn a_real_agent_asks_for_the_model_that_the_run_names() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    each(&agents, |agent| {
        // OpenCode's models are its providers'; Codex accepts only names of its list.
        let (said, asked) = match agent {
            "claude" => ("claude-scripted-7", "claude-scripted-7"),
            "gemini" => ("gemini-2.5-pro", "gemini-2.5-pro"),
            "opencode" => ("fake/fake-2", "fake-2"),
            "codex" => ("gpt-5.5", "gpt-5.5"),
            _ => ("fake-7", "fake-7"),
        };
        let mut sandbox = Sandbox::new();
        let worktrees = sandbox.folder().join("trees");
        let model = Model::start(sandbox.folder(), &worktrees);
        equip(&mut sandbox, agent, &programs, &model.url());
        let all = json!({ "permissions": "all" });
        let task = format!("Write hello.txt with the word hello. You are called {agent}.");
        let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": task, "x-switchboard": all }]));
        sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);

        let argv = [&plan, "--agent", agent, "--model", said, "--yes", "--worktrees", worktrees.to_str().unwrap()];
        let done = sandbox.run_aside(&argv).join().unwrap();

        done.ends_with(0).says("1 of 1 tasks merged");
        assert_eq!(model.models(), [asked], "{agent}");
    });
}

#[test]
fn codex_without_a_login_works_once_it_has_a_key() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    if !agents.iter().any(|agent| agent == "codex") {
        return;
    }
    let _slot = Slot::take();
    // By the command that the refusal names, or by a variable of its adapter, which needs no login.
    for (variable, by_itself) in [("OPENAI_API_KEY", false), ("CODEX_API_KEY", true)] {
        let mut sandbox = Sandbox::new();
        let worktrees = sandbox.folder().join("trees");
        let model = Model::start(sandbox.folder(), &worktrees);
        equip(&mut sandbox, "codex", &programs, &model.url());
        sandbox.unset("OPENAI_API_KEY");
        let config = format!(
            "model = \"fake-1\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
             base_url = \"{}/v1\"\nrequires_openai_auth = true\nwire_api = \"responses\"\n",
            model.url()
        );
        fs::write(sandbox.folder().join("home/.codex/config.toml"), config).unwrap();
        let plan = sandbox
            .plan(&json!([{ "id": "1.1", "phase": 1, "description": "Write hello.txt. You are called codex." }]));
        let argv = ["run", &plan, "--agent", "codex", "--yes", "--worktrees", worktrees.to_str().unwrap()];
        let refused = sandbox.switchboard(&argv).ends_with(1).says("[agent.login]");
        assert!(refused.out.contains("| codex-acp cli login --with-api-key"), "{}", refused.out);

        sandbox.set(variable, "the-key");
        if by_itself {
            sandbox.set("DEFAULT_AUTH_REQUEST", r#"{"methodId":"api-key"}"#);
        } else {
            let line = "printenv OPENAI_API_KEY | codex-acp cli login --with-api-key";
            sandbox.run(["sh", "-c", line], &sandbox.root(), "").ends_with(0);
        }
        sandbox.switchboard(&["restart"]).ends_with(0);
        sandbox.switchboard(&argv).ends_with(0).says("1 of 1 tasks merged");

        assert!(model.saw(|request| request["key"] == "the-key"), "{variable}");
    }
}

#[test]
fn codex_that_can_write_nothing_says_nothing_and_is_found_out() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    if !agents.iter().any(|agent| agent == "codex") {
        return;
    }
    let _slot = Slot::take();
    let mut sandbox = Sandbox::new();
    let worktrees = sandbox.folder().join("trees");
    let model = Model::start(sandbox.folder(), &worktrees);
    equip(&mut sandbox, "codex", &programs, &model.url());
    sandbox.set("INITIAL_AGENT_MODE", "workspace-write");
    // Its work tree is on a read-only file system.
    let line = "mount --bind \"$PWD\" \"$PWD\" && mount -o remount,bind,ro \"$PWD\" && cd \"$PWD\" && exec codex-acp";
    let unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
    let can_mount = sandbox.run([&unshare[..], &["mount --bind . ."]].concat(), &sandbox.root(), "").code == 0;
    let command = json!([&unshare[..], &[line]].concat());
    sandbox.settings(&format!(
        "[agents.held]\ndriver = \"acp\"\ncommand = {command}\nspends = false\nattempts = 2\n\
         env = [\"OPENAI_API_KEY\", \"INITIAL_AGENT_MODE\"]\n"
    ));
    let run = |sandbox: &Sandbox, agent: &str, more: &Value| {
        let task = format!("Write hello.txt with the word hello. You are called {agent}.");
        let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": task, "x-switchboard": more }]));
        let argv = ["run", &plan, "--agent", agent, "--yes", "--worktrees", worktrees.to_str().unwrap()];
        sandbox.switchboard(&argv).ends_with(1)
    };
    if can_mount {
        let done = run(&sandbox, "held", &json!({}));
        // Its adapter reports a command that fails at once only sometimes, and not always with the reason.
        let tells = done.out.contains("could not: printf");
        let why = if tells {
            "no file had changed; it could not \"printf"
        } else {
            "no file had changed; it told of no edit and no command"
        };
        done.says(why);
        assert!(model.heard("Read-only file system"), "it could write");
    } else {
        writeln!(std::io::stderr(), "skipped Codex on a read-only file system: nothing can be mounted here").unwrap();
    }

    // In its mode that writes nothing without asking its model did not ask.
    sandbox.unset("INITIAL_AGENT_MODE");
    let done = run(&sandbox, "codex", &json!({ "permissions": "ask", "attempts": 2 }));
    done.says("it may change nothing without asking (permissions: ask), and it asked nobody");
}

/// Runs one task: the first attempt's write is denied, which makes the task wait; a retry's is approved. Codex does not
/// ask for what its sandbox allows.
fn drive(agent: &str, programs: &Path) {
    let mut sandbox = Sandbox::new();
    let worktrees = sandbox.folder().join("trees");
    let model = Model::start(sandbox.folder(), &worktrees);
    equip(&mut sandbox, agent, programs, &model.url());
    sandbox.write("AGENTS.md", &format!("{FOR_ALL}\n"));
    sandbox.commit("rules for agents");
    let user = sandbox.state_of_user();
    let task = format!("Write hello.txt with the word hello. You are called {agent}.");
    let asks = if agent == "codex" { json!({}) } else { json!({ "permissions": "ask" }) };
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": task, "x-switchboard": asks }]));
    let run = sandbox.run_aside(&[&plan, "--agent", agent, "--yes", "--worktrees", worktrees.to_str().unwrap()]);
    if agent == "codex" {
        let done = run.join().unwrap().ends_with(0).says("1 of 1 tasks merged");
        assert!(model.heard(FOR_ALL), "{agent} does not read AGENTS.md");
        assert!(!done.out.contains("does not know Switchboard's tools"), "{}", done.out);
        sandbox.switchboard(&["merge"]).ends_with(0);
        assert_eq!(sandbox.read("hello.txt"), "hello\n", "{agent}");
        return;
    }

    let denied = asked(&sandbox, agent);
    sandbox.switchboard(&["needs"]).ends_with(0).says("hello.txt").says("switchboard approve");
    sandbox.switchboard(&["deny", &denied]).ends_with(0);
    let held = asked(&sandbox, agent);
    sandbox.switchboard(&["needs"]).ends_with(0).says(&format!("answer {held} retry"));
    sandbox.switchboard(&["deny", &held]).ends_with(0);
    let done = run.join().unwrap().ends_with(4).says("says that it is done").says("[agent.denied]");
    assert!(!done.out.contains("does not know Switchboard's tools"), "{agent}: {}", done.out);
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json()["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["retry", &run]).ends_with(0);
    let approved = asked(&sandbox, agent);
    sandbox.switchboard(&["approve", &approved]).ends_with(0);
    let again = sandbox.run_aside(&["--resume"]).join().unwrap();
    again.ends_with(0).says("1 of 1 tasks merged").says("hash chain verified");
    assert_eq!(sandbox.state_of_user(), user, "{agent}: the user's tree");
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(1), &json!(2)), "{agent}: {report}");
    // Each request of the model's script reads 1000 tokens and writes 20; requests without tools are for a title.
    let (read, requests) = (report["input_tokens"].as_u64().unwrap_or(0), model.requests());
    if agent == "opencode" {
        assert_eq!(read, requests * 1000, "{agent}: {report}");
    }
    assert!((1000..=requests * 1000).contains(&read), "{agent}: {read} tokens in {requests} requests");
    // Each attempt sent itself a message by the MCP server, received it in a separate turn and acknowledged it.
    assert_eq!((&report["messages_sent"], &report["messages_acked"]), (&json!(2), &json!(2)), "{agent}: {report}");
    assert!(model.heard(FOR_ALL), "{agent} neither reads AGENTS.md nor is told it");
    assert!(model.heard("A person has denied what you asked for"), "{agent}: the second attempt does not know why");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("hello.txt"), "hello\n", "{agent}");
}

/// Only Claude Code can be limited to the tools of a constrained worker.
#[test]
fn a_real_agent_does_its_task_in_the_sandbox_and_reaches_its_model_and_nothing_else() {
    if let Some(why) = switchboard_process::sandbox::supported().no_namespaces.as_ref() {
        eprintln!("skipped: a worker can have no network of its own here: {why}");
        return;
    }
    let Some((agents, programs)) = chosen_or_said() else { return };
    if !agents.iter().any(|agent| agent == "claude") {
        return;
    }
    let mut sandbox = Sandbox::new();
    let worktrees = sandbox.folder().join("trees");
    let model = Model::start(sandbox.folder(), &worktrees);
    let url = model.url().replace("127.0.0.1", "localhost");
    equip(&mut sandbox, "claude", &programs, &url);
    let host = url.trim_start_matches("http://");
    sandbox.settings(&format!("[agents.claude]\nisolation = \"constrained\"\nnetwork = [\"{host}\"]\n"));
    let task = "Write hello.txt with the word hello. You are called claude.";
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": task }]));
    let argv = ["run", &plan, "--agent", "claude", "--yes", "--worktrees", worktrees.to_str().unwrap()];

    sandbox.switchboard(&argv).ends_with(0).says("constrained").says("1 of 1 tasks merged");

    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("hello.txt"), "hello\n");
    assert!(model.requests() > 0);
    let offered = fs::read_to_string(&model.log).unwrap();
    assert!(!offered.contains("WebFetch") && !offered.contains("WebSearch"), "it has more than its four tools");
}

/// Waits for a question and returns its id.
fn asked(sandbox: &Sandbox, agent: &str) -> String {
    let need = sandbox.question_within(RUN);
    assert!(need["title"].as_str().unwrap().contains("hello.txt"), "{agent}: {need}");
    need["id"].as_str().unwrap().to_owned()
}

// === Which agents, and where their programs are ===

/// Maximum number of agents that work at once, over all stories. Each is a Node program that takes a core while it
/// starts, and then waits.
const AT_ONCE: usize = 3;

/// A permit for one of the agents that work at once.
struct Slot;

static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Slot {
    fn take() -> Self {
        let taken = TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        *TAKEN.1.wait_while(taken, |taken| *taken >= AT_ONCE).unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        TAKEN.1.notify_one();
    }
}

/// Runs the story of each agent, at the same time as others.
fn each(agents: &[String], story: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for agent in agents {
            let story = &story;
            scope.spawn(move || {
                let _slot = Slot::take();
                story(agent);
            });
        }
    });
}

/// Returns the agents to run and where their programs are; prints why there are none.
pub(super) fn chosen_or_said() -> Option<(Vec<String>, PathBuf)> {
    let chosen = chosen();
    if let Err(why) = &chosen {
        writeln!(std::io::stderr(), "skipped the real agents: {why}").unwrap();
    }
    chosen.ok()
}

fn chosen() -> Result<(Vec<String>, PathBuf), String> {
    let all = || AGENTS.iter().map(|&agent| agent.to_owned()).collect();
    let (agents, is_asked_for): (Vec<String>, _) =
        match (var("SWITCHBOARD_REAL_AGENTS").as_deref(), var("CI").as_deref()) {
            (Some("1"), _) => (all(), true),
            (Some(list), _) => (list.split(',').map(|agent| agent.trim().to_owned()).collect(), true),
            (None, Some("true")) => (all(), false),
            (None, _) => return Err("SWITCHBOARD_REAL_AGENTS=1 drives them".to_owned()),
        };
    assert!(agents.iter().all(|agent| AGENTS.contains(&agent.as_str())), "there are {AGENTS:?}, not {agents:?}");
    // Several stories need them.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _installing = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    match install() {
        Err(why) if is_asked_for => panic!("{why}"),
        installed => Ok((agents, installed?)),
    }
}

/// Installs what the lock file pins, unless that was done before; returns the folder of the programs.
fn install() -> Result<PathBuf, String> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents");
    let programs = folder.join("node_modules/.bin");
    let lock = fs::read(from.join("package-lock.json")).unwrap();
    if fs::read(folder.join("installed")).is_ok_and(|installed| installed == lock) {
        return Ok(programs);
    }
    if which("node").is_none() || which("npm").is_none() {
        return Err("node and npm are not on PATH".to_owned());
    }
    fs::create_dir_all(&folder).unwrap();
    fs::copy(from.join("package.json"), folder.join("package.json")).unwrap();
    fs::write(folder.join("package-lock.json"), &lock).unwrap();
    npm(&folder, &["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    // The only script that must run: it installs the binary for this machine.
    npm(&folder, &["node", "node_modules/opencode-ai/postinstall.mjs"])?;
    fs::write(folder.join("installed"), lock).unwrap();
    Ok(programs)
}

fn npm(folder: &Path, argv: &[&str]) -> Result<(), String> {
    let env = Env::plain().inherit(["HTTPS_PROXY", "NO_PROXY", "npm_config_registry", "npm_config_userconfig"]);
    let output = Spawn::new(argv.iter().copied()).cwd(folder).env_only(env).wall(INSTALL).output();
    let output = output.map_err(|error| format!("{argv:?}: {error}"))?;
    match output.exit.code() {
        Some(0) => Ok(()),
        _ => Err(format!("{argv:?} failed: {}", output.stderr.text())),
    }
}

/// Writes settings and variables with which an agent uses the scripted model, and asks before it writes.
///
/// `url` may end with a mode of the model's script, such as `/err401`.
pub(super) fn equip(sandbox: &mut Sandbox, agent: &str, programs: &Path, url: &str) {
    let path = format!("{}:{}", programs.display(), var("PATH").unwrap_or_default());
    let mut set = vec![("PATH", path)];
    let settings = |login: &str, asks_for_trust: bool| {
        json!({ "security": { "auth": { "selectedType": login }, "folderTrust": { "enabled": asks_for_trust } },
            "telemetry": { "enabled": false }, "general": { "enableAutoUpdate": false },
            "privacy": { "usageStatisticsEnabled": false } })
    };
    let home = sandbox.folder().join("home");
    let write = |name: &str, login: &str, asks_for_trust: bool| {
        let file = home.join(name).join("settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, settings(login, asks_for_trust).to_string()).unwrap();
    };
    let on = |names: &[&'static str]| names.iter().map(|&name| (name, "1".to_owned())).collect::<Vec<_>>();
    let key = "scripted".to_owned();
    match agent {
        "qwen" => {
            write(".qwen", "openai", false);
            set.extend([("OPENAI_BASE_URL", format!("{url}/v1")), ("OPENAI_API_KEY", key)]);
            set.push(("OPENAI_MODEL", "fake-1".to_owned()));
        }
        "codex" => {
            let config = format!(
                "model = \"fake-1\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
                 base_url = \"{url}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
            );
            fs::create_dir_all(home.join(".codex")).unwrap();
            fs::write(home.join(".codex/config.toml"), config).unwrap();
            set.push(("OPENAI_API_KEY", key));
        }
        "gemini" => {
            // The agent has not been told to trust the folder of the work tree.
            write(".gemini", "gemini-api-key", true);
            set.extend([("GOOGLE_GEMINI_BASE_URL", url.to_owned()), ("GEMINI_API_KEY", key)]);
            set.push(("GEMINI_MODEL", "gemini-2.5-flash".to_owned()));
        }
        "claude" => {
            set.extend([("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", key)]);
            let quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"];
            // Without the last variable it refuses to work for root.
            set.extend(on(&[&quiet[..], &["IS_SANDBOX"]].concat()));
        }
        _ => {
            let provider = json!({ "npm": "@ai-sdk/openai-compatible", "models": { "fake-1": { "name": "fake-1" }, "fake-2": { "name": "fake-2" } },
                "options": { "baseURL": format!("{url}/v1"), "apiKey": key } });
            let config = json!({ "model": "fake/fake-1", "permission": { "edit": "ask", "bash": "ask" },
                "provider": { "fake": provider } });
            set.push(("OPENCODE_CONFIG_CONTENT", config.to_string()));
            set.extend(on(&["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"]));
            set.extend(on(&["OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_LSP_DOWNLOAD"]));
        }
    }
    for (name, value) in set {
        sandbox.set(name, &value);
    }
}

// === The scripted model ===

/// The scripted model, `tests/real/model.mjs`; it ends with its standard input.
pub(super) struct Model {
    child: Child,
    port: u64,
    log: PathBuf,
}

impl Model {
    #[expect(
        clippy::disallowed_methods,
        reason = "it lives as long as its standard input, which only a bare child gives"
    )]
    pub(super) fn start(folder: &Path, worktrees: &Path) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/model.mjs");
        let log = folder.join("model.jsonl");
        let mut command = std::process::Command::new("node");
        command.arg(program).arg("--root").arg(worktrees).arg("--log").arg(&log);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self { child, port: said["port"].as_u64().unwrap(), log }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns how many requests offered tools.
    fn requests(&self) -> u64 {
        let log = fs::read_to_string(&self.log).unwrap();
        let requests = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        requests.filter(|request| request["tools"].as_array().is_some_and(|tools| !tools.is_empty())).count() as u64
    }

    /// Returns the models that requests with tools asked for.
    fn models(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap();
        let requests = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let with_tools = requests.filter(|request| request["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
        let models: std::collections::BTreeSet<_> =
            with_tools.filter_map(|request| request["model"].as_str().map(str::to_owned)).collect();
        models.into_iter().collect()
    }

    /// Returns whether any request meets a condition.
    fn saw(&self, is_it: impl Fn(&Value) -> bool) -> bool {
        let log = fs::read_to_string(&self.log).unwrap();
        log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).any(|request| is_it(&request))
    }

    /// Returns whether any request contained these words.
    fn heard(&self, words: &str) -> bool {
        fs::read_to_string(&self.log).unwrap().contains(words)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
