//! Which repository a command is about: copies, moves, work trees, and what a repository contains.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use switchboard_process::fingerprint::Fingerprint;

use super::sandbox::{BINARY, Done, Sandbox, within};

/// Runs a command in another folder than the repository.
fn at(sandbox: &Sandbox, folder: &Path, args: &[&str]) -> Done {
    sandbox.run([BINARY].into_iter().chain(args.iter().copied()), folder, "")
}

fn pid(done: Done) -> i64 {
    done.ends_with(0).json()["pid"].as_i64().unwrap()
}

#[test]
fn a_copy_has_a_daemon_and_a_record_of_its_own() {
    let sandbox = Sandbox::new();
    let first = pid(sandbox.switchboard(&["status", "--json"]));
    let copy = sandbox.folder().join("copy");
    sandbox.run(["cp", "-r", "repo", "copy"], sandbox.folder(), "").ends_with(0);

    let second = at(&sandbox, &copy, &["status", "--json"]).ends_with(0).json();

    assert_ne!(second["pid"].as_i64().unwrap(), first);
    assert_eq!(second["root"], copy.display().to_string());
    assert_eq!(pid(sandbox.switchboard(&["status", "--json"])), first);
    let third = pid(at(&sandbox, &copy, &["status", "--json"]));
    assert_eq!(second["pid"].as_i64().unwrap(), third);
    at(&sandbox, &copy, &["down"]).ends_with(0);
}

/// Runs a command at a terminal made by `script`, and types an answer.
fn typed(sandbox: &Sandbox, folder: &Path, line: &str, answer: &str) -> Done {
    let argv = ["env", "--unset=CI", "script", "--quiet", "--return", "--command", line, "/dev/null"];
    sandbox.run(argv, folder, answer)
}

#[test]
fn a_moved_repository_is_asked_about_once_and_keeps_its_record() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    let other = sandbox.folder().join("other");
    fs::rename(sandbox.root(), &other).unwrap();

    let refused = at(&sandbox, &other, &["status", "--json"]).ends_with(4).failure();
    at(&sandbox, &other, &["status", "--yes"]).ends_with(4).says("switchboard adopt");
    at(&sandbox, &other, &["adopt"]).ends_with(4).says("only a person");
    at(&sandbox, &other, &["adopt", "--yes"]).ends_with(0);
    let status = at(&sandbox, &other, &["status", "--json"]).ends_with(0).json();

    assert_eq!(refused["code"], "config.moved-repository");
    assert!(status["agents"] == 1, "{status}");
    at(&sandbox, &other, &["adopt", "--yes"]).ends_with(0).says("nothing to do");
    let fresh = at(&sandbox, &other, &["adopt", "--fresh", "--yes", "--json"]).ends_with(2).failure();
    assert_eq!(fresh["code"], "request.bad-args", "the wish for an empty record is not passed over");
    at(&sandbox, &other, &["down"]).ends_with(0);
    fs::rename(&other, sandbox.root()).unwrap();
}

#[test]
fn at_a_terminal_a_moved_repository_is_asked_about_in_place() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    let first = pid(sandbox.switchboard(&["status", "--json"]));
    // The daemon still runs, with its old paths.
    let other = sandbox.folder().join("other");
    fs::rename(sandbox.root(), &other).unwrap();
    let ask = format!("{BINARY} status");

    let unanswered = typed(&sandbox, &other, &ask, "\n");
    let not_ended = typed(&sandbox, &other, &format!("{BINARY} down"), "\n\n");
    let asked = typed(&sandbox, &other, &ask, "1\n").ends_with(0);
    let again = typed(&sandbox, &other, &ask, "").ends_with(0);
    let status = at(&sandbox, &other, &["status", "--json"]).ends_with(0).json();

    for refused in [unanswered, not_ended] {
        assert_eq!((refused.code, refused.out.matches("What became of it?").count()), (4, 1), "{refused:?}");
    }
    assert!(asked.out.contains("What became of it?") && asked.out.contains("it was moved"), "{asked:?}");
    assert!(!again.out.contains("What became of it?"), "{again:?}");
    assert_eq!((&status["agents"], &status["root"]), (&json!(1), &json!(other.display().to_string())));
    assert_ne!(status["pid"].as_i64().unwrap(), first);
    assert!(!sandbox.root().exists(), "its daemon has made nothing anew at the former place");
    at(&sandbox, &other, &["down"]).ends_with(0);
    fs::rename(&other, sandbox.root()).unwrap();
    at(&sandbox, &sandbox.root(), &["adopt", "--yes"]).ends_with(0);
}

#[test]
fn a_copy_that_outlived_its_original_begins_with_an_empty_record_where_a_person_says_so() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.run(["sh", "-c", "cp -r repo other && rm -r repo && mkdir repo"], sandbox.folder(), "").ends_with(0);
    let other = sandbox.folder().join("other");

    typed(&sandbox, &other, &format!("{BINARY} status"), "2\n").ends_with(0);
    let status = at(&sandbox, &other, &["status", "--json"]).ends_with(0).json();

    assert_eq!(status["agents"], 0);
    at(&sandbox, &other, &["down"]).ends_with(0);
}

#[test]
fn another_work_tree_reaches_the_daemon_of_the_first() {
    let sandbox = Sandbox::new();
    let first = pid(sandbox.switchboard(&["status", "--json"]));
    sandbox.git(&["worktree", "add", "--quiet", "../second"]);

    let second = pid(at(&sandbox, &sandbox.folder().join("second"), &["status", "--json"]));

    assert_eq!(second, first);
}

/// Makes a trusted plan of one task that writes a file.
fn writes(sandbox: &Sandbox, file: &str) -> String {
    sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": format!("write {file}"),
        "x-switchboard": { "command": ["sh", "-c", format!("cat own.txt > {file}; echo done >> {file}")] } }]))
}

/// Makes a second work tree on a new branch with a commit that the first doesn't have, and an ignored file that is
/// copied.
fn second_tree(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.write(".gitignore", "local\n");
    sandbox.write(".worktreeinclude", "local\n");
    sandbox.commit("ignore");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "other", "../second"]);
    let second = sandbox.folder().join("second");
    fs::write(second.join("own.txt"), "only here\n").unwrap();
    fs::write(second.join("local"), "of the second\n").unwrap();
    sandbox.git(&["-C", "../second", "add", "own.txt"]);
    let author = ["-c", "user.name=Person", "-c", "user.email=person@example.com"];
    sandbox.git(&[&["-C", "../second"], &author[..], &["commit", "--quiet", "-m", "own"]].concat());
    second
}

#[test]
fn a_run_from_another_work_tree_starts_from_its_branch_and_is_merged_into_it() {
    let sandbox = Sandbox::new();
    let second = second_tree(&sandbox);
    sandbox.switchboard(&["status"]).ends_with(0);
    let plan = writes(&sandbox, "made.txt");
    let before = sandbox.state_of_user();

    at(&sandbox, &second, &["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");
    let run = at(&sandbox, &second, &["show", "--json"]).json();
    let merged = at(&sandbox, &second, &["merge", "--json", "--yes"]).ends_with(0).json();

    assert_eq!((&merged["target"], &run["target"]), (&json!("other"), &json!("other")));
    assert_eq!(merged["from"], sandbox.git(&["rev-parse", "other~1"]).trim());
    assert_eq!(fs::read_to_string(second.join("made.txt")).unwrap(), "only here\ndone\n");
    assert_eq!(sandbox.git(&["-C", "../second", "status", "--porcelain"]), "");
    assert_eq!(sandbox.state_of_user(), before, "the first work tree is as it was");
}

#[test]
fn a_repository_whose_git_folder_lies_elsewhere_as_in_a_submodule_is_merged_into_with_its_files() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "--quiet", "--separate-git-dir", "../elsewhere"]);
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "write",
        "x-switchboard": { "command": ["sh", "-c", "echo made > made.txt"] } }]));

    sandbox.switchboard(&["run", &plan, "--merge", "--yes"]).ends_with(0).says("merged into main");

    assert_eq!(sandbox.read("made.txt"), "made\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.switchboard(&["merge", "--undo"]).ends_with(0);
    assert!(!sandbox.root().join("made.txt").exists());
}

#[test]
fn a_merge_from_another_work_tree_goes_into_the_branch_that_is_checked_out_there() {
    let sandbox = Sandbox::new();
    let second = second_tree(&sandbox);
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "write",
        "x-switchboard": { "command": ["sh", "-c", "echo made > made.txt"] } }]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let there = at(&sandbox, &second, &["merge", "--json", "--yes"]).ends_with(0).json();
    let here = sandbox.switchboard(&["merge", "--json"]).ends_with(0).json();
    let again = at(&sandbox, &second, &["merge", "--json", "--yes"]).ends_with(0).json();

    assert_eq!((&there["target"], &here["target"]), (&json!("other"), &json!("main")));
    assert_eq!((&there["already"], &here["already"], &again["already"]), (&json!(false), &json!(false), &json!(true)));
    assert_eq!(fs::read_to_string(second.join("made.txt")).unwrap(), "made\n");
    assert_eq!(sandbox.read("made.txt"), "made\n");
    for tree in [".", "../second"] {
        assert_eq!(sandbox.git(&["-C", tree, "status", "--porcelain"]), "");
    }
}

#[test]
fn a_branch_that_another_work_tree_has_checked_out_moves_with_the_files_there() {
    let sandbox = Sandbox::new();
    let second = second_tree(&sandbox);
    let plan = writes(&sandbox, "made.txt");
    at(&sandbox, &second, &["run", &plan, "--yes", "--merge"]).ends_with(0).says("merged into other");

    assert_eq!(fs::read_to_string(second.join("made.txt")).unwrap(), "only here\ndone\n");
    assert_eq!(sandbox.git(&["-C", "../second", "status", "--porcelain"]), "");
}

#[test]
fn ignored_files_are_copied_from_the_work_tree_that_the_run_was_started_from() {
    let sandbox = Sandbox::new();
    let second = second_tree(&sandbox);
    sandbox.write("local", "of the first\n");
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "write",
        "x-switchboard": { "command": ["sh", "-c", "cp local made.txt"] } }]));

    at(&sandbox, &second, &["run", &plan, "--yes", "--merge"]).ends_with(0);

    assert_eq!(fs::read_to_string(second.join("made.txt")).unwrap(), "of the second\n");
}

#[test]
fn a_folder_of_another_repository_starts_no_run_here() {
    let mut sandbox = Sandbox::new();
    let plan = writes(&sandbox, "made.txt");
    sandbox.switchboard(&["status"]).ends_with(0);
    let info: serde_json::Value = serde_json::from_str(&sandbox.read(".switchboard/server_info.json")).unwrap();
    sandbox.run(["git", "init", "--quiet", "elsewhere"], sandbox.folder(), "").ends_with(0);
    sandbox.set("SWITCHBOARD_SOCKET", info["socket"].as_str().unwrap());

    let refused = at(&sandbox, &sandbox.folder().join("elsewhere"), &["run", &plan, "--yes", "--json"]);

    assert_eq!(refused.ends_with(2).failure()["code"], "git.other-repository");
    sandbox.unset("SWITCHBOARD_SOCKET");
}

#[test]
fn a_token_that_a_repository_brings_is_replaced() {
    let sandbox = Sandbox::new();
    sandbox.write(".switchboard/auth_token", "chosen\n");
    sandbox.switchboard(&["status"]).ends_with(0);

    let server = super::http::Server::of(&sandbox);

    assert_ne!(sandbox.read(".switchboard/auth_token").trim(), "chosen");
    assert_eq!(server.call_as("chosen", "get_status", &serde_json::json!({})).0, 401);
    assert_eq!(server.call("get_status", &serde_json::json!({})).0, 200);
}

#[test]
fn a_token_that_is_a_link_is_replaced_and_its_target_kept() {
    let sandbox = Sandbox::new();
    let target = sandbox.folder().join("target");
    fs::write(&target, "mine\n").unwrap();
    fs::create_dir(sandbox.root().join(".switchboard")).unwrap();
    for name in ["auth_token", ".gitignore", "server_info.json"] {
        symlink(&target, sandbox.root().join(".switchboard").join(name)).unwrap();
    }

    sandbox.switchboard(&["status"]).ends_with(0);

    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    assert!(sandbox.root().join(".switchboard/auth_token").symlink_metadata().unwrap().is_file());
}

#[test]
fn a_folder_that_is_a_link_is_refused_and_nothing_is_written_behind_it() {
    let sandbox = Sandbox::new();
    let target = sandbox.folder().join("elsewhere");
    fs::create_dir(&target).unwrap();
    let link = sandbox.root().join(".switchboard");
    symlink(&target, &link).unwrap();

    let refused = sandbox.switchboard(&["status", "--json"]).ends_with(1).failure();

    assert_eq!(refused["code"], "io.unsafe-folder");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    let token = target.join("auth_token");
    fs::write(&token, "of another program\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    sandbox.switchboard(&["doctor", "--fix"]).ends_with(1).says(".switchboard is a link").says("remove it");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1, "the doctor wrote behind the link");
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    fs::remove_file(link).unwrap();
}

#[test]
fn the_doctor_names_links_among_the_message_folders_and_a_token_that_git_tracks() {
    let sandbox = Sandbox::new();
    let target = sandbox.folder().join("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::create_dir(sandbox.root().join(".switchboard")).unwrap();
    symlink(&target, sandbox.root().join(".switchboard/inbox")).unwrap();
    let nowhere = sandbox.folder().join("nowhere");
    symlink(&nowhere, sandbox.root().join(".switchboard/.gitignore")).unwrap();
    sandbox.write(".switchboard/auth_token", "chosen\n");
    sandbox.git(&["add", "--force", ".switchboard"]);
    sandbox.commit("what a repository brings");
    sandbox.switchboard(&["status"]).ends_with(0);

    let looked = sandbox.switchboard(&["doctor", "--fix"]).ends_with(1);

    let looked = looked.says("no message file is read or written").says("inbox").says("the token");
    looked.says("git rm --cached .switchboard/auth_token");
    assert!(!nowhere.exists(), "the doctor wrote behind a link");
    sandbox.git(&["rm", "--quiet", "--cached", ".switchboard/auth_token"]);
    fs::remove_file(sandbox.root().join(".switchboard/inbox")).unwrap();
    sandbox.write(".switchboard/housekeeping.policy.json", "{\"enabld\": false}");
    sandbox.switchboard(&["doctor"]).ends_with(1).says("nothing is tidied: unknown field `enabld`");
    fs::remove_file(sandbox.root().join(".switchboard/housekeeping.policy.json")).unwrap();
    let looked = sandbox.switchboard(&["doctor"]);
    assert!(!looked.out.contains("git rm --cached") && !looked.out.contains("no message file"), "{}", looked.out);
}

#[test]
fn a_sign_that_a_repository_brings_leads_to_no_other_daemon() {
    let sandbox = Sandbox::new();
    let first = pid(sandbox.switchboard(&["status", "--json"]));
    let other = sandbox.folder().join("other");
    sandbox.run(["git", "init", "--quiet", "other"], sandbox.folder(), "").ends_with(0);
    fs::create_dir(other.join(".switchboard")).unwrap();
    fs::copy(sandbox.root().join(".switchboard/server_info.json"), other.join(".switchboard/server_info.json"))
        .unwrap();

    let second = pid(at(&sandbox, &other, &["status", "--json"]));

    assert_ne!(second, first);
    at(&sandbox, &other, &["down"]).ends_with(0);
}

#[test]
fn sudo_in_a_users_repository_is_refused_and_leaves_nothing_there() {
    let mut sandbox = Sandbox::new();
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can play sudo");
        return;
    }
    chown(sandbox.root(), Some(1000), None).unwrap();
    sandbox.set("SUDO_UID", "1000");

    let refused = sandbox.switchboard(&["status", "--json"]).ends_with(2).failure();

    assert_eq!(refused["code"], "io.foreign-owner");
    assert!(!sandbox.root().join(".switchboard").exists());
    assert!(!sandbox.root().join(".git/switchboard-root-id").exists());
    let refused = sandbox.switchboard(&["mcp", "install", "claude", "--json"]).ends_with(2).failure();
    assert_eq!(refused["code"], "io.foreign-owner");
    assert!(!sandbox.root().join(".mcp.json").exists());
    // `sudo` may keep the user's HOME.
    let home = sandbox.folder().join("home");
    chown(&home, Some(1000), None).unwrap();
    sandbox.write("one.py", "print(1)\n");
    sandbox.switchboard(&["check", "one.py"]).ends_with(0);
    assert!(std::fs::read_dir(&home).unwrap().next().is_none(), "a file of root's in the user's home");
    chown(&home, Some(0), None).unwrap();
    chown(sandbox.root(), Some(0), None).unwrap();
    sandbox.unset("SUDO_UID");
}

#[test]
fn an_export_is_a_new_file_that_only_its_owner_reads() {
    let sandbox = Sandbox::new();
    let there = sandbox.folder().join("there");
    fs::write(&there, "mine").unwrap();
    let link = sandbox.folder().join("link");
    symlink(sandbox.folder().join("nowhere"), &link).unwrap();

    for path in [&there, &link] {
        for verb in ["export_log", "backup_store"] {
            let path = format!("path={}", path.display());
            sandbox.switchboard(&["call", verb, &path]).ends_with(1).says("io.denied");
        }
    }
    let fresh = sandbox.folder().join("fresh");
    sandbox.call(&["export_log", &format!("path={}", fresh.display())]);
    sandbox.call(&["register_agent", "name=ada"]);
    let again = sandbox.call(&["export_log", &format!("path={}", fresh.display())]);
    sandbox.switchboard(&["verify", &fresh.display().to_string(), "--json"]).ends_with(0);
    assert_eq!(fs::read_to_string(&fresh).unwrap().lines().count() as u64, again["events"].as_u64().unwrap() + 1);
    let copy = format!("path={}", sandbox.folder().join("copy.db").display());
    let first = sandbox.call(&["backup_store", &copy]);
    sandbox.call(&["register_agent", "name=ben"]);
    assert!(sandbox.call(&["backup_store", &copy])["events"].as_u64() > first["events"].as_u64());
    // Both are files of ours, but of the wrong kind.
    let crossed = format!("path={}", fresh.display());
    sandbox.switchboard(&["call", "backup_store", &crossed]).ends_with(1).says("no earlier copy of this record");
    sandbox.switchboard(&["call", "export_log", &copy]).ends_with(1).says("no earlier export of this record");

    assert_eq!(fs::read_to_string(&there).unwrap(), "mine");
    assert!(!sandbox.folder().join("nowhere").exists());
    assert_eq!(fresh.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fresh.metadata().unwrap().uid(), rustix::process::geteuid().as_raw());
}

fn daemon(pid: i64) -> Fingerprint {
    Fingerprint::of(u32::try_from(pid).unwrap()).unwrap()
}

#[test]
fn a_daemon_whose_state_was_deleted_ends_and_leaves_the_next_one_alone() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let first = daemon(pid(sandbox.switchboard(&["status", "--json"])));
    fs::remove_dir_all(sandbox.folder().join("state")).unwrap();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let second = pid(sandbox.switchboard(&["status", "--json"]));

    assert!(within(Duration::from_secs(60), || !first.is_alive()), "it goes on without its record");

    assert_ne!(i64::from(first.pid), second);
    assert_eq!(pid(sandbox.switchboard(&["status", "--json"])), second);
}

#[test]
fn a_daemon_whose_repository_was_deleted_ends() {
    let sandbox = Sandbox::new();
    let other = sandbox.folder().join("other");
    sandbox.run(["cp", "-r", "repo", "other"], sandbox.folder(), "").ends_with(0);
    at(&sandbox, &other, &["up", "--detach", "--yes"]).ends_with(0);
    let daemon = daemon(pid(at(&sandbox, &other, &["status", "--json"])));

    fs::remove_dir_all(&other).unwrap();

    assert!(within(Duration::from_secs(60), || !daemon.is_alive()), "it goes on without its repository");
}
