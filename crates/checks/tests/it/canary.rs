//! No secret leaves the scan in any form.

use switchboard_checks::{Cache, Engine, Limits, render};
use switchboard_protocol::finding::{Base, CheckName};
use switchboard_protocol::verb::check::CheckCall;

use crate::scratch::{Scratch, fill, report};

/// Templates of secrets; the part behind `|` must never be in any output.
const CANARIES: &[&str] = &[
    "token = ghp_|{A36}",
    "aws_secret_access_key = |{B40}",
    "password: \"|Tr0ub4dor&{A4}!\"",
    "url = postgres://app:|s3cr3T{A9}@db.internal.corp/x",
    "Authorization: Bearer |{A48}",
    "STRIPE=sk_live_|{A30}",
    "x = \"xoxb-{D11}-{D12}-|{A24}\"",
    "api_key = '|{H32}'",
    "let k = (\"ghp_|{A36}\"",
];

#[test]
fn no_output_holds_a_secret_or_half_of_one() {
    let scratch = Scratch::plain();
    let mut secrets = Vec::new();
    for (at, canary) in CANARIES.iter().enumerate() {
        let (before, secret) = canary.split_once('|').unwrap();
        let (before, secret) = (fill(before, 100 + at as u64), fill(secret, at as u64 + 1));
        let suffix = if before.ends_with('"') { "\"" } else { "" };
        scratch.write(&format!("f{at}.yaml"), format!("{before}{secret}{suffix}\n"));
        scratch.write(
            &format!("f{at}.py"),
            format!("def f(:\n  {before}{secret}{suffix} # switchboard:allow(secretscan) for {secret}\n"),
        );
        secrets.push(secret.trim_end_matches(['\'', '"']).to_owned());
    }

    let reply = scratch.check_against(Base::None);

    let found =
        report(&reply, CheckName::Secretscan).findings.iter().filter(|finding| finding.path.ends_with("yaml")).count();
    assert_eq!(found, CANARIES.len(), "{:#?}", report(&reply, CheckName::Secretscan).findings);
    let outputs = [render::text(&reply), render::json(&reply), render::sarif(&reply), format!("{reply:?}")];
    for secret in &secrets {
        for part in [&secret[..secret.len() / 2], &secret[secret.len() / 2..], &secret[..8.min(secret.len())]] {
            for output in &outputs {
                assert!(!output.contains(part), "{part} of {secret} is in:\n{output}");
            }
        }
    }
}

#[test]
fn no_check_called_by_its_name_shows_a_secret() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", "\n").commit();
    let secrets: Vec<String> = (0..4).map(|seed| fill("{A36}", 900 + seed)).collect();
    let [first, second, third, fourth] = &secrets[..] else { unreachable!("there are four") };
    let lint = format!("echo token ghp_{third}; echo 'a.py:1:1: error: ghp_{third}'; exit 1");
    scratch
        .write("a.py", format!("# TODO: drop ghp_{first}\ndef f(:\n  k = 'ghp_{second}' # stub ghp_{first}\n"))
        .write("b.env", format!("A=ghp_{first} PASSWORD={fourth} B=ghp_{second}\n"))
        .write(
            "package.json",
            serde_json::json!({ "scripts": { "lint": lint, "build": lint, "test": lint } }).to_string(),
        );
    let engine = Engine::new(Limits::default()).with_cache(Cache::in_folder(scratch.outside()));

    let mut outputs = Vec::new();
    for (verb, args) in [
        ("syntax_check", serde_json::json!({})),
        ("secretscan", serde_json::json!({})),
        ("placeholder_scan", serde_json::json!({ "files": ["a.py", "b.env"] })),
        ("todo_extract", serde_json::json!({})),
        ("lint", serde_json::json!({})),
        ("build_check", serde_json::json!({})),
        ("test_runner", serde_json::json!({ "scope": "all", "allow_full_suite": true })),
        ("pre_check_batch", serde_json::json!({})),
    ] {
        let root = scratch.root().display().to_string();
        let answer = engine.call(&CheckCall { id: None, verb: verb.into(), root, args });
        let reply = answer.result.unwrap_or_else(|| panic!("{verb}: {:?}", answer.failure));
        outputs.extend([reply.to_string(), render::answer(&reply)]);
    }
    let reply = scratch.check_against(Base::None);
    engine.save().unwrap();
    let cache = std::fs::read(scratch.outside().join("checks.cache")).unwrap();
    outputs.extend([render::baseline(&reply), String::from_utf8_lossy(&cache).into_owned()]);

    for secret in &secrets {
        for part in [&secret[..18], &secret[18..]] {
            for output in &outputs {
                assert!(!output.contains(part), "{part} of {secret} is in:\n{output}");
            }
        }
    }
}
