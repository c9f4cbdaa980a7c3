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
    define(&sandbox, "echo.md", "name: echo\ndescription: d\n", "Look.");

    dispatch(&sandbox, "scout", &[]).ends_with(0);
    let failure = dispatch(&sandbox, "bad", &["--json"]).ends_with(2).failure();
    assert_eq!((&failure["code"], &failure["hint"]), (&json!("agent.bad-definition"), &json!("did you mean `tools`?")));
    assert!(failure["where"].as_str().unwrap().ends_with("agents/bad.md:4"), "{failure}");
    let failure = dispatch(&sandbox, "claude", &["--json"]).ends_with(2).failure();
    assert!(failure["what"].as_str().unwrap().contains("an agent") && failure["code"] == "agent.bad-definition");
    let failure = dispatch(&sandbox, "scuot", &["--json"]).ends_with(5).failure();
    assert!(failure["hint"].as_str().unwrap().contains("scout"), "{failure}");
    let listed = sandbox.switchboard(&["agents", "--json"]).ends_with(0).json();
    assert_eq!(listed["bad_definitions"].as_array().map(Vec::len), Some(3), "{listed}");
    sandbox
        .switchboard(&["agents"])
        .ends_with(0)
        .says("did you mean `tools`?")
        .says("give the definition another name");
}

#[test]
fn what_no_task_can_be_given_to_is_listed_apart_with_the_reason_and_what_to_do() {
    let sandbox = with_echo();
    define(&sandbox, "scout.md", SCOUT, "Look.");
    define(&sandbox, "lost.md", "name: lost\ndescription: d\nagent: ecoh\n", "Look.");
    define(&sandbox, "handless.md", "name: handless\ndescription: d\nagent: echo\ntools: read\n", "Look.");
    define(&sandbox, "second.md", "name: second\ndescription: d\nagent: scout\n", "Look.");
    define(&sandbox, "named.md", "name: claude\ndescription: d\n", "Look.");
    define(&sandbox, "roled.md", "name: roled\ndescription: d\nrole: coder\n", "Look.");
    define(&sandbox, "open.md", "name: open\ndescription: d\nisolation: loose\n", "Look.");
    let own = "name: own\ndescription: d\nagent: echo\n";
    sandbox.write(".switchboard/agents/own.md", &format!("---\n{own}---\nLook.\n"));

    let listed = sandbox.switchboard(&["agents", "--json"]).ends_with(0).json();
    let shown = sandbox.switchboard(&["agents"]).ends_with(0).out;

    let names = |list: &str, key: &str| {
        let list = listed[list].as_array().unwrap().iter();
        list.map(|one| one[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("definitions", "name"), ["scout"], "{listed}");
    let (table, apart) = shown.split_once("definitions that can't be used:").unwrap();
    for (file, code, hint) in [
        ("lost.md", "agent.unknown", "did you mean echo?"),
        ("handless.md", "isolation.tools", "take another agent"),
        ("second.md", "agent.bad-definition", "name a configured agent"),
        ("named.md", "agent.bad-definition", "give the definition another name"),
        ("roled.md:4", "agent.bad-definition", "the keys are name,"),
        ("open.md:4", "agent.bad-definition", "`constrained`"),
        (".switchboard/agents/own.md", "config.untrusted", "switchboard trust"),
    ] {
        let at = names("bad_definitions", "where").iter().position(|place| place.ends_with(file)).unwrap();
        assert_eq!(listed["bad_definitions"][at]["code"], code, "{file}: {listed}");
        assert!(apart.lines().any(|line| line.contains(file) && line.contains(hint)), "{file}: {apart}");
    }
    assert!(table.contains("scout") && !table.contains("handless") && !table.contains("own.md"), "{table}");
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
