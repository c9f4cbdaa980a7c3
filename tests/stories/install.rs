//! `switchboard mcp install` in settings files of other programs.

use super::sandbox::Sandbox;

#[test]
fn the_rest_of_the_settings_stays_byte_for_byte_and_a_copy_is_kept() {
    let sandbox = Sandbox::new();
    let before = "{\n  // mine\n  \"theme\" : \"dark\",\n  \"mcpServers\": { \"other\": { \"command\": \"o\" } }\n}\n";
    sandbox.write(".gemini/settings.json", before);

    sandbox.switchboard(&["mcp", "install", "gemini"]).ends_with(0).says(".gemini/settings.json");

    let after = sandbox.read(".gemini/settings.json");
    // The object that gets an entry may be split into lines; its other entries stay as they were.
    assert!(after.starts_with("{\n  // mine\n  \"theme\" : \"dark\",\n  \"mcpServers\": {"), "{after}");
    assert!(after.contains("\"other\": { \"command\": \"o\" }"), "{after}");
    assert!(after.contains("\"switchboard\""), "{after}");
    assert_eq!(sandbox.read(".gemini/settings.json.backup"), before);

    sandbox.switchboard(&["mcp", "install", "gemini"]).ends_with(0).says("has it already");
    assert_eq!(sandbox.read(".gemini/settings.json"), after);
}

#[test]
fn a_link_that_a_repository_brings_as_a_clients_settings_is_not_written_through() {
    let sandbox = Sandbox::new();
    let outside = sandbox.folder().join("own.json");
    std::fs::write(&outside, "{}").unwrap();
    let folder = sandbox.folder().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.root().join(".mcp.json")).unwrap();
    std::os::unix::fs::symlink(&folder, sandbox.root().join(".gemini")).unwrap();
    std::os::unix::fs::symlink(sandbox.folder().join("nowhere"), sandbox.root().join("opencode.json")).unwrap();

    for client in ["claude", "gemini", "opencode"] {
        let refused = sandbox.switchboard(&["mcp", "install", client, "--json"]).ends_with(1).failure();
        assert_eq!(refused["code"], "io.unsafe-folder", "{client}");
    }

    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!sandbox.folder().join("nowhere").exists());
    sandbox.write("real.json", "{}");
    std::fs::remove_file(sandbox.root().join(".mcp.json")).unwrap();
    std::os::unix::fs::symlink("real.json", sandbox.root().join(".mcp.json")).unwrap();
    sandbox.switchboard(&["mcp", "install", "claude"]).ends_with(0);
}

#[test]
fn every_client_is_installed_for_the_repository_or_for_the_user() {
    let sandbox = Sandbox::new();

    for (client, project, user) in [
        ("claude", ".mcp.json", ".claude.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("opencode", "opencode.json", "../config/opencode/opencode.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
    ] {
        sandbox.switchboard(&["mcp", "install", client]).ends_with(0);
        sandbox.switchboard(&["mcp", "install", client, "--scope", "user"]).ends_with(0);

        for file in [sandbox.root().join(project), sandbox.folder().join("home").join(user)] {
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(text.contains("switchboard") && text.contains("mcp"), "{client}: {text}");
        }
    }
}

#[test]
fn the_client_itself_is_asked_and_what_is_left_to_do_is_said() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut sandbox = Sandbox::new();
    let bin = sandbox.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let client = |name: &str, says: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n[ \"$1 $2\" = 'mcp list' ] || exit 9\n{says}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    client("codex", "echo 'No MCP servers configured yet.'");
    client("claude", "echo 'switchboard: switchboard mcp - Pending approval'");
    client("qwen", "grep -q SWITCHBOARD_AGENT .qwen/settings.json && echo 'switchboard: switchboard mcp - Connected'");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    sandbox.set("PATH", &path);

    let codex = sandbox.switchboard(&["mcp", "install", "codex"]).ends_with(0);
    codex.says("switchboard is not in it").says("left to do: start codex here once and trust the folder");
    let claude = sandbox.switchboard(&["mcp", "install", "claude", "--json"]).ends_with(0).json();
    assert_eq!(claude["listed"], "waits", "{claude}");
    assert!(claude["left_to_do"].as_str().unwrap().contains("approve"));
    let qwen = sandbox.switchboard(&["mcp", "install", "qwen", "--name", "ada", "--json"]).ends_with(0).json();
    assert_eq!((&qwen["listed"], &qwen["left_to_do"]), (&serde_json::json!("listed"), &serde_json::Value::Null));
}

#[test]
fn printing_writes_nothing_and_broken_settings_are_left_alone() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["mcp", "install", "codex", "--print"]).ends_with(0).says("[mcp_servers.switchboard]");
    assert!(!sandbox.root().join(".codex").exists());

    sandbox.write(".mcp.json", "{ broken");
    let done = sandbox.switchboard(&["mcp", "install", "claude", "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "config.syntax");
    assert_eq!(sandbox.read(".mcp.json"), "{ broken");
}
