//! Secrets in the history: every version of every file is checked once.

use switchboard_checks::{Engine, HistoryRequest, Limits, render};
use switchboard_protocol::finding::{CheckReply, CheckVerdict, Finding};

use crate::scratch::{Scratch, fill, findings};

fn history(scratch: &Scratch, since: Option<&str>) -> CheckReply {
    let request = HistoryRequest { since: since.map(str::to_owned), ..request(scratch) };
    Engine::new(Limits::default()).secret_history(&request)
}

fn request(scratch: &Scratch) -> HistoryRequest {
    HistoryRequest { root: scratch.root().to_str().unwrap().to_owned(), ..HistoryRequest::default() }
}

fn head(scratch: &Scratch) -> String {
    scratch.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

fn told(reply: &CheckReply) -> Vec<(&str, &str, &str)> {
    let told = |finding: &&Finding| finding.allowed.is_none();
    let found = findings(reply).into_iter().filter(told);
    found
        .map(|finding| (finding.commit.as_deref().unwrap_or_default(), finding.path.as_str(), finding.rule.as_str()))
        .collect()
}

#[test]
fn a_secret_that_was_taken_out_is_told_with_its_commit_and_path() {
    let scratch = Scratch::repository();
    let token = fill("glpat-{A20}", 61);
    scratch.write("conf/app.yaml", format!("token: {token}\n")).commit();
    let guilty = head(&scratch);
    scratch.write("conf/app.yaml", format!("token: {token}\nother: 1\n")).commit();
    scratch.write("conf/app.yaml", "token: ${TOKEN}\n").commit();

    let reply = history(&scratch, None);

    assert_eq!(told(&reply), [(guilty.as_str(), "conf/app.yaml", "gitlab-pat")]);
    assert_eq!((reply.verdict, reply.reports[0].files_checked), (CheckVerdict::Fail, 3));
    assert!(reply.reports[0].summary.starts_with("3 versions of files in 3 commits"), "{}", reply.reports[0].summary);
    for shown in [render::text(&reply), render::json(&reply), render::sarif(&reply), format!("{reply:?}")] {
        assert!(shown.contains(&guilty[..10]) && !shown.contains(&token[6..]), "{shown}");
    }
}

#[test]
fn branches_count_too_and_what_is_left_out_is_said() {
    let scratch = Scratch::repository();
    scratch.write(".secretscanignore", "recorded/\n").write("logo.png", b"\x89PNG\0\0").commit();
    scratch.git(&["checkout", "--quiet", "-b", "side"]);
    scratch.write("a.txt", fill("glpat-{A20}\n", 62)).write("recorded/b.txt", fill("glpat-{A20}\n", 63)).commit();
    scratch.git(&["checkout", "--quiet", "main"]);

    let reply = history(&scratch, None);

    assert_eq!(told(&reply).iter().map(|(_, path, _)| *path).collect::<Vec<_>>(), ["a.txt"]);
    let mut whys: Vec<&str> = reply.reports[0].skipped.iter().map(|file| file.why.as_str()).collect();
    whys.sort_unstable();
    assert_eq!(whys, ["binary", "named in .secretscanignore"]);
}

#[test]
fn a_merge_that_brings_a_secret_of_its_own_is_told() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", "one\n").commit();
    scratch.git(&["checkout", "--quiet", "-b", "side"]);
    scratch.write("a.txt", "two\n").commit();
    scratch.git(&["checkout", "--quiet", "main"]);
    scratch.write("a.txt", "three\n").commit();
    scratch.git(&["merge", "--quiet", "--no-commit", "--strategy=ours", "side"]);
    scratch.write("a.txt", fill("glpat-{A20}\n", 64)).commit();

    assert_eq!(told(&history(&scratch, None)), [(head(&scratch).as_str(), "a.txt", "gitlab-pat")]);
}

#[test]
fn only_what_came_after_a_revision_counts_where_one_is_named() {
    let scratch = Scratch::repository();
    scratch.write("old.txt", fill("glpat-{A20}\n", 65)).commit();
    let since = head(&scratch);
    scratch.write("new.txt", fill("glpat-{A20}\n", 66)).commit();

    let reply = history(&scratch, Some(&since));

    assert_eq!(told(&reply).iter().map(|(_, path, _)| *path).collect::<Vec<_>>(), ["new.txt"]);
    let unknown = history(&scratch, Some("nowhere"));
    assert_eq!((unknown.failures[0].code.as_str(), unknown.verdict), ("check.bad-base", CheckVerdict::Error));
}

#[test]
fn what_a_comment_or_the_baseline_accepts_no_longer_fails() {
    let scratch = Scratch::repository();
    let (one, two) = (fill("glpat-{A20}", 67), fill("glpat-{A20}", 68));
    scratch.write("one.py", format!("a = '{one}'\n")).write("two.py", format!("b = '{two}'\n")).commit();
    scratch.write("one.py", format!("a = '{one}'  # switchboard:allow(gitlab-pat) revoked long ago\n")).commit();
    let first = history(&scratch, None);
    scratch.write("accepted.json", render::baseline(&first));

    let request = HistoryRequest { baseline: Some("accepted.json".into()), ..request(&scratch) };
    let second = Engine::new(Limits::default()).secret_history(&request);

    assert_eq!(told(&first).iter().map(|(_, path, _)| *path).collect::<Vec<_>>(), ["two.py"]);
    assert_eq!((told(&second).len(), second.verdict), (0, CheckVerdict::Pass));
}

#[test]
fn too_many_versions_end_it_early_and_what_was_found_stays() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", fill("glpat-{A20}\n", 69)).commit();

    let few = Limits { files: 1, ..Limits::default() };
    let mut reply = Engine::new(few.clone()).secret_history(&request(&scratch));
    assert_eq!((told(&reply).len(), reply.failures.len()), (1, 0));
    for number in 0..600 {
        scratch.write(&format!("b{number}.txt"), format!("{number}\n"));
    }
    scratch.commit();
    reply = Engine::new(few).secret_history(&request(&scratch));

    assert_eq!((told(&reply).len(), reply.verdict), (1, CheckVerdict::Error));
    assert_eq!(reply.failures[0].code, "check.too-many-files");
}

#[test]
fn a_folder_without_a_repository_is_an_error() {
    let reply = history(&Scratch::plain(), None);

    assert_eq!(reply.failures[0].code, "git.not-a-repository");
}
