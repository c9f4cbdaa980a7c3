//! Limits that do not depend on the speed of a machine, for `--hold`.

use serde_json::{Map, Value};

/// Position of each figure in the object, and its limit.
const LIMITS: [(&str, Limit); 5] = [
    ("/secrets_generated/f1", Limit::AtLeast(0.85)),
    ("/secrets_generated/precision", Limit::AtLeast(0.90)),
    ("/skipped_code_files_passed", Limit::AtMost(0.0)),
    ("/clean_findings_per_10k", Limit::AtMost(1.0)),
    ("/clean_blocks_per_10k", Limit::AtMost(0.5)),
];

#[derive(Debug, Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

/// Returns a line for each limit that is missed. A requested key without a limit or a figure counts as missed: it would
/// otherwise always pass.
pub(super) fn missed(asked: &[String], report: &Map<String, Value>) -> Vec<String> {
    let mut missed = Vec::new();
    for key in asked {
        let of_key = |at: &str| at.trim_start_matches('/').split('/').next() == Some(key.as_str());
        let limits: Vec<_> = LIMITS.iter().filter(|(at, _)| of_key(at)).collect();
        if limits.is_empty() {
            missed.push(format!("{key}: it has no limit that can be held"));
        }
        for (at, limit) in limits {
            let value = at.trim_start_matches('/').split('/').try_fold(None, |found: Option<&Value>, part| {
                Some(Some(found.map_or_else(|| report.get(part), |value| value.get(part))?))
            });
            match (value.flatten().and_then(Value::as_f64), limit) {
                (None, _) => missed.push(format!("{at}: not measured")),
                (Some(value), Limit::AtLeast(least)) if value < *least => {
                    missed.push(format!("{at}: {value}, at least {least} is wanted"));
                }
                (Some(value), Limit::AtMost(most)) if value > *most => {
                    missed.push(format!("{at}: {value}, at most {most} is wanted"));
                }
                (Some(_), Limit::AtLeast(_) | Limit::AtMost(_)) => {}
            }
        }
    }
    missed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_measured_and_what_has_no_limit_is_missed() {
        let report = json!({ "secrets_generated": { "f1": 0.84, "precision": 0.95 }, "skipped_code_files_passed": 0,
            "changed20_ms": 1.0, "clean_findings_per_10k": null });
        let Value::Object(report) = report else { panic!() };
        let missed = |keys: &[&str]| missed(&keys.iter().map(ToString::to_string).collect::<Vec<_>>(), &report);

        assert_eq!(missed(&["skipped_code_files_passed"]), Vec::<String>::new());
        assert_eq!(missed(&["secrets_generated"]), ["/secrets_generated/f1: 0.84, at least 0.85 is wanted"]);
        assert_eq!(missed(&["changed20_ms"]), ["changed20_ms: it has no limit that can be held"]);
        assert_eq!(missed(&["clean_findings_per_10k"]), ["/clean_findings_per_10k: not measured"]);
    }
}
