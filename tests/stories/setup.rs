//! What a new work tree gets before its worker starts: a set-up command, ignored files, its own TCP ports.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::which;

use super::sandbox::{Sandbox, within};

/// Makes a plan with these settings, of tasks that run a line each.
fn plan(sandbox: &Sandbox, settings: &Value, lines: &[&str]) -> String {
    let task = |(at, line): (usize, &&str)| {
        json!({ "id": format!("1.{}", at + 1), "phase": 1, "description": "do it",
            "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    let tasks: Vec<_> = lines.iter().enumerate().map(task).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story", "x-switchboard": settings,
        "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    sandbox.plan_text(&plan.to_string())
}

fn trusted(sandbox: &Sandbox, settings: &Value, lines: &[&str]) -> String {
    let plan = plan(sandbox, settings, lines);
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);
    plan
}

/// Creates a repository that ignores `deps/` and `.env`.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "deps/\n.env\nlocal-*\nnode_modules/\n");
    sandbox.commit("ignore");
    sandbox
}

#[test]
fn a_set_up_runs_in_each_new_tree_before_its_worker_and_its_gates() {
    let sandbox = repository();
    let settings =
        json!({ "setup": "mkdir deps && echo installed > deps/it", "test": ["grep", "-q", "installed", "deps/it"] });
    let plan = trusted(&sandbox, &settings, &["cp deps/it one.txt", "cp deps/it two.txt"]);

    sandbox
        .switchboard(&["run", &plan, "--dry-run"])
        .ends_with(0)
        .says("each work tree is set up with `mkdir deps && echo installed > deps/it`");
    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0).says("2 of 2 tasks merged");

    assert_eq!(sandbox.read("one.txt"), "installed\n");
    assert_eq!(sandbox.git(&["ls-files", "deps"]), "", "what git ignores is not merged");
}

#[test]
fn a_set_up_has_the_proxies_of_the_command_that_started_the_run() {
    let mut sandbox = repository();
    sandbox.set("HTTPS_PROXY", "http://user:word@proxy.example:3128");
    sandbox.set("no_proxy", "localhost");
    sandbox.set("OTHER_KEY", "secret");
    let setup = "mkdir deps && env > deps/env";
    let out = |name: &str| sandbox.folder().join(name);
    let line = format!("cp deps/env {}; env > {}; echo > one.txt", out("set-up").display(), out("worker").display());
    let plan = trusted(&sandbox, &json!({ "setup": setup }), &[&line]);

    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    let env = std::fs::read_to_string(out("set-up")).unwrap();
    assert!(env.contains("HTTPS_PROXY=http://user:word@proxy.example:3128\n"), "{env}");
    assert!(env.contains("no_proxy=localhost\n") && !env.contains("OTHER_KEY"), "{env}");
    assert!(!std::fs::read_to_string(out("worker")).unwrap().contains("PROXY"), "a worker's command has none");
    let record = out("export");
    sandbox.call(&["export_log", &format!("path={}", record.display())]);
    assert!(!std::fs::read_to_string(record).unwrap().contains("user:word"), "the password is in the record");
}

#[test]
fn a_set_up_that_fails_is_said_and_spends_no_attempt() {
    let sandbox = repository();
    let mended = sandbox.folder().join("mended");
    let line = format!("test -e {} || {{ echo no network >&2; exit 7; }}", mended.display());
    let plan = trusted(&sandbox, &json!({ "setup": line }), &["echo done > done.txt"]);

    let ended = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let ended = ended.says("ended with exit code 7: no network").says("[dispatch.setup]");
    assert!(!ended.out.contains("attempts were refused"), "{}", ended.out);
    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).json();
    let refusals = shown["task"]["refusals"].as_array().unwrap();
    assert_eq!((&shown["task"]["attempts"], refusals.len()), (&json!(1), 1), "{shown}");

    std::fs::write(mended, "").unwrap();
    sandbox.call(&["retry_task", "what=1.1"]);
    let is_merged = || sandbox.switchboard(&["show", "1.1", "--json"]).json()["task"]["state"] == "merged";
    assert!(within(Duration::from_secs(30), is_merged));
}

#[test]
fn what_a_set_up_leaves_for_git_to_see_is_no_change_of_the_agent() {
    let sandbox = repository();
    let plan = trusted(&sandbox, &json!({ "setup": "touch left.txt" }), &["echo done > done.txt"]);

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("left.txt").says(".gitignore");
}

#[test]
fn a_lock_file_is_installed_by_its_tool_once_its_owner_has_said_yes() {
    if which("npm").is_none() {
        eprintln!("npm is not installed: nothing is tested here");
        return;
    }
    let sandbox = repository();
    sandbox.write("dep/package.json", r#"{ "name": "dep", "version": "1.0.0", "main": "index.js" }"#);
    sandbox.write("dep/index.js", "module.exports = 42;\n");
    sandbox.write("package.json", r#"{ "name": "app", "version": "1.0.0", "dependencies": { "dep": "file:dep" } }"#);
    sandbox.write(
        "package-lock.json",
        r#"{ "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
            "": { "name": "app", "version": "1.0.0", "dependencies": { "dep": "file:dep" } },
            "dep": { "version": "1.0.0" }, "node_modules/dep": { "resolved": "dep", "link": true } } }"#,
    );
    sandbox.commit("an app");
    let uses_it = "node -p \"require('dep')\" > answer.txt";
    let settings = json!({ "test": ["node", "-e", "require('dep')"] });
    let plan_without = |lines: &[&str]| plan(&sandbox, &settings, lines);
    let path = plan_without(&[uses_it]);

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(4).says("package-lock.json").says("npm ci");
    sandbox.switchboard(&["trust", &path, "--yes"]).ends_with(0);
    sandbox.switchboard(&["run", &path, "--yes", "--merge"]).ends_with(0).says("package-lock.json");

    assert_eq!(sandbox.read("answer.txt"), "42\n");

    let none = trusted(&sandbox, &json!({ "setup": [] }), &["test ! -e node_modules && echo bare > bare.txt"]);
    sandbox.switchboard(&["run", &none, "--yes", "--merge"]).ends_with(0);
    assert_eq!(sandbox.read("bare.txt"), "bare\n");
}

#[test]
fn packages_below_the_top_are_installed_where_their_lock_files_lie() {
    if which("npm").is_none() || which("python3").is_none() {
        eprintln!("npm or python3 is not installed: nothing is tested here");
        return;
    }
    let sandbox = repository();
    sandbox.write("web/dep/package.json", r#"{ "name": "dep", "version": "1.0.0", "main": "index.js" }"#);
    sandbox.write("web/dep/index.js", "module.exports = 42;\n");
    sandbox
        .write("web/package.json", r#"{ "name": "app", "version": "1.0.0", "dependencies": { "dep": "file:dep" } }"#);
    sandbox.write(
        "web/package-lock.json",
        r#"{ "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
            "": { "name": "app", "version": "1.0.0", "dependencies": { "dep": "file:dep" } },
            "dep": { "version": "1.0.0" }, "node_modules/dep": { "resolved": "dep", "link": true } } }"#,
    );
    // A requirements file without a package: nothing is downloaded.
    sandbox.write("services/api/requirements.txt", "# nothing but the virtual environment\n");
    sandbox.write("services/old/Gemfile.lock", "GEM\n");
    sandbox.write("docs/requirements.txt", "sphinx\n");
    sandbox.commit("a monorepo");
    let line = "cd web && node -p \"require('dep')\" > answer.txt && ../services/api/.venv/bin/python -c 'print(1)' >> answer.txt";
    let plan = plan(&sandbox, &Value::Null, &[line]);

    let shown = sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0);
    let shown =
        shown.says("(web/package-lock.json)").says("(services/api/requirements.txt)").says("docs/requirements.txt");
    if which("bundle").is_none() {
        shown.says("services/old/Gemfile.lock is there and bundle is not installed");
    } else {
        sandbox.run(["git", "rm", "-q", "services/old/Gemfile.lock"], &sandbox.root(), "").ends_with(0);
        sandbox.commit("without Ruby");
    }
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);
    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    assert_eq!(sandbox.read("web/answer.txt"), "42\n1\n");
    assert_eq!(sandbox.git(&["ls-files", "web/node_modules", "services/api/.venv"]), "");
}

#[test]
fn ignored_files_that_the_repository_lists_are_copied_and_links_out_of_it_are_not() {
    let sandbox = repository();
    sandbox.write(".worktreeinclude", ".env\nlocal-*\nREADME.md\n");
    sandbox.commit("a list");
    sandbox.write(".env", "NAME=value\n");
    sandbox.write("local-data/deep/file", "data\n");
    sandbox.write("deps/not-listed", "x\n");
    std::os::unix::fs::symlink("/etc/passwd", sandbox.root().join("local-link")).unwrap();
    let line = "cat .env local-data/deep/file > seen.txt && test ! -e deps && test ! -e local-link && echo hi >> .env";
    let plan = trusted(&sandbox, &Value::Null, &[line]);

    sandbox
        .switchboard(&["run", &plan, "--dry-run"])
        .ends_with(0)
        .says("2 ignored files are copied into each work tree")
        .says("local-link: a link that leads out of the repository");
    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    assert_eq!(sandbox.read("seen.txt"), "NAME=value\ndata\n");
    assert_eq!(sandbox.read(".env"), "NAME=value\n", "the user's own file is another one");
    assert_eq!(sandbox.git(&["ls-files", ".env", "local-data"]), "");
}

#[test]
fn each_tree_has_tcp_ports_of_its_own_which_its_gates_know_too() {
    let sandbox = repository();
    let line = |n: usize| format!("echo $SWITCHBOARD_PORT $SWITCHBOARD_PORT_COUNT > port{n}.txt");
    let test = "test $SWITCHBOARD_PORT = $(cut -d' ' -f1 port*.txt | tail -1) || test $(ls port*.txt | wc -l) -gt 1";
    let lines: Vec<_> = (1..=4).map(line).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let plan = trusted(&sandbox, &json!({ "test": test, "max_workers": 4 }), &lines);

    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0).says("4 of 4 tasks merged");

    let texts: Vec<_> = (1..=4).map(|n| sandbox.read(&format!("port{n}.txt"))).collect();
    let distinct: BTreeSet<_> = texts.iter().collect();
    assert!(texts.iter().all(|text| text.ends_with(" 10\n")), "{texts:?}");
    // The trees of four workers at once; one that began after another was merged may have that one's ports.
    assert!(distinct.len() > 1, "{texts:?}");

    let none = trusted(&sandbox, &json!({ "ports": 0 }), &["echo \"<$SWITCHBOARD_PORT>\" > none.txt"]);
    sandbox.switchboard(&["run", &none, "--yes", "--merge"]).ends_with(0);
    assert_eq!(sandbox.read("none.txt"), "<>\n");
}

#[test]
fn a_task_is_stopped_while_its_tree_is_being_set_up() {
    let sandbox = repository();
    let plan = trusted(&sandbox, &json!({ "setup": "touch deps-begun; sleep 600" }), &["echo done > done.txt"]);
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let begun = || sandbox.switchboard(&["show", "1.1", "--json"]).out.contains(r#""state":"starting""#);
    assert!(within(Duration::from_secs(20), begun));

    sandbox.switchboard(&["stop", "1.1"]).ends_with(0);

    assert!(within(Duration::from_secs(30), || run.is_finished()), "the set-up is not ended");
    run.join().unwrap().says("stopped");
}
