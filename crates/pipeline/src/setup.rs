//! Default set-up of a new work tree: the command by which an ecosystem installs exactly what a lock file names.

use std::collections::BTreeMap;

use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::SetupCommand;
use switchboard_protocol::text::listed;

/// A way to install packages. Of the rows of one family, the first one whose file exists is used.
struct Installer {
    /// Family of package managers that install to the same place.
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

/// Before Python 3.13, `venv` creates no ignore file, so git would list the environment as untracked.
const PIP: &str = "python3 -m venv .venv && printf '*\\n' > .venv/.gitignore && \
                   .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt";

/// Installs gems into the tree, not into the folder that all Ruby programs of the user share. The settings for this get
/// their own ignore file; settings of the repository stay unchanged.
const BUNDLE: &str = "if ! test -e .bundle/config; then mkdir -p .bundle vendor/bundle && \
                      printf '*\n' > .bundle/.gitignore && printf '*\n' > vendor/bundle/.gitignore && \
                      bundle config set --local path vendor/bundle; fi && BUNDLE_FROZEN=true bundle install --quiet";

/// Keeps pdm's record of the interpreter out of the tree if git would list it: pdm finds `.venv` without it.
const PDM: &str = "pdm sync && { git check-ignore --quiet .pdm-python || rm -f .pdm-python; }";

/// Ecosystems whose tests need something installed in the tree. Gradle, Maven, Go and Cargo fetch what they need
/// themselves, into caches that all trees share. A shared target folder is not such a cache: builds would wait for each
/// other's lock, and a gate could judge what another tree has built.
static INSTALLERS: &[Installer] = &[
    row(Family::Node, "pnpm-lock.yaml", "pnpm", &["pnpm", "install", "--frozen-lockfile"]),
    row(Family::Node, "yarn.lock", "yarn", &["yarn", "install", "--frozen-lockfile"]),
    row(Family::Node, "bun.lock", "bun", &["bun", "install", "--frozen-lockfile"]),
    row(Family::Node, "bun.lockb", "bun", &["bun", "install", "--frozen-lockfile"]),
    row(Family::Node, "package-lock.json", "npm", &["npm", "ci", "--no-audit", "--no-fund"]),
    row(Family::Node, "npm-shrinkwrap.json", "npm", &["npm", "ci", "--no-audit", "--no-fund"]),
    // After npm's: a folder that has both is installed by npm, and deno uses its `node_modules`.
    row(Family::Node, "deno.lock", "deno", &["deno", "install", "--frozen"]),
    row(Family::Python, "uv.lock", "uv", &["uv", "sync", "--frozen"]),
    row(
        Family::Python,
        "poetry.lock",
        "poetry",
        &["env", "POETRY_VIRTUALENVS_IN_PROJECT=true", "poetry", "install", "--no-interaction"],
    ),
    row(Family::Python, "pdm.lock", "pdm", &["sh", "-c", PDM]),
    row(
        Family::Python,
        "Pipfile.lock",
        "pipenv",
        &["env", "PIPENV_VENV_IN_PROJECT=1", "PIPENV_IGNORE_VIRTUALENVS=1", "pipenv", "sync", "--dev"],
    ),
    row(Family::Python, "requirements.txt", "python3", &["sh", "-c", PIP]),
    row(Family::Ruby, "Gemfile.lock", "bundle", &["sh", "-c", BUNDLE]),
    row(Family::Ruby, "gems.locked", "bundle", &["sh", "-c", BUNDLE]),
    row(Family::Php, "composer.lock", "composer", &["composer", "install", "--no-interaction"]),
    row(Family::Elixir, "mix.lock", "mix", &["mix", "deps.get"]),
];

/// Lock files of tools that install into the tree or must be run first, with the usual command: a run names them, because
/// none of these is run by default.
static NOTED: &[(&str, &str)] = &[
    (".terraform.lock.hcl", "terraform init -backend=false"),
    ("Manifest.toml", "julia --project -e 'using Pkg; Pkg.instantiate()'"),
    ("Podfile.lock", "pod install --deployment"),
    ("conan.lock", "conan install . --build=missing"),
    ("conda-lock.yml", "conda-lock install --prefix .conda"),
    ("cpanfile.snapshot", "carton install --deployment"),
    ("pixi.lock", "pixi install --frozen"),
    ("pubspec.lock", "dart pub get --enforce-lockfile"),
    ("pylock.toml", "uv venv && uv pip sync pylock.toml"),
    ("renv.lock", "Rscript -e 'renv::restore()'"),
    ("shard.lock", "shards install --frozen"),
];

/// Folders whose lock files belong to no package that a task's tests need: samples, test data, pages, and third-party
/// code.
const NO_PACKAGES: &[&str] = &[
    "bench",
    "benches",
    "benchmarks",
    "doc",
    "docs",
    "example",
    "examples",
    "fixtures",
    "node_modules",
    "samples",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third_party",
    "vendor",
];

/// Maximum number of folders below the top one that are set up by default; more would make each work tree expensive.
const MAX_FOLDERS: usize = 8;

/// Maximum number of lock files that a note names.
const MAX_NAMED: usize = 5;

/// Returns the names of files that decide what a set-up installs. If one of them changed, the tree is set up again.
pub fn locks() -> impl Iterator<Item = &'static str> {
    INSTALLERS.iter().map(|installer| installer.lock).chain(NOTED.iter().map(|(lock, _)| *lock))
}

/// Default set-up according to the lock files of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    /// Commands, those of the top folder first. Each runs in the folder of its lock file.
    pub commands: Vec<SetupCommand>,
    /// Lock files that are not installed, with the reason, one sentence each.
    pub notes: Vec<String>,
}

/// Chooses commands by the lock files that git tracks, relative to the top folder, and by the installed programs.
#[must_use]
pub fn defaults(tracked: &[String], has_program: impl Fn(&str) -> bool) -> Defaults {
    let mut defaults = Defaults::default();
    let mut left = Vec::new();
    let mut noted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in tracked {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if folder.split('/').any(|part| NO_PACKAGES.contains(&part)) {
            left.push(path.as_str());
        } else if let Some((_, command)) = NOTED.iter().find(|(lock, _)| *lock == name) {
            noted.entry(command).or_default().push(path);
        } else {
            folders.entry(folder).or_default().push(name);
        }
    }
    if folders.keys().filter(|folder| !folder.is_empty()).count() > MAX_FOLDERS {
        let below = |path: &&str| path.contains('/') && !noted.values().any(|paths| paths.contains(path));
        left = tracked.iter().map(String::as_str).filter(below).collect();
        folders.retain(|folder, _| folder.is_empty());
    }
    for (folder, names) in &folders {
        defaults.add(folder, names, &has_program);
    }
    defaults.notes.extend(noted.iter().map(|(command, paths)| {
        format!(
            "no default set-up for {}; if a task's tests need it, \"setup\": \"{command}\"",
            listed(paths, MAX_NAMED)
        )
    }));
    if !left.is_empty() {
        defaults
            .notes
            .push(format!("not installed into work trees: {}; \"setup\" can say so", listed(&left, MAX_NAMED)));
    }
    defaults
}

// === impl Defaults ===

impl Defaults {
    /// Chooses commands for one folder.
    fn add(&mut self, folder: &str, names: &[&str], has_program: impl Fn(&str) -> bool) {
        let mut seen: Vec<Family> = Vec::new();
        for installer in INSTALLERS.iter().filter(|installer| names.contains(&installer.lock)) {
            if seen.contains(&installer.family) {
                continue;
            }
            seen.push(installer.family);
            let Installer { lock, program, argv, .. } = installer;
            let lock = if folder.is_empty() { (*lock).to_owned() } else { format!("{folder}/{lock}") };
            if has_program(program) {
                let argv = argv.iter().map(ToString::to_string).collect();
                self.commands.push(SetupCommand { argv, lock: Some(lock) });
            } else {
                let note =
                    format!("{lock} is there and {program} is not installed: work trees get no dependencies of it");
                self.notes.push(note);
            }
        }
    }
}

/// Returns the set-up that a plan names; `None` if lock files decide.
#[must_use]
pub fn planned(plan: &Plan) -> Option<Vec<SetupCommand>> {
    let line = plan.switchboard.as_ref()?.setup.as_ref()?;
    let argv = line.argv();
    Some(if argv.is_empty() { Vec::new() } else { vec![SetupCommand { argv, lock: None }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[&str], programs: &[&str]) -> (Vec<String>, Vec<String>) {
        let files: Vec<_> = files.iter().map(ToString::to_string).collect();
        let defaults = defaults(&files, |program| programs.contains(&program));
        let shown = |command: &SetupCommand| format!("{}: {}", command.lock.as_deref().unwrap(), command.argv[0]);
        (defaults.commands.iter().map(shown).collect(), defaults.notes)
    }

    const ALL: [&str; 13] =
        ["npm", "pnpm", "yarn", "bun", "deno", "uv", "poetry", "pdm", "pipenv", "python3", "bundle", "composer", "mix"];

    #[test]
    fn a_lock_file_is_installed_by_its_own_tool_and_each_family_once() {
        let one = |file| chosen(&[file], &ALL).0.join("");

        assert_eq!(one("package-lock.json"), "package-lock.json: npm");
        assert_eq!(one("pnpm-lock.yaml"), "pnpm-lock.yaml: pnpm");
        assert_eq!(one("yarn.lock"), "yarn.lock: yarn");
        assert_eq!(one("bun.lock"), "bun.lock: bun");
        assert_eq!(one("uv.lock"), "uv.lock: uv");
        assert_eq!(one("poetry.lock"), "poetry.lock: env");
        assert_eq!(one("deno.lock"), "deno.lock: deno");
        assert_eq!(one("pdm.lock"), "pdm.lock: sh");
        assert_eq!(one("Pipfile.lock"), "Pipfile.lock: env");
        assert_eq!(one("requirements.txt"), "requirements.txt: sh");
        assert_eq!(one("Gemfile.lock"), "Gemfile.lock: sh");
        assert_eq!(one("gems.locked"), "gems.locked: sh");
        assert_eq!(one("composer.lock"), "composer.lock: composer");
        assert_eq!(one("mix.lock"), "mix.lock: mix");
        assert_eq!(one("Cargo.lock") + &one("package.json") + &one("go.sum"), "");
        let both = chosen(&["package-lock.json", "pnpm-lock.yaml", "requirements.txt", "uv.lock"], &ALL);
        assert_eq!(both.0, ["pnpm-lock.yaml: pnpm", "uv.lock: uv"]);
        assert_eq!(chosen(&["deno.lock", "package-lock.json"], &ALL).0, ["package-lock.json: npm"]);
        assert_eq!(chosen(&["Pipfile.lock", "requirements.txt"], &ALL).0, ["Pipfile.lock: env"]);
    }

    #[test]
    fn a_tool_that_is_missing_is_said_and_no_other_takes_its_place() {
        let (commands, notes) = chosen(&["package-lock.json", "pnpm-lock.yaml", "web/yarn.lock"], &["npm"]);

        assert_eq!(commands, Vec::<String>::new());
        assert!(notes[0].starts_with("pnpm-lock.yaml is there and pnpm is not installed"), "{notes:?}");
        assert!(notes[1].starts_with("web/yarn.lock is there and yarn is not installed"), "{notes:?}");
    }

    #[test]
    fn a_lock_file_without_a_default_is_named_with_the_usual_command_and_takes_no_place_from_others() {
        let modules: Vec<_> = (0..12).map(|n| format!("infra/{n}/.terraform.lock.hcl")).collect();
        let files: Vec<_> =
            modules.iter().map(String::as_str).chain(["renv.lock", "docs/renv.lock", "web/uv.lock"]).collect();

        let (commands, notes) = chosen(&files, &ALL);

        assert_eq!(commands, ["web/uv.lock: uv"]);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("no default set-up for renv.lock; ") && notes[0].contains("renv::restore()"));
        assert!(notes[1].contains("infra/4/.terraform.lock.hcl and 7 more; ") && notes[1].contains("terraform init"));
        assert!(notes[2].contains("not installed into work trees: docs/renv.lock; "), "{notes:?}");
        let known: Vec<_> = locks().collect();
        assert!(NOTED.iter().all(|(lock, _)| known.iter().filter(|name| name == &lock).count() == 1));
    }

    #[test]
    fn packages_below_the_top_are_installed_and_samples_are_not() {
        let files = [
            "docs/requirements.txt",
            "services/api/uv.lock",
            "tests/real/package-lock.json",
            "web/yarn.lock",
            "yarn.lock",
        ];

        let (commands, notes) = chosen(&files, &ALL);

        assert_eq!(commands, ["yarn.lock: yarn", "services/api/uv.lock: uv", "web/yarn.lock: yarn"]);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("docs/requirements.txt, tests/real/package-lock.json;"), "{notes:?}");
    }

    #[test]
    fn a_repository_of_many_packages_installs_those_of_its_top_only_and_says_so() {
        let files: Vec<_> = (0..9).map(|n| format!("packages/{n}/uv.lock")).chain(["uv.lock".to_owned()]).collect();
        let files: Vec<_> = files.iter().map(String::as_str).collect();

        let (commands, notes) = chosen(&files, &ALL);

        assert_eq!(commands, ["uv.lock: uv"]);
        assert!(notes[0].contains("packages/4/uv.lock and 4 more"), "{notes:?}");
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
