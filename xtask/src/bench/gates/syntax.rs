//! Counts how many broken files `syntax_check` finds, judged by the language's own compiler, and how many correct ones
//! it reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::compilers::Compiler;
use super::mutate::{Draw, mutate};
use super::score::Score;
use super::session::{Session, at_home, findings};
use super::setup::Bench;
use crate::command::{command, output};

/// Sizes of files that are used, in bytes; smaller and larger ones are not representative.
const SIZES: std::ops::Range<usize> = 300..60_000;

/// Measures each language whose compiler is installed; the others are `null`.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    fs::create_dir_all(&bench.peers)?;
    let mut scores = Map::new();
    for compiler in Compiler::ALL {
        let name = compiler.language().0;
        let score = match score(bench, compiler) {
            Ok(score) => score.to_json(),
            Err(error) => {
                bench.say(&format!("{name}: skipped: {error:#}"));
                Value::Null
            }
        };
        scores.insert(name.to_owned(), score);
    }
    Ok(Value::Object(scores))
}

/// Commits real files, changes one token in each, and compares our verdicts with the compiler's.
fn score(bench: &Bench<'_>, compiler: Compiler) -> anyhow::Result<Score> {
    let (good, changed) = (TempDir::new()?, TempDir::new()?);
    draw_samples(bench, compiler, good.path(), changed.path())?;
    let never = compiler.broken(bench, good.path())?;
    let broken = compiler.broken(bench, changed.path())?;
    let blocked = blocked(bench, good.path(), changed.path())?;
    let mut score = Score::default();
    for entry in fs::read_dir(changed.path())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // A file that did not compile before is left out.
        if !never.contains(&name) {
            let (is_blocked, is_broken) = (blocked.contains(&name), broken.contains(&name));
            score.count(is_blocked, is_broken);
            if bench.args.misses && is_blocked != is_broken {
                let how = if is_blocked { "told wrongly" } else { "missed" };
                let lines = difference(&good.path().join(&name), &changed.path().join(&name))?;
                bench.say(&format!("{} {how}: {lines}", compiler.language().0));
            }
        }
    }
    bench.say(&format!("{}: {}", compiler.language().0, score.to_json()));
    Ok(score)
}

/// Returns the lines around the first change, before and after.
fn difference(before: &Path, after: &Path) -> anyhow::Result<String> {
    let (before, after) = (fs::read_to_string(before)?, fs::read_to_string(after)?);
    let first = before.lines().zip(after.lines()).take_while(|(before, after)| before == after).count();
    let around = |text: &str| text.lines().skip(first.saturating_sub(2)).take(4).collect::<Vec<_>>().join("⏎");
    Ok(format!("line {}: {} -> {}", first + 1, around(&before), around(&after)))
}

fn draw_samples(bench: &Bench<'_>, compiler: Compiler, good: &Path, changed: &Path) -> anyhow::Result<()> {
    let mut files = compiler.samples(bench)?;
    let mut draw = Draw(bench.args.seed);
    let mut number = 0;
    while number < bench.args.samples && !files.is_empty() {
        let file = files.swap_remove(draw.below(files.len()));
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let change = SIZES.contains(&text.len()).then(|| mutate(&text, number, &mut draw)).flatten();
        if let Some(change) = change.filter(|change| *change != text) {
            let name = format!("sample{number}.{}", compiler.language().1);
            fs::write(good.join(&name), text)?;
            fs::write(changed.join(&name), change)?;
            number += 1;
        }
    }
    anyhow::ensure!(number > 0, "no files to change");
    Ok(())
}

/// Returns the names of the changed files that `syntax_check` blocks.
fn blocked(bench: &Bench<'_>, good: &Path, changed: &Path) -> anyhow::Result<BTreeSet<String>> {
    let folder = TempDir::new()?;
    let (root, home) = (folder.path().join("repo"), folder.path().join("home"));
    fs::create_dir_all(&home)?;
    copy(good, &root)?;
    let git = |args: &[&str]| output(at_home(&mut command("git", &root), &home).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&[who.as_slice(), &["commit", "--quiet", "--message=start"]].concat())?;
    copy(changed, &root)?;
    let mut session = Session::start(&bench.binary, &root)?;
    let mut blocked = BTreeSet::new();
    let names: Vec<String> = fs::read_dir(changed)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<_>>()?;
    // A report lists a thousand findings at most.
    for names in names.chunks(80) {
        let reply = session.ask(&json!({ "root": root, "only": ["syntax_check"], "paths": names }))?;
        let blocking = findings(&reply).filter(|finding| finding["blocks"] == true);
        blocked.extend(blocking.filter_map(|finding| finding["path"].as_str().map(str::to_owned)));
    }
    Ok(blocked)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
