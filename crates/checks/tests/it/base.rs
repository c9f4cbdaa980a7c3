//! Which versions the checks compare.

use switchboard_protocol::finding::{Base, CheckName, CheckVerdict};

use crate::scratch::{Scratch, fill, findings, report};

const BROKEN: &str = "fn f( {\n";

fn paths(scratch: &Scratch, base: Base) -> Vec<String> {
    let reply = scratch.check_against(base);
    assert!(reply.failures.is_empty(), "{reply:#?}");
    let mut paths: Vec<String> =
        findings(&reply).iter().filter(|finding| finding.blocks).map(|finding| finding.path.clone()).collect();
    paths.dedup();
    paths
}

#[test]
fn untracked_staged_and_changed_files_are_all_new_against_head() {
    let scratch = Scratch::repository();
    scratch.write("changed.rs", "fn f() {}\n").write("old.rs", BROKEN).commit();

    scratch.write("changed.rs", BROKEN).write("staged.rs", BROKEN);
    scratch.git(&["add", "staged.rs"]);
    scratch.write("new/untracked.rs", BROKEN);

    assert_eq!(paths(&scratch, Base::MergeBase), ["changed.rs", "new/untracked.rs", "staged.rs"]);
}

#[test]
fn staged_reads_the_index_and_not_the_work_tree() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", "fn a() {}\n").write("b.rs", "fn b() {}\n").commit();

    scratch.write("a.rs", BROKEN);
    scratch.git(&["add", "a.rs"]);
    scratch.write("a.rs", "fn a() {}\n").write("b.rs", BROKEN);

    assert_eq!(paths(&scratch, Base::Staged), ["a.rs"]);
}

#[test]
fn staged_before_the_first_commit_takes_the_whole_index() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", BROKEN).write("b.rs", BROKEN);
    scratch.git(&["add", "a.rs"]);

    assert_eq!(paths(&scratch, Base::Staged), ["a.rs"]);
}

#[test]
fn the_default_base_is_where_the_branch_left_main() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", "fn a() {}\n").commit();
    scratch.git(&["checkout", "--quiet", "-b", "work"]);
    scratch.write("mine.rs", BROKEN).commit();
    scratch.git(&["checkout", "--quiet", "main"]);
    scratch.write("theirs.rs", BROKEN).commit();
    scratch.git(&["checkout", "--quiet", "work"]);

    assert_eq!(paths(&scratch, Base::MergeBase), ["mine.rs"]);
    assert_eq!(paths(&scratch, Base::Rev("HEAD".into())), [""; 0]);
}

#[test]
fn without_git_every_file_is_new_and_ignore_files_are_respected() {
    let scratch = Scratch::plain();
    scratch.write(".gitignore", "target/\n").write("src/a.rs", BROKEN).write("target/b.rs", BROKEN);

    assert_eq!(paths(&scratch, Base::MergeBase), ["src/a.rs"]);
}

#[test]
fn a_folder_below_the_repository_root_is_checked_by_itself() {
    let scratch = Scratch::repository();
    scratch.write("part/a.rs", "fn a() {}\n").write("b.rs", "fn b() {}\n").commit();
    scratch.write("part/a.rs", BROKEN).write("part/new.rs", BROKEN).write("b.rs", BROKEN);

    let mut request = scratch.request();
    request.root = scratch.root().join("part").to_str().unwrap().into();
    let reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());

    let paths: Vec<&str> = findings(&reply).iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["a.rs", "new.rs"]);
}

#[test]
fn named_paths_are_checked_even_if_unchanged_and_their_findings_are_old() {
    let scratch = Scratch::repository();
    scratch.write("src/a.rs", BROKEN).write("b.rs", BROKEN).commit();

    let reply = scratch.check_paths(&["src"]);

    let found = findings(&reply);
    assert_eq!(found.len(), 1);
    assert!(found[0].path == "src/a.rs" && !found[0].is_new && !found[0].blocks);
    assert_eq!(report(&reply, CheckName::SyntaxCheck).verdict, CheckVerdict::Pass);
}

#[test]
fn a_named_file_is_checked_even_if_git_ignores_it() {
    let scratch = Scratch::repository();
    scratch.write(".gitignore", ".env\n").commit();
    scratch.write(".env", fill("GITHUB_TOKEN=ghp_{A36}\n", 3));

    assert!(findings(&scratch.check()).is_empty());
    assert_eq!(findings(&scratch.check_paths(&[".env"])).len(), 1);
}

#[test]
fn a_moved_file_keeps_its_old_findings_old() {
    let scratch = Scratch::repository();
    let secret = fill("first line\nsecond line\ntoken = ghp_{A36}\nlast line\n", 5);
    scratch.write("old.txt", &secret).commit();

    scratch.remove("old.txt").write("moved/new.txt", &secret);

    let reply = scratch.check();
    assert_eq!(findings(&reply).len(), 1);
    assert!(!findings(&reply)[0].is_new);
}

#[test]
fn nothing_changed_is_an_answer_of_its_own() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", "fn a() {}\n").commit();

    let reply = scratch.check();

    assert_eq!(reply.verdict, CheckVerdict::Skip);
    assert!(reply.reports.iter().all(|report| report.verdict == CheckVerdict::Skip));
}

#[test]
fn hooks_filters_and_monitors_of_the_repository_do_not_run() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", "one\n").write(".gitattributes", "*.txt filter=evil diff=evil\n").commit();
    let mark = scratch.outside().join("ran");
    let touch = format!("sh -c 'touch {}; cat'", mark.display());
    for setting in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
        "diff.evil.command",
    ] {
        scratch.git(&["config", setting, &touch]);
    }
    scratch.write("a.txt", "two\n").write("b.txt", "three\n");

    let reply = scratch.check();

    assert!(reply.failures.is_empty(), "{reply:#?}");
    assert_eq!(report(&reply, CheckName::Secretscan).files_checked, 2);
    assert!(!mark.exists());
}
