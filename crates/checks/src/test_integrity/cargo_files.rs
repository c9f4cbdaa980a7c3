//! Judges files that Cargo loads.

use super::changed_file::ChangedFile;
use super::hit::{Hit, Weight};
use super::runner_file::whole;
use super::settings::{Setting, different, keeps_all, setting, toml};

/// Calls that a build script needs to affect anything but the files it passes to the compiler in `OUT_DIR`.
const REACHES: [&str; 14] = [
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
        return vec![whole(file, Weight::Told, "is built and run by Cargo before the tests")];
    }
    let mut hits = Vec::new();
    for word in REACHES.iter().filter(|word| after.contains(**word) && !before.contains(**word)) {
        let at = after.find(word).map_or(0..0, |at| at..at + word.len());
        let message = format!("`{word}` in a build script, which runs before the tests");
        hits.push(Hit::new("runner-file", Weight::Asks, &file.path, at, message));
    }
    let writes = WRITES.iter().any(|word| after.contains(word) && !before.contains(word));
    let is_outside = !after.contains("OUT_DIR")
        || ["\"src/", "\"tests/", "\"../", "\"target"].iter().any(|path| after.contains(path));
    if writes && is_outside {
        hits.push(whole(file, Weight::Asks, "writes files outside of OUT_DIR before the tests run"));
    }
    if hits.is_empty() {
        hits.push(whole(file, Weight::Told, "is built and run by Cargo before the tests"));
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
        Some(if is_harmless { Weight::Told } else { Weight::Asks })
    })
}

pub(super) fn manifest(file: &ChangedFile) -> Vec<Hit> {
    settings(file, |one| {
        let key = one.name.rsplit('.').next().unwrap_or(one.name);
        let (before, after) = (one.before.unwrap_or(""), one.after.unwrap_or(""));
        let name = one.name;
        match key {
            "harness" | "test" | "doctest" | "autotests" | "required-features" if !name.starts_with("dependencies") => {
                (one.after != Some("true")).then_some(Weight::Asks)
            }
            _ if name.starts_with("test.") => Some(if one.before.is_none() { Weight::Told } else { Weight::Asks }),
            "build" if name == "package.build" => Some(Weight::Asks),
            "debug-assertions" | "overflow-checks" | "panic" | "inherits"
                if name.starts_with("profile.") && !name.starts_with("profile.release") =>
            {
                Some(Weight::Asks)
            }
            _ if name.starts_with("patch.") || name.starts_with("replace.") => Some(Weight::Asks),
            "path" | "git" if name.contains("dependencies.") => {
                Some(if one.before.is_none() && key == "path" { Weight::Told } else { Weight::Asks })
            }
            _ if name.starts_with("lints.") || name.starts_with("workspace.lints.") => {
                let is_looser = after.contains("allow") || (one.after.is_none() && !before.contains("allow"));
                Some(if is_looser { Weight::Asks } else { Weight::Told })
            }
            "members" | "default-members" if !keeps_all(before, after) => Some(Weight::Asks),
            "exclude" if name == "workspace.exclude" => Some(Weight::Asks),
            _ => None,
        }
    })
}

pub(super) fn toolchain(file: &ChangedFile) -> Vec<Hit> {
    settings(file, |one| (one.name == "toolchain.path").then_some(Weight::Asks))
}

fn settings(file: &ChangedFile, weight: impl Fn(&Setting<'_>) -> Option<Weight>) -> Vec<Hit> {
    let (before, after) = file.texts();
    let (Some(old), Some(new)) = (toml(&before), toml(&after)) else {
        return match file.name() {
            // The older format: one line with the name of a toolchain.
            "rust-toolchain" => Vec::new(),
            _ => vec![whole(file, Weight::Asks, "is no TOML and was not read")],
        };
    };
    different(&old, &new)
        .iter()
        .filter_map(|one| {
            let rule = if one.name.contains("lints.") { "gate-config" } else { "runner-config" };
            Some(setting(file, rule, weight(one)?, one))
        })
        .collect()
}
