//! Judges files that Cargo loads.

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::runner_file::whole;
use super::settings::{Setting, different, keeps_all, setting, toml};

/// Calls that a build script needs to affect anything but the files it passes to the compiler in `OUT_DIR`.
const BUILD_SIDE_EFFECTS: [&str; 14] = [
    "Command::new",
    "rustc-cfg",
    "rustc-flags",
    "process::exit",
    "process::abort",
    "remove_file",
    "remove_dir",
    "rename(",
    "set_permissions",
    "symlink",
    "CARGO_MANIFEST_DIR",
    "rustc-link-arg",
    "env::set_var",
    "rustc-wrapper",
];
const WRITES: [&str; 5] = ["fs::write", "File::create", "OpenOptions", "fs::copy", "create_dir"];

pub(super) fn build_script(file: &ChangedFile) -> Vec<Hit> {
    let (before, after) = file.texts();
    if file.is_deleted() {
        return vec![whole(file, Consequence::Reported, "is built and run by Cargo before the tests")];
    }
    let mut hits = Vec::new();
    for word in BUILD_SIDE_EFFECTS.iter().filter(|word| after.contains(**word) && !before.contains(**word)) {
        let at = after.find(word).map_or(0..0, |at| at..at + word.len());
        let message = format!("`{word}` in a build script, which runs before the tests");
        hits.push(Hit::new("runner-file", Consequence::NeedsReview, &file.path, at, message));
    }
    let writes = WRITES.iter().any(|word| after.contains(word) && !before.contains(word));
    let is_outside = !after.contains("OUT_DIR")
        || ["\"src/", "\"tests/", "\"../", "\"target"].iter().any(|path| after.contains(path));
    if writes && is_outside {
        hits.push(whole(file, Consequence::NeedsReview, "writes files outside of OUT_DIR before the tests run"));
    }
    if hits.is_empty() {
        hits.push(whole(file, Consequence::Reported, "is built and run by Cargo before the tests"));
    }
    hits
}

pub(super) fn config(file: &ChangedFile) -> Vec<Hit> {
    const HARMLESS: [&str; 7] = ["net.", "http.", "term.", "registries.", "registry.", "build.jobs", "cargo-new."];
    const COMMANDS: [&str; 12] =
        ["test", "t", "build", "b", "check", "c", "run", "r", "clippy", "fmt", "bench", "nextest"];
    settings(file, |one| {
        let is_harmless = HARMLESS.iter().any(|start| one.name.starts_with(start))
            || one.name.strip_prefix("alias.").is_some_and(|alias| !COMMANDS.contains(&alias));
        Some(if is_harmless { Consequence::Reported } else { Consequence::NeedsReview })
    })
}

pub(super) fn manifest(file: &ChangedFile) -> Vec<Hit> {
    settings(file, |one| {
        let key = one.name.rsplit('.').next().unwrap_or(one.name);
        let (before, after) = (one.before.unwrap_or(""), one.after.unwrap_or(""));
        let name = one.name;
        match key {
            "harness" | "test" | "doctest" | "autotests" | "required-features" if !name.starts_with("dependencies") => {
                (one.after != Some("true")).then_some(Consequence::NeedsReview)
            }
            _ if name.starts_with("test.") => {
                Some(if one.before.is_none() { Consequence::Reported } else { Consequence::NeedsReview })
            }
            "build" if name == "package.build" => Some(Consequence::NeedsReview),
            "debug-assertions" | "overflow-checks" | "panic" | "inherits"
                if name.starts_with("profile.") && !name.starts_with("profile.release") =>
            {
                Some(Consequence::NeedsReview)
            }
            _ if name.starts_with("patch.") || name.starts_with("replace.") => Some(Consequence::NeedsReview),
            "path" | "git" if name.contains("dependencies.") => Some(if one.before.is_none() && key == "path" {
                Consequence::Reported
            } else {
                Consequence::NeedsReview
            }),
            _ if name.starts_with("lints.") || name.starts_with("workspace.lints.") => {
                let is_looser = after.contains("allow") || (one.after.is_none() && !before.contains("allow"));
                Some(if is_looser { Consequence::NeedsReview } else { Consequence::Reported })
            }
            "members" | "default-members" if !keeps_all(before, after) => Some(Consequence::NeedsReview),
            "exclude" if name == "workspace.exclude" => Some(Consequence::NeedsReview),
            _ => None,
        }
    })
}

pub(super) fn toolchain(file: &ChangedFile) -> Vec<Hit> {
    settings(file, |one| (one.name == "toolchain.path").then_some(Consequence::NeedsReview))
}

fn settings(file: &ChangedFile, consequence: impl Fn(&Setting<'_>) -> Option<Consequence>) -> Vec<Hit> {
    let (before, after) = file.texts();
    let (Some(old), Some(new)) = (toml(&before), toml(&after)) else {
        return match file.name() {
            // The older format: one line with the name of a toolchain.
            "rust-toolchain" => Vec::new(),
            _ => vec![whole(file, Consequence::NeedsReview, "is no TOML and was not read")],
        };
    };
    different(&old, &new)
        .iter()
        .filter_map(|one| {
            let rule = if one.name.contains("lints.") { "gate-config" } else { "runner-config" };
            Some(setting(file, rule, consequence(one)?, one))
        })
        .collect()
}
