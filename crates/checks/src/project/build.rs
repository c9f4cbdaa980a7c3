//! Builds and type checks of a project, for each ecosystem that its files show.

use switchboard_protocol::verb::check::BuildMode;

use super::{Project, Search, Tool, installed, wrapped};

/// Python program that compiles files without writing output and prints errors as `file:line:column: error: text`. It
/// skips links, which may lead anywhere, and pipes, which never end.
const PYTHON: &str = r#"
import os, stat, sys
bad = 0
for name in sys.argv[1:]:
    try:
        if not stat.S_ISREG(os.lstat(name).st_mode):
            continue
        compile(open(name, "rb").read(), name, "exec", dont_inherit=True)
    except FileNotFoundError:
        continue
    except (OSError, SyntaxError, ValueError) as e:
        bad = 1
        print(f"{name}:{getattr(e, 'lineno', 1) or 1}:{getattr(e, 'offset', 1) or 1}: error: {getattr(e, 'msg', e)}")
sys.exit(bad)
"#;
/// Maximum number of files in one command line.
const PYTHON_FILES: usize = 2_000;

/// A build or type check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Kind of the step: `build` or `typecheck`.
    pub(crate) kind: &'static str,
    pub(crate) search: Search,
    /// Endings of the files that the step covers; empty for all files.
    pub(crate) covers: &'static [&'static str],
}

impl Step {
    fn build(search: Search, covers: &'static [&'static str]) -> Self {
        Self { kind: "build", search, covers }
    }

    fn typecheck(search: Search, covers: &'static [&'static str]) -> Self {
        Self { kind: "typecheck", search, covers }
    }
}

/// Lists the steps of a project. `changed` names the files for Python to compile; if it is empty, all are compiled.
pub(crate) fn steps(project: &Project, mode: BuildMode, changed: &[String]) -> Vec<Step> {
    let mut steps = Vec::new();
    steps.extend(node(project));
    steps.extend(rust(project));
    steps.extend(go(project));
    steps.extend(python(project, changed));
    steps.extend(jvm(project));
    steps.extend(others(project));
    steps.retain(|step| match mode {
        BuildMode::Build => step.kind == "build",
        BuildMode::Typecheck => step.kind == "typecheck",
        BuildMode::Both => true,
    });
    steps
}

const NODE: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "json", "css"];

fn node(project: &Project) -> Vec<Step> {
    let mut steps = Vec::new();
    if project.script("build").is_some() {
        steps.push(Step::build(project.run_script("npm build", "build"), NODE));
    }
    let named = ["typecheck", "type-check", "check-types"].into_iter().find(|name| project.script(name).is_some());
    if let Some(script) = named {
        steps.push(Step::typecheck(project.run_script("npm typecheck", script), NODE));
    } else if project.has("tsconfig.json") {
        let words = ["--noEmit", "--pretty", "false"];
        let found = match project.local_bin("tsc") {
            Some(program) => Search::Found(Tool::at("tsc", program, &words)),
            None => installed("tsc", "tsc", &words),
        };
        steps.push(Step::typecheck(found, NODE));
    }
    steps
}

fn rust(project: &Project) -> Vec<Step> {
    if !project.has("Cargo.toml") {
        return Vec::new();
    }
    let covers = &["rs", "toml"];
    let check = ["check", "--quiet", "--all-targets", "--message-format", "short"];
    vec![
        Step::build(installed("cargo", "cargo", &["build", "--quiet", "--message-format", "short"]), covers),
        Step::typecheck(installed("cargo", "cargo", &check), covers),
    ]
}

fn go(project: &Project) -> Vec<Step> {
    if !project.has("go.mod") {
        return Vec::new();
    }
    let covers = &["go", "mod"];
    vec![
        Step::build(installed("go", "go", &["build", "./..."]), covers),
        Step::typecheck(installed("go vet", "go", &["vet", "./..."]), covers),
    ]
}

fn python(project: &Project, changed: &[String]) -> Vec<Step> {
    let signs = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini"];
    let is_python = |path: &&String| path.ends_with(".py");
    let files: Vec<&String> = if changed.is_empty() {
        project.files().iter().filter(is_python).take(PYTHON_FILES).collect()
    } else {
        changed.iter().filter(is_python).take(PYTHON_FILES).collect()
    };
    if files.is_empty() || !(project.has_any(&signs) || !changed.is_empty() || project.has_ending(&[".py"])) {
        return Vec::new();
    }
    let program = if switchboard_process::spawn::which("python3").is_some() { "python3" } else { "python" };
    let compile = installed("python", program, &["-I", "-c", PYTHON]);
    let compile = compile.map(|tool| tool.with(files.into_iter().cloned()));
    let mut steps = vec![Step::build(compile, &["py"])];
    if project.has_any(&["mypy.ini", ".mypy.ini"]) || project.says("pyproject.toml", "[tool.mypy") {
        let words = ["--no-color-output", "--show-column-numbers", "."];
        // The settings of mypy may name the files to check.
        let words = if names_its_files(project) { &words[..2] } else { &words[..] };
        steps.push(Step::typecheck(installed("mypy", "mypy", words), &["py", "pyi"]));
    } else if project.has("pyrightconfig.json") || project.says("pyproject.toml", "[tool.pyright") {
        steps.push(Step::typecheck(installed("pyright", "pyright", &[]), &["py", "pyi"]));
    }
    steps
}

/// Returns whether the settings of mypy name the files to check.
fn names_its_files(project: &Project) -> bool {
    let is_key = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        line.contains('=') && ["files", "packages", "modules"].contains(&key)
    };
    let section = |text: String, head: &str| {
        let lines = text
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != head)
            .skip(1)
            .take_while(|line| !line.starts_with('['));
        lines.into_iter().any(is_key)
    };
    [("pyproject.toml", "[tool.mypy]"), ("mypy.ini", "[mypy]"), (".mypy.ini", "[mypy]"), ("setup.cfg", "[mypy]")]
        .iter()
        .any(|(file, head)| section(project.text(file), head))
}

fn jvm(project: &Project) -> Vec<Step> {
    let covers = &["java", "kt", "kts", "scala", "groovy", "xml", "gradle"];
    if project.has("pom.xml") {
        return vec![Step::build(wrapped(project, "mvnw", "maven", "mvn", &["-q", "-B", "test-compile"]), covers)];
    }
    if project.has_any(&["build.gradle", "build.gradle.kts"]) {
        let words = ["--quiet", "--console=plain", "testClasses"];
        return vec![Step::build(wrapped(project, "gradlew", "gradle", "gradle", &words), covers)];
    }
    Vec::new()
}

fn others(project: &Project) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(solution) = project.dotnet() {
        let words = ["build", solution, "--nologo", "--verbosity", "quiet"];
        steps.push(Step::build(installed("dotnet", "dotnet", &words), &["cs", "fs", "vb", "csproj", "sln"]));
    }
    if project.has("Package.swift") {
        steps.push(Step::build(installed("swift", "swift", &["build"]), &["swift"]));
    }
    if project.has("pubspec.yaml") {
        steps.push(Step::typecheck(installed("dart", "dart", &["analyze"]), &["dart", "yaml"]));
    }
    let cpp = &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "txt", "cmake"];
    steps.extend(native(project, steps.is_empty()).map(|search| Step::build(search, cpp)));
    if project.has("composer.json") {
        steps.extend(php(project));
    }
    steps
}

/// Returns the build of C and C++: a configured build of CMake, else the makefile beside it.
fn native(project: &Project, is_alone: bool) -> Option<Search> {
    let has_makefile = project.has_any(&["Makefile", "GNUmakefile", "makefile"]);
    if project.has("CMakeLists.txt") {
        let folders = ["build", "cmake-build-debug", "out", "."];
        let folder = folders.into_iter().find(|folder| project.has(&format!("{folder}/CMakeCache.txt")));
        return Some(match folder {
            Some(folder) => installed("cmake", "cmake", &["--build", folder]),
            None if has_makefile => installed("make", "make", &[]),
            None => Search::NotConfigured("the cmake build is not configured: run cmake -B build"),
        });
    }
    let only_c = !project.has_any(&["Cargo.toml", "go.mod", "pyproject.toml", "setup.py", "pom.xml"]);
    let has_code =
        || project.files().iter().any(|path| [".c", ".cc", ".cpp", ".cxx"].iter().any(|end| path.ends_with(end)));
    (has_makefile && is_alone && project.package().is_null() && only_c && has_code())
        .then(|| installed("make", "make", &[]))
}

fn php(project: &Project) -> Vec<Step> {
    let mut steps =
        vec![Step::build(installed("composer", "composer", &["validate", "--no-check-publish"]), &["php", "json"])];
    if let Some(script) = project.composer_script(&["phpstan", "analyse", "analyze", "stan", "psalm"]) {
        let words = ["run-script", "--no-interaction", script];
        steps.push(Step::typecheck(installed("composer script", "composer", &words), &["php"]));
    } else if project.has("vendor/bin/phpstan") {
        let words = ["analyse", "--no-progress", "--error-format=raw"];
        let tool = Tool::at("phpstan", "./vendor/bin/phpstan".to_owned(), &words);
        steps.push(Step::typecheck(Search::Found(tool), &["php"]));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::fixture::project;

    /// Lists the names of a project's tools, whether or not they are installed here.
    fn tools(project: &Project) -> Vec<&'static str> {
        let name = |step: Step| match step.search {
            Search::Found(tool) => tool.name,
            Search::NotInstalled(name) => name,
            Search::NotConfigured(_) => "not configured",
            Search::Nothing => "nothing",
        };
        steps(project, BuildMode::Both, &[]).into_iter().map(name).collect()
    }

    #[test]
    fn a_makefile_builds_what_cmake_was_not_configured_for() {
        let cmake = ("CMakeLists.txt", "project(a)\n");
        let (_folder, alone) = project(&[cmake]);
        let (_folder, beside) = project(&[cmake, ("Makefile", "all:\n")]);
        let (_folder, configured) = project(&[cmake, ("Makefile", "all:\n"), ("build/CMakeCache.txt", "")]);
        let (_folder, plain) = project(&[("Makefile", "all:\n"), ("a.c", "int a;\n")]);

        assert_eq!(tools(&alone), ["not configured"]);
        assert_eq!((tools(&beside), tools(&configured), tools(&plain)), (vec!["make"], vec!["cmake"], vec!["make"]));
    }

    #[test]
    fn a_solution_below_the_root_is_built_before_a_project_above_it() {
        let (_folder, project) = project(&[("Tool.csproj", ""), ("src/App.sln", ""), ("src/deep/Other.sln", "")]);

        assert_eq!((project.dotnet(), tools(&project)), (Some("src/App.sln"), vec!["dotnet"]));
    }

    #[test]
    fn the_scripts_of_composer_go_before_its_tools() {
        let scripts = r#"{ "scripts": { "phpstan": "phpstan analyse -l 9 src" } }"#;
        let (_folder, with) = project(&[("composer.json", scripts), ("vendor/bin/phpstan", "")]);
        let (_folder, without) = project(&[("composer.json", "{}"), ("vendor/bin/phpstan", "")]);

        assert_eq!((tools(&with)[1], tools(&without)[1]), ("composer script", "phpstan"));
    }

    #[test]
    fn mypy_is_given_no_files_where_its_settings_name_them() {
        for (file, text, is_named) in [
            ("pyproject.toml", "[tool.mypy]\nstrict = true\nfiles = [\"src\"]\n", true),
            ("mypy.ini", "[mypy]\npackages = a\n[mypy-b]\nignore_missing_imports = True\n", true),
            ("mypy.ini", "[mypy]\nstrict = True\n[mypy-b]\nfiles = a\n", false),
            ("pyproject.toml", "[tool.other]\nfiles = [\"a\"]\n[tool.mypy]\nstrict = true\n", false),
        ] {
            let (_folder, project) = project(&[(file, text)]);

            assert_eq!(names_its_files(&project), is_named, "{text}");
        }
    }
}
