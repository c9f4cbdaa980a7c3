//! No secret leaves the scan, in any form.

use checks::render;
use protocol::finding::{Base, CheckName};

use crate::scratch::{Scratch, fill, report};

/// Templates of secrets; the part behind `|` is what must never be seen.
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
