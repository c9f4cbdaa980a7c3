//! Secrets of the past: every version of every file once.

use checks::{Limits, secret_history};

use crate::scratch::{Scratch, fill};

#[test]
fn a_secret_that_was_taken_out_is_told_with_its_commit_and_path() {
    let scratch = Scratch::repository();
    let token = fill("glpat-{A20}", 61);
    scratch.write("conf/app.yaml", format!("token: {token}\n")).commit();
    let guilty = scratch.git(&["rev-parse", "HEAD"]).trim().to_owned();
    scratch.write("conf/app.yaml", format!("token: {token}\nother: 1\n")).commit();
    scratch.write("conf/app.yaml", "token: ${TOKEN}\n").commit();

    let history = secret_history(&scratch.root(), &Limits::default()).unwrap();

    let told: Vec<(&str, &str, &str)> = history
        .secrets
        .iter()
        .map(|past| (past.commit.as_str(), past.finding.path.as_str(), past.finding.rule.as_str()))
        .collect();
    assert_eq!(told, [(guilty.as_str(), "conf/app.yaml", "gitlab-pat")]);
    assert_eq!((history.commits, history.blobs_checked), (3, 3));
    assert!(!format!("{history:?}").contains(&token[6..]));
}

#[test]
fn branches_count_too_and_what_is_left_out_is_said() {
    let scratch = Scratch::repository();
    scratch.write(".secretscanignore", "recorded/\n").write("logo.png", b"\x89PNG\0\0").commit();
    scratch.git(&["checkout", "--quiet", "-b", "side"]);
    scratch.write("a.txt", fill("glpat-{A20}\n", 62)).write("recorded/b.txt", fill("glpat-{A20}\n", 63)).commit();
    scratch.git(&["checkout", "--quiet", "main"]);

    let history = secret_history(&scratch.root(), &Limits::default()).unwrap();

    assert_eq!(history.secrets.iter().map(|past| past.finding.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    let mut whys: Vec<&str> = history.skipped.iter().map(|file| file.why.as_str()).collect();
    whys.sort_unstable();
    assert_eq!(whys, ["binary", "named in .secretscanignore"]);
}

#[test]
fn a_folder_without_a_repository_is_an_error() {
    let error = secret_history(&Scratch::plain().root(), &Limits::default()).unwrap_err();

    assert_eq!(error.code(), "git.not-a-repository");
}
