//! Every detector has hits and look-alikes.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_checks::Limits;
use switchboard_protocol::finding::{CheckName, CheckRequest};

use crate::scratch::{Scratch, fill, findings};

/// Detectors that use code instead of a pattern; `secrets.rs`, `readers.rs`, `tokens.rs`, `listed.rs` and
/// `key_formats.rs` test them one by one.
const TESTED_ELSEWHERE: [&str; 24] = [
    "argument-password",
    "gpg-agent-key",
    "jwk-private-key",
    "key-file",
    "nats-seed",
    "signing-key",
    "ssh2-private-key",
    "authorization-header",
    "command-password",
    "django-secret-key",
    "wordpress-salt",
    "private-key",
    "url-password",
    "bearer-token",
    "basic-auth",
    "curl-password",
    "column-password",
    "jwt",
    "piped-password",
    "placed-password",
    "registry-auth",
    "password",
    "secret-value",
    "putty-private-key",
];

struct Sample {
    rule: &'static str,
    /// Name that the secret is assigned to, if its own form is not enough.
    name: Option<&'static str>,
    template: &'static str,
}

fn samples() -> Vec<Sample> {
    let lines = include_str!("detectors.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (rule, rest) = line.split_once(' ').unwrap();
            let (name, template) =
                rest.split_once(" = ").map_or((None, rest), |(name, template)| (Some(name), template));
            Sample { rule, name, template }
        })
        .collect()
}

/// Puts every text into its own file, checks all of them at once, and returns the rules by file.
fn rules_by_file(texts: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let scratch = Scratch::plain();
    for (path, text) in texts {
        scratch.write(path, text);
    }
    let mut rules: BTreeMap<String, BTreeSet<String>> =
        texts.keys().map(|path| (path.clone(), BTreeSet::new())).collect();
    let request = CheckRequest { only: vec![CheckName::Secretscan], ..scratch.request() };
    let reply = switchboard_checks::run(&request, &Limits { findings: 100_000, ..Limits::default() });
    for finding in findings(&reply) {
        rules.get_mut(&finding.path).unwrap().insert(finding.rule.clone());
    }
    rules
}

#[test]
fn every_detector_has_a_sample() {
    let sampled: BTreeSet<&str> = samples().iter().map(|sample| sample.rule).chain(TESTED_ELSEWHERE).collect();
    let all: BTreeSet<&str> = switchboard_checks::secret_rules().map(|(rule, _)| rule).collect();

    assert_eq!(all.difference(&sampled).collect::<Vec<_>>(), [&""; 0]);
    assert_eq!(sampled.difference(&all).collect::<Vec<_>>(), [&""; 0]);
    assert!(all.len() >= 150);
}

#[test]
fn every_detector_finds_its_samples_in_code_and_configuration() {
    let mut texts = BTreeMap::new();
    for sample in samples() {
        let name = sample.name.unwrap_or("value");
        for seed in [71, 1_072] {
            let secret = fill(sample.template, seed);
            texts.insert(format!("{}/{seed}.py", sample.rule), format!("import os\n{name} = \"{secret}\"\n"));
            texts.insert(format!("{}/{seed}.yaml", sample.rule), format!("a: b\n{name}: {secret}\n"));
        }
    }

    let found = rules_by_file(&texts);

    let missed: Vec<_> =
        found.iter().filter(|(path, rules)| !rules.contains(path.split('/').next().unwrap())).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let doubled: Vec<_> = found.iter().filter(|(_, rules)| rules.len() != 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
}

#[test]
fn no_detector_takes_a_look_alike() {
    let mut texts = BTreeMap::new();
    for sample in samples() {
        let name = sample.name.unwrap_or("value");
        let secret = fill(sample.template, 73);
        let dull = fill(&dulled(sample.template), 74);
        let looks = [
            ("cut", format!("{name} = \"{}\"", &secret[..secret.len() / 4])),
            ("dull", format!("{name} = \"{dull}\"")),
            ("inside", format!("{name} = \"zz9{secret}9zz\"")),
            ("nameless", format!("commit_digest = \"{secret}\"")),
        ];
        for (kind, text) in looks {
            let is_url = kind == "inside" && secret.starts_with("https:");
            if !is_url && (kind != "nameless" || sample.name.is_some()) {
                texts.insert(format!("{}/{kind}.py", sample.rule), format!("{text}\n"));
            }
        }
    }

    let found = rules_by_file(&texts);

    let wrong: Vec<_> = found.iter().filter(|(path, rules)| rules.contains(path.split('/').next().unwrap())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let nameless: Vec<_> =
        found.iter().filter(|(path, rules)| path.contains("nameless") && !rules.is_empty()).collect();
    assert!(nameless.len() <= 3, "{nameless:?}");
}

/// Makes a placeholder from a template: `ghp_{A36}` becomes `ghp_xxxx…`.
fn dulled(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (code, after) = behind.split_once('}').unwrap();
        let fill = if code.starts_with('U') {
            "X"
        } else if code.starts_with('H') || code.starts_with('D') {
            "0"
        } else {
            "x"
        };
        out.push_str(before);
        out.push_str(&fill.repeat(code[1..].parse().unwrap()));
        rest = after;
    }
    out + rest
}
