//! Which versions of the agents' programs are installed, which were tested, and the remedy if they differ. None is
//! refused for its version.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::sandbox::{Done, Sandbox};

/// Installs a program as npm does: its package below a folder of modules, and a link to it on `PATH`.
fn install(sandbox: &Sandbox, program: &str, package: &str, version: &str, text: &str) {
    let modules = sandbox.folder().join("npm/lib/node_modules").join(package);
    fs::create_dir_all(modules.join("dist")).unwrap();
    fs::write(modules.join("package.json"), json!({ "name": package, "version": version }).to_string()).unwrap();
    let file = modules.join("dist/index.js");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = sandbox.folder().join("npm/bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(file, bin.join(program)).unwrap();
}

/// Makes an ACP agent that reports a version, or none.
fn agent(version: Option<&str>) -> String {
    let info = version.map_or(Value::Null, |version| json!({ "name": "agent", "version": version }));
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 1, "agentInfo": info } });
    let opened = json!({ "jsonrpc": "2.0", "id": 2, "result": { "sessionId": "s" } });
    format!("#!/bin/sh\nread -r line; echo '{hello}'\nread -r line; echo '{opened}'\nread -r line\n")
}

/// Returns what the doctor reports about versions, by state.
fn versions(done: &Done) -> Vec<(String, String, String)> {
    let looks = done.json()["looks"].as_array().unwrap().clone();
    let text = |look: &Value, field: &str| look[field].as_str().unwrap_or_default().to_owned();
    let of_versions = looks.iter().filter(|look| look["about"] == "version");
    of_versions.map(|look| (text(look, "state"), text(look, "what"), text(look, "hint"))).collect()
}

#[test]
fn a_version_that_was_not_tried_is_named_with_the_one_that_was_and_what_to_do() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.folder().join("npm/bin").display().to_string();
    sandbox.set("PATH", &format!("{bin}:/usr/bin:/bin"));
    sandbox.set("INITIAL_AGENT_MODE", "agent-full-access");
    install(&sandbox, "claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "0.49.7", &agent(Some("0.49.7")));
    // Another package provides a program with the same name, which can't write.
    install(&sandbox, "codex-acp", "@zed-industries/codex-acp", "0.16.0", &agent(Some("0.16.0")));
    install(&sandbox, "gemini", "@google/gemini-cli", "1.2.3", &agent(Some("1.2.3")));
    install(&sandbox, "qwen", "@qwen-code/qwen-code", "nightly", &agent(None));
    // npm did not install this one.
    let opencode = Path::new(&bin).join("opencode");
    fs::write(&opencode, agent(Some("1.18.2"))).unwrap();
    fs::set_permissions(&opencode, fs::Permissions::from_mode(0o755)).unwrap();

    let by_package = sandbox.switchboard(&["doctor", "--json"]).ends_with(0);
    let asked = sandbox.switchboard(&["doctor", "--agents", "--json"]).ends_with(0);

    let told = |done: &Done, name: &str| {
        let found = versions(done).into_iter().find(|(_, what, _)| what.starts_with(&format!("{name}: ")));
        found.unwrap_or_else(|| panic!("nothing about {name}: {done:?}"))
    };
    for done in [&by_package, &asked] {
        assert_eq!(
            told(done, "claude"),
            ("ok".into(), "claude: claude-agent-acp 0.49.7, tested".into(), String::new())
        );
        let (state, what, hint) = told(done, "codex");
        assert_eq!(
            (state.as_str(), hint.as_str()),
            ("note", "npm install -g @agentclientprotocol/codex-acp"),
            "{what}"
        );
        assert!(what.contains("codex-acp 0.16.0 is older than 2.6"), "{what}");
        let (state, what, hint) = told(done, "gemini");
        assert!(what.contains("gemini 1.2.3 is newer than 0.61"), "{what}");
        assert_eq!(state, "note");
        assert!(hint.ends_with("npm install -g @google/gemini-cli@0.61"), "{hint}");
        let (state, what, hint) = told(done, "qwen");
        assert!(state == "note" && what.contains("nightly is not known; 0.15 was tested"), "{what}");
        assert!(hint.ends_with("@qwen-code/qwen-code@0.15"), "{hint}");
    }
    let (state, what, hint) = told(&by_package, "opencode");
    assert!(state == "note" && what.contains("no package") && what.contains("1.18"), "{what}");
    assert_eq!(hint, "switchboard doctor --agents asks it");
    assert_eq!(told(&asked, "opencode").1, "opencode: opencode 1.18.2, tested");
    // An old version is started all the same.
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    sandbox.switchboard(&["run", &plan, "--agent", "codex", "--dry-run"]).ends_with(0);
}
