//! An unreadable file is never a pass, and a file that is readable without a parser is checked.

use switchboard_checks::Limits;
use switchboard_protocol::finding::{Base, CheckName, CheckReply, CheckRequest, CheckVerdict};

use crate::scratch::{Scratch, fill, findings, report};

/// Returns the verdict of `secretscan`, and the lines of its findings.
fn secrets(reply: &CheckReply) -> (CheckVerdict, Vec<(String, u32)>) {
    let report = report(reply, CheckName::Secretscan);
    let place = |finding: &switchboard_protocol::finding::Finding| (finding.path.clone(), finding.span.start_line);
    (report.verdict, report.findings.iter().map(place).collect())
}

#[test]
fn a_nul_hides_no_secret_and_passes_no_parser() {
    let scratch = Scratch::plain();
    scratch.write("a.js", [b"let a = 1;\0\n", fill("// glpat-{A20}\n", 1).as_bytes()].concat());
    scratch.write("b.js", b"let b = 1;\0\n").write("c.png", b"\x89PNG\0\0").write("d.js", b"let d = 1;\n");

    let reply = scratch.check();

    assert_eq!(secrets(&reply), (CheckVerdict::Fail, vec![("a.js".into(), 2)]));
    let syntax = report(&reply, CheckName::SyntaxCheck);
    assert_eq!(syntax.verdict, CheckVerdict::Incomplete);
    let missing: Vec<&str> =
        syntax.skipped.iter().filter(|file| file.is_missing).map(|file| file.path.as_str()).collect();
    assert_eq!(missing, ["a.js", "b.js"]);
    assert!(syntax.summary.contains("2 of the change could not be read"), "{}", syntax.summary);
}

#[test]
fn utf16_without_its_mark_is_read() {
    let scratch = Scratch::plain();
    let text = fill("let a = 1;\nlet token = 'glpat-{A20}';\n", 2);
    for (path, order) in [("le.js", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("be.txt", u16::to_be_bytes)] {
        scratch.write(path, text.encode_utf16().flat_map(order).collect::<Vec<u8>>());
    }

    let reply = scratch.check();

    assert_eq!(secrets(&reply), (CheckVerdict::Fail, vec![("be.txt".into(), 2), ("le.js".into(), 2)]));
    assert_eq!(report(&reply, CheckName::SyntaxCheck).verdict, CheckVerdict::Pass);
}

#[test]
fn padding_beyond_the_limit_hides_no_secret_and_is_no_pass_for_the_parser() {
    let token = fill("glpat-{A20}", 3);
    for padding in ["// padding\n".repeat(900_000), format!("/*{}*/", " ".repeat(9_000_000))] {
        let scratch = Scratch::plain();
        let line = padding.matches('\n').count() as u32 + 1;
        scratch.write("a.js", format!("{padding}let token = '{token}';\n"));

        let reply = scratch.check();

        assert_eq!(secrets(&reply), (CheckVerdict::Fail, vec![("a.js".into(), line)]));
        assert_eq!(report(&reply, CheckName::SyntaxCheck).verdict, CheckVerdict::Incomplete);
    }
}

#[test]
fn a_secret_across_two_pieces_is_told_once_at_its_place() {
    let token = fill("glpat-{A20}", 4);
    // The first chunk ends at 4 MiB and leaves its last 16 KiB to the second.
    for before in [(4 << 20) - (16 << 10) - 10, (4 << 20) - 10, (4 << 20) - 2_000] {
        let scratch = Scratch::plain();
        let mut text = vec![b' '; 9 << 20];
        (0..text.len()).step_by(100).for_each(|at| text[at] = b'\n');
        text[before..before + token.len()].copy_from_slice(token.as_bytes());
        let line = text[..before].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        scratch.write("a.txt", text);

        let reply = scratch.check_only(CheckName::Secretscan);

        assert_eq!(secrets(&reply).1, [("a.txt".into(), line)], "{before}");
    }
}

#[test]
fn an_old_secret_of_a_large_file_stays_old() {
    let scratch = Scratch::repository();
    let line = fill("token = glpat-{A20}\n", 5);
    let large = "some words in a line\n".repeat(400_000);
    scratch.write("a.txt", format!("{large}{line}")).commit();

    scratch.write("a.txt", format!("one more\n{large}{line}{}", fill("glpat-{A20}\n", 6)));

    let reply = scratch.check_only(CheckName::Secretscan);
    let news: Vec<bool> = findings(&reply).iter().map(|finding| finding.is_new).collect();
    assert_eq!(news, [false, true]);
}

#[test]
fn a_new_submodule_is_no_pass() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", "words\n").commit();
    let head = scratch.git(&["rev-parse", "HEAD"]);
    scratch.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", head.trim())]);
    std::fs::create_dir(scratch.root().join("sub")).unwrap();

    let staged = scratch.check_against(Base::Staged);

    let report = report(&staged, CheckName::Secretscan);
    assert_eq!(report.verdict, CheckVerdict::Incomplete);
    assert_eq!(report.skipped[0].path, "sub");
    assert!(report.skipped[0].is_missing);
}

#[test]
fn what_only_the_index_holds_is_looked_at() {
    let scratch = Scratch::repository();
    scratch.write("a.txt", "words\n").write("b.txt", "words\n").commit();
    scratch.write("a.txt", fill("glpat-{A20}\n", 7)).write("c.txt", fill("glpat-{A20}\n", 8));
    scratch.write("b.txt", fill("glpat-{A20}\n", 9));
    scratch.git(&["add", "--all"]);
    // One file is restored, one removed, one kept and changed further.
    scratch.write("a.txt", "words\n").remove("c.txt");
    scratch.write("b.txt", format!("more\n{}", fill("glpat-{A20}\n", 9)));

    for base in [Base::MergeBase, Base::None] {
        let request = CheckRequest { base: base.clone(), only: vec![CheckName::Secretscan], ..scratch.request() };
        let reply = switchboard_checks::run(&request, &Limits::default());

        let told: Vec<(String, bool)> = findings(&reply)
            .iter()
            .map(|finding| (finding.path.clone(), finding.message.ends_with("in the index and not in the work tree")))
            .collect();
        assert_eq!(told, [("a.txt".into(), true), ("b.txt".into(), false), ("c.txt".into(), true)], "{base:?}");
        assert_eq!(reply.verdict, CheckVerdict::Fail);
    }
}
