//! Judges files that a test runner, a build tool or a gate reads, by the effect of a change on the tests.
//!
//! A setting is judged by its name and value: one that selects what runs, or what counts as a failure, asks; one of
//! layout, coverage or time limits is only reported. An unknown setting asks.

use switchboard_protocol::finding::CheckCommand;

use super::change::Change;
use super::changed_file::ChangedFile;
use super::gate_files::{self, is_gate_file};
use super::hit::{Consequence, Hit};
use super::runner_file::{RunnerFile, whole};
use super::{cargo_files, node_files, python_files, recipes};

pub(super) fn hits(change: &Change, commands: &[CheckCommand]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = change.files.iter().flat_map(|file| of_file(file, commands)).collect();
    hits.extend(recipes::hits(change, commands));
    hits
}

fn of_file(file: &ChangedFile, commands: &[CheckCommand]) -> Vec<Hit> {
    if is_gate_file(&file.path) {
        return gate_files::hits(file);
    }
    let Some(kind) = RunnerFile::of(&file.path) else { return Vec::new() };
    if file.is_link {
        return vec![whole(file, Consequence::NeedsReview, "is a link now")];
    }
    match kind {
        RunnerFile::Conftest => python_files::conftest(file),
        RunnerFile::Startup | RunnerFile::Shadow if file.is_deleted() => Vec::new(),
        RunnerFile::Startup => python_files::startup(file),
        RunnerFile::Shadow if !file.is_new() => Vec::new(),
        RunnerFile::Shadow => {
            vec![whole(
                file,
                Consequence::NeedsReview,
                "is found before the module of that name that test runners import",
            )]
        }
        RunnerFile::Ini => python_files::ini(file, commands),
        RunnerFile::Pyproject => python_files::pyproject(file),
        RunnerFile::PackageJson => node_files::package(file, commands),
        RunnerFile::Npmrc => node_files::npmrc(file),
        RunnerFile::JavaScript => node_files::script(file),
        RunnerFile::BuildRs => cargo_files::build_script(file),
        RunnerFile::CargoConfig => cargo_files::config(file),
        RunnerFile::CargoToml => cargo_files::manifest(file),
        RunnerFile::Toolchain => cargo_files::toolchain(file),
    }
}
