//! Selects a project's linter. Order: files in the project, then what its settings name.

use switchboard_protocol::verb::check::LintMode;

use super::{Project, Search, Tool, installed, wrapped};

const ESLINT: [&str; 11] = [
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
];

/// Returns the first linter that is installed, else the first that is configured.
pub(crate) fn linter(project: &Project, mode: LintMode) -> Search {
    let fix = mode == LintMode::Fix;
    let finders: [fn(&Project, bool) -> Search; 14] = [
        biome, eslint, script, ruff, flake8, clippy, golangci, checkstyle, ktlint, dotnet, cppcheck, swiftlint, dart,
        rubocop,
    ];
    let mut missing = Search::Nothing;
    for find in finders.into_iter().chain([php as fn(&Project, bool) -> Search]) {
        match find(project, fix) {
            Search::Found(tool) => return Search::Found(tool),
            Search::NotInstalled(name) if missing == Search::Nothing => missing = Search::NotInstalled(name),
            Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing => {}
        }
    }
    missing
}

fn local(project: &Project, name: &'static str, words: &[&str]) -> Search {
    match project.local_bin(name) {
        Some(program) => Search::Found(Tool::at(name, program, words)),
        None => installed(name, name, words),
    }
}

fn biome(project: &Project, fix: bool) -> Search {
    if !project.has_any(&["biome.json", "biome.jsonc"]) && !project.depends_on("@biomejs/biome") {
        return Search::Nothing;
    }
    local(project, "biome", if fix { &["check", "--write", "."] } else { &["check", "."] })
}

fn eslint(project: &Project, fix: bool) -> Search {
    let is_set_up =
        project.has_any(&ESLINT) || !project.package()["eslintConfig"].is_null() || project.depends_on("eslint");
    if !is_set_up {
        return Search::Nothing;
    }
    local(project, "eslint", if fix { &[".", "--no-color", "--fix"] } else { &[".", "--no-color"] })
}

/// Returns the project's own lint script. A script that changes files is returned only if `fix` is set.
fn script(project: &Project, fix: bool) -> Search {
    let names: &[&str] = if fix { &["lint:fix", "fix"] } else { &["lint:check", "lint"] };
    let script = names.iter().find(|name| {
        project.script(name).is_some_and(|script| fix || !(script.contains("--fix") || script.contains("--write")))
    });
    script.map_or(Search::Nothing, |script| project.run_script("npm script", script))
}

fn ruff(project: &Project, fix: bool) -> Search {
    if !project.has_any(&["ruff.toml", ".ruff.toml"]) && !project.says("pyproject.toml", "[tool.ruff") {
        return Search::Nothing;
    }
    let check = ["check", "--output-format", "concise", "."];
    let mend = ["check", "--output-format", "concise", "--fix", "."];
    installed("ruff", "ruff", if fix { &mend } else { &check })
}

fn flake8(project: &Project, fix: bool) -> Search {
    let is_set_up =
        project.has(".flake8") || project.says("setup.cfg", "[flake8]") || project.says("tox.ini", "[flake8]");
    if fix || !is_set_up {
        return Search::Nothing;
    }
    installed("flake8", "flake8", &["."])
}

fn clippy(project: &Project, fix: bool) -> Search {
    if !project.has("Cargo.toml") {
        return Search::Nothing;
    }
    let check = ["clippy", "--quiet", "--all-targets", "--message-format", "short"];
    let mend = [&check[..], &["--fix", "--allow-dirty", "--allow-staged"]].concat();
    installed("clippy", "cargo", if fix { &mend } else { &check })
}

fn golangci(project: &Project, fix: bool) -> Search {
    if !project.has("go.mod") {
        return Search::Nothing;
    }
    let found = installed("golangci-lint", "golangci-lint", if fix { &["run", "--fix"] } else { &["run"] });
    match found {
        Search::Found(_) => found,
        Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing if fix => {
            installed("gofmt", "gofmt", &["-w", "."])
        }
        Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing => {
            installed("go vet", "go", &["vet", "./..."])
        }
    }
}

fn checkstyle(project: &Project, fix: bool) -> Search {
    if fix {
        return Search::Nothing;
    }
    if project.says("pom.xml", "checkstyle") {
        return wrapped(project, "mvnw", "checkstyle", "mvn", &["-q", "-B", "checkstyle:check"]);
    }
    if ["build.gradle", "build.gradle.kts"].iter().any(|file| project.says(file, "checkstyle")) {
        return wrapped(project, "gradlew", "checkstyle", "gradle", &["--quiet", "--console=plain", "checkstyleMain"]);
    }
    Search::Nothing
}

fn ktlint(project: &Project, fix: bool) -> Search {
    let is_kotlin = ["build.gradle", "build.gradle.kts"].iter().any(|file| project.says(file, "kotlin"));
    if !is_kotlin {
        return Search::Nothing;
    }
    installed("ktlint", "ktlint", if fix { &["--format"] } else { &[] })
}

fn dotnet(project: &Project, fix: bool) -> Search {
    let Some(solution) = project.dotnet() else { return Search::Nothing };
    let words: &[&str] = if fix { &["format", solution] } else { &["format", solution, "--verify-no-changes"] };
    installed("dotnet format", "dotnet", words)
}

fn cppcheck(project: &Project, fix: bool) -> Search {
    if fix || !(project.has("CMakeLists.txt") || project.has_ending(&[".c", ".cc", ".cpp", ".cxx"])) {
        return Search::Nothing;
    }
    let words = [
        "--enable=warning,style,performance,portability",
        "--inline-suppr",
        "--quiet",
        "--error-exitcode=1",
        "--template={file}:{line}:{column}: {severity}: {message} [{id}]",
        ".",
    ];
    installed("cppcheck", "cppcheck", &words)
}

fn swiftlint(project: &Project, fix: bool) -> Search {
    if !project.has_any(&["Package.swift", ".swiftlint.yml"]) {
        return Search::Nothing;
    }
    installed("swiftlint", "swiftlint", if fix { &["--fix", "--quiet"] } else { &["lint", "--quiet"] })
}

fn dart(project: &Project, fix: bool) -> Search {
    if !project.has("pubspec.yaml") {
        return Search::Nothing;
    }
    installed("dart analyze", "dart", if fix { &["fix", "--apply"] } else { &["analyze"] })
}

fn rubocop(project: &Project, fix: bool) -> Search {
    if !project.has(".rubocop.yml") && !project.says("Gemfile", "rubocop") {
        return Search::Nothing;
    }
    installed("rubocop", "rubocop", if fix { &["--format", "emacs", "-A"] } else { &["--format", "emacs"] })
}

fn php(project: &Project, fix: bool) -> Search {
    let scripts: &[&'static str] =
        if fix { &["lint:fix", "fix", "cs-fix", "cs:fix"] } else { &["lint", "cs", "cs-check", "cs:check", "phpcs"] };
    if let Some(script) = project.composer_script(scripts) {
        return installed("composer script", "composer", &["run-script", "--no-interaction", script]);
    }
    let rows: [(&'static str, &[&str], &[&str]); 3] = [
        ("pint", &["--test"], &[]),
        ("php-cs-fixer", &["fix", "--dry-run"], &["fix"]),
        ("phpcs", &["--report=emacs"], &["--report=emacs"]),
    ];
    for (name, check, mend) in rows {
        let program = format!("vendor/bin/{name}");
        if project.has(&program) && !(fix && name == "phpcs") {
            return Search::Found(Tool::at(name, format!("./{program}"), if fix { mend } else { check }));
        }
    }
    Search::Nothing
}
