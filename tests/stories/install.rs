//! `switchboard mcp install` in settings that belong to somebody else.

use super::sandbox::Sandbox;

#[test]
fn the_rest_of_the_settings_stays_byte_for_byte_and_a_copy_is_kept() {
    let sandbox = Sandbox::new();
    let before = "{\n  // mine\n  \"theme\" : \"dark\",\n  \"mcpServers\": { \"other\": { \"command\": \"o\" } }\n}\n";
    sandbox.write(".gemini/settings.json", before);

    sandbox.switchboard(&["mcp", "install", "gemini"]).ends_with(0).says(".gemini/settings.json");

    let after = sandbox.read(".gemini/settings.json");
    // The object that gets an entry may be broken into lines; its other entries stay as they were.
    assert!(after.starts_with("{\n  // mine\n  \"theme\" : \"dark\",\n  \"mcpServers\": {"), "{after}");
    assert!(after.contains("\"other\": { \"command\": \"o\" }"), "{after}");
    assert!(after.contains("\"switchboard\""), "{after}");
    assert_eq!(sandbox.read(".gemini/settings.json.backup"), before);

    sandbox.switchboard(&["mcp", "install", "gemini"]).ends_with(0).says("has it already");
    assert_eq!(sandbox.read(".gemini/settings.json"), after);
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
fn printing_writes_nothing_and_broken_settings_are_left_alone() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["mcp", "install", "codex", "--print"]).ends_with(0).says("[mcp_servers.switchboard]");
    assert!(!sandbox.root().join(".codex").exists());

    sandbox.write(".mcp.json", "{ broken");
    let done = sandbox.switchboard(&["mcp", "install", "claude", "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "config.syntax");
    assert_eq!(sandbox.read(".mcp.json"), "{ broken");
}
