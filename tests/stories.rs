//! Black-box stories over the real binary: what a user does, and the result.
//!
//! One test runner for all of them; each file in `stories/` covers one subject. `stories/sandbox.rs` provides their
//! environment.

#[cfg(test)]
mod stories {
    mod actions;
    mod adoption;
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
    mod driven;
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
    mod ineffective_settings;
    mod install;
    mod instructions;
    mod isolation;
    mod leases;
    mod leaving;
    mod led;
    mod locked;
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
    mod trees;
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

/// Appends the text of every Rust file below a folder.
#[cfg(test)]
fn sources(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_promise_of_running_work_names_tests_that_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/dispatch-tests.md")).unwrap();
    let mut text = String::new();
    for folder in ["crates", "tests", "xtask"] {
        sources(&root.join(folder), &mut text);
    }
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise")).collect();
    assert!(rows.len() > 60, "the rows of the page are not found");
    for line in rows {
        let columns: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [promise, shown_by] = columns[..] else { panic!("{line}") };
        let names: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test for: {promise}");
        for name in names {
            // Some tests are made by a macro, which has their names before their input.
            let is_there = match name.strip_prefix("cargo xtask ") {
                Some(command) => root.join("xtask/src").join(command.replace(' ', "/")).with_extension("rs").exists(),
                None => text.contains(&format!("fn {name}(")) || text.contains(&format!("    {name} \"")),
            };
            assert!(is_there, "there is no {name}, which is to show: {promise}");
        }
    }
}
