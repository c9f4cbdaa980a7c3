//! Runs of plain commands on a repository of some size: what they may change, and what not.

use serde_json::json;

use super::sandbox::Sandbox;

/// Creates a repository with a few hundred files.
fn large() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..300 {
        sandbox.write(&format!("data/{}/{number}.txt", number % 7), &format!("colour number {number}  \n"));
    }
    sandbox.write("keep.sh", "#!/bin/sh\n");
    sandbox.commit("many files");
    sandbox
}

fn three_tasks() -> serde_json::Value {
    let task = |id: &str, files: &str, command: &[&str]| {
        json!({ "id": id, "phase": 1, "description": format!("do {id}"),
        "files_touched": [files], "x-switchboard": { "command": command } })
    };
    json!([
        task("1.1", "data/1/**", &["sh", "-c", "sed -i 's/ *$//' data/1/*.txt"]),
        task("1.2", "data/2/**", &["sh", "-c", "sed -i s/colour/color/ data/2/*.txt"]),
        task("1.3", "NOTES.md", &["sh", "-c", "echo '# Notes' > NOTES.md"]),
    ])
}

#[test]
fn the_users_tree_stays_as_it_is_until_the_merge_and_then_only_what_was_asked_for_changes() {
    let sandbox = large();
    let plan = sandbox.trusted_plan(&three_tasks());
    sandbox.write("unfinished.txt", "mine, not committed\n");
    let before = sandbox.state_of_user();

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("3 of 3 tasks merged");

    assert!(done.out.contains("syntax_check"), "{}", done.out);
    assert!(!done.out.contains("unit_started"), "what the lines say is not said again as mail: {}", done.out);
    assert_eq!(sandbox.state_of_user(), before);

    let merged = sandbox.switchboard(&["merge", "--json"]).ends_with(0).json();

    let changed = sandbox.git(&["diff", "--name-only", merged["from"].as_str().unwrap(), "HEAD"]);
    let changed: Vec<_> = changed.lines().collect();
    assert!(
        changed.iter().all(|path| path.starts_with("data/1/") || path.starts_with("data/2/") || *path == "NOTES.md")
    );
    assert_eq!(changed.len(), 43 + 43 + 1);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? unfinished.txt\n");
    assert_eq!(sandbox.read("data/2/2.txt"), "color number 2  \n");
    assert_eq!(sandbox.read("NOTES.md"), "# Notes\n");
}

#[test]
fn a_run_that_was_started_with_merge_moves_the_branch_by_itself() {
    let sandbox = large();
    let plan = sandbox.trusted_plan(&three_tasks());

    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0).says("merged into main");

    assert_eq!(sandbox.read("NOTES.md"), "# Notes\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_dry_run_says_what_would_happen_and_starts_nothing() {
    let sandbox = large();
    let plan = sandbox.trusted_plan(&three_tasks());

    let preview = sandbox.switchboard(&["run", &plan, "--dry-run", "--json"]).ends_with(0).json();

    assert_eq!(preview["target"], "main");
    assert_eq!(preview["run"], json!(null));
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn the_record_of_a_run_is_exported_and_verified_without_a_daemon() {
    let sandbox = large();
    let plan = sandbox.trusted_plan(&three_tasks());
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    let file = sandbox.folder().join("record.jsonl").display().to_string();
    sandbox.call(&["export_log", &format!("path={file}")]);
    let head = sandbox.call(&["sign_head"]);
    let signed = sandbox.folder().join("head.json").display().to_string();
    std::fs::write(&signed, head.to_string()).unwrap();
    sandbox.switchboard(&["down"]).ends_with(0);

    sandbox.switchboard(&["verify", &file]).ends_with(0).says("hash chain verified");
    let key = head["public_key"].as_str().unwrap();
    sandbox.switchboard(&["verify", &file, "--head", &signed, "--key", key]).ends_with(0).says("signed head verified");

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("A plan", "B plan", 1)).unwrap();
    sandbox.switchboard(&["verify", &file]).ends_with(1).says("event ");
}

#[test]
fn a_command_gets_its_task_on_standard_input_and_in_a_file_and_is_tried_once() {
    let sandbox = Sandbox::new();
    let script = "cat > stdin.txt; cat \"$SWITCHBOARD_TASK_FILE\" > file.txt; ps -o args= -p $$ > args.txt; exit $CODE";
    let task = |id: &str, code: &str| {
        json!({ "id": id, "phase": 1, "description": "Name the colours.",
            "x-switchboard": { "command": ["sh", "-c", script.replace("$CODE", code)] } })
    };
    let plan = sandbox.trusted_plan(&json!([task("1.1", "0"), task("1.2", "3")]));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("1 of 2 tasks merged");

    let starts = |line: &&str| line.starts_with("1.2 ") && line.contains(" starts, attempt ");
    assert_eq!(done.out.lines().filter(starts).count(), 1, "{}", done.out);
    sandbox.switchboard(&["merge", "--partial"]).ends_with(0);
    let text = sandbox.read("stdin.txt");
    assert!(text.contains("Name the colours.") && !text.contains("check_inbox"), "{text}");
    assert_eq!(sandbox.read("file.txt"), text);
    assert!(!sandbox.read("args.txt").contains("Name the colours"), "the text is in nobody's arguments");
}

#[test]
fn a_merge_is_taken_back_with_its_files_unless_the_branch_has_moved_on() {
    let sandbox = large();
    let plan = sandbox.trusted_plan(&three_tasks());
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    sandbox.switchboard(&["merge", "--undo", "--json"]).ends_with(4);
    sandbox.write("unfinished.txt", "mine, not committed\n");
    let seen = || (sandbox.git(&["rev-parse", "HEAD", "HEAD^{tree}"]), sandbox.git(&["status", "--porcelain"]));
    let before = seen();
    sandbox.switchboard(&["merge"]).ends_with(0);
    sandbox.write("NOTES.md", "mine\n");
    let in_the_way = sandbox.switchboard(&["merge", "--undo", "--json"]).ends_with(4);
    assert_eq!(in_the_way.failure()["code"], "dispatch.dirty");
    sandbox.write("NOTES.md", "# Notes\n");

    sandbox.switchboard(&["merge", "--undo"]).ends_with(0).says("moved from").says("still on its own branch");

    assert_eq!(seen(), before);
    assert_eq!(sandbox.read("data/2/2.txt"), "colour number 2  \n");
    let again = sandbox.switchboard(&["merge", "--undo", "--json"]).ends_with(4);
    assert_eq!(again.failure()["code"], "dispatch.cannot-undo");
    sandbox.switchboard(&["merge"]).ends_with(0).says("changed");
    sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "later"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let moved = sandbox.switchboard(&["merge", "--undo", "--json"]).ends_with(4);
    assert!(moved.failure()["hint"].as_str().unwrap().contains("git revert"), "{}", moved.err);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn a_worker_starts_after_few_calls_of_git() {
    let mut sandbox = Sandbox::new();
    let task = |id: &str, command: &str| {
        json!({ "id": id, "phase": 1, "description": "note it",
        "x-switchboard": { "command": ["sh", "-c", command] } })
    };
    let asked = sandbox.folder().join("asked");
    let plan =
        sandbox.trusted_plan(&json!([task("1.1", &format!("echo worker >> {}; echo x > NOTES.md", asked.display()))]));
    sandbox.switchboard(&["down"]).ends_with(0);
    let wrapper = sandbox.folder().join("wrapper");
    let real = switchboard_process::spawn::which("git").unwrap();
    std::fs::create_dir(&wrapper).unwrap();
    let text = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", asked.display(), real.display());
    std::fs::write(wrapper.join("git"), text).unwrap();
    std::fs::set_permissions(wrapper.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = sandbox.environment().get("PATH").unwrap_or_default().to_owned();
    sandbox.set("PATH", &format!("{}:{path}", wrapper.display()));
    sandbox.call(&["get_status"]);
    std::fs::remove_file(&asked).unwrap();

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let asked = std::fs::read_to_string(&asked).unwrap();
    let (before, _) = asked.split_once("\nworker\n").expect("a worker that has begun");
    // The command itself calls git before, and for a dry run.
    let (_, start) = before.rsplit_once("--show-toplevel\n").expect("the tree in which the run was asked for");
    let is_about = |words: &str| start.lines().filter(|line| line.contains(words)).count();
    assert_eq!(is_about(" update-ref "), 1, "both branches by one call: {start}");
    assert_eq!(is_about(" read-tree "), 1, "index and files: {start}");
    assert_eq!(is_about(" ls-files "), 1, "{start}");
    assert_eq!(start.lines().count(), 3, "{start}");
}

#[test]
fn what_an_agent_leaves_in_its_temporary_folder_stays_in_the_sandbox() {
    let sandbox = Sandbox::new();
    let line = "echo x > \"$(mktemp -t left.XXXXXX)\" && echo done > done.txt";
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", line] } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let entries = std::fs::read_dir(sandbox.folder().join("tmp")).unwrap();
    let left: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().any(|name| name.starts_with("left.")), "{left:?}");
}
