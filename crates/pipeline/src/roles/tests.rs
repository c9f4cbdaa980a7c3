use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::role::{RoleLimits, Zone};

use super::*;

const MINE: &str =
    "---\nname: translator\ndescription: Translates texts.\nanswers: docs\nwrite: docs\n---\nTranslate.\n";

fn file<'a>(name: &'a str, text: &'a str) -> RoleFile<'a> {
    RoleFile { file: name, text }
}

fn user(text: &str) -> Roles {
    Roles::read(&[file("roles/a.md", text)], &[])
}

/// Returns the only refusal of a user's file with this frontmatter.
fn refused(lines: &str) -> BadRole {
    let roles = user(&format!("---\n{lines}---\nText.\n"));
    assert_eq!(roles.bad().len(), 1, "{lines}: {:?}", roles.bad());
    roles.bad()[0].clone()
}

fn id(name: &str) -> RoleId {
    RoleId::new(name).unwrap()
}

/// Returns the coder as restricted by a project's file with these lines.
fn narrowed(lines: &str) -> Result<Role, BadRole> {
    let text = format!("---\nname: coder\n{lines}---\n");
    let roles = Roles::read(&[], &[file(".switchboard/roles/coder.md", &text)]);
    roles.of(RoleName::Coder).cloned().map_err(|_| roles.bad()[0].clone())
}

#[test]
fn every_role_ships_with_its_rights_and_answers() {
    let roles = Roles::shipped();

    assert_eq!(roles.list().len(), RoleName::ALL.len());
    for name in RoleName::ALL {
        let role = roles.of(name).unwrap();
        assert!(
            role.rights.read != (name == RoleName::Critic) && !role.is_disabled && !role.answers.is_empty(),
            "{name}"
        );
        assert!(role.description.ends_with('.') && role.origin == Origin::Shipped, "{name}");
        assert_eq!(role.rights.delegate, name == RoleName::Architect, "{name}");
    }
    for kind in AnswerKind::ALL {
        let answering = roles.list().iter().filter(|role| role.answers.contains(kind)).count();
        assert_eq!(answering, 1, "{kind} is given by one role");
    }
}

#[test]
fn the_limits_are_those_of_the_table() {
    let roles = Roles::shipped();
    for (name, limits) in [
        (RoleName::Architect, [0, 0, 8, 75]),
        (RoleName::Coder, [400, 45, 8, 85]),
        (RoleName::TestEngineer, [400, 45, 8, 85]),
        (RoleName::Explorer, [150, 20, 8, 75]),
        (RoleName::Reviewer, [200, 30, 8, 65]),
        (RoleName::Critic, [200, 30, 5, 65]),
        (RoleName::CriticDriftVerifier, [200, 30, 5, 65]),
        (RoleName::CriticHallucinationVerifier, [200, 30, 5, 65]),
        (RoleName::Sme, [200, 30, 5, 65]),
        (RoleName::Docs, [200, 30, 5, 75]),
        (RoleName::Designer, [150, 20, 5, 75]),
    ] {
        let RoleLimits { tool_calls, minutes, errors, warn_at } = roles.of(name).unwrap().limits;
        assert_eq!([tool_calls, minutes, errors, u32::from(warn_at)], limits, "{name}");
    }
}

#[test]
fn each_role_writes_its_zones_and_nothing_else() {
    let roles = Roles::shipped();
    let files = ["src/a.rs", "tests/a.rs", "README.md", "Cargo.toml", "clippy.toml", "dist/a.js", ".swarm/plan.json"];
    for (name, may) in [
        (RoleName::Architect, [true, true, true, true, false, false, false]),
        (RoleName::Coder, [true, true, true, true, false, false, false]),
        (RoleName::TestEngineer, [false, true, false, false, false, false, false]),
        (RoleName::Docs, [false, false, true, false, false, false, false]),
        (RoleName::Designer, [false, false, false, false, false, false, false]),
        (RoleName::Explorer, [false; 7]),
        (RoleName::Sme, [false; 7]),
        (RoleName::Reviewer, [false; 7]),
        (RoleName::Critic, [false; 7]),
        (RoleName::CriticDriftVerifier, [false; 7]),
        (RoleName::CriticHallucinationVerifier, [false; 7]),
    ] {
        let role = roles.of(name).unwrap();
        assert_eq!(files.map(|file| may_write(&role.id, &role.rights, file).is_ok()), may, "{name}");
        assert_eq!(role.rights.is_read_only(), may == [false; 7], "{name}");
    }
}

#[test]
fn what_nobody_may_write_is_refused_with_its_reason() {
    let roles = Roles::shipped();
    let coder = roles.of(RoleName::Coder).unwrap();
    let why = |path: &str| may_write(&coder.id, &coder.rights, path).unwrap_err().why;

    for path in [
        ".git/hooks/pre-commit",
        "a/.GIT/config",
        r".git\config",
        ".swarm/evidence/1.1.json",
        ".Switchboard/config.toml",
    ] {
        assert!(matches!(why(path), Why::Protected(_)), "{path}");
    }
    for path in ["../a.rs", "/etc/passwd", "", "a/../../b.rs", "-x", "C:\\a.rs", "a\nb"] {
        assert!(matches!(why(path), Why::Unsafe(_)), "{path:?}");
    }
    assert_eq!(why("pytest.ini"), Why::Zone(Zone::Config));
    let denied =
        may_write(&RoleName::Reviewer.id(), &roles.of(RoleName::Reviewer).unwrap().rights, "src/a.rs").unwrap_err();
    assert_eq!(denied.to_string(), "reviewer may not change src/a.rs: it only reads");
}

#[test]
fn prompts_are_short() {
    for role in Roles::shipped().list() {
        for kind in &role.answers {
            let form = form(*kind);
            let most = if role.id == RoleName::Coder.id() { 2_100 } else { 3_600 };
            // Assumes about three characters per token.
            let found = role.prompt.chars().count() + form.chars().count();
            assert!(found <= most, "{} {kind}: {found} characters", role.id);
            assert!(form.contains("fenced JSON block") && form.contains(&outline_of(*kind)), "{}", role.id);
        }
    }
}

fn outline_of(kind: AnswerKind) -> String {
    switchboard_protocol::answer::outline(kind)
}

#[test]
fn a_users_file_replaces_what_it_names_and_keeps_the_rest() {
    let roles = user("---\nname: Coder\nmodel: big\ntemperature: 0.2\nfallback_models: [a, b, c]\nminutes: 90\n---\n");

    let coder = roles.of(RoleName::Coder).unwrap();
    let shipped = Roles::shipped();
    let shipped = shipped.of(RoleName::Coder).unwrap();
    assert_eq!((coder.model.as_deref(), coder.temperature), (Some("big"), Some(0.2)));
    assert_eq!((coder.fallback_models.len(), coder.limits.minutes, coder.limits.tool_calls), (3, 90, 400));
    assert_eq!((&coder.prompt, &coder.rights, coder.origin), (&shipped.prompt, &shipped.rights, Origin::User));

    let added = user("---\nname: coder\nprompt: append\n---\nUse tabs.\n");
    let prompt = &added.of(RoleName::Coder).unwrap().prompt;
    assert!(prompt.starts_with(&shipped.prompt) && prompt.ends_with("Use tabs."));
    assert_eq!(user("---\nname: coder\n---\nMine.\n").of(RoleName::Coder).unwrap().prompt, "Mine.");
    assert!(user("---\nname: sme\ndisabled: true\n---\n").of(RoleName::Sme).unwrap().is_disabled);
}

#[test]
fn a_user_adds_roles_and_gives_them_rights() {
    let roles = user(MINE);

    let role = roles.find(&id("translator")).unwrap();
    assert_eq!((role.origin, role.answers.as_slice()), (Origin::User, &[AnswerKind::Docs][..]));
    assert!(
        may_write(&role.id, &role.rights, "docs/de.md").is_ok()
            && may_write(&role.id, &role.rights, "src/a.rs").is_err()
    );
    let reader = user("---\nname: reader\ndescription: d.\nanswers: [guidance]\n---\nRead.\n");
    let reader = reader.find(&id("reader")).unwrap();
    assert!(reader.rights.is_read_only() && reader.rights.read && !reader.rights.execute);
}

#[test]
fn each_mistake_is_named_with_its_line_and_the_near_word() {
    for (lines, line, says, hint) in [
        ("description: d\n", 1, "no `name`", ""),
        ("name: coder\nmodle: m\n", 3, "no key `modle`", "`model`"),
        ("name: coder\nrights: read, exekute\n", 3, "no `exekute`", "`execute`"),
        ("name: coder\nwrite: produktion\n", 3, "no `produktion`", "`production`"),
        ("name: coder\nanswers: [reviev]\n", 3, "no `reviev`", "`review`"),
        ("name: reviewer\nanswers: [docs]\n", 3, "those of its steps: review", ""),
        ("name: coder\nfallback_models: [a, b, c, d]\n", 3, "at most 3", ""),
        ("name: coder\ntemperature: 2.5\n", 3, "0 to 2", ""),
        ("name: coder\ntemperature: NaN\n", 3, "0 to 2", ""),
        ("name: coder\ndisabled: yes\n", 3, "true, false", ""),
        ("name: coder\nminutes: -1\n", 3, "whole number", ""),
        ("name: coder\nwarn_at: 0\n", 3, "1 to 100", ""),
        ("name: coder\nwrite_only: ../x\n", 3, "`..`", ""),
        ("name: coder\nmodel: [a]\n", 3, "not a list", ""),
        ("name: coder\nmodel: ''\n", 3, "is empty", ""),
        ("name: ../x\n", 2, "`name`", ""),
        ("name: new\ndescription: d\n", 0, "no `answers`", ""),
        ("name: new\nanswers: docs\n", 0, "no `description`", ""),
        ("name: coder\nname: coder\n", 3, "given twice", ""),
    ] {
        let bad = refused(lines);
        assert_eq!(bad.line.unwrap_or(0), line, "{lines}: {bad}");
        assert!(bad.to_string().contains(says) && bad.to_string().starts_with("roles/a.md"), "{lines}: {bad}");
        assert!(bad.hint.contains(hint), "{lines}: {}", bad.hint);
    }
    let roles = user("no frontmatter");
    assert!(matches!(roles.bad()[0].reason, Reason::Frontmatter(_)));
    let large = "x".repeat(MAX_ROLE_BYTES + 1);
    assert!(matches!(user(&large).bad()[0].reason, Reason::TooLarge { .. }));
}

#[test]
fn a_bad_file_stops_only_its_own_role() {
    let roles = user("---\nname: coder\nminutes: many\n---\n");

    assert!(roles.of(RoleName::Coder).is_err());
    assert!(roles.list().iter().all(|role| role.id != RoleName::Coder.id()));
    assert!(roles.of(RoleName::Reviewer).is_ok());
    let unknown = roles.find(&id("reviwer")).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no role `reviwer`: did you mean `reviewer`?");
}

#[test]
fn two_files_of_one_role_define_nobody() {
    let roles = Roles::read(&[file("a.md", MINE), file("b.md", &MINE.replace("translator", "Translator"))], &[]);

    assert_eq!(roles.bad().len(), 2);
    assert!(matches!(&roles.bad()[0].reason, Reason::Twice { other } if other == "b.md"));
    assert!(roles.find(&id("translator")).is_err());
}

#[test]
fn a_project_takes_away_and_never_gives() {
    let less =
        narrowed("rights: read\nwrite: production, test\nwrite_only: src/**\nwrite_except: src/secret\nminutes: 10\n")
            .unwrap();
    assert!(!less.rights.execute && less.limits.minutes == 10 && less.origin == Origin::Project);
    assert!(may_write(&less.id, &less.rights, "src/a.rs").is_ok());
    assert_eq!(may_write(&less.id, &less.rights, "lib/a.rs").unwrap_err().why, Why::Outside(vec!["src/**".to_owned()]));
    assert_eq!(
        may_write(&less.id, &less.rights, "src/secret/a.rs").unwrap_err().why,
        Why::Except("src/secret".to_owned())
    );
    assert!(narrowed("disabled: true\n").unwrap().is_disabled);

    for (lines, key) in [
        ("rights: read, execute, delegate\n", "rights"),
        ("write: production, config\n", "write"),
        ("minutes: 46\n", "minutes"),
        ("minutes: 0\n", "minutes"),
        ("tool_calls: 401\n", "tool_calls"),
        ("errors: 0\n", "errors"),
    ] {
        let bad = narrowed(lines).unwrap_err();
        assert!(matches!(&bad.reason, Reason::Beyond { key: found, .. } if *found == key), "{lines}: {bad}");
        assert_eq!(bad.line, Some(3), "{bad}");
    }
    for lines in [
        "model: big\n",
        "fallback_models: [a]\n",
        "temperature: 1\n",
        "answers: review\n",
        "description: d\n",
        "prompt: replace\n",
    ] {
        assert!(matches!(narrowed(lines).unwrap_err().reason, Reason::ForUser(_)), "{lines}");
    }
}

#[test]
fn a_projects_globs_lie_in_the_users() {
    let mine = "---\nname: coder\nwrite_only: [src/**, \"*.md\", docs]\nwrite_except: [src/old]\n---\n";
    let with = |lines: &str| {
        let text = format!("---\nname: coder\n{lines}---\n");
        let roles = Roles::read(&[file("coder.md", mine)], &[file("p/coder.md", &text)]);
        roles.of(RoleName::Coder).map(|role| role.rights.write.clone()).map_err(|_| roles.bad()[0].reason.clone())
    };

    let write = with("write_only: [src/api, \"*.md\", docs/de/**]\nwrite_except: src/api/v1\n").unwrap();
    assert_eq!(write.except, ["src/old", "src/api/v1"]);
    assert_eq!(with("minutes: 1\n").unwrap().only, ["src/**", "*.md", "docs"]);
    for glob in ["srcs/a", "lib", "\"**\"", "\"*\"", "\"src*\"", "docs2"] {
        let reason = with(&format!("write_only: [{glob}]\n")).unwrap_err();
        assert!(matches!(reason, Reason::Beyond { key: "write_only", .. }), "{glob}: {reason}");
    }
}

#[test]
fn a_project_adds_no_role_and_enables_none() {
    let roles = Roles::read(&[], &[file("p/translator.md", MINE)]);
    assert_eq!(roles.bad()[0].reason, Reason::NotARole);
    assert!(roles.find(&id("translator")).is_err());

    let disabled = file("sme.md", "---\nname: sme\ndisabled: true\n---\n");
    let roles = Roles::read(&[disabled], &[file("p/sme.md", "---\nname: sme\ndisabled: false\n---\n")]);
    assert!(matches!(roles.bad()[0].reason, Reason::Beyond { key: "disabled", .. }));
}

#[test]
fn a_projects_text_comes_after_the_roles_own() {
    let text = "---\nname: coder\n---\nUse tabs.\n";
    let roles = Roles::read(&[], &[file("p/coder.md", text)]);

    let prompt = &roles.of(RoleName::Coder).unwrap().prompt;
    assert!(prompt.starts_with("You implement exactly one task") && prompt.ends_with("In this project:\n\nUse tabs."));
}
