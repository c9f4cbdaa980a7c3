//! Commits that people have merged, each as a change against its parent: how many of them the checks would have blocked.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::session::{Session, findings};
use super::setup::Bench;
use crate::command::{command, output};

/// The checks that look at every change.
const CHECKS: [&str; 3] = ["syntax_check", "secretscan", "placeholder_scan"];
/// Commits that change more files are imports, and no change that somebody reviewed.
const MOST_FILES: usize = 200;

/// What became of the commits of one history.
#[derive(Debug, Default)]
struct Count {
    commits: usize,
    blocked: usize,
}

/// Checks the newest commits of each history; merges, first commits and imports are left out.
pub(crate) fn measure(bench: &Bench<'_>, root: &Path) -> anyhow::Result<Value> {
    let own = [root.to_owned()];
    let histories = if bench.args.histories.is_empty() { &own[..] } else { &bench.args.histories };
    let (mut commits, mut blocked) = (0, 0);
    for history in histories {
        let count = of_history(bench, history)?;
        bench.say(&format!("{}: {} of {} commits blocked", history.display(), count.blocked, count.commits));
        commits += count.commits;
        blocked += count.blocked;
    }
    if commits == 0 {
        return Ok(Value::Null);
    }
    let per_1k = (blocked as f64 * 1_000_000.0 / commits as f64).round() / 1_000.0;
    Ok(json!({ "commits": commits, "blocked": blocked, "blocked_per_1k": per_1k }))
}

fn of_history(bench: &Bench<'_>, history: &Path) -> anyhow::Result<Count> {
    let folder = TempDir::new()?;
    let tree = folder.path().canonicalize()?.join("tree");
    let shared = ["clone", "--quiet", "--shared", "--no-checkout", "--config", "core.hooksPath=/dev/null"];
    output(command("git", folder.path()).args(shared).arg(history.canonicalize()?).arg(&tree))?;
    let git = |args: &[&str]| output(command("git", &tree).args(args)).map(|text| lines(&text));
    let mut count = Count::default();
    let mut session = None;
    for commit in git(&["rev-list", "--no-merges", "HEAD"])? {
        if count.commits == bench.args.commits {
            break;
        }
        let Ok(parent) = git(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")]) else { continue };
        let changed = git(&["diff-tree", "-r", "--no-commit-id", "--name-only", &commit])?;
        if changed.is_empty() || changed.len() > MOST_FILES {
            continue;
        }
        git(&["checkout", "--quiet", "--force", "--detach", &commit])?;
        let session = match &mut session {
            Some(session) => session,
            none => none.insert(Session::start(&bench.binary, &tree)?),
        };
        let question = json!({ "root": tree, "base": { "rev": parent.join("") }, "only": CHECKS });
        let reply = session.ask(&question)?;
        anyhow::ensure!(reply["reports"].is_array(), "{commit} was not checked: {reply}");
        count.commits += 1;
        let blocking: Vec<_> = findings(&reply).filter(|finding| finding["blocks"] == true).collect();
        count.blocked += usize::from(!blocking.is_empty());
        for finding in blocking.iter().filter(|_| bench.args.misses) {
            let place = format!("{}:{}", finding["path"].as_str().unwrap_or_default(), finding["span"]["start_line"]);
            bench.say(&format!("blocked: {commit} {place} {} {}", finding["rule"], finding["message"]));
        }
    }
    Ok(count)
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
