//! Instructions that an agent gets besides its task: the repository's `AGENTS.md`, unless it reads that itself.

use serde_json::json;

use super::sandbox::Sandbox;

const SHARED: &str = "Write British English in this repository.";

/// Configures agents that keep their prompts, and returns the plan of a task for a named one.
fn listeners(sandbox: &Sandbox, names: &[&str]) -> String {
    for name in names {
        let line = format!("cat > {}/told.{name}; echo {name} > done.txt", sandbox.folder().display());
        let command = json!(["sh", "-c", line]);
        sandbox.settings(&format!(
            "[agents.{name}]\ndriver = \"exec\"\ncommand = {command}\nspends = false\ninstructions = \"For {name} alone.\"\n"
        ));
    }
    sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "Write done.txt." }]))
}

/// Returns the prompt of an agent in a new run.
fn told(sandbox: &Sandbox, plan: &str, name: &str) -> String {
    sandbox.switchboard(&["run", plan, "--agent", name, "--yes"]).ends_with(0);
    std::fs::read_to_string(sandbox.folder().join(format!("told.{name}"))).unwrap()
}

#[test]
fn agents_md_is_told_to_those_who_do_not_read_it_themselves() {
    let sandbox = Sandbox::new();
    // Two known agents read the file themselves; the other three read one of their own, which may name it.
    let plan = listeners(&sandbox, &["mine", "codex", "opencode", "claude", "gemini", "qwen"]);
    sandbox.write("AGENTS.md", &format!("# Rules\n\n{SHARED}\n"));
    sandbox.write("GEMINI.md", "Be brief.\n");
    sandbox.write("QWEN.md", "@AGENTS.md\n");
    sandbox.commit("rules for agents");

    for (name, is_told) in
        [("mine", true), ("claude", true), ("gemini", true), ("qwen", false), ("codex", false), ("opencode", false)]
    {
        let told = told(&sandbox, &plan, name);

        assert_eq!(told.contains(SHARED), is_told, "{name}: {told}");
        let (own, task) = (told.find(&format!("For {name} alone.")), told.find("Write done.txt."));
        assert!(own.is_some() && task.is_some(), "{name}: {told}");
        assert!(!is_told || told.find(SHARED) < own, "what holds for all comes first: {told}");
    }
}

#[test]
fn an_agents_md_that_is_left_out_is_named_at_the_runs_start() {
    let sandbox = Sandbox::new();
    let plan = listeners(&sandbox, &["mine"]);
    let file = sandbox.root().join("AGENTS.md");
    std::fs::write(sandbox.folder().join("secret"), "a secret of the user's").unwrap();
    std::os::unix::fs::symlink(sandbox.folder().join("secret"), &file).unwrap();
    sandbox.commit("a link");

    let linked = sandbox.switchboard(&["run", &plan, "--agent", "mine", "--dry-run"]).ends_with(0);
    let heard = told(&sandbox, &plan, "mine");
    std::fs::remove_file(&file).unwrap();
    sandbox.write("AGENTS.md", &"x".repeat(20_000));
    let large = sandbox.switchboard(&["run", &plan, "--agent", "mine", "--dry-run", "--json"]).ends_with(0);

    linked.says("mine is not told AGENTS.md: it is a link");
    assert!(!heard.contains("a secret"), "{heard}");
    large.says("mine is not told AGENTS.md: it is no plain file of at most 16384 bytes");
}
