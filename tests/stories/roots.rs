//! Which repository a command is about: copies, moves, work trees, and what a repository brings along.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use super::sandbox::{BINARY, Done, Sandbox};

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

#[test]
fn a_renamed_repository_keeps_its_record() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    let other = sandbox.folder().join("other");
    fs::rename(sandbox.root(), &other).unwrap();

    let status = at(&sandbox, &other, &["status", "--json"]).ends_with(0).json();

    assert!(status["agents"] == 1, "{status}");
    at(&sandbox, &other, &["down"]).ends_with(0);
    fs::rename(&other, sandbox.root()).unwrap();
}

#[test]
fn whether_a_repository_was_moved_or_copied_is_asked_where_it_can_not_be_told() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["status"]).ends_with(0);
    sandbox.switchboard(&["down"]).ends_with(0);
    // Another disk: the same files, other numbers.
    sandbox.run(["sh", "-c", "cp -r repo other && rm -r repo && mkdir repo"], sandbox.folder(), "").ends_with(0);
    let other = sandbox.folder().join("other");

    let refused = at(&sandbox, &other, &["status", "--json"]).ends_with(4).failure();
    assert_eq!(refused["code"], "config.moved-repository");
    at(&sandbox, &other, &["adopt"]).ends_with(4).says("only a person");
    at(&sandbox, &other, &["adopt", "--yes"]).ends_with(0);

    at(&sandbox, &other, &["status"]).ends_with(0);
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
    fs::remove_file(link).unwrap();
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

    assert_eq!(fs::read_to_string(&there).unwrap(), "mine");
    assert!(!sandbox.folder().join("nowhere").exists());
    assert_eq!(fresh.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fresh.metadata().unwrap().uid(), rustix::process::geteuid().as_raw());
}
