//! How many published files `syntax_check` would block if somebody added them: files that are right, of what the machine has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::Bench;
use super::mutate::Draw;
use super::session::{Session, findings};

/// What is measured, with the endings of its files.
const KINDS: [(&str, &[&str]); 22] = [
    ("bash", &["sh", "bash"]),
    ("c", &["c"]),
    ("cpp", &["cc", "cpp", "cxx", "hpp"]),
    ("csharp", &["cs"]),
    ("css", &["css"]),
    ("go", &["go"]),
    ("html", &["html"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("json", &["json"]),
    ("kotlin", &["kt"]),
    ("php", &["php"]),
    ("powershell", &["ps1", "psm1"]),
    ("python", &["py"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("scss", &["scss"]),
    ("sql", &["sql"]),
    ("toml", &["toml"]),
    ("typescript", &["ts", "tsx"]),
    ("xml", &["xml", "svg"]),
    ("yaml", &["yaml", "yml"]),
];
/// Folders that hold code of others; the cargo registry comes besides.
const FOLDERS: [&str; 4] = ["/usr/include", "/usr/lib", "/usr/local/lib", "/usr/share"];
/// Folders of a corpus whose files are broken on purpose, or may be.
const NOT_RIGHT: [&str; 9] = ["test", "tests", "testdata", "testing", "fixtures", "bad", "snapshots", "ui", "fuzz"];
/// Fewer files say nothing.
const FEWEST: usize = 200;
/// The most files of a kind.
const MOST: usize = 1_500;
/// The most entries that are walked.
const WALKED: usize = 600_000;

/// Measures each kind; `null` where the machine has too few files of it.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    let mut by_kind = collect();
    let mut rates = Map::new();
    for (kind, _) in KINDS {
        let files = by_kind.remove(kind).unwrap_or_default();
        let rate = if files.len() < FEWEST {
            bench.say(&format!("new files of {kind}: skipped: {} files on this machine", files.len()));
            Value::Null
        } else {
            let (blocked, all) = blocked(bench, files)?;
            bench.say(&format!("new files of {kind}: {blocked} of {all} blocked"));
            json!((blocked as f64 * 100_000.0 / all as f64).round() / 100.0)
        };
        rates.insert(kind.to_owned(), rate);
    }
    Ok(Value::Object(rates))
}

/// Lists the files of each kind; links are not followed, what can't be read is left out.
fn collect() -> BTreeMap<&'static str, Vec<PathBuf>> {
    let registry = std::env::home_dir().map(|home| home.join(".cargo/registry/src"));
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).chain(registry).collect();
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
    found.values_mut().for_each(|files| files.sort());
    found
}

fn kind_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_generated = name.contains(".min.") || name.contains(".bundle.");
    let kind = KINDS.iter().find(|(_, endings)| endings.contains(&ending) && !is_generated);
    kind.map_or("other", |(kind, _)| kind)
}

/// Checks a draw of the files as new ones; returns how many block and how many were looked at.
fn blocked(bench: &Bench<'_>, mut files: Vec<PathBuf>) -> anyhow::Result<(usize, usize)> {
    let folder = TempDir::new()?;
    let root = folder.path().canonicalize()?;
    let mut draw = Draw(bench.args.seed);
    let mut paths = Vec::new();
    while paths.len() < MOST && !files.is_empty() {
        let file = files.swap_remove(draw.below(files.len()));
        paths.extend(copied(&root, &file, paths.len()));
    }
    let mut session = Session::start(&bench.binary, &root)?;
    let mut blocked = std::collections::BTreeSet::new();
    // A report lists a thousand findings at most.
    for paths in paths.chunks(80) {
        let question = json!({ "root": root, "base": "none", "only": ["syntax_check"], "paths": paths });
        let reply = session.ask(&question)?;
        let blocking = findings(&reply).filter(|finding| finding["blocks"] == true);
        blocked.extend(blocking.filter_map(|finding| finding["path"].as_str().map(str::to_owned)));
    }
    if bench.args.misses {
        blocked.iter().for_each(|path| bench.say(&format!("blocked: {path}")));
    }
    Ok((blocked.len(), paths.len()))
}

/// Copies a file into a folder of its own, so that it keeps its name; `None` if it is too small, too large or unreadable.
fn copied(root: &Path, file: &Path, number: usize) -> Option<String> {
    let size = file.metadata().ok()?.len();
    let name = file.file_name()?.to_str()?;
    let path = format!("{number}/{name}");
    fs::create_dir(root.join(number.to_string())).ok()?;
    ((60..400_000).contains(&size) && fs::copy(file, root.join(&path)).is_ok()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_ending() {
        assert_eq!((kind_of("a.rs"), kind_of("a.min.js"), kind_of("readme")), ("rust", "other", "other"));
    }
}
