//! The real agent programs as our clients and before the first run: what they list after `mcp install`, and what the
//! doctor reports about them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::real_agents::{Model, chosen_or_said, equip};
use super::sandbox::Sandbox;

/// Path of Claude Code's own program, which its adapter contains under another name.
const CLAUDE: &str = "../@anthropic-ai/claude-agent-sdk-linux-x64/claude";

/// Makes a sandbox with the real programs on `PATH`, `claude` among them.
fn with_programs(programs: &Path) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.folder().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(programs.join(CLAUDE), bin.join("claude")).unwrap();
    let path = std::env::join_paths([bin.as_path(), programs, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    sandbox.set("PATH", path.to_str().unwrap());
    sandbox.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    sandbox.set("DISABLE_AUTOUPDATER", "1");
    sandbox
}

fn installed(sandbox: &Sandbox, client: &str) -> Value {
    sandbox.switchboard(&["mcp", "install", client, "--json"]).ends_with(0).json()
}

#[test]
fn a_real_client_is_asked_after_the_install_and_lists_us_once_the_person_has_done_what_is_left() {
    let Some((_, programs)) = chosen_or_said() else { return };
    let sandbox = with_programs(&programs);
    let (home, root) = (sandbox.folder().join("home"), sandbox.root());

    let codex = installed(&sandbox, "codex");
    assert_eq!(codex["listed"], "missing", "{codex}");
    assert!(codex["left_to_do"].as_str().unwrap().contains("trust"), "{codex}");
    let claude = installed(&sandbox, "claude");
    assert_eq!(claude["listed"], "waits", "{claude}");
    assert!(claude["left_to_do"].as_str().unwrap().contains("approve"), "{claude}");
    let gemini = installed(&sandbox, "gemini");
    assert_eq!(gemini["listed"], "waits", "{gemini}");
    assert!(gemini["left_to_do"].as_str().unwrap().contains("trust the folder"), "{gemini}");
    for client in ["opencode", "qwen"] {
        let at_once = installed(&sandbox, client);
        assert_eq!(
            (&at_once["listed"], &at_once["left_to_do"]),
            (&json!("listed"), &Value::Null),
            "{client}: {at_once}"
        );
    }

    // A person does this in each of them.
    fs::create_dir_all(home.join(".codex")).unwrap();
    let trusted = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", root.display().to_string());
    fs::write(home.join(".codex/config.toml"), trusted).unwrap();
    fs::create_dir_all(root.join(".claude")).unwrap();
    let approved = json!({ "enabledMcpjsonServers": ["switchboard"] });
    fs::write(root.join(".claude/settings.local.json"), approved.to_string()).unwrap();
    fs::create_dir_all(home.join(".gemini")).unwrap();
    let trusted = json!({ root.display().to_string(): "TRUST_FOLDER" });
    fs::write(home.join(".gemini/trustedFolders.json"), trusted.to_string()).unwrap();

    for client in ["codex", "claude", "gemini"] {
        let again = installed(&sandbox, client);
        assert_eq!((&again["listed"], &again["left_to_do"]), (&json!("listed"), &Value::Null), "{client}: {again}");
    }
}

#[test]
fn the_doctor_shakes_hands_with_every_real_agent_and_names_what_each_lacks() {
    let Some((agents, programs)) = chosen_or_said() else { return };
    let mut sandbox = with_programs(&programs);
    let model = Model::start(sandbox.folder(), sandbox.folder());
    for agent in &agents {
        equip(&mut sandbox, agent, &programs, &model.url());
    }

    let looked = sandbox.switchboard(&["doctor", "--agents", "--json"]).json();

    let looks = looked["looks"].as_array().unwrap();
    let says = |about: &str, words: &str| {
        looks.iter().any(|look| look["about"] == about && look["what"].as_str().unwrap().starts_with(words))
    };
    for agent in &agents {
        let opens = looks.iter().any(|look| {
            let what = look["what"].as_str().unwrap();
            look["about"] == "handshake" && what.starts_with(agent.as_str()) && what.contains("opens a session in")
        });
        assert!(opens, "{agent}: {looks:?}");
    }
    for agent in &agents {
        let tested = looks.iter().any(|look| {
            let what = look["what"].as_str().unwrap();
            look["about"] == "version" && what.starts_with(&format!("{agent}: ")) && what.ends_with(", tested")
        });
        assert!(tested, "{agent}: {looks:?}");
    }
    // Its packages contain bubblewrap, with which the stories of `real_agents.rs` write.
    assert!(!says("sandbox", "codex: "), "{looks:?}");
}
