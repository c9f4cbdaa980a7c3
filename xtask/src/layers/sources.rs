//! Rules that are checked in a crate's files: only `process` starts processes, and file names are meaningful.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Meaningless names of modules.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc", "mod"];

/// Types and functions that start processes.
const SPAWNING: &[&str] = &["process::Command", "command_group", "posix_spawn", "libc::fork"];

/// Crates that may start processes: `process`, and the chores, which are not shipped.
const SPAWNERS: &[&str] = &["process", "xtask"];

/// Returns the faults of the files below a folder.
pub(super) fn faults(name: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                faults.extend(of_file(name, &path, &text));
            }
        }
    }
    faults.sort();
    Ok(faults)
}

fn of_file(name: &str, path: &Path, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if EMPTY_NAMES.contains(&stem) {
        faults.push(format!("{name}: {} has a name that says nothing", path.display()));
    }
    // Unit tests are at the end of a file and may start processes.
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let spawns = |line: &str| SPAWNING.iter().any(|word| line.contains(word)) && !line.trim_start().starts_with("//");
    if !SPAWNERS.contains(&name)
        && let Some(number) = shipped.lines().position(spawns)
    {
        faults.push(format!("{name}: {}:{} starts processes; only `process` may", path.display(), number + 1));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawn_outside_its_one_home_is_named_with_its_line() {
        let text = "//! x\nuse std::process::Command;\n";

        assert_eq!(of_file("bus", Path::new("a.rs"), text), ["bus: a.rs:2 starts processes; only `process` may"]);
        assert!(of_file("process", Path::new("a.rs"), text).is_empty());
    }

    #[test]
    fn unit_tests_and_comments_may_name_it() {
        let text = "// process::Command\nfn a() {}\n#[cfg(test)]\nmod tests {\n    use std::process::Command;\n}\n";

        assert!(of_file("bus", Path::new("a.rs"), text).is_empty());
    }

    #[test]
    fn names_that_say_nothing_are_faults() {
        for file in ["utils.rs", "deep/mod.rs", "helpers.rs"] {
            assert_eq!(of_file("bus", Path::new(file), "").len(), 1, "{file}");
        }
        assert!(of_file("bus", Path::new("send_message.rs"), "").is_empty());
    }
}
