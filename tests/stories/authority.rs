//! Who may decide: what a worker, an agent, a gate or a stray process tries in a person's name, on real processes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{BINARY, Done, Sandbox, within};

/// Call that is tried: only a person may sign the head of the record.
const TRY: &str = "call sign_head";

/// Time limit of a try in the background.
const SOON: Duration = Duration::from_secs(30);

/// Ways of calling, as shell lines. `$SW` calls the binary in the repository with an empty environment, `$OUT` takes
/// its output.
const WAYS: [(&str, &str); 8] = [
    ("plain", "$SW > $OUT 2>&1"),
    ("ci", "env CI=1 $SW --yes > $OUT 2>&1"),
    ("setsid", "setsid --wait $SW > $OUT 2>&1"),
    ("nohup", "nohup $SW > $OUT 2>&1 & wait"),
    ("double fork", "( ( $SW --yes > $OUT 2>&1 & ) & ) ; wait"),
    ("setsid and double fork", "setsid sh -c \"( setsid $SW > $OUT 2>&1 & ) &\""),
    ("a terminal of its own", "script --quiet --return --command \"$SW\" /dev/null > $OUT 2>&1"),
    ("a tmux server of its own", "tmux -L $NAME -f /dev/null new-session -d \"$SW > $OUT 2>&1\""),
];

fn out(sandbox: &Sandbox, way: &str) -> PathBuf {
    sandbox.folder().join(format!("out-{}", way.replace(' ', "-")))
}

/// Makes a shell line that tries something in one way.
fn line(sandbox: &Sandbox, (way, line): (&str, &str), what: &str) -> String {
    let root = sandbox.root().display().to_string();
    let command = format!("env -i PATH=$PATH CI=1 {BINARY} -C {root} --json --yes {what}");
    let name = sandbox.folder().file_name().unwrap().to_string_lossy().into_owned();
    let (out, name) = (out(sandbox, way).display().to_string(), format!("{name}-{}", way.len()));
    line.replace("$SW", &command).replace("$OUT", &out).replace("$NAME", &name)
}

/// Waits for the answer of a try and asserts that the policy refused it.
#[track_caller]
fn is_refused(sandbox: &Sandbox, way: &str) -> String {
    let path = out(sandbox, way);
    let read = || fs::read_to_string(&path).unwrap_or_default();
    assert!(within(SOON, || read().trim_end().ends_with('}')), "{way}: {}", read());
    assert!(read().contains("policy.denied"), "{way}: {}", read());
    read()
}

/// Asserts that every try was refused for its process's ancestors or environment, as the refusal says in `why`, and
/// that nothing is trusted.
#[track_caller]
fn all_are_refused(sandbox: &Sandbox, tries: &[(String, String)], why: &str) {
    for (name, _) in tries {
        let said = is_refused(sandbox, name);
        assert!(said.contains(why), "{name}: {said}");
    }
    nothing_is_trusted(sandbox);
}

fn has(program: &str) -> bool {
    switchboard_process::spawn::which(program).is_some()
}

fn one_task(sandbox: &Sandbox, line: &str) -> String {
    let command = json!(["sh", "-c", line]);
    sandbox.trusted_plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": command } }]),
    )
}

#[test]
fn a_worker_is_no_person_however_it_calls() {
    let sandbox = Sandbox::new();
    let ways: Vec<_> = WAYS.into_iter().filter(|(way, _)| !way.contains("tmux") || has("tmux")).collect();
    let lines: Vec<_> = ways.iter().map(|way| line(&sandbox, *way, TRY)).collect();
    // It stays until all have answered, so that its end kills none of them.
    let plan = one_task(&sandbox, &format!("{}; sleep 3; touch done", lines.join("; ")));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    for (way, _) in ways {
        is_refused(&sandbox, way);
    }
}

#[test]
fn a_worker_starts_and_merges_no_run() {
    let sandbox = Sandbox::new();
    let nested = sandbox.folder().join("nested.json");
    let task = json!({ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["true"] } });
    let plan = json!({ "schema_version": "1.0.0", "title": "N", "swarm": "s", "phases": [{ "id": 1, "name": "P", "tasks": [task] }] });
    fs::write(&nested, plan.to_string()).unwrap();
    let nested = nested.display().to_string();
    sandbox.switchboard(&["trust", &nested, "--yes"]).ends_with(0);
    let config = format!("XDG_CONFIG_HOME={}", sandbox.folder().join("config").display());
    let with = format!("env {config} $SW > $OUT 2>&1");
    // The environment that `$SW` empties gets the settings back in which the plan is trusted.
    let run = line(&sandbox, ("run", &with), &format!("run {nested}")).replace("env -i ", &format!("env -i {config} "));
    let merge = line(&sandbox, ("merge", &with), "merge");
    let trust = line(&sandbox, ("trust", &with), &format!("trust {nested}"))
        .replace("env -i ", &format!("env -i HOME={} ", sandbox.folder().display()));
    let plan = one_task(&sandbox, &format!("{run}; {merge}; {trust}; touch done"));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    for way in ["run", "merge", "trust"] {
        is_refused(&sandbox, way);
    }
    assert_eq!(sandbox.call(&["get_status"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn the_calls_of_a_worker_that_are_denied_stand_in_the_record_and_a_loop_of_them_as_a_count() {
    let sandbox = Sandbox::new();
    let again = line(&sandbox, ("loop", "for i in 1 2 3 4 5 6 7 8; do $SW > $OUT 2>&1; done"), TRY);
    let plan = one_task(&sandbox, &format!("{again}; touch done"));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    // The daemon records its counters when it ends.
    sandbox.switchboard(&["down"]).ends_with(0);

    let denied = sandbox.call(&["read_events", "kinds:=[\"call_denied\"]"]);
    let facts: Vec<_> = denied["events"].as_array().unwrap().iter().map(|event| &event["facts"]).collect();
    let counts: Vec<_> = facts.iter().map(|facts| facts["count"].as_u64().unwrap()).collect();
    assert_eq!((&counts[..3], counts.last()), (&[1, 2, 3][..], Some(&8)), "{denied}");
    assert!(counts.len() < 8, "each is recorded: {denied}");
    for facts in facts {
        assert_eq!((&facts["verb"], &facts["code"]), (&json!("sign_head"), &json!("policy.denied")), "{facts}");
        assert!(!facts["rule"].as_str().unwrap().is_empty() && facts["worker"].as_str().is_some(), "{facts}");
    }
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("was denied sign_head");
}

#[test]
fn what_a_killed_shim_leaves_behind_is_nobody() {
    let sandbox = Sandbox::new();
    let first = sandbox.folder().join("first").display().to_string();
    let way = ("the shim killed first", "setsid env -i PATH=$PATH sh -c 'sleep 1; $SW > $OUT 2>&1' &");
    let orphan = line(&sandbox, way, TRY);
    let plan = one_task(
        &sandbox,
        &format!("if test -e {first}; then touch done; exit; fi; touch {first}; {orphan} sleep 0.3; kill -9 $PPID"),
    );

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    is_refused(&sandbox, way.0);
}

#[test]
fn an_orphan_without_a_terminal_is_nobody() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let way = ("an orphan", "setsid sh -c '( setsid sh -c \"sleep 0.5; $SW > $OUT 2>&1\" & ) &'");
    let line = line(&sandbox, way, TRY).replace(" CI=1 ", " ");

    sandbox.run(["sh", "-c", &line], &sandbox.root(), "").ends_with(0);

    let said = is_refused(&sandbox, way.0);
    assert!(said.contains("no terminal, login or CI session"), "{said}");
}

#[test]
fn a_user_service_is_nobody() {
    let sandbox = Sandbox::new();
    let probe = sandbox.run(["sh", "-c", "systemd-run --user --quiet --wait true"], &sandbox.root(), "");
    if probe.code != 0 {
        println!("skipped: systemd-run --user does not work here");
        return;
    }
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let way = ("a user service", "systemd-run --user --quiet --wait sh -c '$SW > $OUT 2>&1'");
    let line = line(&sandbox, way, TRY).replace(" CI=1 ", " ");

    sandbox.run(["sh", "-c", &line], &sandbox.root(), "");

    is_refused(&sandbox, way.0);
}

/// Runs a shell line at a terminal, outside of any CI session.
fn at_terminal(sandbox: &Sandbox, line: &str) -> Done {
    let argv = ["env", "-u", "CI", "script", "--quiet", "--return", "--command", line, "/dev/null"];
    sandbox.run(argv, &sandbox.root(), "")
}

#[test]
fn the_foreground_of_a_terminal_is_a_person_and_its_background_is_not_there() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let typed = |line: &str| {
        let line = format!("{BINARY} --json {line}");
        at_terminal(&sandbox, &line)
    };

    typed("call sign_head").ends_with(0);
    typed("merge nothing | cat").says("dispatch.unknown-run");
    let line = format!("bash -ic '{BINARY} --json merge nothing & wait'");
    let behind = at_terminal(&sandbox, &line);

    behind.says("policy.denied").says("not in the foreground");
}

#[test]
fn the_command_of_a_gate_is_no_person() {
    let sandbox = Sandbox::new();
    let gate = line(&sandbox, ("gate", "$SW > $OUT 2>&1; true"), TRY);
    let own = json!({ "command": ["sh", "-c", "touch done"], "gates": [], "test": ["sh", "-c", gate] });
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]));

    sandbox.switchboard(&["run", &plan, "--yes"]);

    is_refused(&sandbox, "gate");
}

/// Decisions that only a person may make, each by a command: `PLAN` stands for a plan, `FILE` for a backup file.
const DECISIONS: [(&str, &str); 9] = [
    ("sign-head", TRY),
    ("trust", "trust PLAN"),
    ("rotate", "token rotate"),
    ("rotate-key", "token rotate-key"),
    ("adopt", "adopt"),
    ("approve", "approve need_0000000000000000"),
    ("answer", "answer need_0000000000000000 retry"),
    ("merge", "merge"),
    ("accept-loss", "verify --accept-loss"),
];

/// Makes lines that try decisions plainly and at a new terminal, with the folders of settings and record in their
/// environment.
fn tried(sandbox: &Sandbox, decisions: &[(&str, &str)], plan: &str) -> Vec<(String, String)> {
    let folder = |name: &str| sandbox.folder().join(name).display().to_string();
    let (config, state, home) = (folder("config"), folder("state"), folder("home"));
    let found = format!("env -i HOME={home} XDG_CONFIG_HOME={config} XDG_STATE_HOME={state} ");
    let plain = decisions.iter().map(|decision| (*decision, "$SW > $OUT 2>&1", "plain"));
    let terminal = "script --quiet --return --command \"$SW\" /dev/null > $OUT 2>&1";
    let typed = decisions.iter().map(|decision| (*decision, terminal, "typed"));
    let line = |((name, what), way, how): ((&str, &str), &str, &str)| {
        let (name, what) = (format!("{name}-{how}"), what.replace("PLAN", plan).replace("FILE", &folder("copy.db")));
        let line = line(sandbox, (&name, way), &what).replace("env -i ", &found);
        (name, line)
    };
    plain.chain(typed).map(line).collect()
}

/// Makes a plan with a command that is not trusted.
fn untrusted(sandbox: &Sandbox) -> String {
    let file = sandbox.folder().join("foreign.json");
    let task = json!({ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["true"] } });
    let plan = json!({ "schema_version": "1.0.0", "title": "F", "swarm": "s", "phases": [{ "id": 1, "name": "P", "tasks": [task] }] });
    fs::write(&file, plan.to_string()).unwrap();
    file.display().to_string()
}

#[track_caller]
fn nothing_is_trusted(sandbox: &Sandbox) {
    sandbox.switchboard(&["trust", "--list"]).ends_with(0).says("you trust nothing yet");
}

/// Makes an agent's program: it runs our bridge, waits for its answer, and does what `lines` say.
fn hand_started(sandbox: &Sandbox, lines: &str) -> PathBuf {
    let (folder, program) = (sandbox.folder().display().to_string(), sandbox.folder().join("agent"));
    let text = format!(
        "#!/bin/sh\nmkfifo {folder}/in\n{BINARY} mcp < {folder}/in > {folder}/mcp-out &\nexec 9> {folder}/in\n\
         echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}' >&9\n\
         while ! test -s {folder}/mcp-out; do sleep 0.05; done\n{lines}\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    program
}

#[test]
fn an_agent_that_a_person_started_is_that_agent_whatever_it_decides() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let tries = tried(&sandbox, &DECISIONS, &untrusted(&sandbox));
    let lines: Vec<_> = tries.iter().map(|(_, line)| line.as_str()).collect();
    let program = hand_started(&sandbox, &lines.join("\n"));

    sandbox.run([program.to_str().unwrap()], &sandbox.root(), "");

    all_are_refused(&sandbox, &tries, "switchboard mcp");
}

#[test]
fn an_agent_is_none_in_another_repository_and_without_a_daemon_either() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let plan = untrusted(&sandbox);
    let root = format!("-C {} ", sandbox.root().display());
    let elsewhere = format!("-C {} ", other.root().display());
    let tries = tried(&sandbox, &[("trust", "trust PLAN"), ("rotate", "token rotate")], &plan);
    let lines: Vec<_> = tries.iter().map(|(_, line)| line.replace(&root, &elsewhere)).collect();
    let program = hand_started(&sandbox, &lines.join("\n"));

    sandbox.run([program.to_str().unwrap()], &sandbox.root(), "");

    all_are_refused(&sandbox, &tries, "switchboard mcp");
}

#[test]
fn the_mark_of_what_started_a_command_counts_although_its_own_environment_is_empty() {
    let sandbox = Sandbox::new();
    let tries = tried(&sandbox, &[("trust", "trust PLAN"), ("restore", "restore FILE")], &untrusted(&sandbox));
    let lines: Vec<_> = tries.iter().map(|(_, line)| line.as_str()).collect();

    // As an agent's program runs a command: through a shell with the agent's variable. No daemon runs.
    let argv = ["env", "CLAUDECODE=1", "sh", "-c", &format!("{}; true", lines.join("; "))];
    sandbox.run(argv, &sandbox.root(), "");

    all_are_refused(&sandbox, &tries, "environment");
}

#[test]
fn a_worker_that_outlives_its_daemon_puts_no_record_back_copies_none_and_signs_none() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let copy = sandbox.folder().join("copy.db").display().to_string();
    sandbox.switchboard(&["backup", &copy]).ends_with(0);
    let decisions =
        [("restore", "restore FILE"), ("backup", "backup mine.db"), ("sign", "sign"), ("trust", "trust PLAN")];
    let tries = tried(&sandbox, &decisions, &untrusted(&sandbox));
    let lines: Vec<_> = tries.iter().map(|(_, line)| line.as_str()).collect();
    let pid = sandbox.call(&["get_status"])["pid"].as_u64().unwrap();
    let gone = format!("kill -9 {pid}; while test -d /proc/{pid}; do sleep 0.05; done");
    let plan = one_task(&sandbox, &format!("{gone}; {}; touch done", lines.join("; ")));
    let text = fs::read_to_string(&plan).unwrap();

    sandbox.call(&["start_run", &format!("plan={text}")]);

    for (name, _) in &tries {
        is_refused(&sandbox, name);
    }
    assert!(!sandbox.root().join("mine.db").exists());
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn a_backup_and_a_signature_without_a_daemon_want_somebody_behind_them_and_a_restore_somebody_there() {
    let sandbox = Sandbox::new();
    let copy = sandbox.folder().join("copy.db").display().to_string();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["down"]).ends_with(0);

    sandbox.switchboard(&["backup", &copy, "--no-daemon"]).ends_with(0).says("verified");
    sandbox.switchboard(&["sign", "--no-daemon"]).ends_with(0);
    let argv = [BINARY, "restore", &copy, "--json"];
    let refused = sandbox.run(argv, &sandbox.root(), "").ends_with(4);
    assert_eq!(refused.failure()["code"], "policy.denied");
    assert!(refused.err.contains("a CI session without --yes"), "{}", refused.err);
    sandbox.switchboard(&["restore", &copy]).ends_with(0);
}

#[test]
fn a_caller_learns_what_it_is_taken_for() {
    let sandbox = Sandbox::new();

    let person = sandbox.call(&["get_caller"]);

    assert_eq!((&person["kind"], &person["is_present"]), (&json!("person"), &json!(true)), "{person}");
    let server = super::http::Server::of(&sandbox);
    let (status, body) = server.call("get_caller", &json!({}));
    assert!(status == 200 && body.contains("\"agent\"") && body.contains("repository's token"), "{body}");
}

#[test]
fn the_repositorys_token_over_http_is_an_agent() {
    let sandbox = Sandbox::new();
    let server = super::http::Server::of(&sandbox);

    let (status, body) = server.call("sign_head", &json!({}));
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("policy.denied"), "{body}");
    for verb in ["approve", "merge_run", "start_run", "export_log", "list_messages"] {
        assert_eq!(server.call(verb, &json!({})).0, 403, "{verb}");
    }
    assert_eq!(server.call("get_status", &Value::Null).0, 200);
}

#[test]
fn a_code_that_a_person_made_opens_one_session_over_http() {
    let sandbox = Sandbox::new();
    let server = super::http::Server::of(&sandbox);
    let code = sandbox.switchboard(&["session", "--json"]).ends_with(0).json()["code"].clone();
    let open = |code: &Value| server.ask("POST /session", &[], &json!({ "code": code }).to_string());

    let (status, body) = open(&code);
    assert_eq!(status, 200, "{body}");
    let session: Value = serde_json::from_str(&body).unwrap();
    let token = session["token"].as_str().unwrap();

    assert_eq!(server.call_as(token, "sign_head", &json!({})).0, 200);
    assert_eq!(server.call_as(token, "list_messages", &json!({})).0, 200);
    let (status, body) = open(&code);
    assert!(status == 403 && body.contains("auth.bad-code"), "{status} {body}");
    assert_eq!(server.call("create_session_code", &json!({})).0, 403);
}
