//! Selects a project's test framework, and builds the command for the tests to run.

use switchboard_protocol::verb::check::TestScope;

use super::{Project, Search, Tool, installed, package, wrapped};

/// Options of a test run.
pub(crate) struct TestOptions<'a> {
    pub(crate) scope: TestScope,
    /// Test files; empty for the whole suite.
    pub(crate) files: &'a [String],
    pub(crate) coverage: bool,
    pub(crate) bail: bool,
}

type Finder = fn(&Project, &TestOptions<'_>) -> Search;

/// Returns the framework's command: the first that is installed, else the first that is configured.
pub(crate) fn command(project: &Project, asked: &TestOptions<'_>) -> Search {
    let finders: [Finder; 18] = [
        script, bun, vitest, jest, mocha, node, pytest, cargo, go, maven, gradle, dotnet, ctest, swift, dart, ruby,
        php, pester,
    ];
    let mut missing = Search::Nothing;
    for find in finders {
        match find(project, asked) {
            Search::Found(tool) => return Search::Found(tool),
            found @ (Search::NotInstalled(_) | Search::NotConfigured(_)) if missing == Search::Nothing => {
                missing = found
            }
            Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing => {}
        }
    }
    missing
}

/// Adds the requested flags, then the files.
fn with_options(search: Search, asked: &TestOptions<'_>, bail: &[&str], coverage: &[&str]) -> Search {
    search.map(|tool| {
        let tool = if asked.bail { tool.with(bail.iter().copied()) } else { tool };
        let tool = if asked.coverage { tool.with(coverage.iter().copied()) } else { tool };
        tool.with(asked.files.iter().cloned())
    })
}

fn local(project: &Project, name: &'static str, words: &[&str]) -> Search {
    match project.local_bin(name) {
        Some(program) => Search::Found(Tool::at(name, program, words)),
        None => installed(name, name, words),
    }
}

fn is_run_by_script(project: &Project, word: &str) -> bool {
    project.script("test").is_some_and(|script| script.contains(word))
}

/// Returns the project's own script for the whole suite: it may prepare what a bare framework lacks.
fn script(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !asked.files.is_empty() || asked.coverage || asked.bail {
        return Search::Nothing;
    }
    if project.script("test").is_some() {
        return project.run_script("npm test", "test");
    }
    match project.composer_script(&["test", "tests", "phpunit"]) {
        Some(script) => installed("composer test", "composer", &["run-script", "--no-interaction", script]),
        None => Search::Nothing,
    }
}

fn bun(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !is_run_by_script(project, "bun test") && !project.has("bunfig.toml") {
        return Search::Nothing;
    }
    with_options(installed("bun", "bun", &["test"]), asked, &["--bail"], &["--coverage"])
}

fn vitest(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.depends_on("vitest") && !is_run_by_script(project, "vitest") {
        return Search::Nothing;
    }
    with_options(local(project, "vitest", &["run", "--reporter=verbose"]), asked, &["--bail=1"], &["--coverage"])
}

fn jest(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.depends_on("jest") && !is_run_by_script(project, "jest") {
        return Search::Nothing;
    }
    with_options(local(project, "jest", &["--verbose", "--colors=false"]), asked, &["--bail"], &["--coverage"])
}

fn mocha(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.depends_on("mocha") && !is_run_by_script(project, "mocha") {
        return Search::Nothing;
    }
    with_options(local(project, "mocha", &["--no-color", "--reporter", "spec"]), asked, &["--bail"], &[])
}

fn node(project: &Project, asked: &TestOptions<'_>) -> Search {
    if is_run_by_script(project, "node --test") {
        return with_options(installed("node", "node", &["--test"]), asked, &[], &["--experimental-test-coverage"]);
    }
    Search::Nothing
}

fn pytest(project: &Project, asked: &TestOptions<'_>) -> Search {
    let is_set_up = project.has_any(&["pytest.ini", "conftest.py", "tests/conftest.py"])
        || project.says("pyproject.toml", "pytest")
        || project.says("setup.cfg", "[tool:pytest]")
        || project.says("tox.ini", "pytest")
        || project.says("requirements-dev.txt", "pytest");
    let has_tests = || project.files().iter().any(|path| super::related::is_python_test(path));
    if !is_set_up && !has_tests() {
        return Search::Nothing;
    }
    if switchboard_process::spawn::which("pytest").is_some() {
        let tool = Tool::new("pytest", &["pytest", "-v", "--color=no", "--tb=short", "-p", "no:cacheprovider"]);
        return with_options(Search::Found(tool), asked, &["-x"], &["--cov", "--cov-report=term"]);
    }
    if is_set_up {
        return Search::NotInstalled("pytest");
    }
    let mut words = vec!["-m", "unittest"];
    // Behind an option, `discover` would be read as the name of a module.
    if asked.files.is_empty() {
        words.push("discover");
    }
    words.push("-v");
    if asked.bail {
        words.push("--failfast");
    }
    installed("unittest", "python3", &words).map(|tool| tool.with(asked.files.iter().cloned()))
}

fn cargo(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has("Cargo.toml") {
        return Search::Nothing;
    }
    let mut words = vec!["test".to_owned(), "--color=never".to_owned()];
    let has_dependents = matches!(asked.scope, TestScope::Graph | TestScope::Impact);
    words.extend(
        package::of_files(project, asked.files, has_dependents).into_iter().flat_map(|name| ["-p".to_owned(), name]),
    );
    if !asked.bail {
        words.push("--no-fail-fast".to_owned());
    }
    for file in asked.files {
        let name = file.strip_prefix("tests/").and_then(|rest| rest.strip_suffix(".rs"));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            words.extend(["--test".to_owned(), name.to_owned()]);
        }
    }
    words.extend(modules(project, asked, has_dependents));
    installed("cargo", "cargo", &[]).map(|tool| tool.with(words))
}

/// Returns filters for the modules of the files, if each file holds tests and no dependents are to run.
fn modules(project: &Project, asked: &TestOptions<'_>, has_dependents: bool) -> Vec<String> {
    let modules: Option<Vec<String>> = asked.files.iter().map(|file| package::tested_module(project, file)).collect();
    let modules = modules.filter(|modules| !modules.is_empty() && !has_dependents).unwrap_or_default();
    if modules.is_empty() { modules } else { std::iter::once("--".to_owned()).chain(modules).collect() }
}

fn go(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has("go.mod") {
        return Search::Nothing;
    }
    let mut packages: Vec<String> = asked
        .files
        .iter()
        .map(|file| file.rsplit_once('/').map_or_else(|| ".".to_owned(), |(folder, _)| format!("./{folder}")))
        .collect();
    packages.sort();
    packages.dedup();
    if packages.is_empty() {
        packages.push("./...".to_owned());
    }
    let plain = TestOptions { files: &packages, ..*asked };
    with_options(installed("go-test", "go", &["test", "-v"]), &plain, &["-failfast"], &["-cover"])
}

/// Returns the classes of test files, as Java tools name them.
fn classes(files: &[String]) -> Vec<String> {
    let name = |file: &String| {
        let name = file.rsplit('/').next()?;
        name.rsplit_once('.').map(|(class, _)| class.to_owned())
    };
    files.iter().filter_map(name).collect()
}

fn maven(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has("pom.xml") {
        return Search::Nothing;
    }
    let found = wrapped(project, "mvnw", "maven", "mvn", &["-B", "test"]);
    if asked.files.is_empty() {
        return found;
    }
    let only = format!("-Dtest={}", classes(asked.files).join(","));
    let lenient = ["-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"];
    found.map(|tool| tool.with([only.as_str()]).with(lenient))
}

fn gradle(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has_any(&["build.gradle", "build.gradle.kts"]) {
        return Search::Nothing;
    }
    let only = classes(asked.files).into_iter().flat_map(|class| ["--tests".to_owned(), format!("*{class}")]);
    wrapped(project, "gradlew", "gradle", "gradle", &["test", "--console=plain"]).map(|tool| tool.with(only))
}

fn dotnet(project: &Project, asked: &TestOptions<'_>) -> Search {
    let Some(solution) = project.dotnet() else { return Search::Nothing };
    let found = installed("dotnet-test", "dotnet", &["test", solution, "--nologo"]);
    if asked.files.is_empty() {
        return found;
    }
    let names: Vec<String> = classes(asked.files).iter().map(|class| format!("FullyQualifiedName~{class}")).collect();
    found.map(|tool| tool.with(["--filter".to_owned(), names.join("|")]))
}

fn ctest(project: &Project, asked: &TestOptions<'_>) -> Search {
    let folders = ["build", "cmake-build-debug", "out", "."];
    let Some(folder) = folders.into_iter().find(|folder| project.has(&format!("{folder}/CTestTestfile.cmake"))) else {
        let has_tests =
            ["enable_testing", "add_test", "include(CTest"].iter().any(|word| project.says("CMakeLists.txt", word));
        let what = "the cmake build is not configured: run cmake -B build";
        return if has_tests { Search::NotConfigured(what) } else { Search::Nothing };
    };
    let plain = TestOptions { files: &[], ..*asked };
    let words = ["--test-dir", folder, "--output-on-failure"];
    with_options(installed("ctest", "ctest", &words), &plain, &["--stop-on-failure"], &[])
}

fn swift(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has("Package.swift") {
        return Search::Nothing;
    }
    let only = classes(asked.files).into_iter().flat_map(|class| ["--filter".to_owned(), class]);
    installed("swift-test", "swift", &["test"]).map(|tool| tool.with(only))
}

fn dart(project: &Project, asked: &TestOptions<'_>) -> Search {
    if !project.has("pubspec.yaml") {
        return Search::Nothing;
    }
    let flutter = project.says("pubspec.yaml", "sdk: flutter");
    let program = if flutter { "flutter" } else { "dart" };
    with_options(installed("dart-test", program, &["test"]), asked, &["--fail-fast"], &["--coverage=coverage"])
}

fn ruby(project: &Project, asked: &TestOptions<'_>) -> Search {
    if project.has(".rspec") || project.says("Gemfile", "rspec") {
        return with_options(
            installed("rspec", "rspec", &["--no-color", "--format", "documentation"]),
            asked,
            &["--fail-fast"],
            &[],
        );
    }
    if !project.files().iter().any(|path| path.starts_with("test/") && path.ends_with("_test.rb")) {
        return Search::Nothing;
    }
    match asked.files {
        [] => installed("minitest", "rake", &["test"]),
        files => {
            let load: Vec<String> = files.iter().flat_map(|file| ["-r".to_owned(), format!("./{file}")]).collect();
            installed("minitest", "ruby", &["-Itest", "-Ilib"]).map(|tool| tool.with(load).with(["-e", ""]))
        }
    }
}

/// Returns whether a project is a Laravel application: it has at least two of three signs.
fn is_laravel(project: &Project) -> bool {
    let signs =
        [project.has("artisan"), project.says("composer.json", "laravel/framework"), project.has("config/app.php")];
    signs.iter().filter(|sign| **sign).count() >= 2
}

fn php(project: &Project, asked: &TestOptions<'_>) -> Search {
    if is_laravel(project) {
        return with_options(
            installed("laravel", "php", &["artisan", "test"]),
            asked,
            &["--stop-on-failure"],
            &["--coverage"],
        );
    }
    for name in ["pest", "phpunit"] {
        let program = format!("vendor/bin/{name}");
        if project.has(&program) {
            let tool = Tool::at(if name == "pest" { "pest" } else { "phpunit" }, format!("./{program}"), &[]);
            return with_options(Search::Found(tool), asked, &["--stop-on-failure"], &["--coverage-text"]);
        }
    }
    if project.has_any(&["phpunit.xml", "phpunit.xml.dist"]) {
        Search::NotInstalled("phpunit")
    } else {
        Search::Nothing
    }
}

fn pester(project: &Project, _: &TestOptions<'_>) -> Search {
    if !project.files().iter().any(|path| path.ends_with(".Tests.ps1")) {
        return Search::Nothing;
    }
    installed("pester", "pwsh", &["-NoProfile", "-NonInteractive", "-Command", "Invoke-Pester -CI"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::fixture::project;

    /// Returns the name of the tool, whether or not it is installed here.
    fn name(search: &Search) -> &'static str {
        match search {
            Search::Found(tool) => tool.name,
            Search::NotInstalled(name) => name,
            Search::NotConfigured(what) => what,
            Search::Nothing => "nothing",
        }
    }

    fn asked(files: &[String]) -> TestOptions<'_> {
        TestOptions { scope: TestScope::Convention, files, coverage: false, bail: false }
    }

    #[test]
    fn unittest_is_told_to_discover_before_its_options() {
        let (_folder, project) = project(&[("test_a.py", "import unittest\n")]);
        let argv = |files: &[String]| match pytest(&project, &asked(files)) {
            Search::Found(tool) => tool.argv.join(" "),
            Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing => String::new(),
        };

        // Where pytest is installed, it runs the same tests.
        let (all, one) = (argv(&[]), argv(&["test_a.py".to_owned()]));
        assert!(all.starts_with("pytest") || all == "python3 -m unittest discover -v", "{all}");
        assert!(one.starts_with("pytest") || one == "python3 -m unittest -v test_a.py", "{one}");
    }

    #[test]
    fn the_projects_own_script_goes_before_a_framework() {
        let mocha = r#"{ "scripts": { "test": "prepare && mocha" }, "devDependencies": { "mocha": "1" } }"#;
        let (_folder, npm) = project(&[("package.json", mocha), ("node_modules/.bin/mocha", "")]);
        let (_folder, composer) =
            project(&[("composer.json", r#"{ "scripts": { "test": "phpunit" } }"#), ("phpunit.xml", "")]);

        assert_eq!(name(&script(&npm, &asked(&[]))), "npm test");
        assert_eq!(name(&script(&composer, &asked(&[]))), "composer test");
        // A script takes no files.
        assert_eq!(name(&command(&npm, &asked(&["test/a.js".into()]))), "mocha");
    }

    #[test]
    fn a_changed_rust_file_is_tested_by_its_module_its_package_or_its_dependents() {
        let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
        let (_folder, project) = project(&[
            ("a/Cargo.toml", &manifest("a", "")),
            ("b/Cargo.toml", &manifest("b", "[dependencies]\na = { path = \"../a\" }\n")),
            ("Cargo.toml", "[workspace]\n"),
            ("a/src/c.rs", "#[test]\nfn d() {}\n"),
            ("a/src/e.rs", "fn f() {}\n"),
        ]);
        let words = |file: &str, scope: TestScope| {
            let files = [file.to_owned()];
            match cargo(&project, &TestOptions { scope, ..asked(&files) }) {
                Search::Found(tool) => tool.argv[3..].join(" "),
                Search::NotInstalled(_) | Search::NotConfigured(_) | Search::Nothing => panic!("no cargo"),
            }
        };

        assert_eq!(words("a/src/c.rs", TestScope::Convention), "-p a --no-fail-fast -- c::");
        assert_eq!(words("a/src/e.rs", TestScope::Convention), "-p a --no-fail-fast");
        assert_eq!(words("a/src/c.rs", TestScope::Impact), "-p a -p b --no-fail-fast");
    }

    #[test]
    fn tests_of_an_unconfigured_cmake_build_are_named_as_such() {
        let (_folder, project) = project(&[("CMakeLists.txt", "enable_testing()\n")]);

        assert!(matches!(ctest(&project, &asked(&[])), Search::NotConfigured(_)));
    }

    #[test]
    fn a_solution_below_the_root_is_tested() {
        let (_folder, project) = project(&[("src/App/App.csproj", ""), ("src/App.sln", "")]);

        assert_eq!(project.dotnet(), Some("src/App.sln"));
        assert_eq!(name(&dotnet(&project, &asked(&[]))), "dotnet-test");
    }
}
