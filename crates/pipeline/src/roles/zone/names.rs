//! Names of files and folders by what they are for, as the tools that read them document them. Lower case; `*` stands for any letters.

/// Folders of what was installed or made by a tool, at any depth.
pub(super) const INSTALLED: &[&str] = &[
    "node_modules",
    "bower_components",
    "vendor",
    ".venv",
    "venv",
    "site-packages",
    "__pycache__",
    ".tox",
    ".nox",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".terraform",
    "dist",
    "coverage",
    "htmlcov",
    ".nyc_output",
    "__generated__",
    "generated",
    ".dart_tool",
    "deriveddata",
    "pods",
];

/// Folders of build outputs, unless they are below the sources: there they are modules.
pub(super) const OUTPUTS: &[&str] = &["target", "build", "out", "obj"];

/// Folders of sources.
pub(super) const SOURCES: &[&str] = &["src", "lib", "app", "internal", "pkg", "source"];

/// Folders of data of tests, whatever lies in them.
pub(super) const FIXTURES: &[&str] =
    &["testdata", "fixtures", "__fixtures__", "__snapshots__", "__mocks__", "test-data", "test_data", "snapshots"];

/// Folders of tests.
pub(super) const TESTS: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "e2e",
    "androidtest",
    "integration-tests",
    "integration_tests",
    "unittest",
    "unittests",
];

/// Folders of tests where they hold code.
pub(super) const SPECS: &[&str] = &["spec", "specs", "__specs__"];

/// What tools make.
pub(super) const GENERATED: &[&str] = &[
    "*.gen.*",
    "*.generated.*",
    "*_generated.*",
    "*.pb.go",
    "*.pb.h",
    "*.pb.cc",
    "*_pb2.py",
    "*_pb2.pyi",
    "*_pb2_grpc.py",
    "*.min.js",
    "*.min.css",
    "*.js.map",
    "*.css.map",
    "*.g.dart",
    "*.freezed.dart",
    "*.designer.cs",
    "*.g.cs",
    "*.pyc",
    "*.class",
    "*.o",
];

/// What says how tools judge and run the code, and what agents are told in it.
pub(super) const CONFIG: &[&str] = &[
    // Linters and formatters.
    ".eslintrc*",
    "eslint.config.*",
    ".prettierrc*",
    "prettier.config.*",
    "biome.json*",
    ".stylelintrc*",
    "stylelint.config.*",
    "tslint.json",
    ".jshintrc",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "mypy.ini",
    "ruff.toml",
    "pyrightconfig.json",
    "clippy.toml",
    "rustfmt.toml",
    ".golangci.*",
    "rubocop.yml",
    "phpstan.neon*",
    "psalm.xml*",
    "phpcs.xml*",
    "checkstyle*.xml",
    "pmd*.xml",
    "detekt.yml",
    "ktlint*",
    "stylecop.json",
    "analysis_options.yaml",
    ".swiftlint.yml",
    "psscriptanalyzersettings.psd1",
    "tsconfig*.json",
    "jsconfig.json",
    "deny.toml",
    // Test runners and coverage.
    "jest.config.*",
    "jest.setup.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    "karma.conf.*",
    "playwright.config.*",
    "cypress.config.*",
    "babel.config.*",
    "ava.config.*",
    "pytest.ini",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    "phpunit.xml*",
    "nextest.toml",
    "codecov.yml",
    "*.runsettings",
    "bunfig.toml",
    "wallaby.js",
    // CI, hooks and analysis services.
    "jenkinsfile",
    "azure-pipelines*.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    "lefthook.yml",
    "renovate.json*",
    "sonar-project.properties",
    "cloudbuild.yaml",
    // Toolchains.
    "rust-toolchain",
    "rust-toolchain.toml",
    "global.json",
    "nuget.config",
    // What agents are told.
    "agents.md",
    "claude.md",
    "gemini.md",
    "qwen.md",
    "copilot-instructions.md",
];

/// What says how it is built, and of what.
pub(super) const MANIFESTS: &[&str] = &[
    "cargo.toml",
    "*.lock",
    "build.rs",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lockb",
    "lerna.json",
    "nx.json",
    "turbo.json",
    "deno.json*",
    "pyproject.toml",
    "setup.py",
    "manifest.in",
    "requirements*.txt",
    "constraints*.txt",
    "pipfile",
    "environment.yml",
    "go.mod",
    "go.sum",
    "go.work*",
    "pom.xml",
    "build.gradle*",
    "settings.gradle*",
    "gradle.properties",
    "gradlew*",
    "build.sbt",
    "*.csproj",
    "*.fsproj",
    "*.vbproj",
    "*.vcxproj",
    "*.sln",
    "directory.build.*",
    "directory.packages.props",
    "packages.lock.json",
    "gemfile",
    "*.gemspec",
    "rakefile",
    "composer.json",
    "package.swift",
    "package.resolved",
    "pubspec.yaml",
    "mix.exs",
    "rebar.config",
    "cmakelists.txt",
    "*.cmake",
    "makefile",
    "gnumakefile",
    "*.mk",
    "meson.build",
    "meson_options.txt",
    "build.bazel",
    "workspace.bazel",
    "module.bazel",
    "justfile",
    "taskfile.yml",
    "dockerfile*",
    "*.dockerfile",
    "containerfile*",
    "docker-compose*.y*ml",
    "compose.y*ml",
    "flake.nix",
    "webpack.config.*",
    "webpack.*.js",
    "vite.config.*",
    "rollup.config.*",
    "esbuild.config.*",
    "next.config.*",
    "postcss.config.*",
    "tailwind.config.*",
    "gulpfile.*",
    "gruntfile.*",
];

/// Texts for people.
pub(super) const DOCS: &[&str] = &[
    "*.md",
    "*.mdx",
    "*.rst",
    "*.adoc",
    "*.asciidoc",
    "readme",
    "readme.txt",
    "changelog",
    "changelog.txt",
    "license",
    "license.txt",
    "notice",
    "notice.txt",
    "authors",
    "contributors",
    "copying",
    "mkdocs.yml",
];

/// Names of tests by the globs of their runners. Only the forms with a capital depend on case: `ListTest.java` is one, `Latest.java` is none.
const TEST_NAMES: &[&str] = &[
    "test_*.py",
    "*_test.py",
    "tests.py",
    "conftest.py",
    "*_test.go",
    "*_spec.rb",
    "*_test.rb",
    "test_*.rb",
    "*_test.rs",
    "*_tests.rs",
    "tests.rs",
    "*_test.dart",
    "*_test.exs",
    "*.bats",
    "*_test.c*",
    "test_*.c*",
    "*_unittest.c*",
    "*_test.php",
    "*_test.lua",
    "*_spec.lua",
    "*_test.clj",
    "*_test.ml",
    "*_test.erl",
    "*_suite.erl",
    "*.tests.ps1",
];

/// Ends of the stem of a test, with the languages in which they mean one.
const TEST_STEMS: &[(&[&str], &[&str])] = &[
    (&["Test", "Tests", "TestCase", "IT"], &["java", "kt", "scala", "groovy"]),
    (&["Spec"], &["kt", "scala", "groovy", "java"]),
    (&["Test", "Tests", "Fixture"], &["cs", "fs", "vb"]),
    (&["Test", "TestCase"], &["php"]),
    (&["Test", "Tests"], &["swift", "m", "ps1"]),
];

/// Whether a file is one of tests by its name.
pub(super) fn is_test_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    if TEST_NAMES.iter().any(|pattern| fits(&lower, pattern)) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    // `list.test.ts`, `list.spec.js`, `list.cy.ts`.
    let (_, kind) = stem.rsplit_once('.').unwrap_or(("", ""));
    if ["test", "tests", "spec", "cy", "e2e"].contains(&kind.to_lowercase().as_str()) {
        return true;
    }
    let ends = |stems: &[&str]| {
        let before = stems.iter().filter_map(|end| stem.strip_suffix(end));
        before.into_iter().any(|before| before.is_empty() || before.ends_with(|c: char| !c.is_uppercase()))
    };
    TEST_STEMS.iter().any(|(stems, languages)| languages.contains(&extension) && ends(stems))
}

/// Whether a name fits a pattern; both in lower case.
pub(super) fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}
