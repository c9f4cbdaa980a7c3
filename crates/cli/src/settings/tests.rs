use super::*;

fn read(text: &str) -> Result<Agents, Failure> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.toml"), text).unwrap();
    Agents::read(folder.path())
}

#[test]
fn a_described_agent_is_found_in_any_spelling() {
    let agents = read("[agents.My_Agent]\ndriver = \"acp\"\ncommand = [\"a\", \"--acp\"]\nenv = [\"KEY\"]\n").unwrap();

    let agent = agents.find("my agent").unwrap();

    assert_eq!(agent.driver(), DriverSpec::Acp { argv: vec!["a".into(), "--acp".into()] });
    assert!(agent.spends.is_none() && !agent.scripted);
}

#[test]
fn a_repository_that_sets_limits_or_roles_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        fs::write(folder.path().join("config.toml"), text).unwrap();
        Agents::read_project(folder.path())
    };

    assert!(read("[checks]\nexclude = [\"a\"]\n").is_ok());
    for (section, text) in [
        ("[limits]", "[limits]\nday = 20.5\n"),
        ("[roles]", "[roles.reviewer]\nagent = \"a\"\n"),
        ("[team]", "[team]\nlost_workers = 2\n"),
    ] {
        let failure = read(text).unwrap_err();
        assert_eq!(failure.code, "config.syntax");
        assert!(failure.what.contains(section) && failure.hint.contains("~/.config"), "{failure:?}");
    }
}

#[test]
fn what_all_runs_have_in_common_is_read_and_a_ceiling_of_nothing_is_refused() {
    let limits = read("[limits]\nday = 20.5\nat_ceiling = \"halt\"\nworkers = 3\n").unwrap().limits;

    assert_eq!(
        limits,
        Limits { day: Some(20_500_000), at_ceiling: AtCeiling::Halt, workers: Some(3), ..Limits::default() }
    );
    for bad in ["day = 0", "day = -1", "day = nan", "workers = 0", "workers = 2000"] {
        let failure = read(&format!("[limits]\n{bad}\n")).unwrap_err();
        assert_eq!(failure.code, "config.bad-value", "{bad}");
    }
    assert!(read("[limits]\ndaay = 1\n").unwrap_err().hint.contains("`day`"));
}

#[test]
fn the_limits_of_a_team_are_read_and_held_to_their_ranges() {
    assert_eq!(read("[team]\nmalformed_answers = 0\n").unwrap().team.malformed_answers, 0);
    let failure = read("[team]\ngate_retries = 0\n").unwrap_err();
    assert_eq!(
        (failure.code.as_str(), failure.what.as_str()),
        ("config.bad-value", "`gate_retries` is 0, not 1 to 20, under [team]")
    );
    assert!(read("[team]\ngate_retrie = 1\n").unwrap_err().hint.contains("`gate_retries`"));
}

#[test]
fn a_misspelt_field_is_named_with_its_line_and_a_near_one() {
    let failure = read("\n[agents.a]\ndriver = \"acp\"\ncomand = [\"a\"]\n").unwrap_err();

    assert_eq!(failure.code, "config.syntax");
    assert!(failure.place.contains("config.toml:"), "{}", failure.place);
    assert!(failure.hint.contains("`command`"), "{}", failure.hint);
}

#[test]
fn what_is_said_of_a_known_agent_needs_no_command_and_of_another_one_does() {
    let agents = read("[agents.claude]\npermissions = \"all\"\nmodel = \"sonnet\"\nattempts = 2\n").unwrap();

    let claude = agents.find("claude").unwrap();

    assert!(claude.is_addition());
    assert_eq!((claude.permissions, claude.attempts), (Permissions::All, Some(2)));
    assert!(read("[agents.mine]\nmodel = \"x\"\n").unwrap_err().what.contains("`command`"));
    assert!(read("[agents.mine]\ncommand = [\"x\"]\n").unwrap_err().what.contains("`driver`"));
    assert_eq!(read("[agents.claude]\nattempts = 0\n").unwrap_err().code, "config.bad-value");
    let lacking = read("[agents.claude]\nmodel_args = [\"--model\"]\n").unwrap_err();
    assert_eq!((lacking.code.as_str(), lacking.hint.as_str()), ("config.bad-value", "write {model} where it goes"));
    assert!(read("[agents.claude]\npermissions = \"edit\"\n").unwrap_err().hint.contains("`edits`"));
}

/// An object of the settings: its name in the schema, the path of its key, a file with it, and its required keys with values.
type Tried = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Position of each object of the settings: `ZZ` stands for the key and value under test, `REST` for the object's required keys.
const PLACES: [Tried; 8] = [
    ("", "", "ZZ\n", &[]),
    (
        "Agent",
        "agents.a.",
        "[agents.a]\nREST\nZZ\n",
        &[("driver", "driver = \"acp\""), ("command", "command = [\"a\"]")],
    ),
    (
        "Dollars",
        "agents.claude.price.",
        "[agents.claude]\nprice = { REST, ZZ }\n",
        &[("input", "input = 1.0"), ("output", "output = 1.0")],
    ),
    ("Checks", "checks.", "[checks]\nZZ\n", &[]),
    ("Limits", "limits.", "[limits]\nZZ\n", &[]),
    ("Role", "roles.reviewer.", "[roles.reviewer]\nZZ\n", &[]),
    ("TeamLimits", "team.", "[team]\nZZ\n", &[]),
    ("Worktrees", "worktrees.", "[worktrees]\nZZ\n", &[]),
];

#[test]
fn every_setting_refuses_a_key_that_does_not_exist_and_a_value_of_a_wrong_type() {
    let schema = schema();
    let defs = schema["$defs"].as_object().unwrap();
    let objects = defs.iter().filter(|(_, def)| def["properties"].is_object()).map(|(name, _)| name.as_str());
    let untried: Vec<_> = objects.filter(|name| !PLACES.iter().any(|(known, ..)| known == name)).collect();
    assert_eq!(untried, Vec::<&str>::new(), "say where they stand");

    for (object, at, text, others) in PLACES {
        let fields = if object.is_empty() { &schema["properties"] } else { &defs[object]["properties"] };
        for name in fields.as_object().unwrap().keys() {
            let rest: Vec<_> = others.iter().filter(|(other, _)| other != name).map(|(_, said)| *said).collect();
            let rest = rest.join(if object == "Dollars" { ", " } else { "\n" });
            let tried = |said: String| {
                let text = text.replace("REST", &rest).replace("{ , ", "{ ").replace("ZZ", &said);
                let failure = read(&text).expect_err(&format!("{object}.{name}: {text}"));
                let line = text.lines().position(|line| line.contains(&said)).unwrap() + 1;
                assert!(failure.place.ends_with(&format!("config.toml:{line}")), "{said}: {}", failure.place);
                assert_eq!(failure.code, "config.syntax", "{said}");
                failure
            };
            // No key takes a list of lists, and none a list of tables with a date.
            for wrong in ["[[1]]", "[{ a = 1979-05-27 }]"] {
                let failure = tried(format!("{name} = {wrong}"));
                let key = format!("`{at}{name}");
                assert!(failure.what.starts_with(&key) && failure.what.contains("` takes "), "{key}: {}", failure.what);
            }
            let unknown = tried(format!("{name}_zz = 1"));
            assert!(unknown.what.contains(&format!("{name}_zz")), "{object}.{name}: {}", unknown.what);
        }
    }
}

#[test]
fn a_value_of_a_wrong_type_is_told_with_its_key_and_what_the_key_takes() {
    let said = |text: &str| {
        let failure = read(text).unwrap_err();
        format!("{} {}", failure.place.rsplit_once(':').unwrap().1, failure.what)
    };
    let agent = |line: &str| said(&format!("[agents.a]\ndriver = \"acp\"\ncommand = [\"a\"]\n{line}\n"));

    assert_eq!(agent("attempts = \"x\""), "4 `agents.a.attempts` takes a whole number from 0, not the text \"x\"");
    assert_eq!(agent("attempts = -1"), "4 `agents.a.attempts` takes a whole number from 0, not -1");
    assert_eq!(agent("model = 3"), "4 `agents.a.model` takes a text, not 3");
    assert_eq!(agent("instructions_file = 3"), "4 `agents.a.instructions_file` takes a text, not 3");
    assert_eq!(agent("scripted = \"yes\""), "4 `agents.a.scripted` takes true or false, not the text \"yes\"");
    assert_eq!(agent("permissions.edits = true"), "4 `agents.a.permissions` takes one of ask, edits, all");
    assert_eq!(agent("permissions = 3"), "4 `agents.a.permissions` takes one of ask, edits, all");
    assert_eq!(agent("permissions = \"none\""), "4 `agents.a.permissions` takes one of ask, edits, all, not \"none\"");
    assert_eq!(agent("env = { KEY = \"x\" }"), "4 `agents.a.env` takes a list, not a table");
    assert_eq!(agent("env = [\"A\", 2]"), "4 `agents.a.env[1]` takes a text, not 2");
    assert_eq!(agent("model_env = { M = 1.5 }"), "4 `agents.a.model_env.M` takes a text, not 1.5");
    assert_eq!(
        agent("price = { input = \"3\", output = 1 }"),
        "4 `agents.a.price.input` takes a number, not the text \"3\""
    );
    assert_eq!(agent("price = { input = 3 }"), "4 `agents.a.price`: missing field `output`");
    assert_eq!(said("agents = 3\n"), "1 `agents` takes a table, not 3");
    assert_eq!(said("[agents]\na = \"x\"\n"), "2 `agents.a` takes a table, not the text \"x\"");
    assert_eq!(said("[[checks]]\nexclude = []\n"), "1 `checks` takes a table, not a list");
    assert_eq!(said("[agents.\"a.b\"]\nmodel = 3\n"), "2 `agents.\"a.b\".model` takes a text, not 3");
}

#[test]
fn hosts_and_paths_that_no_sandbox_can_open_are_refused_when_they_are_read() {
    let agent = |line: &str| read(&format!("[agents.a]\ndriver = \"exec\"\ncommand = [\"a\"]\n{line}\n"));

    for bad in [
        "network = [\"https://example.com\"]",
        "network = [\"example.com\"]",
        "read = [\"relative\"]",
        "read = [\"~/../other\"]",
        "home = [\"/etc\"]",
        "home = [\"../other\"]",
        "home = [\"\"]",
    ] {
        let failure = agent(bad).unwrap_err();
        assert_eq!(failure.code, "config.bad-value", "{bad}");
        assert!(failure.place.ends_with("config.toml"), "{bad}: {}", failure.place);
    }
    let good = "network = [\"example.com:443\"]\nread = [\"/opt/sdk\", \"~/sdk\"]\nhome = [\".config/tool\"]";
    assert!(agent(good).is_ok());
}

#[test]
fn what_no_worker_of_an_agent_can_heed_is_refused() {
    let refused = |section: &str, field: &str, line: &str| {
        let failure = read(&format!("{section}\n{line}\n")).expect_err(line);
        assert_eq!(failure.code, "config.bad-value", "{line}");
        assert!(failure.what.contains(&format!("`{field}`")) && failure.what.contains("has no effect"), "{failure:?}");
    };
    let command = "[agents.a]\ndriver = \"exec\"\ncommand = [\"a\"]";

    for (field, line) in [
        ("model", "model = \"m\""),
        ("model_args", "model_args = [\"{model}\"]"),
        ("model_env", "model_env = { M = \"{model}\" }"),
        ("temperature_args", "temperature_args = [\"{temperature}\"]"),
        ("price", "price = { input = 1.0, output = 1.0 }"),
        ("four_tools", "four_tools = true"),
    ] {
        refused(command, field, line);
    }
    for known in ["[agents.claude]", "[agents.a]\ndriver = \"acp\"\ncommand = [\"claude-agent-acp\"]"] {
        refused(known, "four_tools", "four_tools = true");
    }
    let own = read("[agents.a]\ndriver = \"acp\"\ncommand = [\"a\"]\nfour_tools = true\nhome = [\".a\"]\n").unwrap();
    let own = own.find("a").unwrap();
    assert_eq!(own.for_constrained().collect::<Vec<_>>(), ["home", "four_tools"]);
}

#[test]
fn globs_of_files_to_leave_out_are_read_and_a_misspelt_key_is_named() {
    assert_eq!(read("[checks]\nexclude = [\"vendor/\"]\n").unwrap().exclude, ["vendor/"]);
    assert!(read("[checks]\nexcludes = []\n").unwrap_err().hint.contains("`exclude`"));
    assert_eq!(read("[checks]\nexclude = \"vendor/\"\n").unwrap_err().code, "config.syntax");
}

#[test]
fn no_file_means_no_agents() {
    let folder = tempfile::tempdir().unwrap();

    assert!(Agents::read(folder.path()).unwrap().list.is_empty());
}

#[test]
fn a_misspelt_section_is_named_with_its_line_and_a_near_one() {
    let failure = read("\n[agent.a]\ndriver = \"acp\"\ncommand = [\"a\"]\n").unwrap_err();

    assert_eq!(failure.code, "config.syntax");
    assert!(failure.place.ends_with("config.toml:2"), "{}", failure.place);
    assert!(failure.hint.contains("`agents`"), "{}", failure.hint);
    assert!(read("[elsewhere]\nx = 1\n").unwrap_err().what.contains("elsewhere"));
}

#[test]
fn a_variable_with_its_value_is_no_name_that_an_agent_could_inherit() {
    let agent = |line: &str| read(&format!("[agents.x]\ndriver = \"acp\"\ncommand = [\"x\"]\n{line}\n"));

    assert!(agent("env = [\"_A_KEY\", \"b2\"]").is_ok());
    for (line, field) in [
        ("env = [\"KEY\", \"A=B\"]", "`env`"),
        ("env = [\"\"]", "`env`"),
        ("env = [\"1A\"]", "`env`"),
        ("model_env = { \"A=B\" = \"{model}\" }", "`model_env`"),
    ] {
        let failure = agent(line).unwrap_err();
        assert_eq!(failure.code, "config.bad-value", "{line}");
        assert!(failure.what.starts_with(field) && failure.what.contains("no name of a variable"), "{failure:?}");
    }
}
