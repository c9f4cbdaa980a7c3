//! A copy of the tree, and the mutants in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::sites::Site;
use crate::command::{command, output};

/// The variable that turns a mutant on.
pub(super) const VARIABLE: &str = "XTASK_MUTANT";
/// The function that asks for it, from anywhere in a mutated crate.
const SWITCH: &str = "crate::xtask_mutant";
/// That function, on one line so that no other line moves.
const SWITCH_TEXT: &str = "#[doc(hidden)] pub fn xtask_mutant(number: usize) -> bool { static ON: std::sync::OnceLock<usize> = \
                           std::sync::OnceLock::new(); *ON.get_or_init(|| std::env::var(\"XTASK_MUTANT\").ok()\
                           .and_then(|on| on.parse().ok()).unwrap_or(0)) == number }";

/// Copies the files of the tree that differ from the copy, and removes those that are gone, so that builds of the copy stay warm.
///
/// # Errors
/// When git or a file does not do its part.
pub(super) fn copy(root: &Path, tree: &Path) -> anyhow::Result<()> {
    let listed = output(command("git", root).args(["ls-files", "-co", "--exclude-standard", "-z"]))?;
    let listed = String::from_utf8(listed).context("a path that is not UTF-8")?;
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let (from, to) = (root.join(path), tree.join(path));
        let Ok(content) = fs::read(&from) else { continue };
        if fs::read(&to).ok().as_ref() != Some(&content) {
            fs::create_dir_all(to.parent().unwrap_or(tree))?;
            fs::write(&to, content)?;
            fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
        }
    }
    remove_gone(root, tree, &tree.join("crates"))
}

fn remove_gone(root: &Path, tree: &Path, folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let original = root.join(path.strip_prefix(tree)?);
        if path.is_dir() {
            remove_gone(root, tree, &path)?;
        } else if !original.exists() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Where each mutant stands in the planted file: first and last line.
pub(super) type Lines = Vec<(PathBuf, usize, usize, usize)>;

/// Writes the mutated files of the copy; the original ones are those of the tree.
///
/// # Errors
/// When a file can't be read or written.
pub(super) fn plant(root: &Path, tree: &Path, sites: &[Site]) -> anyhow::Result<Lines> {
    let mut lines = Vec::new();
    let mut paths: Vec<_> = sites.iter().map(|site| site.path.clone()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let mut here: Vec<_> = sites.iter().filter(|site| site.path == path).collect();
        here.sort_by_key(|site| (site.range.start, site.range.end));
        let original = fs::read_to_string(root.join(path.strip_prefix(tree)?))?;
        let (mut planted, mut at) = (String::new(), 0);
        for site in here {
            planted.push_str(original.get(at..site.range.start).context("sites overlap")?);
            let first = planted.lines().count();
            planted.push_str(&site.text(SWITCH));
            lines.push((path.clone(), first, planted.lines().count(), site.number));
            at = site.range.end;
        }
        planted.push_str(original.get(at..).context("a site beyond the end")?);
        fs::write(&path, planted)?;
    }
    Ok(lines)
}

/// Gives a mutated crate its switch.
///
/// # Errors
/// When a file can't be read or written.
pub(super) fn add_switch(root: &Path, tree: &Path, package: &str) -> anyhow::Result<()> {
    let below = Path::new("crates").join(package).join("src/lib.rs");
    let text = fs::read_to_string(root.join(&below))?;
    fs::write(tree.join(below), format!("{text}{SWITCH_TEXT}\n"))?;
    Ok(())
}
