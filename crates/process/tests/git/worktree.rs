//! Work trees of ours: made, listed, reset, removed.

use std::fs;
use std::os::unix::fs::symlink;

use switchboard_process::Error;
use switchboard_process::env::var;
use switchboard_process::git::{Git, Oid};

use crate::fixture::{Fixture, write};

#[test]
fn making_one_touches_nothing_of_the_users() {
    let fixture = Fixture::new();
    let hook = fixture.root.join(".git/hooks/post-checkout");
    fixture.write("../hook", "");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", fixture.root.join("hooked").display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fixture.write("a.txt", "user's change\n");
    fixture.write("untracked", "x");
    let before = fixture.snapshot();

    let (repo, worktree, at) = fixture.worktree("t1");

    assert_eq!(fixture.snapshot(), before, "files, index, HEAD, refs, and no hook ran");
    assert_eq!(fs::read_to_string(worktree.path().join("a.txt")).unwrap(), "one\n");
    let listed = repo.worktree_list().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!((listed[1].branch.as_deref(), listed[1].commit.as_ref()), (Some("switchboard/t1"), Some(&at)));
}

#[test]
fn making_it_again_gives_the_same_and_another_branch_or_commit_is_refused() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    fixture.write("a.txt", "next");
    let next = fixture.commit("next");

    let again = repo.worktree_add(worktree.path(), "switchboard/t1", &at, &[]).unwrap();

    assert_eq!(again.path(), worktree.path());
    let other = repo.worktree_add(worktree.path(), "switchboard/t2", &at, &[]);
    assert!(matches!(other, Err(Error::NotOurs { .. })));
    let moved = repo.worktree_add(&fixture.base().join("t3"), "switchboard/t1", &next, &[]);
    assert!(matches!(moved, Err(Error::Moved { .. })));
    write(&fixture.base(), "t4/file", "x");
    let occupied = repo.worktree_add(&fixture.base().join("t4"), "switchboard/t4", &at, &[]);
    assert!(matches!(occupied, Err(Error::NotOurs { .. })));
    let checked_out_twice = repo.worktree_add(&fixture.base().join("t5"), "switchboard/t1", &at, &[]);
    assert!(matches!(checked_out_twice, Err(Error::Git { .. })), "{checked_out_twice:?}");
}

#[test]
fn branches_beside_it_are_made_where_they_are_missing_and_stay_where_they_stand() {
    let fixture = Fixture::new();
    let (repo, at) = (fixture.repo(), fixture.repo().head_commit().unwrap());
    fixture.write("a.txt", "next");
    let next = fixture.commit("next");
    let add = |name: &str, beside: &str, to: &Oid| {
        let path = fixture.base().join(name);
        repo.worktree_add(&path, &format!("switchboard/{name}"), &at, &[(beside, to)]).map(drop)
    };

    add("t1", "switchboard/run", &at).unwrap();
    assert_eq!(repo.branch("switchboard/run").unwrap(), Some(at.clone()));
    assert_eq!(repo.branch("switchboard/t1").unwrap(), Some(at.clone()));

    add("t2", "switchboard/run", &next).unwrap();
    assert_eq!(repo.branch("switchboard/run").unwrap(), Some(at.clone()), "it was there");
    assert_eq!(repo.worktree_tip(&fixture.base().join("t2")).unwrap(), Some(at.clone()));

    add("t2", "switchboard/later", &next).unwrap();
    assert_eq!(repo.branch("switchboard/later").unwrap(), Some(next.clone()), "the tree was there, the branch was not");

    repo.update_branch("switchboard/t3", &next, None).unwrap();
    let moved = add("t3", "switchboard/of-t3", &at);
    assert!(matches!(moved, Err(Error::Moved { .. })), "{moved:?}");
    assert_eq!(repo.branch("switchboard/of-t3").unwrap(), None);
}

#[test]
fn the_tip_of_a_tree_is_told_without_its_files() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fs::write(path.join(".git"), "gitdir: /nowhere\n").unwrap();
    assert_eq!(repo.worktree_tip(path).unwrap(), Some(at.clone()));
    fs::remove_dir_all(path).unwrap();
    assert_eq!(repo.worktree_tip(path).unwrap(), Some(at.clone()), "it is registered still");
    fs::remove_file(repo.common_dir().join("worktrees/t1/HEAD")).unwrap();
    assert_eq!(repo.worktree_tip(path).unwrap(), None, "git was killed while it made it");
    assert_eq!(repo.worktree_tip(&fixture.base().join("t2")).unwrap(), None);
    assert_eq!(repo.worktree_tip(&fixture.root).unwrap(), None, "the user's own is none of ours");
}

#[test]
fn removal_stays_inside_its_folder() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let base = fixture.base();
    let foreign = fixture.folder.path().join("foreign");
    repo.worktree_add(&foreign, "foreign", &at, &[]).unwrap();
    symlink(&foreign, base.join("link")).unwrap();
    symlink(&fixture.root, worktree.path().join("to-user")).unwrap();

    for path in [&foreign, &base, &base.join("link"), &fixture.root, &base.join("../foreign")] {
        let refused = repo.worktree_remove(path, &base);
        assert!(matches!(refused, Err(Error::NotOurs { .. })), "{}: {refused:?}", path.display());
    }
    repo.worktree_remove(worktree.path(), &base).unwrap();
    repo.worktree_remove(worktree.path(), &base).expect("repeating it is fine");

    assert!(!worktree.path().exists() && foreign.join("a.txt").exists() && fixture.root.join("a.txt").exists());
    assert_eq!(repo.worktree_list().unwrap().len(), 2);
    assert!(repo.branch("switchboard/t1").unwrap().is_some(), "the branch stays");
}

#[test]
fn a_locked_one_stays_and_a_half_made_one_goes() {
    let fixture = Fixture::new();
    let (repo, one, _) = fixture.worktree("t1");
    let (_, two, at) = fixture.worktree("t2");
    fixture.run(&["worktree", "lock", "--reason", "mine", one.path().to_str().unwrap()]);
    fs::write(repo.common_dir().join("worktrees/t2/locked"), "initializing\n").unwrap();
    fs::remove_file(two.path().join(".git")).unwrap();

    assert!(matches!(repo.worktree_remove(one.path(), &fixture.base()), Err(Error::NotOurs { .. })));
    repo.worktree_remove(two.path(), &fixture.base()).unwrap();

    assert!(one.path().join("a.txt").exists());
    repo.worktree_add(two.path(), "switchboard/t2", &at, &[]).expect("it can be made again");
}

#[test]
fn pruning_forgets_ours_and_leaves_the_users() {
    let fixture = Fixture::new();
    let (repo, ours, at) = fixture.worktree("t1");
    let theirs = fixture.folder.path().join("usb-stick");
    repo.worktree_add(&theirs, "theirs", &at, &[]).unwrap();
    fs::remove_dir_all(ours.path()).unwrap();
    fs::remove_dir_all(&theirs).unwrap();

    repo.worktree_prune(&fixture.base()).unwrap();

    let left: Vec<_> = repo.worktree_list().unwrap().into_iter().filter_map(|listed| listed.branch).collect();
    assert_eq!(left, ["main", "theirs"]);
}

#[test]
fn what_a_killed_maker_left_is_removed_and_nothing_else() {
    let fixture = Fixture::new();
    let (repo, whole, _) = fixture.worktree("t1");
    let (_, half, _) = fixture.worktree("t2");
    let (_, gone, _) = fixture.worktree("t3");
    let (_, theirs, _) = fixture.worktree("t4");
    let admin = |name: &str| repo.common_dir().join("worktrees").join(name);
    let ours = "initializing by switchboard\n";
    // In the folder for work trees, what git makes is ours.
    for (name, reason) in [("t2", ours), ("t3", "initializing\n")] {
        fs::write(admin(name).join("locked"), reason).unwrap();
    }
    let at = repo.head_commit().unwrap();
    let elsewhere = ["elsewhere", "elsewhere-gone"].map(|name| fixture.folder.path().join(name));
    for path in &elsewhere {
        let name = path.file_name().unwrap().to_str().unwrap();
        repo.worktree_add(path, name, &at, &[]).unwrap();
        fs::write(admin(name).join("locked"), ours).unwrap();
    }
    fs::remove_dir_all(&elsewhere[1]).unwrap();
    for path in [gone.path(), theirs.path()] {
        fs::remove_dir_all(path).unwrap();
    }
    for (name, reason) in [("1.1", ours), ("git-makes", "initializing\n"), ("locked-by-a-person", "")] {
        fs::create_dir(admin(name)).unwrap();
        fs::write(admin(name).join("locked"), reason).unwrap();
    }

    let run = fixture.folder.path().join("chosen/run");
    repo.worktree_add(&run.join("t5"), "t5", &at, &[]).unwrap();
    fs::write(admin("t5").join("locked"), ours).unwrap();
    let bases = [fixture.base(), run.clone(), fixture.folder.path().join("not-there")];

    assert_eq!(repo.worktrees_forget_incomplete(&bases).unwrap(), 5);
    assert_eq!(repo.worktrees_forget_incomplete(&bases).unwrap(), 0);

    let kept = ["git-makes", "locked-by-a-person", "t1", "t4", "elsewhere"];
    let removed = ["1.1", "t2", "t3", "elsewhere-gone", "t5"];
    assert_eq!(kept.map(|name| admin(name).exists()), [true; 5]);
    assert_eq!(removed.map(|name| admin(name).exists()), [false; 5]);
    assert!(whole.path().join("a.txt").exists() && elsewhere[0].join("a.txt").exists());
    assert!(!half.path().exists() && !run.join("t5").exists());
}

#[test]
fn a_work_tree_is_locked_with_a_reason_of_ours_while_its_files_are_written() {
    let fixture = Fixture::new();
    let (path, tools) = (var("PATH").unwrap(), fixture.folder.path().join("tools"));
    let seen = fixture.folder.path().join("seen");
    // Git, except that it copies the lock before it writes files.
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *read-tree*) cp \"$GIT_DIR/locked\" '{}';; esac\nexec git \"$@\"\n",
        seen.display()
    );
    write(&tools, "git", &script);
    fs::set_permissions(tools.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let env = fixture.env.clone().set("PATH", format!("{}:{path}", tools.display()));
    let repo = Git::find(env).unwrap().discover(&fixture.root).unwrap();
    let at = repo.head_commit().unwrap();

    repo.worktree_add(&fixture.base().join("t1"), "switchboard/t1", &at, &[]).unwrap();

    assert_eq!(fs::read_to_string(seen).unwrap(), "initializing by switchboard\n");
    assert!(!repo.common_dir().join("worktrees/t1/locked").exists());
}

#[test]
fn a_reset_undoes_whatever_an_agent_did() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "cache\n");
    fixture.commit("ignore");
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fixture.run_in(path, &["checkout", "-q", "-b", "elsewhere"]);
    write(path, "a.txt", "agent");
    write(path, "new/deep/file", "x");
    write(path, "cache", "kept");
    fixture.run_in(path, &["add", "-A"]);
    fixture.run_in(path, &["commit", "-qm", "agent's own"]);
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    fs::remove_file(path.join(".git")).unwrap();
    fixture.run_in(path, &["init", "-q"]);
    write(&repo.common_dir().join("worktrees/t1"), "index.lock", "");

    worktree.reset("switchboard/t1", &at, false).unwrap();

    let status = fixture.run_in(path, &["status", "--porcelain", "--branch"]);
    assert_eq!(status, "## switchboard/t1");
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
    assert!(!path.join("new").exists() && path.join("dir/b.txt").exists());
    assert_eq!(fs::read_to_string(path.join("cache")).unwrap(), "kept");
    worktree.reset("switchboard/t1", &at, true).unwrap();
    assert!(!path.join("cache").exists());
}

#[test]
fn a_checkout_without_a_branch_is_brought_to_any_commit_whatever_was_done_in_it() {
    let fixture = Fixture::new();
    let (repo, first) = (fixture.repo(), fixture.repo().head_commit().unwrap());
    fixture.write(".gitignore", "built\n");
    fixture.write("a.txt", "next\n");
    let next = fixture.commit("next");
    let path = fixture.base().join("run/.gates/1");
    let before = fixture.snapshot();

    let tree = repo.worktree_detached(&path, &next).unwrap();
    write(tree.path(), "built", "by a gate");
    write(tree.path(), "left", "by a gate");
    write(tree.path(), "a.txt", "edited");
    fixture.run_in(tree.path(), &["switch", "-q", "-c", "elsewhere"]);
    fs::write(tree.path().join(".git"), "gitdir: /nowhere\n").unwrap();
    repo.worktree_detached(&path, &first).unwrap();

    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
    assert!(!path.join("left").exists());
    assert_eq!(repo.worktree_tip(&path).unwrap(), Some(first));
    assert_eq!(repo.branch("elsewhere").unwrap(), Some(next.clone()), "a branch that somebody made there stays");
    let listed = repo.worktree_list().unwrap();
    assert_eq!(listed[1].branch, None);
    let admin = repo.common_dir().join("worktrees/1");
    fs::write(admin.join("locked"), "initializing\n").unwrap();
    fs::remove_file(admin.join("index")).unwrap();
    repo.worktree_detached(&path, &next).unwrap();
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "next\n", "whoever made it was killed");
    assert!(!admin.join("locked").exists());
    repo.delete_branch("elsewhere", &next).unwrap();
    assert_eq!(fixture.snapshot(), before);
}

#[test]
fn all_work_trees_of_a_folder_are_removed_and_others_stay() {
    let fixture = Fixture::new();
    let (repo, kept, at) = fixture.worktree("t1");
    let folder = fixture.base().join("run/.gates");
    for name in ["1", "3"] {
        repo.worktree_detached(&folder.join(name), &at).unwrap();
    }
    write(&folder, "half/made", "x");

    repo.worktrees_remove(&folder, &fixture.base()).unwrap();
    repo.worktrees_remove(&folder, &fixture.base()).unwrap();

    assert!(!folder.exists());
    assert!(kept.path().is_dir());
    assert_eq!(repo.worktree_list().unwrap().len(), 2);
    let outside = repo.worktrees_remove(&fixture.root, &fixture.base());
    assert!(matches!(outside, Err(Error::NotOurs { .. })), "{outside:?}");
}

#[test]
fn a_work_tree_that_another_git_is_just_making_is_waited_for_and_one_that_stays_half_made_is_told() {
    let fixture = Fixture::new();
    let (repo, _, _) = fixture.worktree("t1");
    let file = fixture.root.join(".git/worktrees/t1/commondir");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, "").unwrap();
    assert!(repo.worktree_list().unwrap_err().to_string().contains("commondir"));

    let made = {
        let file = file.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            fs::write(file, whole).unwrap();
        })
    };

    assert_eq!(repo.worktree_list().unwrap().len(), 2);
    made.join().unwrap();
}

#[test]
fn one_whose_folder_is_gone_is_made_anew_and_no_other_is_forgotten() {
    let fixture = Fixture::new();
    let (repo, gone, at) = fixture.worktree("t1");
    let other = fixture.folder.path().join("usb-stick");
    repo.worktree_add(&other, "theirs", &at, &[]).unwrap();
    let judged = fixture.base().join("run/.gates/1");
    repo.worktree_detached(&judged, &at).unwrap();
    for path in [gone.path(), &other, &fixture.base().join("run")] {
        fs::remove_dir_all(path).unwrap();
    }

    repo.worktree_add(gone.path(), "switchboard/t1", &at, &[]).unwrap();
    repo.worktree_detached(&judged, &at).unwrap();

    assert!(gone.path().join("a.txt").exists() && judged.join("a.txt").exists());
    let left: Vec<_> = repo.worktree_list().unwrap().into_iter().map(|listed| listed.branch).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.contains(&Some("theirs".to_owned())));
}

#[test]
fn one_that_is_gone_and_was_on_another_branch_is_made_anew_because_the_branch_stays() {
    let fixture = Fixture::new();
    let (repo, gone, at) = fixture.worktree("t1");
    fixture.run_in(gone.path(), &["switch", "-q", "-c", "agents-own"]);
    write(gone.path(), "a.txt", "agent");
    fixture.run_in(gone.path(), &["commit", "-qam", "agent's own"]);
    let made = fixture.run_in(gone.path(), &["rev-parse", "HEAD"]);
    fs::remove_dir_all(gone.path()).unwrap();

    repo.worktree_add(gone.path(), "switchboard/t1", &at, &[]).unwrap();

    assert_eq!(repo.branch("agents-own").unwrap(), Some(Oid::parse(&made).unwrap()));
}

#[test]
fn one_that_is_gone_stays_registered_where_it_is_locked_or_alone_has_commits() {
    let fixture = Fixture::new();
    let (repo, locked, at) = fixture.worktree("t1");
    let (_, alone, _) = fixture.worktree("t2");
    fixture.run(&["worktree", "lock", "--reason", "mine", locked.path().to_str().unwrap()]);
    fixture.run_in(alone.path(), &["switch", "-q", "--detach"]);
    write(alone.path(), "a.txt", "agent");
    fixture.run_in(alone.path(), &["commit", "-qam", "on no branch"]);
    for tree in [&locked, &alone] {
        fs::remove_dir_all(tree.path()).unwrap();
    }

    for (tree, branch, why) in [(&locked, "switchboard/t1", "locked"), (&alone, "switchboard/t2", "on no branch")] {
        let refused = repo.worktree_add(tree.path(), branch, &at, &[]).unwrap_err();
        assert!(matches!(refused, Error::NotOurs { .. }) && refused.to_string().contains(why), "{refused}");
    }

    assert_eq!(repo.worktree_list().unwrap().len(), 3);
    fixture.run(&["worktree", "unlock", locked.path().to_str().unwrap()]);
    repo.worktree_add(locked.path(), "switchboard/t1", &at, &[]).expect("nobody has it locked any more");
}

#[test]
fn a_link_a_file_or_somebody_elses_repository_in_its_place_is_refused_by_name_and_left_alone() {
    let fixture = Fixture::new();
    let (repo, moved, at) = fixture.worktree("t1");
    let base = fixture.base();
    let elsewhere = fixture.folder.path().join("elsewhere");
    fixture.run(&["worktree", "move", moved.path().to_str().unwrap(), elsewhere.to_str().unwrap()]);
    symlink(&elsewhere, moved.path()).unwrap();
    symlink(base.join("nowhere"), base.join("t2")).unwrap();
    write(&base, "t3", "a file");
    write(&base, "t4/a.txt", "theirs");
    fixture.run_in(&base.join("t4"), &["init", "-q"]);

    let wanted = [("t1", "symbolic link"), ("t2", "symbolic link"), ("t3", "a file lies there"), ("t4", "repository")];
    for (name, why) in wanted {
        let of_branch = repo.worktree_add(&base.join(name), &format!("switchboard/{name}"), &at, &[]).unwrap_err();
        let of_commit = repo.worktree_detached(&base.join(name), &at).unwrap_err();
        for refused in [of_branch, of_commit] {
            assert!(matches!(refused, Error::NotOurs { .. }) && refused.to_string().contains(why), "{name}: {refused}");
        }
    }

    assert!(elsewhere.join("a.txt").exists() && !base.join("nowhere").exists());
    assert_eq!(fs::read_to_string(base.join("t4/a.txt")).unwrap(), "theirs");
}

#[test]
fn one_that_was_never_complete_is_made_anew_and_one_whose_agent_has_removed_the_index_is_kept() {
    let fixture = Fixture::new();
    let (repo, tree, at) = fixture.worktree("t1");
    let admin = repo.common_dir().join("worktrees/t1");
    let path = tree.path();
    write(path, "new", "agent");
    fs::remove_file(admin.join("index")).unwrap();
    repo.worktree_add(path, "switchboard/t1", &at, &[]).unwrap();
    assert!(path.join("new").exists());

    for missing in ["a.txt", ".git"] {
        // As a killed maker left it: before git had written all files and the branch.
        fs::write(admin.join("locked"), "initializing\n").unwrap();
        fs::remove_file(path.join(missing)).unwrap();
        assert_eq!(repo.worktree_tip(path).unwrap(), None);
        fixture.run(&["update-ref", "-d", "refs/heads/switchboard/t1"]);
        repo.worktree_add(path, "switchboard/t1", &at, &[]).unwrap();

        assert_eq!(fixture.run_in(path, &["status", "--porcelain", "--branch"]), "## switchboard/t1");
        assert_eq!(repo.worktree_tip(path).unwrap(), Some(at.clone()));
        assert!(path.join(missing).exists() && !path.join("new").exists() && !admin.join("locked").exists());
    }
    assert_eq!(repo.worktree_list().unwrap().len(), 2);
}

#[test]
fn a_new_one_is_as_git_itself_makes_it() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.crlf text eol=crlf\n");
    fixture.write("windows.crlf", "one\n");
    fixture.commit("attributes");
    let (repo, ours, _) = fixture.worktree("t1");
    let theirs = fixture.folder.path().join("by-git");

    fixture.run(&["worktree", "add", "-q", "-b", "by-git", theirs.to_str().unwrap()]);

    for file in ["a.txt", "dir/b.txt", "windows.crlf"] {
        assert_eq!(fs::read(ours.path().join(file)).unwrap(), fs::read(theirs.join(file)).unwrap(), "{file}");
    }
    let admin = |name: &str, file: &str| fs::read_to_string(repo.common_dir().join("worktrees").join(name).join(file));
    assert_eq!(admin("t1", "commondir").unwrap(), admin("by-git", "commondir").unwrap());
    assert_eq!(admin("t1", "HEAD").unwrap(), admin("by-git", "HEAD").unwrap().replace("by-git", "switchboard/t1"));
    let place = |path: &std::path::Path| format!("{}/.git\n", path.display());
    assert_eq!(admin("t1", "gitdir").unwrap(), place(ours.path()));
    assert_eq!(admin("by-git", "gitdir").unwrap(), place(&theirs.canonicalize().unwrap()));
    assert_eq!(fixture.run_in(ours.path(), &["status", "--porcelain"]), "");
    assert_eq!(fixture.run(&["fsck", "--no-progress"]), "");
    fixture.run(&["worktree", "prune", "--expire=now"]);
    assert_eq!(repo.worktree_list().unwrap().len(), 3);
}

#[test]
fn a_branch_whose_name_is_the_folder_of_ours_is_in_the_way() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    assert_eq!(repo.branch_in_the_way().unwrap(), None);

    fixture.run(&["branch", "switchboard-task"]);
    fixture.run(&["pack-refs", "--all"]);
    assert_eq!(repo.branch_in_the_way().unwrap().as_deref(), Some("switchboard-task"));
    fixture.run(&["branch", "-m", "switchboard-task", "mine"]);
    fixture.run(&["branch", "switchboard/mine"]);
    assert_eq!(repo.branch_in_the_way().unwrap(), None);
}

#[test]
fn the_main_tree_is_found_where_its_git_folder_lies_elsewhere() {
    let separate = Fixture::new();
    let elsewhere = separate.folder.path().join("elsewhere");
    separate.run(&["init", "-q", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    let submodule = Fixture::new();
    let above = submodule.folder.path().join("above");
    submodule.run(&["init", "-q", "-b", "main", above.to_str().unwrap()]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", submodule.root.to_str().unwrap(), "below"];
    submodule.run_in(&above, &add);
    let below = above.join("below").canonicalize().unwrap();

    for (fixture, root, is_known_to_git) in [(&separate, &separate.root, false), (&submodule, &below, true)] {
        let repo = fixture.git().discover(root).unwrap();
        let at = repo.head_commit().unwrap();
        let path = fixture.base().join("t1");
        repo.worktree_add(&path, "switchboard/t1", &at, &[]).unwrap();

        assert_eq!(repo.tree_on("main").unwrap().unwrap().root(), root);
        assert_eq!(repo.worktree_list().unwrap()[0].path, *root);
        if is_known_to_git {
            let linked = fixture.git().discover(&path).unwrap();
            assert_eq!(linked.tree_on("main").unwrap().unwrap().root(), root);
        }
    }
}

#[test]
fn names_that_are_taken_are_numbered_as_git_numbers_them() {
    let fixture = Fixture::new();
    let (repo, _, at) = fixture.worktree("t1");

    for run in ["run-1", "run-2"] {
        let path = fixture.base().join(run).join("t1");
        repo.worktree_add(&path, &format!("switchboard/{run}"), &at, &[]).unwrap();
        assert_eq!(repo.worktree_tip(&path).unwrap(), Some(at.clone()));
    }

    let mut names: Vec<_> = fs::read_dir(repo.common_dir().join("worktrees")).unwrap().flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    assert_eq!(names.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), ["t1", "t11", "t12"]);
}

#[test]
fn a_branch_that_git_has_packed_counts_as_there_and_nothing_of_the_attempt_is_left() {
    let fixture = Fixture::new();
    let (repo, at) = (fixture.repo(), fixture.repo().head_commit().unwrap());
    fixture.write("a.txt", "next");
    let next = fixture.commit("next");
    let path = fixture.base().join("t1");
    for (name, to) in [("switchboard/t1", &next), ("switchboard/run", &at)] {
        repo.update_branch(name, to, None).unwrap();
    }
    fixture.run(&["pack-refs", "--all"]);

    let moved = repo.worktree_add(&path, "switchboard/t1", &at, &[]);
    assert!(matches!(moved, Err(Error::Moved { .. })), "{moved:?}");
    assert!(!path.exists() && repo.worktree_list().unwrap().len() == 1);

    repo.worktree_add(&path, "switchboard/t1", &next, &[]).unwrap();
    repo.worktree_add(&fixture.base().join("t2"), "switchboard/t2", &at, &[("switchboard/run", &next)]).unwrap();
    assert_eq!(repo.branch("switchboard/run").unwrap(), Some(at.clone()), "it was there");
    assert_eq!(repo.worktree_tip(&fixture.base().join("t2")).unwrap(), Some(at));
}
