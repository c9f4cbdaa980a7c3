//! Secrets and look-alikes, planted into real code by templates that `labelled.txt` lists: compares our verdicts with
//! the peers', line by line. A finding of a scanner elsewhere in that code, which is published and well known, counts
//! as wrong too.
//!
//! The templates are our own. They only show that the detectors do what they are made for, not how they work on code in
//! the wild.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::compilers::Compiler;
use super::library::Library;
use super::mutate::Draw;
use super::peers::{Line, Peer};
use super::score::Score;
use super::session::{Session, findings};
use super::setup::Bench;

/// Templates, one a line: the file, `T` or `F`, the line to plant.
const TEMPLATES: &str = include_str!("labelled.txt");
/// Number of copies of each line, all different.
const COPIES: usize = 3;
/// Sizes of the files that lines are planted into, in bytes.
const SIZES: std::ops::Range<u64> = 1_000..30_000;

/// Writes the set, has every scanner scan it, and compares by line.
pub(crate) fn measure(bench: &Bench<'_>, library: Option<&Library>) -> anyhow::Result<Value> {
    let folder = TempDir::new()?;
    let root = folder.path().canonicalize()?;
    let labels = plant(&root, &mut Draw(bench.args.seed), &hosts(bench, library))?;
    let mut scores = Map::new();
    let mut tell = |name: &str, told: &BTreeSet<Line>| {
        let score = score(&labels, told).to_json();
        bench.say(&format!("secrets planted in real code, {name}: {score}"));
        scores.insert(name.replace('-', "_"), score);
    };
    let mine = ours(bench, &root)?;
    tell("ours", &mine);
    if bench.args.misses {
        say_misses(bench, &root, &labels, &mine)?;
    }
    for peer in Peer::ALL {
        let name = peer.program().0;
        match peer.scan(bench, &root) {
            Ok(told) => tell(name, &told),
            Err(error) => bench.say(&format!("{name}: skipped: {error:#}")),
        }
    }
    Ok(Value::Object(scores))
}

/// Returns real files by their ending, if this machine has them.
fn hosts(bench: &Bench<'_>, library: Option<&Library>) -> BTreeMap<String, Vec<PathBuf>> {
    let mut hosts = BTreeMap::new();
    let python = library.and_then(|library| library.files("py").ok());
    hosts.insert("py".to_owned(), python.unwrap_or_default());
    for compiler in [Compiler::Node, Compiler::Tsc, Compiler::Rustc, Compiler::Javac, Compiler::Gofmt] {
        hosts.insert(compiler.language().1.to_owned(), compiler.samples(bench).unwrap_or_default());
    }
    let fits = |file: &PathBuf| file.metadata().is_ok_and(|file| SIZES.contains(&file.len()));
    hosts.values_mut().for_each(|files| files.retain(fits));
    hosts
}

/// Writes every copy of every template into its own file and returns which lines hold a secret; other lines hold none.
fn plant(root: &Path, draw: &mut Draw, hosts: &BTreeMap<String, Vec<PathBuf>>) -> anyhow::Result<BTreeMap<Line, bool>> {
    let mut labels = BTreeMap::new();
    let templates = TEMPLATES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for (number, template) in templates.enumerate() {
        let mut parts = template.splitn(3, '|');
        let (Some(path), Some(label), Some(line)) = (parts.next(), parts.next(), parts.next()) else {
            anyhow::bail!("labelled.txt: {template}");
        };
        for copy in 0..COPIES {
            let path = format!("case{number}-{copy}/{path}");
            let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
            let files = hosts.get(ending).map_or(&[][..], Vec::as_slice);
            let host = if files.is_empty() { None } else { fs::read_to_string(&files[draw.below(files.len())]).ok() };
            let mut lines: Vec<String> = host.as_deref().unwrap_or_default().lines().map(str::to_owned).collect();
            let at = draw.below(lines.len() + 1);
            lines.insert(at, fill(line, draw));
            let file = root.join(&path);
            fs::create_dir_all(file.parent().unwrap_or(root))?;
            fs::write(file, lines.join("\n") + "\n")?;
            labels.insert((path, at as u64 + 1), label == "T");
        }
    }
    Ok(labels)
}

fn ours(bench: &Bench<'_>, root: &Path) -> anyhow::Result<BTreeSet<Line>> {
    let mut session = Session::start(&bench.binary, root)?;
    let reply = session.ask(&json!({ "root": root, "base": "none", "only": ["secretscan"] }))?;
    let lines = findings(&reply)
        .filter_map(|finding| Some((finding["path"].as_str()?.to_owned(), finding["span"]["start_line"].as_u64()?)));
    Ok(lines.collect())
}

fn score(labels: &BTreeMap<Line, bool>, told: &BTreeSet<Line>) -> Score {
    let mut score = Score::default();
    labels.iter().for_each(|(line, is_secret)| score.count(told.contains(line), *is_secret));
    told.iter().filter(|line| !labels.contains_key(line)).for_each(|_| score.count(true, false));
    score
}

/// Prints the missed secrets and the wrong findings.
fn say_misses(
    bench: &Bench<'_>,
    root: &Path,
    labels: &BTreeMap<Line, bool>,
    told: &BTreeSet<Line>,
) -> anyhow::Result<()> {
    let missed = labels.iter().filter(|(line, is_secret)| **is_secret && !told.contains(line)).map(|(line, _)| line);
    let wrong = told.iter().filter(|line| labels.get(line) != Some(&true));
    let all = missed.map(|line| ("missed", line)).chain(wrong.map(|line| ("wrong", line)));
    for (what, (path, number)) in all {
        let text = fs::read_to_string(root.join(path))?;
        let line = text.lines().nth(usize::try_from(*number)?.saturating_sub(1)).unwrap_or_default();
        bench.say(&format!("{what}: {path}: {}", line.trim().chars().take(160).collect::<String>()));
    }
    Ok(())
}

/// Fills a template.
fn fill(template: &str, draw: &mut Draw) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, behind) = rest.split_at(open);
        out.push_str(before);
        let filled = behind.find('}').and_then(|close| Some((random(&behind[1..close], draw)?, close)));
        rest = match filled {
            Some((filled, close)) => {
                out.push_str(&filled);
                &behind[close + 1..]
            }
            None => {
                out.push('{');
                &behind[1..]
            }
        };
    }
    out + rest
}

fn random(code: &str, draw: &mut Draw) -> Option<String> {
    let (kind, count) = code.split_at_checked(1)?;
    let alphabet: &[u8] = match kind {
        "A" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "H" => b"0123456789abcdef",
        "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "D" => b"0123456789",
        "L" => b"abcdefghijklmnopqrstuvwxyz",
        "V" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        _ => return None,
    };
    let count: usize = count.parse().ok()?;
    Some((0..count).map(|_| char::from(alphabet[draw.below(alphabet.len())])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_and_other_braces_stay() {
        let filled = fill("a={H8} ${B} {x", &mut Draw(3));

        assert_eq!(filled.len(), "a=12345678 ${B} {x".len());
        assert!(filled.ends_with(" ${B} {x"));
        assert_ne!(filled, fill("a={H8} ${B} {x", &mut Draw(4)));
    }
}
