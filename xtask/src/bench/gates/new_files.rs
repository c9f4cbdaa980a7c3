//! Counts how many published files `syntax_check` would block as new files: correct files of this machine; and how many
//! of them it blocks with a bracket missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::half::is_in_half;
use super::mutate::{Draw, without_bracket};
use super::session::{Session, findings};
use super::setup::Bench;
use crate::command::command;

/// Kinds of files that are measured, with their endings.
const KINDS: [(&str, &[&str]); 30] = [
    ("bash", &["sh", "bash"]),
    ("c", &["c"]),
    ("cpp", &["cc", "cpp", "cxx", "hpp"]),
    ("csharp", &["cs"]),
    ("css", &["css"]),
    ("dart", &["dart"]),
    ("dockerfile", &["dockerfile"]),
    ("go", &["go"]),
    ("hcl", &["tf", "tfvars", "hcl"]),
    ("html", &["html"]),
    ("ini", &["ini"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("json", &["json"]),
    ("kotlin", &["kt"]),
    ("php", &["php"]),
    ("powershell", &["ps1", "psm1"]),
    ("python", &["py"]),
    ("regex", &["regex"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("scss", &["scss"]),
    ("sql", &["sql"]),
    ("svelte", &["svelte"]),
    ("swift", &["swift"]),
    ("toml", &["toml"]),
    ("typescript", &["ts", "tsx"]),
    ("vue", &["vue"]),
    ("xml", &["xml", "svg"]),
    ("yaml", &["yaml", "yml"]),
];
/// Folders with code of other projects; the cargo registry is added.
const FOLDERS: [&str; 4] = ["/usr/include", "/usr/lib", "/usr/local/lib", "/usr/share"];
/// Folders of a corpus whose files may be broken deliberately.
const NOT_RIGHT: [&str; 9] = ["test", "tests", "testdata", "testing", "fixtures", "bad", "snapshots", "ui", "fuzz"];
/// Minimum number of files of a kind; fewer are not representative.
const FEWEST: usize = 200;
/// Maximum number of files of a kind.
const MAX_FILES_OF_KIND: usize = 1_500;
/// Maximum number of directory entries that are walked.
const WALKED: usize = 600_000;

/// Maximum number of files of a kind that lose a bracket.
const MOST_BROKEN: usize = 150;

/// Results for the files of each kind; `null` where there are too few of them.
#[derive(Debug, Default)]
pub(crate) struct NewFiles {
    /// Number of correct files that block, per thousand.
    pub(crate) blocks_per_1k: Map<String, Value>,
    /// Share of files without one of their brackets that block, from 0 to 1.
    pub(crate) bracket_recall: Map<String, Value>,
}

/// Measures each kind.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<NewFiles> {
    let mut by_kind = collect(bench);
    let mut measured = NewFiles::default();
    let fewest = if bench.args.files_of.is_empty() { FEWEST } else { 1 };
    for (kind, _) in KINDS {
        let files = by_kind.remove(kind).unwrap_or_default();
        let (mut rate, mut recall) = (Value::Null, Value::Null);
        if files.len() < fewest {
            bench.say(&format!("new files of {kind}: skipped: {} files on this machine", files.len()));
        } else {
            let drawn = Drawn::new(bench, files)?;
            let blocked = drawn.blocked(bench)?;
            let all = drawn.files.len();
            drawn.name(bench, "blocked", |path| blocked.contains(path));
            let broken = drawn.break_some(kind, &blocked, bench.args.seed)?;
            let found = drawn.blocked(bench)?;
            let missed = broken.difference(&found).count();
            drawn.name(bench, "bracket missed", |path| broken.contains(path) && !found.contains(path));
            bench.say(&format!(
                "new files of {kind}: {} of {all} blocked; {missed} of {} deleted brackets missed",
                blocked.len(),
                broken.len()
            ));
            rate = share(blocked.len() * 1_000, all);
            recall = share(broken.len() - missed, broken.len());
        }
        measured.blocks_per_1k.insert(kind.to_owned(), rate);
        measured.bracket_recall.insert(kind.to_owned(), recall);
    }
    Ok(measured)
}

fn share(part: usize, all: usize) -> Value {
    if all == 0 { Value::Null } else { json!((part as f64 * 1_000.0 / all as f64).round() / 1_000.0) }
}

/// Lists the files of each kind; does not follow links, and leaves out what can't be read.
fn collect(bench: &Bench<'_>) -> BTreeMap<&'static str, Vec<PathBuf>> {
    let registry = std::env::home_dir().map(|home| home.join(".cargo/registry/src"));
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).chain(registry).collect();
    if !bench.args.files_of.is_empty() {
        folders.clone_from(&bench.args.files_of);
    }
    let mut found: BTreeMap<&'static str, Vec<PathBuf>> = BTreeMap::new();
    let mut walked = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            walked += 1;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !NOT_RIGHT.contains(&name.as_str()) {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.entry(kind_of(&name)).or_default().push(entry.path());
            }
        }
        if walked > WALKED {
            break;
        }
    }
    for files in found.values_mut() {
        files.retain(|file| is_in_half(file, bench.args.seed, bench.args.other_half));
        files.sort();
    }
    found
}

fn kind_of(name: &str) -> &'static str {
    let ending = match name.rsplit_once('.') {
        Some((_, ending)) => ending,
        None if name == "dockerfile" => name,
        None => "",
    };
    let is_generated = name.contains(".min.") || name.contains(".bundle.");
    let kind = KINDS.iter().find(|(_, endings)| endings.contains(&ending) && !is_generated);
    kind.map_or("other", |(kind, _)| kind)
}

/// A sample of files, copied.
struct Drawn {
    /// Original files by the path of the copy.
    files: BTreeMap<String, PathBuf>,
    root: PathBuf,
    _folder: TempDir,
}

// === impl Drawn ===

impl Drawn {
    fn new(bench: &Bench<'_>, mut files: Vec<PathBuf>) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?;
        let mut draw = Draw(bench.args.seed);
        let mut copies = BTreeMap::new();
        while copies.len() < MAX_FILES_OF_KIND && !files.is_empty() {
            let file = files.swap_remove(draw.below(files.len()));
            copies.extend(copied(&root, &file, copies.len()).map(|path| (path, file)));
        }
        Ok(Self { files: copies, root, _folder: folder })
    }

    /// Checks the files as new ones; returns those that block.
    fn blocked(&self, bench: &Bench<'_>) -> anyhow::Result<BTreeSet<String>> {
        let paths: Vec<&String> = self.files.keys().collect();
        let mut session = Session::start(&bench.binary, &self.root)?;
        let mut blocked = BTreeSet::new();
        // A report lists a thousand findings at most.
        for paths in paths.chunks(80) {
            let question = json!({ "root": self.root, "base": "none", "only": ["syntax_check"], "paths": paths });
            let reply = session.ask(&question)?;
            let blocking = findings(&reply).filter(|finding| finding["blocks"] == true);
            blocked.extend(blocking.filter_map(|finding| finding["path"].as_str().map(str::to_owned)));
        }
        Ok(blocked)
    }

    /// Deletes a bracket in some of the files that did not block; returns which lost one. If the language's own program
    /// is available, it must accept the file before and refuse it after.
    fn break_some(&self, kind: &str, blocked: &BTreeSet<String>, seed: u64) -> anyhow::Result<BTreeSet<String>> {
        let mut draw = Draw(seed);
        let mut broken = BTreeSet::new();
        let mut right: Vec<&String> = self.files.keys().filter(|path| !blocked.contains(*path)).collect();
        while broken.len() < MOST_BROKEN && !right.is_empty() {
            let path = right.swap_remove(draw.below(right.len()));
            let full = self.root.join(path);
            let Ok(text) = fs::read_to_string(&full) else { continue };
            let Some(less) = without_bracket(&text, &mut draw) else { continue };
            let was_right = is_right(kind, &full);
            fs::write(&full, less)?;
            if was_right.is_none() || (was_right == Some(true) && is_right(kind, &full) == Some(false)) {
                broken.insert(path.clone());
            } else {
                fs::write(&full, text)?;
            }
        }
        Ok(broken)
    }

    fn name(&self, bench: &Bench<'_>, what: &str, wanted: impl Fn(&str) -> bool) {
        if bench.args.misses {
            let wanted = self.files.iter().filter(|(copy, _)| wanted(copy));
            wanted.for_each(|(_, file)| bench.say(&format!("{what}: {}", file.display())));
        }
    }
}

/// Asks the language's own program whether a file is correct; returns `None` if no program checks a single file.
fn is_right(kind: &str, file: &Path) -> Option<bool> {
    const PYTHON: &str = "import sys; compile(open(sys.argv[1], 'rb').read(), 'a', 'exec', dont_inherit=True)";
    let words: &[&str] = match kind {
        "bash" => &["bash", "-n"],
        "javascript" => &["node", "--check"],
        "php" => &["php", "-l"],
        "python" => &["python3", "-W", "ignore", "-c", PYTHON],
        "ruby" => &["ruby", "-c"],
        _ => return None,
    };
    let ended = command(words[0], file.parent()?).args(&words[1..]).arg(file).output();
    ended.ok().map(|ended| ended.status.success())
}

/// Copies a file into its own folder, so that it keeps its name; returns `None` if it is too small, too large or
/// unreadable.
fn copied(root: &Path, file: &Path, number: usize) -> Option<String> {
    let size = file.metadata().ok()?.len();
    if !(60..400_000).contains(&size) {
        return None;
    }
    let path = format!("{number}/{}", file.file_name()?.to_str()?);
    fs::create_dir_all(root.join(number.to_string())).ok()?;
    fs::copy(file, root.join(&path)).is_ok().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_ending() {
        assert_eq!((kind_of("a.rs"), kind_of("a.min.js"), kind_of("readme")), ("rust", "other", "other"));
        assert_eq!((kind_of("dockerfile"), kind_of("app.svelte"), kind_of("main.tf")), ("dockerfile", "svelte", "hcl"));
    }
}
