//! Constrained work: a command does its task in a sandbox, tries every way out of it, and is refused each time.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::sandbox::{BINARY, Sandbox};

/// Makes a task of a constrained command that runs shell lines.
fn constrained(lines: &[&str]) -> Value {
    let command = json!(["bash", "-c", lines.join("\n")]);
    json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": command, "isolation": "constrained" } }])
}

/// Returns the content of a file on the branch of the newest run.
#[track_caller]
fn on_the_branch(sandbox: &Sandbox, file: &str) -> String {
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    sandbox.git(&["show", &format!("switchboard/{run}:{file}")])
}

/// Shell function that records the outcome of each try by its name: 0 where it succeeded.
const NOTE: &str =
    r#"try() { name=$1; shift; "$@" > "$TMPDIR/out" 2>&1; echo "$name $? $(tail -n 1 "$TMPDIR/out")" >> tried.txt; }"#;

#[test]
fn a_constrained_command_does_its_task_and_is_merged() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&constrained(&[
        "echo constrained > note.txt",
        "echo kept > $HOME/file && cat $HOME/file >> note.txt",
        "git status --porcelain >> note.txt && git diff --stat && git log --oneline | wc -l >> note.txt",
        "cat \"$SWITCHBOARD_TASK_FILE\" > /dev/null && echo task >> note.txt",
    ]));

    let preview = sandbox.switchboard(&["run", &plan, "--dry-run", "--json"]).ends_with(0).json();
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("constrained").says("1 of 1 tasks merged");

    assert_eq!((&preview["constrained"], &preview["gaps"]), (&json!(["1.1"]), &json!(null)));
    assert_eq!(on_the_branch(&sandbox, "note.txt"), "constrained\nkept\n?? note.txt\n1\ntask\n");
    assert_eq!(sandbox.call(&["get_run"])["list"][0]["isolation"], "constrained");
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("isolation constrained");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("starts, constrained");
}

#[test]
fn every_way_out_of_the_sandbox_is_refused() {
    let sandbox = Sandbox::new();
    let state = sandbox.folder().join("state/switchboard");
    let (state, root) = (state.display().to_string(), sandbox.root().display().to_string());
    let tries = [
        NOTE,
        &format!("try store sh -c 'cat {state}/*/store.db'"),
        &format!("try spool sh -c 'cat {state}/*/runs/*/agents.json {state}/*/runs/*/workers/*/spec.json'"),
        &format!("try key sh -c 'ls {state}/*/keys'"),
        &format!("try token cat {root}/.switchboard/auth_token"),
        &format!("try readme cat {root}/README.md"),
        &format!("try settings ls {}", sandbox.folder().join("config").display()),
        "try config git config user.name x",
        "try ref git update-ref refs/heads/main HEAD",
        "try branch git branch taken",
        "try commit git -c user.name=x -c user.email=x@x commit --allow-empty --message x",
        "try network bash -c 'echo > /dev/tcp/192.0.2.1/80'",
        "try kill kill -9 $PPID",
        "try shim cat /proc/$PPID/environ",
        "try open cat /proc/$PPID/fd/0",
        "try status git status",
    ];
    let plan = sandbox.trusted_plan(&constrained(&tries));
    let before = sandbox.git(&["for-each-ref", "refs/heads/main", "refs/heads/taken"]);

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let tried = on_the_branch(&sandbox, "tried.txt");
    assert_eq!(tried.lines().count(), tries.len() - 1, "{tried}");
    for line in tried.lines() {
        let (name, code) = line.split_once(' ').unwrap();
        assert_eq!(code.starts_with("0 "), name == "status", "{tried}");
    }
    assert_eq!(sandbox.git(&["for-each-ref", "refs/heads/main", "refs/heads/taken"]), before);
}

#[test]
fn the_daemon_gives_a_constrained_worker_its_own_mail_and_nothing_else() {
    let sandbox = Sandbox::new();
    let call = |name: &str, args: &str| format!("try {name} {BINARY} --json {args}");
    let lines = [
        NOTE.to_owned(),
        call("own-inbox", "call check_inbox"),
        call("own-status", "call set_agent_status status=busy"),
        call("team", "call get_team_roster"),
        call("other-inbox", "call check_inbox agent=person"),
        call("status", "call get_status"),
        call("run", "call get_run"),
        call("events", "call read_events"),
        call("merge", "merge --yes"),
        call("start", "call start_run plan={}"),
        call("lease", "call list_leases"),
    ];
    let plan = sandbox.trusted_plan(&constrained(&lines.each_ref().map(String::as_str)));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let tried = on_the_branch(&sandbox, "tried.txt");
    for line in tried.lines() {
        let mut words = line.splitn(3, ' ');
        let (name, code, said) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
        if ["own-inbox", "own-status", "team"].contains(&name) {
            assert_eq!(code, "0", "{line}");
        } else {
            assert!(code != "0" && said.contains("policy.denied"), "{line}");
        }
    }
    assert_eq!(tried.lines().count(), lines.len() - 1, "{tried}");
}

#[test]
fn what_the_agent_or_the_settings_make_impossible_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    sandbox.settings(
        "[agents.other]\ndriver = \"acp\"\ncommand = [\"true\"]\nspends = false\n\
         [agents.wide]\ndriver = \"exec\"\ncommand = [\"true\"]\nread = [\"~/\"]\n\
         [agents.held]\ndriver = \"exec\"\ncommand = [\"touch\", \"held\"]\nisolation = \"constrained\"\n",
    );
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let run = |args: &[&str]| sandbox.switchboard(&[&["run", &plan, "--json", "--dry-run"], args].concat());

    for (agent, code) in [("other", "isolation.tools"), ("wide", "isolation.opens-state")] {
        let refused = run(&["--isolation", "constrained", "--agent", agent]).ends_with(2);
        assert_eq!(refused.failure()["code"], code, "{agent}");
        run(&["--agent", agent]).ends_with(0);
    }
    assert_eq!(run(&["--agent", "held"]).ends_with(0).json()["constrained"], json!(["1.1"]));
    assert_eq!(run(&["--agent", "held", "--isolation", "full"]).ends_with(0).json()["constrained"], json!(null));
    run(&["--isolation", "constraned"]).ends_with(2).says("constrained");
    let text = r#"{"schema_version":"1.0.0","title":"t","swarm":"s","x-switchboard":{"isolation":"constraint"},
        "phases":[{"id":1,"name":"p","tasks":[{"id":"1.1","phase":1,"description":"d"}]}]}"#;
    let misspelt = sandbox.plan_text(text);
    sandbox.switchboard(&["run", &misspelt, "--dry-run"]).ends_with(2).says("constrained");
}

#[test]
fn a_command_under_an_agents_name_is_held_as_that_agent_is_and_an_unknown_name_is_refused() {
    let sandbox = Sandbox::new();
    let outside = sandbox.folder().join("outside").display().to_string();
    sandbox.settings(
        "[agents.held]\ndriver = \"exec\"\ncommand = [\"true\"]\nisolation = \"constrained\"\nenv = [\"GIVEN\"]\n\
         instructions = \"Write British English.\"\n",
    );
    let line = format!("echo x > {outside}; echo $GIVEN > note.txt; cat $SWITCHBOARD_TASK_FILE >> note.txt");
    let plan = |agent: &str| {
        sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
            "x-switchboard": { "agent": agent, "command": ["bash", "-c", line] } }]))
    };
    let known = plan("Held");
    let preview = sandbox.switchboard(&["run", &known, "--dry-run", "--json"]).ends_with(0).json();
    assert_eq!(preview["constrained"], json!(["1.1"]), "{preview}");

    let mut with = Sandbox::environment(&sandbox);
    with = with.set("GIVEN", "this");
    let run = switchboard_process::spawn::Spawn::new([BINARY, "run", &known, "--yes"]);
    let run = run.cwd(sandbox.root()).env_only(with).wall(std::time::Duration::from_secs(60)).output().unwrap();

    assert_eq!(run.exit.code(), Some(0), "{}{}", run.stdout.text(), run.stderr.text());
    assert!(!std::path::Path::new(&outside).exists(), "a constrained agent's command wrote outside of its tree");
    let note = on_the_branch(&sandbox, "note.txt");
    assert!(note.starts_with("this\n") && note.contains("Write British English."), "{note}");
    let refused = sandbox.switchboard(&["run", &plan("helt"), "--dry-run", "--json"]).ends_with(5).failure();
    assert_eq!(refused["code"], "agent.unknown", "{refused}");
}

#[test]
fn a_constrained_agent_speaks_acp_and_uses_our_tools_from_inside() {
    let sandbox = Sandbox::new();
    let steps = json!([
        { "do": "write", "path": "note.txt", "content": "from inside\n" },
        { "do": "shell", "argv": ["sh", "-c", "! cat ../../../store.db && git status > /dev/null"] },
        { "do": "mcp", "tool": "check_inbox" },
        { "do": "mcp", "tool": "set_agent_status", "args": { "status": "busy" } },
    ]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--isolation", "constrained", "--yes"]).ends_with(0);

    assert_eq!(on_the_branch(&sandbox, "note.txt"), "from inside\n");
    let scratch = sandbox.folder().join("state/switchboard");
    let left = sandbox.run(["find", scratch.to_str().unwrap(), "-name", "scratch"], sandbox.folder(), "").ends_with(0);
    assert_eq!(left.out, "", "its home goes with it");
}

#[test]
fn what_the_machine_can_not_enforce_is_refused_unless_that_is_accepted_and_then_recorded() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&constrained(&["echo x > own.txt"]));
    // In this name space no further ones can be created; the daemon is started in it, too.
    let poor = |args: &str| {
        let line = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {BINARY} {args}");
        sandbox.run(["unshare", "--map-root-user", "sh", "-c", &line], &sandbox.root(), "")
    };

    poor("doctor").says("no name spaces can be made");
    let refused = poor(&format!("run {plan} --yes --json")).ends_with(1);
    assert_eq!(refused.failure()["code"], "isolation.unsupported");
    sandbox.switchboard(&["down"]).ends_with(0);
    poor(&format!("run {plan} --yes --unenforced")).ends_with(0).says("its sandbox is incomplete here");

    assert_eq!(on_the_branch(&sandbox, "own.txt"), "x\n");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("no name spaces can be made");
}

#[test]
fn a_listed_host_is_reached_and_no_other_is() {
    if let Some(why) = switchboard_process::sandbox::supported().no_namespaces.as_ref() {
        eprintln!("skipped: a worker can have no network of its own here: {why}");
        return;
    }
    let sandbox = Sandbox::new();
    let servers = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [listed, other] = servers.each_ref().map(|server| server.local_addr().unwrap().port());
    for server in servers {
        std::thread::spawn(move || {
            for mut caller in server.incoming().flatten() {
                let mut read = [0; 1024];
                let _ = caller.read(&mut read);
                let _ = caller.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n");
            }
        });
    }
    let ask = |port: u16| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n' >&3; \
             read -r line <&3; echo \"$line\" >> answers.txt; case $line in *200*) read -r line <&3; \
             printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3; tail -n 1 <&3 >> answers.txt;; esac"
        )
    };
    let direct = [
        "echo $HTTPS_PROXY >> answers.txt".to_owned(),
        format!("(exec 4<>/dev/tcp/127.0.0.1/{listed}) 2>&1 | grep -o -m 1 'Connection refused' >> answers.txt"),
        "(exec 4<>/dev/tcp/192.0.2.1/80) 2>&1 | grep -o -m 1 'Network is unreachable' >> answers.txt".to_owned(),
        "getent ahosts example.com > /dev/null; echo dns $? >> answers.txt".to_owned(),
    ];
    let lines = json!(["bash", "-c", format!("{}\n{}\n{}", ask(listed), ask(other), direct.join("\n"))]);
    sandbox.settings(&format!(
        "[agents.caller]\ndriver = \"exec\"\ncommand = {lines}\nisolation = \"constrained\"\n\
         network = [\"localhost:{listed}\"]\n"
    ));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    sandbox.switchboard(&["run", &plan, "--agent", "caller", "--yes"]).ends_with(0);

    let answers = on_the_branch(&sandbox, "answers.txt").replace('\r', "");
    let expected = "HTTP/1.1 200 Connection established\nhello\nHTTP/1.1 403 Forbidden\nhttp://127.0.0.1:3128\n\
                    Connection refused\nNetwork is unreachable\ndns 2\n";
    assert_eq!(answers, expected);

    let narrow = json!({ "hosts": [format!("localhost:{other}")] });
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": narrow }]));
    let said = sandbox.switchboard(&["run", &plan, "--agent", "caller", "--yes"]).ends_with(0);
    said.says(&format!("does not reach localhost:{other}"));
    let answers = on_the_branch(&sandbox, "answers.txt").replace('\r', "");
    assert!(
        !answers.contains("200") && !answers.contains("hello"),
        "a plan adds no host, and takes some away: {answers}"
    );
    let bad = sandbox
        .plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "hosts": ["*:443"] } }]));
    sandbox.switchboard(&["run", &bad, "--dry-run"]).ends_with(2).says("a host with its port");
}

#[test]
fn a_request_that_lists_what_is_no_host_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let asked = |host: &str, isolation: &str| {
        let agent = json!([{ "name": "caller", "driver": { "driver": "exec", "argv": ["true"] }, "isolation": isolation,
            "reach": { "network": [host] } }]);
        let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
        let plan = format!("plan:={}", json!(std::fs::read_to_string(plan).unwrap()));
        let words = [
            "call",
            "start_run",
            &plan,
            &format!("agents:={agent}"),
            "default_agent=caller",
            "dry_run:=true",
            "unenforced:=true",
            "--json",
        ];
        sandbox.switchboard(&words)
    };

    for host in ["*:443", "example.com", "https://example.com"] {
        let refused = asked(host, "constrained").ends_with(2).failure();
        assert_eq!(refused["code"], "isolation.network", "{host}: {refused}");
        assert!(refused["what"].as_str().unwrap().contains(host), "{refused}");
    }
    asked("example.com:443", "constrained").ends_with(0);
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn a_git_folder_that_a_constrained_worker_makes_itself_runs_nothing_outside() {
    let sandbox = Sandbox::new();
    let escaped = sandbox.folder().join("escaped");
    let touch = format!("touch {}", escaped.display());
    let plan = sandbox.trusted_plan(&constrained(&[
        "rm .git && git init --quiet .",
        &format!("git config core.fsmonitor '{touch}'; git config filter.own.clean '{touch}; cat'"),
        &format!("printf '#!/bin/sh\\n{touch}\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout"),
        "echo '* filter=own' > .gitattributes; echo x > own.txt",
    ]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    assert_eq!(on_the_branch(&sandbox, "own.txt"), "x\n");
    assert!(!escaped.exists());
}

/// Returns the processes of a sandbox that have the store's database open, by the descriptors of each.
fn holders(sandbox: &Sandbox) -> Vec<u32> {
    let opens = |pid: &u32| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        let mut links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        links.any(|link| link.to_string_lossy().contains("store.db"))
    };
    sandbox.processes().into_iter().filter(opens).collect()
}

#[test]
fn no_process_but_the_daemon_has_the_database_open_whatever_its_isolation_and_what_a_call_has_done_is_seen_at_once() {
    for isolation in ["full", "constrained"] {
        let sandbox = Sandbox::new();
        let line = format!(
            "{BINARY} call report_step state=working note=begun > told.txt 2>&1; touch begun; sleep 2; echo done > done.txt"
        );
        let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
            "x-switchboard": { "command": ["bash", "-c", line], "isolation": isolation } }]));
        let run = sandbox.run_aside(&[&plan, "--yes"]);
        let acted = || sandbox.call(&["read_events", "kinds:=[\"worker_acted\"]"]).to_string();
        let is_seen = super::sandbox::within(std::time::Duration::from_secs(30), || acted().contains("begun"));

        let daemon = sandbox.call(&["get_status"])["pid"].as_u64().unwrap();
        assert_eq!(holders(&sandbox), [u32::try_from(daemon).unwrap()], "{isolation}");
        run.join().unwrap().ends_with(0);
        assert!(is_seen, "{isolation}: {}", on_the_branch(&sandbox, "told.txt"));
    }
}
