//! The user's checked-out branch moves completely, or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use switchboard_process::Error;
use switchboard_process::env::{Env, var};
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::git::{Advanced, Git, Oid};
use switchboard_process::spawn::{Exit, Spawn};

use crate::fixture::Fixture;

/// Variable that makes this binary move a checkout: folder and commits.
const MOVE: &str = "GIT_TEST_MOVE";

fn moved(fixture: &Fixture, files: &[(&str, Option<&str>)]) -> (Oid, Oid) {
    let old = fixture.repo().head_commit().unwrap();
    let new = fixture.commit_on(&old, files);
    (old, new)
}

/// Leaves the note that a killed process of ours leaves in `index.lock`; no process has start time 0.
fn leave_note(fixture: &Fixture, old: &Oid, new: &Oid) {
    let dead = Fingerprint { start: 0, ..Fingerprint::own() };
    let note = serde_json::json!({ "switchboard_advance": [old, new], "holder": dead });
    fs::write(fixture.root.join(".git/index.lock"), note.to_string()).unwrap();
}

#[test]
fn branch_index_and_files_arrive_together() {
    let fixture = Fixture::new();
    let files = [("a.txt", Some("new\n")), ("dir/b.txt", None), ("-odd\nname", Some("y"))];
    let (old, new) = moved(&fixture, &files);
    fixture.write("untracked", "mine");
    fixture.write("elsewhere", "staged");
    fixture.run(&["add", "elsewhere"]);
    let repo = fixture.repo();

    assert_eq!(repo.in_the_way(&old, &new).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(repo.advance_checkout("main", &old, &new).unwrap(), Advanced::Now);

    assert_eq!(repo.head_commit().unwrap(), new);
    assert_eq!(fixture.run(&["status", "--porcelain"]), "A  elsewhere\n?? untracked");
    assert_eq!(fixture.read("a.txt").as_deref(), Some("new\n"));
    assert_eq!((fixture.read("dir/b.txt"), fixture.read("-odd\nname")), (None, Some("y".to_owned())));
    assert_eq!(repo.advance_checkout("main", &old, &new).unwrap(), Advanced::Before);
    assert!(!fixture.root.join(".git/index.lock").exists() && !fixture.root.join(".git/switchboard-index").exists());
}

#[test]
fn a_file_that_was_changed_and_changed_back_is_in_nobodys_way() {
    let fixture = Fixture::new();
    let (old, new) = moved(&fixture, &[("a.txt", Some("new\n"))]);
    let content = fixture.read("a.txt").unwrap();
    fixture.write("a.txt", &content);
    let file = fs::File::options().write(true).open(fixture.root.join("a.txt")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();

    assert_eq!(fixture.repo().advance_checkout("main", &old, &new).unwrap(), Advanced::Now);

    assert_eq!(fixture.read("a.txt").as_deref(), Some("new\n"));
    assert_eq!(fixture.run(&["status", "--porcelain"]), "");
}

#[test]
fn whatever_would_be_lost_stops_it_and_nothing_changes() {
    type Arrange = fn(&Fixture);
    let cases: &[(&str, Arrange)] = &[
        ("a.txt", |f| f.write("a.txt", "my edit")),
        ("a.txt", |f| fs::remove_file(f.root.join("a.txt")).unwrap()),
        ("a.txt", |f| {
            f.write("a.txt", "staged");
            f.run(&["add", "a.txt"]);
        }),
        ("a.txt", |f| {
            f.write("a.txt", "staged");
            f.run(&["add", "a.txt"]);
            f.write("a.txt", "one\n");
        }),
        ("dir/b.txt", |f| f.write("dir/b.txt", "edit of a file that is to be deleted")),
        ("new/file", |f| f.write("new/file", "untracked")),
        ("new/file", |f| f.write("new", "untracked file where a folder must be")),
        ("new/file", |f| f.write("new/file/x", "untracked folder where a file must be")),
        ("ignored", |f| f.write("ignored", "mine, and ignored")),
        ("ignored", |f| f.write("ignored/deep/mine", "ignored folder")),
        ("new/file", |f| std::os::unix::fs::symlink("/tmp", f.root.join("new")).unwrap()),
    ];
    for (number, (path, arrange)) in cases.iter().enumerate() {
        let fixture = Fixture::new();
        fs::write(fixture.root.join(".git/info/exclude"), "ignored\n").unwrap();
        let (old, plain) = moved(
            &fixture,
            &[("a.txt", Some("new\n")), ("dir/b.txt", None), ("new/file", Some("x")), ("other", Some("o"))],
        );
        let new = add_ignored(&fixture, &plain);
        arrange(&fixture);
        let before = fixture.snapshot();
        let repo = fixture.repo();

        let refused = repo.advance_checkout("main", &old, &new);

        let Err(Error::Dirty { files }) = refused else { panic!("case {number}: {refused:?}") };
        assert_eq!(files, [Path::new(path)], "case {number}");
        assert_eq!(fixture.snapshot(), before, "case {number}");
        assert_eq!(repo.in_the_way(&old, &new).unwrap(), files, "case {number}");
    }
}

/// Makes a commit that adds the ignored path, on top of `parent`, and squashed onto its parent.
fn add_ignored(fixture: &Fixture, parent: &Oid) -> Oid {
    let path = fixture.folder.path().canonicalize().unwrap().join("forced");
    fixture.run(&["worktree", "add", "-q", "--detach", path.to_str().unwrap(), parent.as_str()]);
    fs::write(path.join("ignored"), "theirs").unwrap();
    fixture.run_in(&path, &["add", "-f", "ignored"]);
    fixture.run_in(&path, &["commit", "-q", "--amend", "--no-edit"]);
    Oid::parse(&fixture.run_in(&path, &["rev-parse", "HEAD"])).unwrap()
}

#[test]
fn a_file_that_already_has_the_new_content_is_not_in_the_way() {
    let fixture = Fixture::new();
    let (old, new) = moved(&fixture, &[("a.txt", Some("same\n")), ("fresh", Some("same\n")), ("dir/b.txt", None)]);
    fixture.write("a.txt", "same\n");
    fixture.write("fresh", "same\n");
    fs::remove_file(fixture.root.join("dir/b.txt")).unwrap();

    fixture.repo().advance_checkout("main", &old, &new).unwrap();

    assert_eq!(fixture.run(&["status", "--porcelain"]), "");
}

#[test]
fn another_branch_another_commit_or_another_git_at_work_stops_it() {
    let fixture = Fixture::new();
    let (old, new) = moved(&fixture, &[("a.txt", Some("new\n"))]);
    let stray = fixture.commit_on(&old, &[("a.txt", Some("stray\n"))]);
    let repo = fixture.repo();
    let before = fixture.snapshot();

    assert!(matches!(repo.advance_checkout("other", &old, &new), Err(Error::Moved { .. })));
    assert!(matches!(repo.advance_checkout("main", &stray, &new), Err(Error::Moved { .. })));
    fs::write(fixture.root.join(".git/index.lock"), "").unwrap();
    assert!(matches!(repo.advance_checkout("main", &old, &new), Err(Error::IndexBusy { .. })));
    fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
    fixture.run(&["checkout", "-q", "--detach"]);
    assert!(matches!(repo.advance_checkout("main", &old, &new), Err(Error::Moved { .. })));
    fixture.run(&["checkout", "-q", "main"]);

    let after = fixture.snapshot();
    assert_eq!(after.get("a.txt"), before.get("a.txt"));
    assert_eq!(repo.head_commit().unwrap(), old);
}

#[test]
fn killed_at_any_point_it_ends_as_if_nothing_had_happened() {
    let files = [
        ("a.txt", Some("a new and longer text\n")),
        ("dir/b.txt", None),
        ("fresh/1", Some("first new file\n")),
        ("fresh/2", Some("second new file\n")),
    ];
    // How far the killed call came: number of complete files, length of a torn one, branch moved, index replaced.
    let points: &[(usize, Option<usize>, bool, bool)] = &[
        (0, None, false, false),
        (1, None, false, false),
        (2, Some(0), false, false),
        (2, Some(5), false, false),
        (3, Some(3), false, false),
        (4, None, false, false),
        (4, None, true, false),
        (4, None, true, true),
    ];
    for point in points {
        let fixture = Fixture::new();
        let (old, new) = moved(&fixture, &files);
        fixture.write("mine", "untracked");
        leave_note(&fixture, &old, &new);
        let (whole, torn, is_moved, is_installed) = *point;
        for (path, text) in &files[..whole] {
            match text {
                Some(text) => fixture.write(path, text),
                None => fs::remove_file(fixture.root.join(path)).unwrap(),
            }
        }
        if let (Some(bytes), Some((path, Some(text)))) = (torn, files.get(whole)) {
            fixture.write(path, &text[..bytes]);
        }
        if is_moved {
            fixture.run(&["update-ref", "refs/heads/main", new.as_str()]);
        }
        if is_installed {
            fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
            fixture.run(&["read-tree", new.as_str()]);
            leave_note(&fixture, &old, &new);
        }

        fixture.repo().advance_checkout("main", &old, &new).unwrap_or_else(|e| panic!("{point:?}: {e}"));

        assert_eq!(fixture.run(&["status", "--porcelain"]), "?? mine", "{point:?}");
        assert_eq!(fixture.repo().head_commit().unwrap(), new, "{point:?}");
        assert_eq!(fixture.read("a.txt").as_deref(), files[0].1, "{point:?}");
        assert!(!fixture.root.join(".git/index.lock").exists(), "{point:?}");
    }
}

#[test]
fn locks_that_a_killed_git_left_are_passed_where_our_note_says_so_and_respected_elsewhere() {
    for left in [String::new(), "half".to_owned()] {
        let fixture = Fixture::new();
        let (old, new) = moved(&fixture, &[("a.txt", Some("new text\n")), ("fresh", Some("x\n"))]);
        let content = if left.is_empty() { left } else { new.to_string()[..20].to_owned() };
        fs::write(fixture.root.join(".git/refs/heads/main.lock"), &content).unwrap();
        fs::write(fixture.root.join(".git/HEAD.lock"), "").unwrap();
        fixture.write("fresh", "x\n");

        let refused = fixture.repo().advance_checkout("main", &old, &new);

        assert!(matches!(refused, Err(Error::Git { .. })), "without a note the locks are somebody's: {refused:?}");
        assert_eq!(fixture.run(&["status", "--porcelain"]), "?? fresh", "all is as it was");
        leave_note(&fixture, &old, &new);
        fixture.repo().advance_checkout("main", &old, &new).unwrap();
        assert_eq!(fixture.run(&["status", "--porcelain"]), "");
        assert_eq!(fixture.repo().head_commit().unwrap(), new);
    }
}

#[test]
fn a_lock_left_on_a_branch_of_ours_is_passed_and_one_on_a_branch_of_the_user_is_not() {
    let fixture = Fixture::new();
    let (old, new) = moved(&fixture, &[("a.txt", Some("new text\n"))]);
    let repo = fixture.repo();
    for (branch, is_ours) in [("switchboard/r", true), ("switchboard-task/r/t", true), ("mine", false)] {
        repo.update_branch(branch, &old, None).unwrap();
        let lock = fixture.root.join(format!(".git/refs/heads/{branch}.lock"));
        fs::write(&lock, "").unwrap();
        let moved = repo.update_branch(branch, &new, Some(&old));
        assert_eq!(moved.is_ok(), is_ours, "{branch}: {moved:?}");
        assert_eq!(lock.exists(), !is_ours);
        if is_ours {
            fs::write(&lock, "").unwrap();
            repo.delete_branch(branch, &new).unwrap();
        }
    }
}

#[test]
fn an_edit_made_after_a_kill_is_not_taken_for_a_torn_file() {
    let fixture = Fixture::new();
    let (old, new) = moved(&fixture, &[("a.txt", Some("new text\n"))]);
    leave_note(&fixture, &old, &new);
    fixture.write("a.txt", "new thought of the user\n");

    let refused = fixture.repo().advance_checkout("main", &old, &new);

    assert!(matches!(refused, Err(Error::Dirty { .. })), "{refused:?}");
    assert_eq!(fixture.read("a.txt").as_deref(), Some("new thought of the user\n"));
    let living = serde_json::json!({ "switchboard_advance": [old, new], "holder": Fingerprint::own() });
    fs::write(fixture.root.join(".git/index.lock"), living.to_string()).unwrap();
    let busy = fixture.repo().advance_checkout("main", &old, &new);
    assert!(matches!(busy, Err(Error::IndexBusy { .. })), "a living holder keeps its lock");
}

/// Runs as the killed process of the next test; without the variable it does nothing.
#[test]
fn moves_a_checkout_when_told() {
    let Some(order) = var(MOVE) else { return };
    let [root, old, new] = order.split(' ').collect::<Vec<_>>()[..] else { panic!("{order}") };
    let repo = Git::find(Env::plain()).unwrap().discover(Path::new(root)).unwrap();
    repo.advance_checkout("main", &Oid::parse(old).unwrap(), &Oid::parse(new).unwrap()).unwrap();
}

#[test]
fn killed_for_real_at_many_moments_it_completes_when_repeated() {
    let fixture = Fixture::new();
    for number in 0..150 {
        fixture.write(&format!("old/{number}"), &format!("{number} old\n").repeat(50));
    }
    let old = fixture.commit("many files");
    let path = |folder: &str, number: u32| format!("{folder}/{number}");
    let text = |number: u32| format!("{number} new and longer\n").repeat(400);
    let (edited, added): (Vec<_>, Vec<_>) =
        (0..150).map(|n| ((path("old", n), text(n)), (path("new", n), text(n)))).unzip();
    let files: Vec<_> = edited.iter().chain(&added).map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    let new = fixture.commit_on(&old, &files);
    let exe = std::env::current_exe().unwrap();
    let mut killed = 0;
    for moment in 0..24_u64 {
        let argv = [exe.to_str().unwrap(), "--exact", "advance::moves_a_checkout_when_told", "--test-threads=1"];
        let env = fixture.env.clone().set(MOVE, format!("{} {old} {new}", fixture.root.display()));
        let wall = std::time::Duration::from_millis(10 + moment * 6);
        let victim = Spawn::new(argv).env_only(env).wall(wall).grace(std::time::Duration::ZERO).output().unwrap();
        killed += u32::from(victim.exit != Exit::Exited(0));

        fixture.write("mine", "untracked");
        fixture.repo().advance_checkout("main", &old, &new).unwrap_or_else(|e| panic!("after {wall:?}: {e}"));

        assert_eq!(fixture.run(&["status", "--porcelain"]), "?? mine", "after {wall:?}");
        assert_eq!(fixture.repo().head_commit().unwrap(), new, "after {wall:?}");
        assert!(!fixture.root.join(".git/index.lock").exists(), "after {wall:?}");
        fixture.run(&["reset", "-q", "--hard", old.as_str()]);
    }
    assert!(killed > 0, "no call was caught in the middle");
}
