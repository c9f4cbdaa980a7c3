//! What a new work tree is set up with where the plan doesn't say so: the command by which an ecosystem installs exactly what a lock file names.

use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::SetupCommand;

/// One way to install. Of the rows of one family the first is taken whose file is there.
struct Installer {
    /// Package managers of one family keep what they install in the same place.
    family: Family,
    lock: &'static str,
    program: &'static str,
    argv: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Node,
    Python,
    Ruby,
    Php,
    Elixir,
}

const fn row(family: Family, lock: &'static str, program: &'static str, argv: &'static [&'static str]) -> Installer {
    Installer { family, lock, program, argv }
}

/// A virtual environment made by `venv` before Python 3.13 has no ignore file of its own, so that git would see it.
const PIP: &str = "python3 -m venv .venv && printf '*\\n' > .venv/.gitignore && \
                   .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt";

/// Ecosystems whose tests need something installed in the tree. Cargo, Go, Gradle and Maven fetch what they need themselves.
static INSTALLERS: &[Installer] = &[
    row(Family::Node, "pnpm-lock.yaml", "pnpm", &["pnpm", "install", "--frozen-lockfile"]),
    row(Family::Node, "yarn.lock", "yarn", &["yarn", "install", "--frozen-lockfile"]),
    row(Family::Node, "bun.lock", "bun", &["bun", "install", "--frozen-lockfile"]),
    row(Family::Node, "bun.lockb", "bun", &["bun", "install", "--frozen-lockfile"]),
    row(Family::Node, "package-lock.json", "npm", &["npm", "ci", "--no-audit", "--no-fund"]),
    row(Family::Node, "npm-shrinkwrap.json", "npm", &["npm", "ci", "--no-audit", "--no-fund"]),
    row(Family::Python, "uv.lock", "uv", &["uv", "sync", "--frozen"]),
    row(
        Family::Python,
        "poetry.lock",
        "poetry",
        &["env", "POETRY_VIRTUALENVS_IN_PROJECT=true", "poetry", "install", "--no-interaction"],
    ),
    row(Family::Python, "requirements.txt", "python3", &["sh", "-c", PIP]),
    row(
        Family::Ruby,
        "Gemfile.lock",
        "bundle",
        &["env", "BUNDLE_FROZEN=true", "BUNDLE_PATH=vendor/bundle", "bundle", "install"],
    ),
    row(Family::Php, "composer.lock", "composer", &["composer", "install", "--no-interaction"]),
    row(Family::Elixir, "mix.lock", "mix", &["mix", "deps.get"]),
];

/// Files whose content decides what a set-up installs: where one of them has changed, a tree is set up again.
pub fn locks() -> impl Iterator<Item = &'static str> {
    INSTALLERS.iter().map(|installer| installer.lock)
}

/// What follows from the lock files of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    /// The commands.
    pub commands: Vec<SetupCommand>,
    /// Lock files for which nothing is run, and why, a sentence each.
    pub notes: Vec<String>,
}

/// Chooses by the files at the top of a repository and the programs that are installed.
#[must_use]
pub fn defaults(has_file: impl Fn(&str) -> bool, has_program: impl Fn(&str) -> bool) -> Defaults {
    let mut defaults = Defaults::default();
    let mut seen: Vec<Family> = Vec::new();
    for installer in INSTALLERS.iter().filter(|installer| has_file(installer.lock)) {
        if seen.contains(&installer.family) {
            continue;
        }
        seen.push(installer.family);
        let Installer { lock, program, argv, .. } = installer;
        if has_program(program) {
            let argv = argv.iter().map(ToString::to_string).collect();
            defaults.commands.push(SetupCommand { argv, lock: Some((*lock).to_owned()) });
        } else {
            let note = format!("{lock} is there and {program} is not: work trees get no dependencies of it");
            defaults.notes.push(note);
        }
    }
    defaults
}

/// What a plan itself says about set-up; `None` where lock files decide.
#[must_use]
pub fn planned(plan: &Plan) -> Option<Vec<SetupCommand>> {
    let line = plan.switchboard.as_ref()?.setup.as_ref()?;
    let argv = line.argv();
    Some(if argv.is_empty() { Vec::new() } else { vec![SetupCommand { argv, lock: None }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[&str], programs: &[&str]) -> (Vec<String>, usize) {
        let defaults = defaults(|file| files.contains(&file), |program| programs.contains(&program));
        (defaults.commands.iter().map(|command| command.argv.join(" ")).collect(), defaults.notes.len())
    }

    #[test]
    fn a_lock_file_is_installed_by_its_own_tool_and_each_family_once() {
        let all = ["npm", "pnpm", "uv", "python3", "bundle"];

        assert_eq!(chosen(&["package-lock.json"], &all), (vec!["npm ci --no-audit --no-fund".to_owned()], 0));
        let both = chosen(&["package-lock.json", "pnpm-lock.yaml", "uv.lock", "requirements.txt"], &all);
        assert_eq!(both, (vec!["pnpm install --frozen-lockfile".to_owned(), "uv sync --frozen".to_owned()], 0));
        assert_eq!(chosen(&["Cargo.lock", "package.json", "go.sum"], &all), (Vec::new(), 0));
    }

    #[test]
    fn a_tool_that_is_missing_is_said_and_no_other_takes_its_place() {
        assert_eq!(chosen(&["pnpm-lock.yaml", "package-lock.json"], &["npm"]), (Vec::new(), 1));
    }

    #[test]
    fn an_empty_list_in_the_plan_means_no_set_up_and_nothing_said_means_the_defaults() {
        let plan = |settings: &str| -> Plan {
            let text = format!(
                r#"{{"schema_version":"1.0.0","title":"t","swarm":"s","x-switchboard":{settings},"phases":[{{"id":1,"name":"p","tasks":[{{"id":"1.1","phase":1,"description":"d"}}]}}]}}"#
            );
            crate::plan_json::parse(&text).unwrap()
        };

        assert_eq!(planned(&plan("{}")), None);
        assert_eq!(planned(&plan(r#"{"setup":[]}"#)), Some(Vec::new()));
        let one = planned(&plan(r#"{"setup":"make deps"}"#)).unwrap();
        assert_eq!((one[0].argv.join(" "), one[0].lock.clone()), ("sh -c make deps".to_owned(), None));
    }
}
