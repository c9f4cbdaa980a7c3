//! `lint`

use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{CheckCommand, CommandKind, CommandRun};
use switchboard_protocol::verb::check::{LintReply, LintRequest};

use super::arguments::folder;
use crate::commands::{combined_output, has_started, lacked_program, run as run_command};
use crate::engine::Engine;
use crate::output::findings;
use crate::project::{Project, Search, lint};

/// Time limit in milliseconds: default and maximum.
const TIME_MS: (u64, u64) = (60_000, 300_000);

pub(super) fn run(engine: &Engine, root: &Path, args: &LintRequest) -> Result<LintReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let mut reply = LintReply { mode: args.mode, memory: "not limited".into(), ..LintReply::default() };
    let tool = match lint::linter(&Project::new(&folder), args.mode) {
        Search::Found(tool) => tool,
        Search::NotInstalled(name) => {
            reply.message = format!("{name} is set up here, but it is not installed: nothing was linted");
            reply.linter = Some(name.to_owned());
            return Ok(reply);
        }
        Search::NotConfigured(what) => {
            reply.message = format!("{what}: nothing was linted");
            return Ok(reply);
        }
        Search::Nothing => {
            reply.message = "no linter is set up here: nothing was linted".into();
            return Ok(reply);
        }
    };
    let limit = args.timeout_ms.unwrap_or(TIME_MS.0).clamp(1_000, TIME_MS.1);
    let command = CheckCommand {
        kind: CommandKind::Lint,
        argv: tool.argv,
        cwd: None,
        time_limit_s: Some(limit.div_ceil(1_000)),
        env: Vec::new(),
    };
    let done = run_command(&folder, &command, &engine.limits);
    let output = combined_output(&done);
    reply.success = done.exit_code == Some(0);
    reply.findings = findings(&folder, &output);
    reply.message = message(tool.name, &done, reply.findings.len());
    reply.linter = Some(tool.name.to_owned());
    // A script whose program is missing has checked nothing: its exit code is not the linter's.
    reply.exit_code = done.exit_code.filter(|_| lacked_program(&done).is_none());
    reply.command = done.argv;
    reply.output = output;
    reply.memory = done.memory;
    Ok(reply)
}

fn message(name: &str, run: &CommandRun, findings: usize) -> String {
    if let Some(program) = lacked_program(run) {
        return format!("{name} could not run: {program} is not installed: nothing was linted");
    }
    match run.exit_code {
        Some(0) if findings == 0 => format!("{name} has nothing to say"),
        Some(0) => format!("{name} passed with {findings} remarks"),
        Some(code) => format!("{name} refused with exit code {code}, {findings} findings"),
        None if has_started(run) => format!("{name} did not end by itself: {}", run.ending),
        None => format!("{name} {}", run.ending),
    }
}
