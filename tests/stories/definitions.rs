//! Agents defined by files: instructions, a model and fewer tools for a configured agent.

use serde_json::{Value, json};

use super::sandbox::{Done, Sandbox};

/// Creates a repository with an agent that is a command and prints its prompt.
fn with_echo() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.settings("[agents.echo]\ndriver = \"exec\"\ncommand = [\"cat\"]\n");
    sandbox
}

/// Writes a definition of the user's.
fn define(sandbox: &Sandbox, file: &str, lines: &str, body: &str) {
    let folder = sandbox.folder().join("config/switchboard/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), format!("---\n{lines}---\n{body}\n")).unwrap();
}

fn dispatch(sandbox: &Sandbox, agent: &str, more: &[&str]) -> Done {
    sandbox.switchboard(&[&["dispatch", "Where is the parser?", "--agent", agent, "--yes"], more].concat())
}

const SCOUT: &str = "name: scout\ndescription: Finds things.\nagent: echo\n";

#[test]
fn a_definition_stands_wherever_an_agent_is_named_and_its_text_comes_before_the_task() {
    let sandbox = with_echo();
    define(&sandbox, "scout.md", SCOUT, "You are a scout: name files and lines.");

    dispatch(&sandbox, "scout", &[]).ends_with(0).says("You are a scout: name files").says("Where is the parser?");

    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "files_touched": ["a"],
        "x-switchboard": { "agent": "Scout", "result": "report" } }]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    sandbox.switchboard(&["show", "1.1", "--answer"]).ends_with(0).says("You are a scout");
    sandbox.switchboard(&["agents"]).ends_with(0).says("scout").says("Finds things.");
}

#[test]
fn a_bad_file_is_listed_and_stops_only_who_asks_for_it() {
    let sandbox = with_echo();
    define(&sandbox, "scout.md", SCOUT, "Look.");
    define(&sandbox, "bad.md", "name: bad\ndescription: d\ntool: read\n", "Look.");
    define(&sandbox, "claude.md", "name: claude\ndescription: d\n", "Look.");

    dispatch(&sandbox, "scout", &[]).ends_with(0);
    let failure = dispatch(&sandbox, "bad", &["--json"]).ends_with(2).failure();
    assert_eq!((&failure["code"], &failure["hint"]), (&json!("agent.bad-definition"), &json!("did you mean `tools`?")));
    assert!(failure["where"].as_str().unwrap().ends_with("agents/bad.md:4"), "{failure}");
    let failure = dispatch(&sandbox, "claude", &["--json"]).ends_with(2).failure();
    assert!(failure["what"].as_str().unwrap().contains("an agent") && failure["code"] == "agent.bad-definition");
    let failure = dispatch(&sandbox, "scuot", &["--json"]).ends_with(5).failure();
    assert!(failure["hint"].as_str().unwrap().contains("scout"), "{failure}");
    let listed = sandbox.switchboard(&["agents", "--json"]).ends_with(0).json();
    assert_eq!(listed["bad_definitions"].as_array().map(Vec::len), Some(1), "{listed}");
    sandbox.switchboard(&["agents"]).ends_with(0).says("did you mean `tools`?");
}

#[test]
fn what_a_repository_defines_counts_in_its_scope_and_once_it_is_trusted() {
    let sandbox = with_echo();
    define(&sandbox, "scout.md", SCOUT, "The user's scout.");
    sandbox.write(".switchboard/agents/scout.md", &format!("---\n{SCOUT}---\nThe project's scout.\n"));

    dispatch(&sandbox, "scout", &[]).ends_with(0).says("The user's scout.");
    let failure = dispatch(&sandbox, "scout", &["--agent-scope", "both", "--json"]).ends_with(4).failure();
    assert_eq!(failure["code"], "config.untrusted", "{failure}");
    assert!(failure["hint"].as_str().unwrap().contains("switchboard trust"), "{failure}");

    sandbox.switchboard(&["trust", "--yes"]).ends_with(0).says(".switchboard/agents/scout.md");
    for scope in ["both", "project"] {
        dispatch(&sandbox, "scout", &["--agent-scope", scope]).ends_with(0).says("The project's scout.");
    }
    sandbox.write(".switchboard/agents/scout.md", &format!("---\n{SCOUT}---\nDo worse.\n"));
    dispatch(&sandbox, "scout", &["--agent-scope", "project"]).ends_with(4);
}

#[test]
fn tools_are_cut_in_a_sandbox_and_one_that_can_write_nothing_has_a_tree_that_is_read_only() {
    let sandbox = with_echo();
    let steps = json!([{ "do": "shell", "argv": ["sh", "-c", "touch new.txt 2> /dev/null && echo wrote || echo kept out; test -e README.md"], "save_as": "tried" },
        { "do": "say", "text": "{{tried}}" }]);
    sandbox.script("player", &json!([{ "steps": steps }]));
    define(&sandbox, "reader.md", "name: reader\ndescription: d\nagent: player\ntools: read, search\n", "Look.");
    define(&sandbox, "writer.md", "name: writer\ndescription: d\nagent: player\ntools: [edit]\n", "Look.");
    define(&sandbox, "handless.md", "name: handless\ndescription: d\nagent: echo\ntools: read\n", "Look.");

    let said = |agent: &str| {
        let done = dispatch(&sandbox, agent, &["--json"]).ends_with(0);
        let last: Value = serde_json::from_str(done.out.lines().last().unwrap()).unwrap();
        last["answers"][0]["answer"]["text"].as_str().unwrap().to_owned()
    };
    assert!(said("reader").contains("kept out"));
    assert!(said("writer").contains("wrote"));
    assert_eq!(sandbox.call(&["get_run"])["list"][0]["isolation"], "constrained");
    let failure = dispatch(&sandbox, "handless", &["--json"]).ends_with(2).failure();
    assert_eq!(failure["code"], "isolation.tools", "{failure}");
}
