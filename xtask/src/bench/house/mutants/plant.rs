//! Makes a copy of the tree, with the mutants in it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::sites::{SCOPE, Site};
use crate::command::{command, output};

/// Variable that turns a mutant on. The binary passes names that begin like this on to every process it starts, as it
/// does with the user's folders, so a mutant is on in daemons, too.
pub(super) const VARIABLE: &str = "XDG_XTASK_MUTANT";
/// Variable that names a file for the numbers of the evaluated mutants.
pub(super) const SEEN: &str = "XDG_XTASK_MUTANTS_SEEN";
/// Path of the function that returns whether a mutant is on, from anywhere in a mutated crate.
const SWITCH: &str = "crate::xtask_mutant";

/// Text of that function, on one line so that no other line moves. `COUNT` is above the highest number.
const SWITCH_TEXT: &str = "#[doc(hidden)] pub fn xtask_mutant(number: usize) -> bool { \
    use std::sync::{OnceLock, atomic::{AtomicBool, Ordering}}; \
    static ON: OnceLock<(usize, Option<std::fs::File>)> = OnceLock::new(); \
    static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT]; \
    let (on, seen) = ON.get_or_init(|| (\
        std::env::var(\"XDG_XTASK_MUTANT\").ok().and_then(|on| on.parse().ok()).unwrap_or(0), \
        std::env::var_os(\"XDG_XTASK_MUTANTS_SEEN\").map(|path| std::fs::File::options().append(true).create(true).open(path)\
            .expect(\"the file for the mutants that are evaluated\")))); \
    if let Some(mut file) = seen.as_ref() && !SEEN[number].swap(true, Ordering::Relaxed) { \
        std::io::Write::write_all(&mut file, format!(\"{number}\\n\").as_bytes()).expect(\"room for a number\"); } \
    *on == number }";

/// Text of the files that differ in the copy, by their path below the root.
pub(super) type Planted = BTreeMap<PathBuf, String>;
/// Position of each mutant in the planted file: first and last line, and its number.
pub(super) type Lines = Vec<(PathBuf, usize, usize, usize)>;

/// Makes a copy of the tree with the planted files in it and returns a digest of its code. Unchanged files are not
/// rewritten, so that builds of the copy stay warm.
///
/// # Errors
/// When git fails or a file can't be read or written.
pub(super) fn copy(root: &Path, tree: &Path, planted: &Planted) -> anyhow::Result<u64> {
    let listed = output(command("git", root).args(["ls-files", "-co", "--exclude-standard", "-z"]))?;
    let listed = String::from_utf8(listed).context("a path that is not UTF-8")?;
    let mut digest = DefaultHasher::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let (from, to) = (root.join(path), tree.join(path));
        let Ok(original) = fs::read(&from) else { continue };
        let content = planted.get(Path::new(path)).map_or(original.as_slice(), String::as_bytes);
        if ["crates/", "tests/", "Cargo."].iter().any(|start| path.starts_with(start)) {
            (path, content).hash(&mut digest);
        }
        if fs::read(&to).ok().as_deref() != Some(content) {
            fs::create_dir_all(to.parent().unwrap_or(tree))?;
            fs::write(&to, content)?;
            fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
        }
    }
    remove_gone(root, tree, &tree.join("crates"))?;
    Ok(digest.finish())
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

/// Returns the mutated files, each mutant behind its switch, and the roots of their crates with the switch function.
///
/// # Errors
/// When a file can't be read.
pub(super) fn plant(root: &Path, sites: &[Site]) -> anyhow::Result<(Planted, Lines)> {
    let (mut planted, mut lines) = (Planted::new(), Lines::new());
    let mut by_file: BTreeMap<&Path, Vec<&Site>> = BTreeMap::new();
    for site in sites {
        by_file.entry(&site.path).or_default().push(site);
    }
    for (path, mut here) in by_file {
        here.sort_by_key(|site| (site.range.start, site.range.end));
        let original = read(root, path)?;
        let (mut text, mut at) = (String::new(), 0);
        for site in here {
            text.push_str(original.get(at..site.range.start).context("sites overlap")?);
            let first = text.lines().count();
            text.push_str(&site.text(SWITCH));
            lines.push((path.to_owned(), first, text.lines().count(), site.number));
            at = site.range.end;
        }
        text.push_str(original.get(at..).context("a site beyond the end")?);
        planted.insert(path.to_owned(), text);
    }
    let last = sites.iter().map(|site| site.number).max().unwrap_or(0);
    for (package, _) in SCOPE {
        let path = Path::new("crates").join(package).join("src/lib.rs");
        let text = match planted.remove(&path) {
            Some(text) => text,
            None => read(root, &path)?,
        };
        planted.insert(path, format!("{text}{}\n", SWITCH_TEXT.replace("COUNT", &(last + 1).to_string())));
    }
    Ok((planted, lines))
}

fn read(root: &Path, path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| path.display().to_string())
}
