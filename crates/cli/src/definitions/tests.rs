use super::*;

const SCOUT: &str = "---\nname: scout\ndescription: Finds things.\n---\nLook.\n";

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let settings = tempfile::tempdir().unwrap();
    std::fs::create_dir(settings.path().join(FOLDER)).unwrap();
    for (name, text) in files {
        std::fs::write(settings.path().join(FOLDER).join(name), text).unwrap();
    }
    settings
}

fn with(files: &[(&str, &str)]) -> Definitions {
    Definitions::read(folder_with(files).path(), Origin::User)
}

/// Returns the single failure of a file with this frontmatter.
fn refused(lines: &str) -> Failure {
    let found = with(&[("a.md", &format!("---\n{lines}---\n"))]);
    assert_eq!((found.list.len(), found.bad.len()), (0, 1), "{lines}: {found:?}");
    found.bad[0].failure.clone()
}

fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

#[test]
fn a_definition_is_read_whole() {
    let text =
        "---\nname: scout\ndescription: Finds things.\ntools: search, read\nmodel: small\nagent: claude\n---\nLook.\n";

    let found = with(&[("any.md", text), ("notes.txt", "no definition")]);

    let scout = found.find(&name("Scout")).unwrap().unwrap();
    assert_eq!((scout.description.as_str(), scout.instructions.as_str()), ("Finds things.", "Look."));
    assert_eq!(scout.tools, [Tool::Read, Tool::Search]);
    assert_eq!(scout.isolation, Isolation::Constrained, "tools are cut in a sandbox");
    assert_eq!((scout.model.as_deref(), scout.agent.clone()), (Some("small"), Some(name("claude"))));
    assert!(found.find(&name("other")).unwrap().is_none());
}

#[test]
fn each_mistake_is_named_with_its_file_and_line() {
    for (lines, line, says) in [
        ("description: d\n", ":1", "no `name`"),
        ("name: a\n", ":1", "no `description`"),
        ("name: a\ndescription: d\ntool: read\n", ":4", "`tool`"),
        ("name: a\ndescription: d\ntools: [reed]\n", ":4", "`reed`"),
        ("name: a\ndescription: d\ntools: []\n", ":4", "none of"),
        ("name: a\ndescription: d\nisolation: loose\n", ":4", "`constrained`"),
        ("name: a\ndescription: d\ntools: read\nisolation: full\n", ":5", "says full"),
        ("name: ../a\ndescription: d\n", ":2", "`name`"),
        ("name: a\ndescription: [d]\n", ":3", "not a list"),
        ("name: a\ndescription: ''\n", ":3", "empty"),
    ] {
        let failure = refused(lines);
        assert_eq!(failure.code, "agent.bad-definition");
        assert!(failure.place.ends_with(&format!("a.md{line}")), "{lines}: {}", failure.place);
        assert!(failure.what.contains(says), "{lines}: {}", failure.what);
    }
    assert_eq!(refused("name: a\ndescription: d\ntool: read\n").hint, "did you mean `tools`?");
    let keys = "the keys are name, description, tools, model, agent, isolation";
    assert_eq!(refused("name: a\ndescription: d\nrole: coder\n").hint, keys);
    assert_eq!(refused("name: a\ndescription: d\ntools: reed\n").hint, "did you mean `read`?");
}

#[test]
fn every_key_of_a_definition_refuses_a_wrong_type_and_a_misspelling() {
    let said = |key: &str| match key {
        "tools" => "read",
        "isolation" => "constrained",
        _ => "a",
    };
    for key in file::KEYS {
        let others: String = ["name", "description"]
            .iter()
            .filter(|other| **other != key)
            .map(|other| format!("{other}: a\n"))
            .collect();

        for value in ["{ no: 1 }", "[[a]]"] {
            let failure = refused(&format!("{others}{key}: {value}\n"));
            assert_eq!(failure.code, "agent.bad-definition", "{key}");
            assert!(failure.what.contains(&format!("`{key}`")), "{key}: {}", failure.what);
        }
        let failure = refused(&format!("{others}{key}: {}\n{key}_zz: a\n", said(key)));
        assert!(failure.what.contains(&format!("`{key}_zz`")), "{key}: {}", failure.what);
    }
}

#[test]
fn a_bad_file_stops_only_who_asks_for_it() {
    let found = with(&[("scout.md", SCOUT), ("bad.md", "no frontmatter"), ("big.md", &"x".repeat(20_000))]);

    assert!(found.find(&name("scout")).unwrap().is_some());
    assert_eq!(found.find(&name("bad")).unwrap_err().code, "agent.bad-definition");
    assert!(found.find(&name("big")).unwrap_err().what.contains("20000 bytes"));
}

#[test]
fn two_files_of_one_name_define_nobody() {
    let found = with(&[("one.md", SCOUT), ("two.md", &SCOUT.replace("name: scout", "name: Scout"))]);

    let failure = found.find(&name("scout")).unwrap_err();

    assert!(found.list.is_empty());
    assert!(failure.what.contains("several files") && failure.cause.len() == 1, "{failure:?}");
}

#[test]
fn a_link_that_leaves_the_folder_is_refused_and_one_within_is_not() {
    let settings = folder_with(&[("real.md", SCOUT)]);
    let folder = settings.path().join(FOLDER);
    std::fs::write(settings.path().join("outside.md"), SCOUT.replace("scout", "spy")).unwrap();
    std::os::unix::fs::symlink("../outside.md", folder.join("spy.md")).unwrap();
    std::os::unix::fs::symlink("real.md", folder.join("linked.md")).unwrap();

    let found = Definitions::read(settings.path(), Origin::Project);

    assert!(found.find(&name("spy")).unwrap_err().what.contains("leads out"));
    assert!(found.find(&name("scout")).unwrap_err().what.contains("several files"), "{found:?}");
}

#[test]
fn a_projects_definition_goes_before_the_users_and_only_in_its_scope() {
    let user = with(&[("scout.md", SCOUT), ("mine.md", &SCOUT.replace("scout", "mine"))]);
    let project = Definitions::read(folder_with(&[("scout.md", SCOUT)]).path(), Origin::Project);
    let origin = |scope, wanted: &str| {
        let found = Definitions::within(user.clone(), project.clone(), scope);
        found.find(&name(wanted)).unwrap().map(|one| one.origin)
    };

    assert_eq!(origin(AgentScope::User, "scout"), Some(Origin::User));
    assert_eq!(origin(AgentScope::Project, "scout"), Some(Origin::Project));
    assert_eq!(origin(AgentScope::Both, "scout"), Some(Origin::Project));
    assert_eq!(origin(AgentScope::Both, "mine"), Some(Origin::User));
    assert_eq!(origin(AgentScope::Project, "mine"), None);
}

#[test]
fn what_pins_a_definition_changes_with_all_that_it_says() {
    let pinned = |text: &str| {
        let settings = folder_with(&[("scout.md", text)]);
        Definitions::read(settings.path(), Origin::Project).pinned(settings.path())
    };

    assert_eq!(pinned(SCOUT), pinned(SCOUT));
    assert_ne!(pinned(SCOUT), pinned(&SCOUT.replace("Look.", "Delete all.")));
    assert_ne!(pinned(SCOUT), pinned(&SCOUT.replace("---\nLook", "model: big\n---\nLook")));
    assert_eq!(pinned(SCOUT)[0].1[0], "agents/scout.md");
}
