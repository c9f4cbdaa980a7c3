//! Files: the worker's own, and each way to the state of the project.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::io::Errno;
use switchboard_process::Error;
use switchboard_process::env::Env;
use switchboard_process::sandbox::{Sandbox, supported};
use switchboard_process::spawn::Spawn;

use super::fixture::{Fixture, text, tries};

#[test]
fn this_machine_can_enforce_everything() {
    let support = supported();

    assert!(support.landlock >= 6, "{support:?}: the tests of this file prove nothing here");
    assert_eq!(support.no_namespaces, None);
}

#[test]
fn a_child_works_in_its_own_tree_and_reads_the_system() {
    let fixture = Fixture::new();
    let (own, new, moved) = (text(&fixture.tree("own.txt")), text(&fixture.tree("new")), text(&fixture.tree("moved")));

    for what in [
        &["read", &own][..],
        &["write", &own],
        &["truncate", &own],
        &["create", &new],
        &["link", &own, &moved],
        &["unlink", &moved],
        &["rename", &new, &moved],
        &["chmod", &moved],
        &["read", "/etc/passwd"],
        &["write", "/dev/null"],
        &["read", "/proc/self/environ"],
        &["run", "/bin/sh"],
    ] {
        assert_eq!(fixture.tries(what), Ok(()), "{what:?}");
    }
}

#[test]
fn every_way_to_the_store_is_refused() {
    let fixture = Fixture::new();
    let (store, wal, key) =
        (text(&fixture.state("store.db")), text(&fixture.state("store.db-wal")), text(&fixture.state("keys/root.key")));
    let (link, into) = (text(&fixture.tree("link")), text(&fixture.tree("into")));
    symlink(fixture.state(""), fixture.tree("linked")).unwrap();
    let (through, beside) = (text(&fixture.tree("linked/store.db")), text(&fixture.tree("../../../store.db")));

    let tries = |what: &[&str]| fixture.tries(what).unwrap_err();

    for what in [
        &["read", &store][..],
        &["read", &through],
        &["read", &beside],
        &["read-by-symlink", &store, &link],
        &["read", &key],
        &["list", &text(&fixture.state(""))],
        &["read", "/etc/shadow"],
    ] {
        let errno = tries(what);
        assert!(fixture.is_refused(errno, &[Errno::ACCESS]), "{what:?}: {errno}");
    }
    for what in [
        &["write", &store][..],
        &["truncate", &store],
        &["create", &text(&fixture.state("store.db-journal"))],
        &["unlink", &wal],
        &["rename", &wal, &into],
        &["rename", &text(&fixture.tree("own.txt")), &store],
    ] {
        let errno = tries(what);
        assert!(fixture.is_refused(errno, &[Errno::ROFS, Errno::XDEV]), "{what:?}: {errno}");
    }
    assert!(fixture.is_refused(tries(&["link", &store, &into]), &[Errno::XDEV]));
    assert!(fixture.is_refused(tries(&["chmod", &store]), &[Errno::ROFS]), "Landlock alone would let it");
    assert_eq!(fs::read(fixture.state("store.db")).unwrap(), b"secret");
    assert!(fixture.state("store.db-wal").exists() && !fixture.tree("into").exists());
}

#[test]
fn landlock_alone_refuses_it_too() {
    let fixture = Fixture::new().on_the_machines_network();
    let (store, wal) = (text(&fixture.state("store.db")), text(&fixture.state("store.db-wal")));

    for what in [
        &["read", &store][..],
        &["write", &store],
        &["truncate", &store],
        &["create", &text(&fixture.state("store.db-journal"))],
        &["unlink", &wal],
        &["rename", &wal, &text(&fixture.tree("into"))],
    ] {
        assert_eq!(fixture.tries(what), Err(Errno::ACCESS), "{what:?}");
        assert_eq!(fs::read(&wal).unwrap(), b"secret");
    }
    // A hard link would give the store a name inside the tree; the kernel refuses it as a link across file systems.
    let linked = fixture.tries(&["link", &store, &text(&fixture.tree("into"))]);
    assert_eq!(linked, Err(Errno::XDEV));
}

#[test]
fn a_shell_a_database_and_a_mount_get_no_further() {
    let fixture = Fixture::new();
    let store = text(&fixture.state("store.db"));
    let said = |script: &str| {
        let env = Env::empty().inherit(["PATH"]);
        let spawn =
            Spawn::new(["sh", "-c", script]).env_only(env).cwd(fixture.tree("")).sandbox(fixture.sandbox.clone());
        let output = spawn.output().unwrap();
        (output.exit.is_zero(), output.stdout.text() + &output.stderr.text())
    };

    let (is_read, words) = said(&format!("cat '{store}'"));
    let refused = if fixture.is_hidden() { "No such file" } else { "Permission denied" };
    assert!(!is_read && words.contains(refused), "{words}");
    let (is_removed, _) = said(&format!("rm -f '{store}-wal'"));
    // `rm -f` succeeds if the file does not exist.
    assert!((!is_removed || fixture.is_hidden()) && fixture.state("store.db-wal").exists());
    if switchboard_process::spawn::which("sqlite3").is_some() {
        for line in [
            format!("sqlite3 '{store}' .tables"),
            format!("sqlite3 :memory: \"ATTACH '{store}' AS s; SELECT * FROM s.x\""),
        ] {
            let (is_open, words) = said(&line);
            assert!(!is_open && words.contains("unable to open"), "{line}: {words}");
        }
    }
    assert_eq!(fixture.tries(&["mount-over", &text(&fixture.state("")), &text(&fixture.tree(""))]), Err(Errno::PERM));
}

#[test]
fn a_tree_in_a_folder_of_sockets_is_there_and_nothing_else_of_it_is() {
    let fixture = Fixture::in_tmp();
    let (own, new) = (text(&fixture.tree("own.txt")), text(&fixture.tree("new")));

    assert_eq!(fixture.tries(&["read", &own]), Ok(()));
    assert_eq!(fixture.tries(&["create", &new]), Ok(()));
    assert!(fixture.tree("new").exists(), "it is the same folder");
    assert_eq!(fixture.tries(&["read", &text(&fixture.state("store.db"))]), Err(Errno::NOENT));
    assert_eq!(fixture.tries(&["list", "/tmp"]), Err(Errno::ACCESS));
    let outside = fixture.tries(&["create", "/tmp/switchboard-sandbox-test"]);
    assert_eq!(outside, Err(Errno::ROFS));
}

#[test]
fn a_program_behind_links_in_a_folder_of_sockets_starts() {
    let mut fixture = Fixture::in_tmp();
    let folder = fixture.state("").parent().unwrap().to_owned();
    let (tools, program) = (folder.join("tools"), folder.join("current/tool"));
    fs::create_dir(&tools).unwrap();
    symlink("tools", folder.join("current")).unwrap();
    symlink("/bin/true", tools.join("tool")).unwrap();
    assert_eq!(fixture.tries(&["run", &text(&program)]), Err(Errno::NOENT));

    fixture.sandbox.read.push(program.clone());

    assert_eq!(fixture.tries(&["run", &text(&program)]), Ok(()));
    assert_eq!(fixture.tries(&["list", &text(&tools)]), Err(Errno::ACCESS), "nothing else is opened");
}

#[test]
fn a_program_that_is_not_listed_does_not_start() {
    let fixture = Fixture::new();
    let program = fixture.state("tool");
    fs::copy("/bin/true", &program).unwrap();

    assert_eq!(tries(None, &["run", &text(&program)]), Ok(()));
    let errno = fixture.tries(&["run", &text(&program)]).unwrap_err();
    assert!(fixture.is_refused(errno, &[Errno::ACCESS]), "{errno}");
}

#[test]
fn a_sandbox_that_opens_the_state_or_names_nothing_is_refused_before_anything_starts() {
    let fixture = Fixture::new();
    let with = |path: PathBuf| {
        let sandbox = Sandbox { read: vec![path], ..fixture.sandbox.clone() };
        Spawn::new(["true"]).env_only(Env::plain()).sandbox(sandbox).output()
    };

    assert_eq!(with(fixture.state("")).unwrap_err().code(), "isolation.opens-state");
    assert_eq!(with("/".into()).unwrap_err().code(), "isolation.opens-state");
    assert!(matches!(with("/nowhere".into()), Err(Error::Sandbox { .. })));
}
