//! The examples of `examples/`, embedded in the binary.

use switchboard_protocol::error::{Failure, near_matches};

use super::hello::HELLO;
use super::team::TEAM;

/// An example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Example {
    /// Name of the example, and of its repository's folder.
    pub(super) name: &'static str,
    /// Start of the example.
    pub(super) begins: Begins,
    /// Files of the repository: path and text.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Scripts, each with the agent that it plays.
    pub(super) scripts: &'static [(&'static str, &'static str)],
    /// Roles of the team, each with its agent.
    pub(super) roles: &'static [(&'static str, &'static str)],
    /// Message of the repository's first commit.
    pub(super) message: &'static str,
    /// Program that runs the repository's tests.
    pub(super) tests_with: Tool,
    /// Follow-up commands for the user, each with what it shows.
    pub(super) look: &'static [(&'static str, &'static str)],
}

/// Start of an example: a plan or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// The plan.json of its repository.
    Plan,
    /// A request that a team plans and carries out.
    Request {
        /// Text of the request.
        text: &'static str,
        /// Agents that may be given tasks; the first one gets those for which the plan names none.
        coders: &'static [&'static str],
        /// Answers that a person gives.
        person: &'static [Answered],
    },
}

/// A person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    /// Beginning of the question.
    pub(super) asked: &'static str,
    /// Option that is chosen.
    pub(super) option: &'static str,
}

/// A program that runs tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    /// True if the example can't run without the program; otherwise only its test gate is left out.
    pub(super) is_needed: bool,
}

/// All examples.
const ALL: &[Example] = &[HELLO, TEAM];

/// Example that runs if none is named.
pub(crate) const DEFAULT: &str = HELLO.name;

/// Finds an example by its name.
///
/// # Errors
/// `request.bad-args` with the nearest name.
pub(super) fn find(name: &str) -> Result<Example, Failure> {
    let names = || ALL.iter().map(|example| example.name);
    ALL.iter().find(|example| example.name == name).copied().ok_or_else(|| {
        let failure = Failure::new("request.bad-args", format!("there is no example {name:?}")).at("--example");
        match near_matches(name, names()).as_slice() {
            [] => failure.hint(format!("the examples: {}", names().collect::<Vec<_>>().join(", "))),
            near => failure.hint(format!("did you mean {}?", near.join(" or "))),
        }
    })
}

// === impl Example ===

impl Example {
    /// Returns the text of a file of the repository.
    #[cfg(test)]
    pub(super) fn text(&self, wanted: &str) -> &'static str {
        self.files.iter().find(|(path, _)| *path == wanted).unwrap().1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Returns the files below a folder of `examples/`, without the output of builds and test runs.
    fn found(folder: &str) -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("target") || path.ends_with("__pycache__") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn every_file_of_the_examples_is_carried() {
        for example in ALL {
            let files = example.files.iter().map(|(path, _)| (*path).to_owned());
            let scripts = example.scripts.iter().map(|(name, _)| format!("agents/{name}.json"));

            assert_eq!(found(example.name), files.chain(scripts).collect());
        }
    }

    #[test]
    fn a_role_is_that_of_an_agent_of_the_example() {
        for example in ALL {
            for (role, agent) in example.roles {
                assert!(example.scripts.iter().any(|(name, _)| name == agent), "{}: {role}", example.name);
            }
        }
    }

    #[test]
    fn the_plan_in_markdown_says_the_same_as_the_one_in_json() {
        let json = switchboard_daemon::trust::plan(HELLO.text("plan.json"), "plan.json").unwrap();
        let md = switchboard_daemon::trust::plan(HELLO.text("plan.md"), "plan.md").unwrap();

        assert_eq!((json.title, json.phases, json.switchboard), (md.title, md.phases, md.switchboard));
    }

    #[test]
    fn an_unknown_example_is_refused_with_the_near_match_or_all_names() {
        assert_eq!(find("taem").unwrap_err().hint, "did you mean team?");
        assert_eq!(find("xyz").unwrap_err().hint, "the examples: hello, team");
        assert_eq!(find("team"), Ok(TEAM));
    }
}
