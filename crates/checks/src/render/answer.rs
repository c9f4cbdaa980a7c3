//! Renders the reply of a check that was called by name as text: a line for each finding, then the outcome.

use std::fmt::Write as _;

use serde_json::Value;

use super::text::plain;

/// Maximum number of lines shown of a command's output.
const OUTPUT_LINES: usize = 40;

/// Returns a reply as plain text. There are no colours; control characters are made visible.
#[must_use]
pub fn answer(reply: &Value) -> String {
    let mut out = String::new();
    failures(&mut out, reply);
    for name in ["lint", "secretscan", "sast_scan", "quality_budget"] {
        if reply[name].is_object() {
            part(&mut out, name, &reply[name]);
        }
    }
    for file in list(&reply["files"]) {
        for error in list(&file["errors"]) {
            found(&mut out, &file["path"], error);
        }
        if let Some(why) = file["skipped_reason"].as_str() {
            line(&mut out, &format!("  skipped, {}: {}", why, word(&file["path"])));
        }
    }
    for finding in list(&reply["findings"]).chain(list(&reply["entries"])) {
        let path = if finding["path"].is_null() { &finding["file"] } else { &finding["path"] };
        found(&mut out, path, finding);
    }
    skipped(&mut out, reply);
    commands(&mut out, reply);
    outcome(&mut out, reply);
    out
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

fn failures(out: &mut String, reply: &Value) {
    for failure in list(&reply["failures"]) {
        line(out, &format!("error[{}]: {}", word(&failure["code"]), word(&failure["what"])));
    }
}

fn part(out: &mut String, name: &str, part: &Value) {
    let state = match part["state"].as_str() {
        Some("passed") => "passed",
        Some("not_configured") => "not configured",
        Some("skipped") => "skipped",
        Some("error") => "failed: it could not judge",
        _ => "failed",
    };
    let why = part["error"].as_str().map_or(String::new(), |why| format!(": {why}"));
    line(out, &format!("{name} {state}{why}"));
    for finding in list(&part["result"]["findings"]) {
        found(out, &finding["path"], finding);
    }
}

fn found(out: &mut String, path: &Value, finding: &Value) {
    let column = finding["column"].as_u64().map_or(String::new(), |column| format!(":{column}"));
    let rule = ["rule_id", "rule", "type", "tag"].iter().find_map(|key| finding[*key].as_str());
    let rule = rule.map_or(String::new(), |rule| format!(" [{rule}]"));
    let text = ["message", "excerpt", "text", "context"].iter().find_map(|key| finding[*key].as_str());
    let accepted = finding["allowed"].as_str().map_or(String::new(), |reason| format!(" (accepted: {reason})"));
    let place = format!("{}:{}{column}", word(path), word(&finding["line"]));
    line(out, &format!("  {place}{rule} {}{accepted}", text.unwrap_or_default()));
}

fn skipped(out: &mut String, reply: &Value) {
    for file in list(&reply["skipped"]) {
        line(out, &format!("  skipped, {}: {}", word(&file["why"]), word(&file["path"])));
    }
}

fn commands(out: &mut String, reply: &Value) {
    for run in list(&reply["runs"]) {
        line(out, &format!("  `{}`: exit {} after {} ms", word(&run["command"]), run["exit_code"], run["duration_ms"]));
        if run["exit_code"] != 0 {
            tail(out, &word(&run["stdout_tail"]));
            tail(out, &word(&run["stderr_tail"]));
        }
    }
    let words: Vec<String> = list(&reply["command"]).map(word).collect();
    if !words.is_empty() {
        line(out, &format!("  `{}`, memory {}", words.join(" "), word(&reply["memory"])));
    }
    if reply["success"] == false {
        tail(out, &word(&reply["output"]));
        tail(out, &word(&reply["rawOutput"]));
    }
}

fn tail(out: &mut String, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for text in &lines[lines.len().saturating_sub(OUTPUT_LINES)..] {
        line(out, &format!("    | {text}"));
    }
}

fn outcome(out: &mut String, reply: &Value) {
    let verdict = ["verdict", "outcome", "status"].iter().find_map(|key| reply[*key].as_str()).map(shown);
    let summary = ["summary", "message"].iter().find_map(|key| reply[*key].as_str().map(str::to_owned));
    let summary = summary.or_else(|| reply["summary"]["skipped_reason"].as_str().map(str::to_owned));
    let total = reply["total"].as_u64().map(|total| format!("{total} notes"));
    let words: Vec<String> = [verdict, summary, total].into_iter().flatten().collect();
    line(out, &words.join(": "));
}

/// Returns the word for a verdict on a screen.
fn shown(verdict: &str) -> String {
    match verdict {
        "pass" => "passed".to_owned(),
        "fail" => "failed".to_owned(),
        "error" => "failed: it could not judge".to_owned(),
        other => other.replace('_', " "),
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(out, "{}", plain(text));
}
