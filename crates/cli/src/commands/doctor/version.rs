//! Compares the installed versions of the agents' programs with the tested ones. An untested version is no reason to refuse an agent.

use std::path::Path;

use serde_json::Value;
use switchboard_agents::catalog::{self, Known};
use switchboard_agents::version::{Standing, standing};
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::AgentChoice;

use super::check_result::CheckResult;
use crate::available::Available;
use crate::context::Context;
use crate::environment::Environment;

/// Checks each agent that is a known program by the version in its package; nothing is started.
pub(super) fn run_checks(context: &Context) -> Vec<CheckResult> {
    // Another check reports settings that can't be read.
    let Ok(available) = Available::read(context) else { return Vec::new() };
    let look = |candidate: crate::available::Candidate| {
        let choice = available.choice(&AgentName::new(candidate.name.clone()).ok()?, context).ok()?;
        of(&candidate.name, &choice, None, &context.environment)
    };
    available.candidates(context).into_iter().filter_map(look).collect()
}

/// Checks an agent's version: the one that it reported, else that of its package. `None` for programs that are not known.
pub(super) fn of(
    name: &str,
    choice: &AgentChoice,
    told: Option<&str>,
    environment: &Environment,
) -> Option<CheckResult> {
    let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = &choice.driver;
    let known = catalog::of_command(argv)?;
    let found = told.map(str::to_owned).or_else(|| {
        let program = argv.iter().find(|word| catalog::of_command(std::slice::from_ref(word)).is_some())?;
        of_package(&environment.find_program(program)?)
    });
    Some(look(name, known, found.as_deref()))
}

fn look(name: &str, known: &Known, found: Option<&str>) -> CheckResult {
    let Known { argv, tested, install, .. } = known;
    let program = argv.first().copied().unwrap_or_default();
    let Some(found) = found else {
        let what = format!("{name}: {program} has no package that names its version; {tested} was tested");
        return CheckResult::note("version", what).hint("switchboard doctor --agents asks it");
    };
    let here = format!("{name}: {program} {found}");
    match standing(known, found) {
        Standing::Tested => CheckResult::ok("version", format!("{here}, tested")),
        Standing::Older => CheckResult::note(
            "version",
            format!("{here} is older than {tested}, which was tested: it may lack what runs need"),
        )
        .hint(install),
        Standing::Newer => CheckResult::note("version", format!("{here} is newer than {tested}, which was tested"))
            .hint(&format!("if it does not work: {install}@{tested}")),
        Standing::Unknown => CheckResult::note("version", format!("{here} is not known; {tested} was tested"))
            .hint(&format!("if it does not work: {install}@{tested}")),
    }
}

/// Reads the version from the package of an npm program; `None` for programs that were installed another way.
fn of_package(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let folders = real.ancestors().skip(1).take_while(|folder| !folder.ends_with("node_modules"));
    let packages = folders.filter(|folder| folder.components().any(|part| part.as_os_str() == "node_modules"));
    packages.into_iter().find_map(|folder| {
        let text = std::fs::read(folder.join("package.json")).ok()?;
        let package: Value = serde_json::from_slice(&text).ok()?;
        package["version"].as_str().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::check_result::State;

    #[test]
    fn a_version_that_was_not_tested_is_a_note_with_what_to_do_and_never_bad() {
        let codex = catalog::find("codex").unwrap();
        let of = |found| look("codex", codex, found);

        let (tested, older, newer) = (of(Some("2.6.3")), of(Some("0.16.0")), of(Some("3.0.1")));

        assert_eq!((tested.state, tested.what.as_str()), (State::Ok, "codex: codex-acp 2.6.3, tested"));
        assert_eq!((older.state, newer.state), (State::Note, State::Note));
        assert!(older.what.contains("0.16.0 is older than 2.6"), "{older:?}");
        assert_eq!(older.hint, "npm install -g @agentclientprotocol/codex-acp");
        assert!(newer.hint.ends_with("npm install -g @agentclientprotocol/codex-acp@2.6"), "{newer:?}");
        assert_eq!((of(None).state, of(Some("main")).state), (State::Note, State::Note));
    }

    #[test]
    fn a_program_that_npm_did_not_install_has_no_package() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("lib/node_modules/@x/y/dist");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("y.js"), "").unwrap();
        std::fs::write(folder.path().join("package.json"), r#"{ "version": "9.9.9" }"#).unwrap();

        assert_eq!(of_package(&place.join("y.js")), None, "the project around it is another package");
        std::fs::write(place.join("../package.json"), r#"{ "version": "1.2.3" }"#).unwrap();
        assert_eq!(of_package(&place.join("y.js")).as_deref(), Some("1.2.3"));
    }
}
