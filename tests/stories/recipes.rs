//! Executes `docs/recipes.md` and the workflows of `docs/ci.md` as they are: writes the files, runs the lines, and
//! searches their output for what the pages show.

use std::fs;
use std::path::Path;

use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox};

/// The documents, relative to the folder of the tests' package.
const DOCS: &str = "../../docs";

/// A block of a document: its form, the name of its file if it is one, and its text.
struct Block<'a> {
    form: &'a str,
    file: &'a str,
    text: &'a str,
}

fn blocks(recipe: &str) -> Vec<Block<'_>> {
    let fences = recipe.split("\n```").skip(1).step_by(2);
    let block = |fence| {
        let (head, text): (&str, &str) = str::split_once(fence, '\n')?;
        let (form, file) = head.split_once(' ').unwrap_or((head, ""));
        Some(Block { form, file, text })
    };
    fences.filter_map(block).collect()
}

fn write(sandbox: &Sandbox, block: &Block<'_>) {
    let path = match block.file.strip_prefix("~/.config/") {
        Some(below) => sandbox.folder().join("config").join(below),
        None => sandbox.root().join(block.file),
    };
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{}\n", block.text)).unwrap();
}

fn carry_out(sandbox: &Sandbox, title: &str, lines: &str) {
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let said = line.split_once("# says ").map(|(_, words)| words.trim());
        let spawn = Spawn::new(["sh", "-c", line]).cwd(sandbox.root()).env_only(sandbox.environment());
        let output = spawn.wall(std::time::Duration::from_secs(120)).output().unwrap();
        let text = format!("{}{}", output.stdout.text(), output.stderr.text());

        assert!(output.succeeded(), "{title}: {line}\n{text}");
        assert!(said.is_none_or(|words| text.contains(words)), "{title}: {line}\n{text}");
    }
}

/// Returns the lines that the steps of a workflow run, with a runner's variables filled in.
fn steps(sandbox: &Sandbox, workflow: &str) -> String {
    let lines = workflow.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
    let lines: Vec<_> = lines.collect();
    lines.join("\n").replace("${{ runner.temp }}", &sandbox.folder().display().to_string())
}

/// Creates a repository with the binary on `PATH` and a git identity.
fn repository() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let bin = Path::new(BINARY).parent().unwrap();
    sandbox.set("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    sandbox.git(&["config", "user.name", "Person"]);
    sandbox.git(&["config", "user.email", "person@example.com"]);
    sandbox
}

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCS).join(name)).unwrap()
}

#[test]
fn the_workflows_for_ci_do_what_their_page_says() {
    let mut sandbox = repository();
    // Replaces the agent that the page names.
    sandbox.settings(
        "[agents.claude]\ndriver = \"exec\"\ncommand = [\"sh\", \"-c\", \"echo done > DONE.md\"]\nspends = false\n",
    );
    let task = r#"{ "id": "1.1", "phase": 1, "description": "Write", "x-switchboard": { "test": "test -s DONE.md" } }"#;
    let phase = format!(r#"{{ "id": 1, "name": "Write", "tasks": [{task}] }}"#);
    sandbox.write(
        "plan.json",
        &format!(r#"{{ "schema_version": "1.0.0", "title": "Done", "swarm": "ci", "phases": [{phase}] }}"#),
    );
    sandbox.commit("a plan");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let temp = sandbox.folder().display().to_string();
    let page = document("ci.md");
    let workflows: Vec<_> = blocks(&page).into_iter().filter(|block| block.form == "yaml").collect();
    assert_eq!(workflows.len(), 2);
    for workflow in &workflows {
        for (name, value) in workflow.text.lines().filter_map(|line| line.trim().split_once(": ")) {
            if ["CI", "XDG_STATE_HOME"].contains(&name) {
                sandbox.set(name, &value.trim_matches('"').replace("${{ runner.temp }}", &temp));
            }
        }
        carry_out(&sandbox, "ci.md", &steps(&sandbox, workflow.text));
    }

    assert_eq!(sandbox.read("DONE.md"), "done\n");
    assert!(sandbox.read("run.jsonl").lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let held = ["verify", "export.jsonl", "--head", "head.json", "--key", "head.json.pub"];
    sandbox.switchboard(&held).ends_with(0).says("signed head verified");
    let blocked = sandbox.folder().join("repo/key.py");
    fs::write(blocked, "AWS_ACCESS_KEY_ID = \"AKIAZ7QK3M5XW2HNBTLD\"\n").unwrap();
    sandbox.switchboard(&["check", "--base", "origin/main", "--format", "sarif"]).ends_with(3);
    sandbox.switchboard(&["down"]).ends_with(0);
}

#[test]
fn ten_ordinary_wishes_come_true_by_the_document_alone() {
    let document = document("recipes.md");
    let recipes: Vec<_> = document.split("\n## ").skip(1).collect();
    assert_eq!(recipes.len(), 10, "ten wishes");

    for recipe in recipes {
        let title = recipe.lines().next().unwrap();
        let sandbox = repository();
        let blocks = blocks(recipe);
        assert!(blocks.iter().any(|block| block.form == "sh"), "{title} has no commands");
        for block in &blocks {
            match (block.form, block.file) {
                ("sh", "") => carry_out(&sandbox, title, block.text),
                (_, "") => {}
                ("yaml", _) => {
                    write(&sandbox, block);
                    carry_out(&sandbox, title, &steps(&sandbox, block.text));
                }
                (..) => write(&sandbox, block),
            }
        }
    }
}

#[test]
fn the_skill_for_agents_names_commands_and_tools_that_there_are_and_its_plan_runs() {
    let sandbox = repository();
    let skill =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/switchboard/SKILL.md")).unwrap();
    let verbs = sandbox.switchboard(&["call"]).out + &sandbox.switchboard(&["call", "send_message", "--help"]).out;
    let is_name = |word: &str| word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');

    let tools: Vec<_> = skill.split('`').skip(1).step_by(2).filter(|word| is_name(word)).collect();
    assert!(tools.contains(&"register_agent") && tools.len() > 5, "{tools:?}");
    for tool in tools {
        assert!(tool == "files_touched" || verbs.contains(tool), "{tool} is neither a verb nor an action of mail");
    }
    let mut commands: Vec<_> =
        skill.split("switchboard ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()).collect();
    commands.retain(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()));
    assert!(commands.contains(&"call") && commands.contains(&"check"), "{commands:?}");
    for command in ["call", "run", "check", "explain"] {
        assert!(commands.contains(&command), "{command}: {commands:?}");
        sandbox.switchboard(&[command, "--help"]).ends_with(0);
    }

    let plan = &skill[skill.find("    { \"schema_version\"").unwrap()..];
    let plan = sandbox.plan_text(plan.split("\n\n").next().unwrap());
    sandbox.script("ada", &serde_json::json!([{ "steps": [] }]));
    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--dry-run"]).ends_with(0).says("1.1");
}
