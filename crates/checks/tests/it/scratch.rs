//! A new folder for each test, with or without a repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use switchboard_checks::Limits;
use switchboard_protocol::finding::{Base, CheckName, CheckReply, CheckReport, CheckRequest, Finding, Severity};

/// A temporary folder with a `root` to check.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// Creates an empty folder without git.
    pub(crate) fn plain() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        Self { folder }
    }

    /// Creates an empty repository on the branch `main`, without a commit.
    pub(crate) fn repository() -> Self {
        let scratch = Self::plain();
        scratch.git(&["init", "--quiet", "--initial-branch=main"]);
        scratch
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let full = self.root().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.root().join(path)).unwrap();
        self
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        #[expect(clippy::disallowed_methods, reason = "a test makes its own repositories")]
        let mut git = Command::new("git");
        let output = git
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(self.root())
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn commit(&self) -> &Self {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "state"]);
        self
    }

    pub(crate) fn request(&self) -> CheckRequest {
        CheckRequest { root: self.root().to_str().unwrap().to_owned(), ..CheckRequest::default() }
    }

    pub(crate) fn check(&self) -> CheckReply {
        switchboard_checks::run(&self.request(), &Limits::default())
    }

    pub(crate) fn check_against(&self, base: Base) -> CheckReply {
        switchboard_checks::run(&CheckRequest { base, ..self.request() }, &Limits::default())
    }

    pub(crate) fn check_only(&self, check: CheckName) -> CheckReply {
        switchboard_checks::run(&CheckRequest { only: vec![check], ..self.request() }, &Limits::default())
    }

    pub(crate) fn check_paths(&self, paths: &[&str]) -> CheckReply {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        switchboard_checks::run(&CheckRequest { paths, ..self.request() }, &Limits::default())
    }
}

pub(crate) fn report(reply: &CheckReply, check: CheckName) -> &CheckReport {
    reply.reports.iter().find(|report| report.check == check).unwrap_or_else(|| panic!("no {check} in {reply:#?}"))
}

pub(crate) fn findings(reply: &CheckReply) -> Vec<&Finding> {
    reply.reports.iter().flat_map(|report| &report.findings).collect()
}

/// Returns the rules of findings that are more than listed.
pub(crate) fn more_than_listed(reply: &CheckReply) -> Vec<String> {
    let findings = findings(reply).into_iter().filter(|finding| finding.severity > Severity::Low);
    findings.map(|finding| finding.rule.clone()).collect()
}

/// Fills a template: `{A36}` stands for 36 letters and digits, `{H}` hexadecimal, `{L}` lower-case letters and digits,
/// `{U}` capitals and digits, `{D}` digits, `{B}` base64, `{W}` word characters and `-`. So this repository contains no
/// secret.
pub(crate) fn fill(template: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let code: String = rest[open + 1..].chars().take_while(|c| *c != '}').collect();
        let is_code = code.len() >= 2
            && code.starts_with(['A', 'H', 'L', 'U', 'D', 'B', 'W', 'X', 'S', 'Q'])
            && code[1..].bytes().all(|byte| byte.is_ascii_digit());
        if !is_code {
            out.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        }
        out.push_str(&rest[..open]);
        let (alphabet, count) = alphabet(&code);
        for _ in 0..count {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            out.push(alphabet[(state >> 33) as usize % alphabet.len()] as char);
        }
        rest = &rest[open + code.len() + 2..];
    }
    out.push_str(rest);
    out
}

fn alphabet(code: &str) -> (&'static [u8], usize) {
    let letters: &[u8] = match &code[..1] {
        "A" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "H" => b"0123456789abcdef",
        "L" => b"abcdefghijklmnopqrstuvwxyz0123456789",
        "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "D" => b"0123456789",
        "B" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "W" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        "Q" => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "S" => b"abcdefghijklmnopqrstuvwxyz234567",
        "X" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        other => panic!("no alphabet {other}"),
    };
    (letters, code[1..].parse().unwrap())
}
