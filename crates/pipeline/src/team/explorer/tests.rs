use proptest::prelude::*;

use super::*;

const MAP: &str = "\
## STRUCTURE
Entry: `main` -> `run` -> `step`; `cli` -> `parse`
- exports `parse(text: &str) -> Plan`, `render(plan: &Plan) -> String`
## PATTERNS
Errors are values (`Result`); configuration from the environment.
## COMPLEXITY INDICATORS
- src/dead/must.rs:40 has 612 lines
## RUNTIME/BEHAVIORAL CONCERNS
- `open` has no error path; path separators are `/`
## RELEVANT CONSTRAINTS
- errors are `thiserror` enums
## FOLLOW-UP CANDIDATE AREAS
- `step` has 12 parameters, 8 without a use in current call sites
DOMAINS: rust, sqlite
";

fn map() -> Brief {
    Brief::default()
}

fn impact() -> Brief {
    Brief { mode: ReportMode::Impact, names_files: true }
}

fn rules(report: &str, brief: Brief) -> Vec<(Option<usize>, Rule)> {
    violations(report, brief).into_iter().map(|violation| (violation.line, violation.rule)).collect()
}

/// Returns a report with lines appended.
fn with(lines: &str) -> String {
    format!("{MAP}\n{lines}\n")
}

fn count(lines: &str, rule: Rule) -> usize {
    violations(&with(lines), map()).iter().filter(|violation| violation.rule == rule).count()
}

#[test]
fn a_report_of_observations_is_accepted() {
    assert_eq!(violations(MAP, map()), []);
}

#[test]
fn every_section_that_is_not_there_is_named() {
    let found = violations("hello", Brief { mode: ReportMode::Impact, names_files: false });

    assert_eq!(found.len(), 9);
    assert!(found.iter().all(|violation| violation.rule == Rule::Section && violation.line.is_none()));
    assert_eq!(rules(MAP, Brief { names_files: true, ..map() }), [(None, Rule::Section)]);
}

#[test]
fn a_section_may_be_written_in_several_ways_but_not_empty() {
    for heading in [
        "**DOMAINS**: rust",
        "DOMAINS — rust",
        "3. DOMAINS: rust",
        "- DOMAINS: rust",
        "### Domains\nrust",
        "Domains: rust",
    ] {
        assert_eq!(violations(&MAP.replace("DOMAINS: rust, sqlite", heading), map()), [], "{heading}");
    }
    for heading in ["DOMAINS:", "## DOMAINS\n\n- "] {
        assert_eq!(rules(&MAP.replace("DOMAINS: rust, sqlite", heading), map())[0].1, Rule::EmptySection, "{heading}");
    }
    assert_eq!(rules(&MAP.replace("DOMAINS: rust", "the domains are rust"), map()), [(None, Rule::Section)]);
}

#[test]
fn a_report_of_2000_characters_is_too_long() {
    let missing = REPORT_CHARS - MAP.chars().count();

    assert_eq!(rules(&(MAP.to_owned() + &"é".repeat(missing - 1)), map()), []);
    assert_eq!(rules(&(MAP.to_owned() + &"é".repeat(missing)), map()), [(None, Rule::Length)]);
}

#[test]
fn words_that_judge_or_direct_are_refused_with_their_line() {
    for text in [
        "VERDICT: fine",
        "MIGRATION_NEEDED: yes",
        "migration needed",
        "Review needed",
        "**REVIEW NEEDED**",
        "REVIEW_NEEDED",
        "this is Dead code",
        "dead-code",
        "Missing labels",
        "callers must change",
        "it should be split.",
        "needs a rewrite",
        "it \"must\" change",
        "mu\u{200b}st",
        "```\nmust",
        "KNOWLEDGE_UPDATES: none",
    ] {
        assert_eq!(count(text, Rule::Word), 1, "{text}");
    }
    let found = violations(&with("ok\nit must"), map());
    assert_eq!(found[0].line, Some(MAP.lines().count() + 3));
    assert!(found[0].instead.contains("code span"));
}

#[test]
fn words_in_code_in_quotations_and_inside_other_words_are_accepted() {
    for text in [
        "`must` and ``dead``",
        "> the README says callers must lock",
        "```\nassert!(must, should)\n```",
        "a deadline, a deadlock, mustard, need, kneads, deadly",
        "in src/missing/dead.rs:12",
        "must_not_change is a flag",
    ] {
        assert_eq!(count(text, Rule::Word), 0, "{text}");
    }
}

#[test]
fn a_signal_of_compatibility_is_one_of_three() {
    for text in [
        "COMPATIBLE — no observable call signature conflicts detected",
        "INCOMPATIBLE — observable call signatures affected: 3",
        "**UNCERTAIN**",
        "\n- `parse`: COMPATIBLE\n- `render` (INCOMPATIBLE): 3 call sites\n  - src/a.rs is one",
        "\n| export | signal |\n|---|---|\n| `parse` | UNCERTAIN |",
        "none observed",
    ] {
        assert_eq!(count(&format!("COMPATIBILITY SIGNALS: {text}"), Rule::Signal), 0, "{text}");
    }
    for text in [
        "fine",
        "NOT COMPATIBLE",
        "MOSTLY COMPATIBLE — two exceptions",
        "compatible",
        "COMPATIBLE / INCOMPATIBLE",
        "BREAKING",
        "\n- `parse`: COMPATIBLE\n- `render`: safe to use",
        "\n| export | signal |\n|---|---|\n| `parse` | OK |",
    ] {
        assert_eq!(count(&format!("COMPATIBILITY SIGNALS: {text}"), Rule::Signal), 1, "{text}");
    }
}

#[test]
fn every_listed_change_of_an_impact_analysis_is_classified() {
    let report = |changes: &str| with(&format!("CONSUMERS_AFFECTED: src/a.rs\nOBSERVED CHANGES\n{changes}"));
    let wrong =
        |changes: &str| rules(&report(changes), impact()).into_iter().filter(|(_, rule)| *rule == Rule::Class).count();

    for changes in [
        "- `parse(text)`: BREAKING, 3 call sites\n- COMPATIBLE: `render` has a new optional argument",
        "- src/a.rs:\n  - `f`: BREAKING\n  - `g`: COMPATIBLE",
        "`f` — BREAKING\n`g` — COMPATIBLE",
        "none observed",
    ] {
        assert_eq!(wrong(changes), 0, "{changes}");
    }
    for (changes, count) in [
        ("- `f`: changed\n- `g`: COMPATIBLE", 1),
        ("- `f`: NON-BREAKING", 1),
        ("- `f`: BREAKING or COMPATIBLE\n- `g`", 2),
        ("`f` takes one more argument", 1),
    ] {
        assert_eq!(wrong(changes), count, "{changes}");
    }
    assert_eq!(
        count("OBSERVED CHANGES: `f` takes one more argument", Rule::Class),
        0,
        "only an impact analysis classifies"
    );
}

#[test]
fn a_call_chain_has_at_most_three_names() {
    for text in [
        "a -> b -> c",
        "a → b → c; d → e → f, g => h => i",
        "`a -> b -> c`",
        "a\n  -> b\n  -> c\n  -> d",
        "a\n  → b\n    → c",
        "`fold :: (a -> b -> b) -> b -> [a] -> b`",
        "> a -> b -> c -> d",
        "a -> b(x -> y) -> c",
    ] {
        assert_eq!(count(text, Rule::Chain), 0, "{text}");
    }
    for text in [
        "a -> b -> c -> d",
        "`a → b → c → d`",
        "```\na -> b -> c -> d\n```",
        "a → b\n  → c → d",
        "a → b → c\n→ d",
        "a\n- → b\n  - → c\n    - → d",
    ] {
        assert_eq!(count(text, Rule::Chain), 1, "{text}");
    }
}

#[test]
fn a_curator_reports_observations() {
    for mode in [ReportMode::CuratorInit, ReportMode::CuratorPhase] {
        let brief = Brief { mode, names_files: false };

        assert_eq!(rules("OBSERVATIONS:\n- phase 1 ended with 2 of 5 tasks tried twice", brief), []);
        let updates = rules("KNOWLEDGE_UPDATES:\n- promote entry 3", brief);
        assert_eq!(updates, [(None, Rule::Section), (Some(1), Rule::Word)]);
        assert_eq!(rules("OBSERVATIONS: the plan should change", brief), [(Some(1), Rule::Word)]);
    }
}

#[test]
fn the_delegation_says_what_a_report_is_held_to() {
    let of = |text: &str| {
        let brief = Brief::of(text);
        (brief.mode, brief.names_files)
    };

    assert_eq!(of("TASK: map the code base"), (ReportMode::Map, false));
    assert_eq!(of("INPUT: src/a.ts, Node.js 20, https://example.org/a.html"), (ReportMode::Map, true));
    assert_eq!(of("A Node.js service at example.com, e.g. v1.2"), (ReportMode::Map, false));
    assert_eq!(of("Integration impact analysis"), (ReportMode::Impact, false));
    assert_eq!(of("INPUT: contract changes: `parse`"), (ReportMode::Impact, false));
    assert_eq!(of("MODE: EXPLORER\nCURATOR_INIT"), (ReportMode::CuratorInit, false));
    assert_eq!(of("CURATOR_PHASE 2"), (ReportMode::CuratorPhase, false));
}

proptest! {
    #[test]
    fn any_report_is_judged_and_every_line_exists(report in "([A-Z]{0,3}[-a-z>→`|:*# \\n]{0,8}(must|STRUCTURE:|OBSERVED CHANGES)?){0,20}") {
        let lines = report.lines().count();

        let found = violations(&report, impact());

        prop_assert!(found.iter().all(|violation| violation.line.is_none_or(|line| (1..=lines).contains(&line))));
        prop_assert!(found.iter().all(|violation| !violation.instead.is_empty()));
    }
}
