//! Verbs of the checks, with their arguments and result keys; one file each.

use std::path::Path;

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::check::{
    BuildCheck, CheckAnswer, CheckCall, Lint, PlaceholderScan, PreCheckBatch, Secretscan, SyntaxCheck, TestRunner,
    TodoExtract,
};

use crate::engine::Engine;

mod arguments;
mod build_check;
mod excerpt;
mod lint;
mod placeholder_scan;
mod pre_check_batch;
mod secretscan;
mod syntax_check;
mod test_runner;
mod todo_extract;

// === impl Engine ===

impl Engine {
    /// Answers a call of one of the checks' verbs. Runs commands of the repository only for `lint`, `build_check`,
    /// `test_runner` and `pre_check_batch`, whose purpose that is.
    #[must_use]
    pub fn call(&self, call: &CheckCall) -> CheckAnswer {
        let answer = self.dispatch(call);
        let (result, failure) = match answer {
            Ok(result) => (Some(result), None),
            Err(failure) => (None, Some(failure)),
        };
        CheckAnswer { id: call.id.clone(), result, failure }
    }

    fn dispatch(&self, call: &CheckCall) -> Result<Value, Failure> {
        let root = Path::new(&call.root);
        match call.verb.as_str() {
            SyntaxCheck::NAME => answer::<SyntaxCheck>(call, |args| syntax_check::run(self, root, &args)),
            Secretscan::NAME => answer::<Secretscan>(call, |args| secretscan::run(self, root, &args)),
            PlaceholderScan::NAME => answer::<PlaceholderScan>(call, |args| placeholder_scan::run(self, root, &args)),
            TodoExtract::NAME => answer::<TodoExtract>(call, |args| todo_extract::run(self, root, &args)),
            Lint::NAME => answer::<Lint>(call, |args| lint::run(self, root, &args)),
            BuildCheck::NAME => answer::<BuildCheck>(call, |args| build_check::run(self, root, &args)),
            TestRunner::NAME => answer::<TestRunner>(call, |args| test_runner::run(self, root, &args)),
            PreCheckBatch::NAME => answer::<PreCheckBatch>(call, |args| pre_check_batch::run(self, root, &args)),
            other => {
                let other: String = other.chars().take(80).collect();
                Err(Failure::new("request.unknown-verb", format!("`{other}` is no check")))
            }
        }
    }
}

fn answer<V: Verb>(
    call: &CheckCall,
    run: impl FnOnce(V::Request) -> Result<V::Reply, Failure>,
) -> Result<Value, Failure> {
    let args = if call.args.is_null() { Value::Object(serde_json::Map::new()) } else { call.args.clone() };
    let args = serde_json::from_value(args)
        .map_err(|error| Failure::new("request.bad-args", format!("{}: {error}", V::NAME)))?;
    let reply = run(args)?;
    serde_json::to_value(reply).map_err(|error| Failure::new("internal.bug", format!("{}: {error}", V::NAME)))
}
