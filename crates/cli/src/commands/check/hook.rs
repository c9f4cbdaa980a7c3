//! The pre-commit hook.

use std::fs;
use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::file::{self, Mode, Sync};
use switchboard_process::spawn::Spawn;
use switchboard_protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Line that identifies a hook of ours.
const MARK: &str = "# Written by `switchboard check --install-hook`; delete this file to be rid of it.";

/// Writes the hook; an existing hook of somebody else stays.
pub(super) fn install(root: &Path, context: &mut Context) -> Outcome {
    let folder = hooks_folder(root)?;
    let hook = folder.join("pre-commit");
    let there = fs::symlink_metadata(&hook).is_ok();
    let is_ours = there && fs::read_to_string(&hook).is_ok_and(|text| text.contains(MARK));
    if there && !is_ours {
        return Err(foreign(&hook, "another program's hook is already installed").into());
    }
    write(&hook, &script(&context.environment.program)).map_err(|error| {
        Failure::new("io.denied", "the hook can't be written").at(hook.display().to_string()).because(&error)
    })?;
    if context.json {
        context.out.json(&serde_json::json!({ "hook": hook }));
    } else {
        context.out.line(format!("every commit is now checked by {}", hook.display()));
    }
    Ok(())
}

/// Returns git's hooks folder; it must belong to this repository alone.
fn hooks_folder(root: &Path) -> Result<PathBuf, Failure> {
    let common = ask(root, "--git-common-dir")?;
    let folder = root.join(ask_hooks(root)?);
    let common = root.join(common).canonicalize().unwrap_or_default();
    // The folder may be missing, so its nearest existing ancestor shows where it lies.
    let place = folder.ancestors().find_map(|folder| folder.canonicalize().ok()).unwrap_or_default();
    let top = root.canonicalize().unwrap_or_default();
    if place.starts_with(&top) || (common.is_absolute() && place.starts_with(&common)) {
        return Ok(folder);
    }
    Err(foreign(&folder, "core.hooksPath names a folder that other repositories may share"))
}

fn ask(root: &Path, what: &str) -> Result<String, Failure> {
    git(root, &["rev-parse", what])
}

fn ask_hooks(root: &Path) -> Result<String, Failure> {
    git(root, &["rev-parse", "--git-path", "hooks"])
}

fn git(root: &Path, args: &[&str]) -> Result<String, Failure> {
    let spawn = Spawn::new(["git"].iter().chain(args).copied()).cwd(root).env_only(Env::plain().set("LC_ALL", "C"));
    let output = spawn.output().map_err(|error| error.failure())?;
    if !output.succeeded() {
        let failure = Failure::new("git.not-a-repository", "hooks belong to a git repository, and here is none");
        return Err(failure.at(root.display().to_string()));
    }
    Ok(output.stdout.text().trim_end().to_owned())
}

fn foreign(place: &Path, what: &str) -> Failure {
    Failure::new("check.foreign-hook", what)
        .at(place.display().to_string())
        .hint("add this line to your own hook: switchboard check --staged || exit 1")
}

/// Returns the hook, which calls the program on the search path, else the one that wrote it.
fn script(program: &Path) -> String {
    let program = program.display().to_string().replace('\'', r"'\''");
    format!(
        "#!/bin/sh\n{MARK}\nif command -v switchboard >/dev/null 2>&1; then\n    exec switchboard check --staged\nfi\n\
         exec '{program}' check --staged\n"
    )
}

fn write(hook: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = hook.parent() {
        fs::create_dir_all(folder)?;
    }
    file::replace(hook, text.as_bytes(), Mode::Program, Sync::Yes)
}
