//! The chores that hold the rules of the tree. As a test they fail beside all others, and the program is built with the
//! same features as they are.

use std::process::Command;

#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the program runs as a developer starts it")]
fn passes(chore: &str) {
    let done = Command::new(env!("CARGO_BIN_EXE_xtask")).arg(chore).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}\n{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn every_crate_depends_only_on_what_its_level_allows_and_every_link_leads_somewhere() {
    passes("layers");
}

#[test]
fn no_files_import_each_other_in_a_large_ring() {
    passes("circles");
}

#[test]
fn no_word_that_the_glossary_rules_out_is_left() {
    passes("words");
}
