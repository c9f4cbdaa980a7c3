//! The cost of the checks before the review for a change of twenty files, without the repository's own commands.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use serde_json::json;
use tempfile::TempDir;

use crate::bench::gates::session::{Session, at_home};
use crate::bench::stats::median;
use crate::command::{command, output};

/// Number of files that the change touches.
const FILES: usize = 20;
/// Number of changes that are measured, after two that warm the child up.
const ROUNDS: usize = 9;

/// Returns the median milliseconds of the checks and the batch.
///
/// # Errors
/// When a check does not report.
pub(super) fn stage_a_ms(binary: &Path) -> anyhow::Result<f64> {
    let folder = TempDir::new()?;
    let root = folder.path().canonicalize()?;
    for number in 0..FILES {
        fs::write(root.join(format!("part{number}.py")), text(number, 0))?;
    }
    let git = |args: &[&str]| output(at_home(&mut command("git", &root), &root).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&[who.as_slice(), &["commit", "--quiet", "--message=start"]].concat())?;
    let mut session = Session::start(binary, &root)?;
    let only = ["syntax_check", "secretscan", "placeholder_scan", "test_integrity"];
    let checks = json!({ "root": root, "base": { "rev": "HEAD" }, "only": only });
    let batch =
        json!({ "verb": "pre_check_batch", "root": root, "args": { "base": "HEAD", "may_run_commands": false } });
    let mut times = Vec::new();
    for round in 1..=ROUNDS + 2 {
        for number in 0..FILES {
            fs::write(root.join(format!("part{number}.py")), text(number, round))?;
        }
        let began = Instant::now();
        let reply = session.ask(&checks)?;
        let of_batch = session.ask(&batch)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        let reports = reply["reports"].as_array().map_or(0, Vec::len);
        ensure!(reports == only.len() && !of_batch["result"].is_null(), "{reply} {of_batch}");
    }
    Ok(median(times.split_off(2)))
}

/// Makes a file of about 200 lines; each round changes one function of it and adds another.
fn text(number: usize, round: usize) -> String {
    let mut text = format!("\"\"\"Part {number} of the bench.\"\"\"\n\nimport json\n\n");
    for at in 0..24 + round {
        let base = if at == 7 { round } else { at };
        text.push_str(&format!(
            "\ndef step_{at}(values, limit={base}):\n    \"\"\"Returns the values that are above a limit, and their sum.\"\"\"\n    kept = [value for value in values if value > limit]\n    if not kept:\n        return json.dumps([])\n    return json.dumps([kept, sum(kept) + {base}])\n\n"
        ));
    }
    text
}
