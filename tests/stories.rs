//! Black-box stories over the real binary: what a user does, and what comes of it.
//!
//! One runner for all of them; each file in `stories/` tells of one thing. `stories/sandbox.rs` is where they play.

#[cfg(test)]
mod stories {
    mod actions;
    mod agents;
    mod authority;
    mod auto;
    mod bad_input;
    mod budget;
    mod cheats;
    mod checks;
    mod combinations;
    mod commands;
    mod confirm;
    mod control;
    mod coordination;
    mod crashes;
    mod definitions;
    mod dispatch;
    mod example;
    mod exec_runs;
    mod false_done;
    mod files;
    mod full_disk;
    mod gates;
    mod guardrails;
    mod held_calls;
    mod http;
    mod hung;
    mod in_vain;
    mod install;
    mod instructions;
    mod isolation;
    mod leases;
    mod leaving;
    mod logins;
    mod mail;
    mod mcp;
    mod merges;
    mod modes;
    mod names;
    mod needs;
    mod output;
    mod pauses;
    mod permissions;
    mod real_agents;
    mod real_clients;
    mod real_setups;
    mod recipes;
    mod record;
    mod roots;
    mod sandbox;
    mod seen;
    mod setup;
    mod signals;
    mod slices;
    mod sse;
    mod starts;
    mod subagent;
    mod team;
    mod terminal;
    mod timeline;
    mod trust;
    mod versions;
}

#[test]
fn every_story_is_told() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let list = std::fs::read_to_string(here.join("stories.rs")).unwrap();
    for entry in std::fs::read_dir(here.join("stories")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let told = format!("    mod {};\n", name.trim_end_matches(".rs"));
        assert!(list.contains(&told), "tests/stories/{name} is not listed in tests/stories.rs");
    }
}
