//! `todo_extract`

use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{Base, CheckName, Finding, Severity};
use switchboard_protocol::verb::check::{ByPriority, TodoEntry, TodoExtractReply, TodoExtractRequest};

use super::arguments::{folder, globs, is_named, report, request};
use crate::engine::Engine;

pub(super) fn run(engine: &Engine, root: &Path, args: &TodoExtractRequest) -> Result<TodoExtractReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let excluded = globs(&args.exclude.list())?;
    let tags: Vec<String> = args.tags.list().iter().map(|tag| tag.to_ascii_uppercase()).collect();
    let request = request(&folder, CheckName::TodoExtract, Base::None, args.paths.list());
    let (report, failures) = report(engine.run(&request))?;
    let wanted = |entry: &TodoEntry| tags.is_empty() || tags.contains(&entry.tag);
    let found = report.findings.iter().filter(|finding| !is_named(&excluded, &finding.path)).map(entry);
    let entries: Vec<TodoEntry> = found.filter(wanted).collect();
    let count = |priority: &str| entries.iter().filter(|entry| entry.priority == priority).count() as u64;
    Ok(TodoExtractReply {
        total: entries.len() as u64 + report.findings_left_out,
        by_priority: ByPriority { high: count("high"), medium: count("medium"), low: count("low") },
        entries,
        failures,
    })
}

fn entry(finding: &Finding) -> TodoEntry {
    let priority = match finding.severity {
        Severity::Critical | Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low | Severity::Info => "low",
    };
    TodoEntry {
        file: finding.path.clone(),
        line: finding.span.start_line,
        tag: finding.rule.trim_start_matches("todo/").to_ascii_uppercase(),
        text: finding.message.clone(),
        priority: priority.to_owned(),
    }
}
