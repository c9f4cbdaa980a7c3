//! The zone of a file, which is its purpose according to its folders and its name. No file is read.

mod names;

use switchboard_protocol::role::Zone;
use switchboard_protocol::run::way;

use names::{
    CONFIG, DOCS, FIXTURES, GENERATED, INSTALLED, MANIFESTS, OUTPUTS, SOURCES, SPECS, TESTS, fits, is_test_name,
};

/// Returns the zone of a file, given by its path from the repository's root. Protected zones take precedence: a
/// runner's configuration among the tests is configuration.
#[must_use]
pub fn zone_of(path: &str) -> Zone {
    let path = path.replace('\\', "/");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let Some((name, folders)) = parts.split_last() else { return Zone::Production };
    let lower: Vec<String> = folders.iter().map(|folder| folder.to_lowercase()).collect();
    let folders: Vec<&str> = lower.iter().map(String::as_str).collect();
    let lower = name.to_lowercase();
    by_folder(&folders).or_else(|| by_name(&folders, name, &lower)).unwrap_or(Zone::Production)
}

/// Returns the zone of a file in the terms of a way's steps: tests, or everything else.
#[must_use]
pub fn way_zone_of(path: &str) -> way::Zone {
    match zone_of(path) {
        Zone::Test => way::Zone::Tests,
        Zone::Production | Zone::Config | Zone::Generated | Zone::Docs | Zone::Build => way::Zone::Source,
    }
}

/// Returns the zone that a folder decides regardless of the file's name; the outermost folder takes precedence.
fn by_folder(folders: &[&str]) -> Option<Zone> {
    let mut is_below_sources = false;
    for (at, folder) in folders.iter().enumerate() {
        if INSTALLED.contains(folder) || (OUTPUTS.contains(folder) && !is_below_sources) {
            return Some(Zone::Generated);
        }
        if FIXTURES.contains(folder) {
            return Some(Zone::Test);
        }
        // Folders of tools, such as `.github`, `.vscode`, `.husky`, `.cargo`.
        if at == 0 && folder.starts_with('.') {
            return Some(Zone::Config);
        }
        is_below_sources |= SOURCES.contains(folder);
    }
    None
}

fn by_name(folders: &[&str], name: &str, lower: &str) -> Option<Zone> {
    let fits_one = |patterns: &[&str]| patterns.iter().any(|pattern| fits(lower, pattern));
    let is_text = fits_one(DOCS);
    let is_test_folder =
        folders.iter().any(|folder| TESTS.contains(folder) || (SPECS.contains(folder) && !is_text && !is_data(lower)));
    let is_docs_folder = folders.first().is_some_and(|folder| matches!(*folder, "docs" | "doc" | "documentation"));
    if fits_one(GENERATED) {
        return Some(Zone::Generated);
    }
    if fits_one(CONFIG) {
        return Some(Zone::Config);
    }
    if fits_one(MANIFESTS) {
        return Some(Zone::Build);
    }
    if is_docs_folder {
        return Some(Zone::Docs);
    }
    if is_test_name(name) || (is_test_folder && !fits(lower, "readme*")) {
        return Some(Zone::Test);
    }
    // Files whose names begin with a dot are read by a tool.
    if name.starts_with('.') {
        return Some(Zone::Config);
    }
    is_text.then_some(Zone::Docs)
}

/// Returns true if a file is a description, such as those in `spec/` of a service.
fn is_data(lower: &str) -> bool {
    ["*.json", "*.yaml", "*.yml", "*.toml", "*.xml"].iter().any(|pattern| fits(lower, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_zone_of_what_they_are_for() {
        for (zone, files) in [
            (
                Zone::Test,
                "tests/run.rs src/parser/tests.rs src/date_test.rs test_list.py pkg/list_test.py app/conftest.py src/list.test.ts \
                 src/list.spec.jsx web/__tests__/list.js a/list_test.go spec/list_spec.rb test/list_test.rb ListTest.java \
                 src/test/java/App.java ListTests.cs Deploy.Tests.ps1 ListSpec.kt AppTests.swift list_test.dart \
                 list_unittest.cc tests/fixtures/app/package.json tests/data/in.md testdata/dist/a.js __snapshots__/a.snap \
                 e2e/login.ts run.bats list_test.exs LISTTEST/../tests/a.py",
            ),
            (
                Zone::Production,
                "src/main.rs src/latest.rs Contest.java Latest.java src/build/mod.rs src/target/mod.rs lib/out/a.js src/testing.py \
                 attest.go src/docs/page.tsx spec.rb inspect/a.rb src/contest.py data.json robots.txt bin/cli.js src/manifest.py \
                 protest_song.py",
            ),
            (
                Zone::Config,
                ".eslintrc.json eslint.config.mjs pytest.ini tests/jest.config.js tsconfig.json clippy.toml rustfmt.toml .env \
                 .github/workflows/ci.yml .gitignore .golangci.yml .rubocop.yml .swarm/plan.json .secretscanignore AGENTS.md \
                 CLAUDE.md sub/.editorconfig .cargo/config.toml Jenkinsfile phpunit.xml tox.ini vitest.config.ts .vscode/a.json",
            ),
            (
                Zone::Build,
                "Cargo.toml Cargo.lock crates/a/Cargo.toml package.json pnpm-lock.yaml pyproject.toml requirements-dev.txt go.mod \
                 pom.xml build.gradle.kts App.csproj Gemfile Makefile CMakeLists.txt Dockerfile Dockerfile.dev \
                 docker-compose.yml build.rs vite.config.ts setup.py",
            ),
            (
                Zone::Generated,
                "node_modules/a/index.js web/node_modules/a/package.json target/debug/a dist/index.js a/dist/x.js build/x.o \
                 src/__generated__/a.ts api/a.pb.go a_pb2.py lib/app.min.js models.g.dart a/__pycache__/b.pyc vendor/a/b.go \
                 node_modules/a/tests/fixtures/x.js Form.Designer.cs schema.generated.ts",
            ),
            (
                Zone::Docs,
                "README.md docs/index.html docs/conf.py guide.rst src/notes.md CHANGELOG LICENSE tests/README.md specs/login.md \
                 a.adoc page.mdx",
            ),
        ] {
            for file in files.split_whitespace() {
                assert_eq!(zone_of(file), zone, "{file}");
            }
        }
    }

    #[test]
    fn spelling_changes_nothing_and_nothing_breaks_it() {
        assert_eq!(zone_of(r"src\tests\a.rs"), Zone::Test);
        assert_eq!(zone_of("./NODE_MODULES//a.js"), Zone::Generated);
        assert_eq!(zone_of("PYTEST.INI"), Zone::Config);
        for odd in ["", "/", ".", "..", "a/", "ü/ß.İ", "\u{0}", "..."] {
            let _ = zone_of(odd);
        }
    }
}
