//! Commits that people have merged, each as a change against its parent: counts how many the checks would have blocked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::session::{Session, findings};
use super::setup::Bench;
use crate::command::{command, output};

/// Checks that examine every change.
const CHECKS: [&str; 3] = ["syntax_check", "secretscan", "placeholder_scan"];
/// Counts for the commits of one history, or of all.
#[derive(Debug, Default)]
struct Count {
    commits: usize,
    blocked: usize,
    files: usize,
    files_blocked: usize,
    /// Number of commits that each check blocks.
    by_check: BTreeMap<String, usize>,
}

// === impl Count ===

impl Count {
    /// Adds a commit that changes `files` files.
    fn add(&mut self, files: usize, blocking: &[&Value]) {
        let named = |field: &'static str| -> BTreeSet<&str> {
            blocking.iter().filter_map(|finding| finding[field].as_str()).collect()
        };
        self.commits += 1;
        self.blocked += usize::from(!blocking.is_empty());
        self.files += files;
        self.files_blocked += named("path").len();
        for check in named("check") {
            *self.by_check.entry(check.to_owned()).or_default() += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.commits += other.commits;
        self.blocked += other.blocked;
        self.files += other.files;
        self.files_blocked += other.files_blocked;
        for (check, blocked) in other.by_check {
            *self.by_check.entry(check).or_default() += blocked;
        }
    }

    fn report(&self) -> Value {
        let per_1k = (self.blocked as f64 * 1_000_000.0 / self.commits.max(1) as f64).round() / 1_000.0;
        json!({
            "commits": self.commits, "blocked": self.blocked, "blocked_per_1k": per_1k,
            "files": self.files, "files_blocked": self.files_blocked, "by_check": self.by_check,
        })
    }
}

/// Checks the newest commits of each history; leaves out merges, first commits and imports.
pub(crate) fn measure(bench: &Bench<'_>, root: &Path) -> anyhow::Result<Value> {
    let own = [root.to_owned()];
    let histories = if bench.args.histories.is_empty() { &own[..] } else { &bench.args.histories };
    let mut all = Count::default();
    for history in histories {
        let count = of_history(bench, history)?;
        bench.say(&format!("{}: {} of {} commits blocked", history.display(), count.blocked, count.commits));
        all.merge(count);
    }
    Ok(if all.commits == 0 { Value::Null } else { all.report() })
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
        if changed.is_empty() || changed.len() > bench.args.most_files {
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
        let blocking: Vec<_> = findings(&reply).filter(|finding| finding["blocks"] == true).collect();
        count.add(changed.len(), &blocking);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_once_however_much_blocks_in_it() {
        let blocking = [
            json!({ "path": "a.py", "check": "secretscan" }),
            json!({ "path": "a.py", "check": "syntax_check" }),
            json!({ "path": "b.py", "check": "secretscan" }),
        ];
        let mut count = Count::default();

        count.add(3, &blocking.iter().collect::<Vec<_>>());
        count.merge(Count { commits: 3, files: 5, ..Count::default() });

        let by_check = json!({ "secretscan": 1, "syntax_check": 1 });
        let wanted = json!({
            "commits": 4, "blocked": 1, "blocked_per_1k": 250.0, "files": 8, "files_blocked": 2, "by_check": by_check,
        });
        assert_eq!(count.report(), wanted);
    }
}
