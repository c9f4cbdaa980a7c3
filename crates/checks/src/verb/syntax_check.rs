//! `syntax_check`

use std::collections::BTreeMap;
use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::evidence::{FileSyntax, SyntaxError};
use switchboard_protocol::finding::{Base, CheckName, Finding};
use switchboard_protocol::verb::check::{SyntaxCheckReply, SyntaxCheckRequest, SyntaxMode};

use super::arguments::{base, folder, report, request};
use crate::engine::Engine;
use crate::placeholder::PlaceholderScan;

pub(super) fn run(engine: &Engine, root: &Path, args: &SyntaxCheckRequest) -> Result<SyntaxCheckReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let is_changed = args.mode == SyntaxMode::Changed;
    let named = args.changed_files.list();
    let paths: Vec<String> =
        named.iter().filter(|(_, added)| !(is_changed && *added == Some(0))).map(|(path, _)| path.clone()).collect();
    if !named.is_empty() && paths.is_empty() {
        return Ok(nothing("none of the files has new lines"));
    }
    let base = match (args.mode, paths.is_empty()) {
        (SyntaxMode::All, true) if args.base.is_none() => Base::None,
        (SyntaxMode::All | SyntaxMode::Changed, _) => base(args.base.as_ref()),
    };
    let outcome = engine.look(&request(&folder, CheckName::SyntaxCheck, base, paths), PlaceholderScan::default());
    let looked_at = outcome.looked_at.into_values().flatten();
    let languages = args.languages.list();
    let (report, failures) = report(outcome.reply)?;
    let mut files: BTreeMap<String, FileSyntax> = BTreeMap::new();
    for path in looked_at {
        files.insert(path.clone(), checked_file(path));
    }
    for skipped in &report.skipped {
        let mut file = checked_file(skipped.path.clone());
        file.skipped_reason = Some(reason(&skipped.why));
        files.insert(skipped.path.clone(), file);
    }
    let mut pre_existing = 0;
    for finding in &report.findings {
        if finding.blocks {
            files.entry(finding.path.clone()).or_insert_with(|| checked_file(finding.path.clone())).push(finding);
        } else if !finding.is_new {
            pre_existing += 1;
        }
    }
    let wanted = |file: &FileSyntax| languages.is_empty() || languages.contains(&file.language);
    let files = files.into_values().filter(wanted).collect();
    Ok(SyntaxCheckReply { verdict: report.verdict, files, summary: report.summary, pre_existing, failures })
}

fn nothing(why: &str) -> SyntaxCheckReply {
    let verdict = switchboard_protocol::finding::CheckVerdict::Skip;
    let summary = format!("nothing to check: {why}");
    SyntaxCheckReply { verdict, files: Vec::new(), summary, pre_existing: 0, failures: Vec::new() }
}

fn checked_file(path: String) -> FileSyntax {
    let language = switchboard_syntax::kind_of(&path).unwrap_or("unknown").to_owned();
    FileSyntax { path, language, ok: true, errors: Vec::new(), skipped_reason: None }
}

trait Push {
    fn push(&mut self, finding: &Finding);
}

impl Push for FileSyntax {
    fn push(&mut self, finding: &Finding) {
        self.ok = false;
        self.errors.push(SyntaxError {
            line: u64::from(finding.span.start_line),
            column: u64::from(finding.span.start_column),
            message: finding.message.clone(),
        });
    }
}

/// Returns the reason in the words of the `.swarm/` evidence, or as a sentence where that format has no word.
fn reason(why: &str) -> String {
    match why {
        "no grammar for this kind of file" => "unsupported_language".to_owned(),
        "binary" => "binary_file".to_owned(),
        why if why.starts_with("larger than") => "file_too_large".to_owned(),
        why if why.starts_with("unreadable") || why == "deleted in between" => "file_read_error".to_owned(),
        why => why.to_owned(),
    }
}
