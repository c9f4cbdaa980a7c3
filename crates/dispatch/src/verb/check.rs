//! Checks as verbs: run by the checking child, in the caller's own work tree.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::check::{BuildCheck, CheckCall, Lint, PreCheckBatch, TestRunner};

use crate::work::WORKERS;
use crate::{Dispatch, Error, plan, user_tree};

impl Dispatch {
    /// Calls a check by its name. A worker's check concerns its own work tree, any other caller's the tree of its
    /// working folder.
    ///
    /// # Errors
    /// The refusal of the check, or that the checking child broke or took too long.
    pub async fn check(&self, verb: &'static str, args: Value, caller: &Caller) -> Result<Value, Failure> {
        let root = self.root_of(caller).await?;
        let call = CheckCall { id: None, verb: verb.to_owned(), root: plan::text(&root), args };
        let runs_commands = runs_commands(verb, &call.args);
        let limit = if runs_commands { self.world.config.gate_limit } else { Duration::from_secs(120) };
        self.world.ports.checks.call(&call, runs_commands, limit).await
    }

    async fn root_of(&self, caller: &Caller) -> Result<PathBuf, Error> {
        let CallerKind::Worker { worker, .. } = &caller.kind else {
            let tree = user_tree::holding(&self.world, caller.folder.as_deref()).await?;
            return Ok(tree.root().to_owned());
        };
        let row = self.world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("the worker {worker}")))?;
        Ok(PathBuf::from(row.try_text("worktree")?))
    }
}

/// Returns true if a call may start commands of the repository: such calls get their own child.
fn runs_commands(verb: &str, args: &Value) -> bool {
    [Lint::NAME, BuildCheck::NAME, TestRunner::NAME].contains(&verb)
        || (verb == PreCheckBatch::NAME && args["may_run_commands"] != false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_run_commands_is_told_from_what_only_reads() {
        assert!(runs_commands("lint", &json!({})) && runs_commands("pre_check_batch", &json!({})));
        assert!(!runs_commands("pre_check_batch", &json!({ "may_run_commands": false })));
        assert!(!runs_commands("secretscan", &Value::Null));
    }
}
