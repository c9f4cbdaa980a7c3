//! Parses the output of compilers, linters and test frameworks. Lines it does not recognise stay in the raw output
//! only.

use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use switchboard_protocol::finding::TestTotals;
use switchboard_protocol::verb::check::CommandFinding;

pub(crate) mod totals;

/// Maximum number of findings read out of one output.
const MAX_FINDINGS: usize = 200;
/// Maximum length of a message, in characters.
const MESSAGE: usize = 400;
/// Maximum length of a line that is parsed, in bytes.
const LINE: usize = 4_000;

/// Forms of one line, more specific ones first. Sources: the GNU coding standards' form of error messages, and the
/// manuals of msbuild (and tsc), Maven, Dart and PHPStan.
static LINES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"^\[(?P<severity>ERROR|WARNING)\]\s+(?P<path>\S.*?):\[(?P<line>\d+)(?:,(?P<column>\d+))?\]\s+(?P<message>.+)$",
        r"^\s*(?P<path>[^\s(][^(]*?)\((?P<line>\d+),(?P<column>\d+)\):\s+(?P<severity>error|warning|info)\s+(?P<rule>[A-Za-z]+\d+):\s+(?P<message>.+)$",
        r"^\s*(?P<severity>error|warning|info)\s+[-•]\s+(?P<path>[^\s:]+):(?P<line>\d+):(?P<column>\d+)\s+[-•]\s+(?P<message>.+?)(?:\s+[-•]\s+(?P<rule>\w+))?$",
        r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+):?\s+(?P<severity>fatal error|error|warning|note|info|style|performance|portability)(?:\[(?P<rule>[\w:-]+)\])?:?\s+(?P<message>.+)$",
        r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+):\s+(?P<severity>[CRWEF]):\s+(?:\[\S+\]\s+)?(?P<rule>[A-Za-z]+/\w+):\s+(?P<message>.+)$",
        r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+):\s+(?P<rule>[A-Z]+\d+)\s+(?P<message>.+)$",
        r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+)\s+(?P<rule>(?:lint|suspicious|parse)\S*)\s*(?P<message>.*)$",
        r"^(?:vet: )?(?P<path>[^\s:][^:]*\.\w+):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?:(?P<severity>error|warning):\s+)?(?P<message>.+)$",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("a constant pattern"))
    .collect()
});
/// An ESLint line, which stands below the file's name.
static BELOW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning)\s+(?P<message>.+?)(?:\s{2,}(?P<rule>[@\w/-]+))?$")
        .expect("a constant pattern")
});
/// Start of Cargo's message about a manifest: its path, then the position, then the message below the marked line.
static MANIFEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^error: (?:failed to (?:parse|load|read)|could not parse).*? manifest.*?`(?P<path>[^`]+)`")
        .expect("a constant pattern")
});
/// Cargo's message about an unavailable dependency, and about the package that requires it.
static DEPENDENCY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:error: (?P<message>failed to get `[^`]+` as a dependency) of|required by) package `\S+ v\S+ \((?P<folder>/[^)]+)\)`",
    )
    .expect("a constant pattern")
});
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:TOML parse error )?at line (?P<line>\d+),? column (?P<column>\d+)$")
        .expect("a constant pattern")
});
/// Start of Maven's message about a project file: its path on one line, then each error.
static POM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[(?:ERROR|FATAL)\]\s+(?:The project \S+ \((?P<path>[^)]+)\) has \d+ errors?|(?:Non-parseable|Malformed) POM (?P<bad>[^\s:]+).*)$")
        .expect("a constant pattern")
});
static POM_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[(?P<severity>ERROR|FATAL|WARNING)\]\s+(?P<message>.+?)\s+@ (?:[^,]*, )?line (?P<line>\d+), column (?P<column>\d+)(?:\s.*)?$")
        .expect("a constant pattern")
});
/// First of Rust's two lines: the message. `WHERE` matches the second, the position.
static WHAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<severity>error|warning)(?:\[(?P<rule>\w+)\])?: (?P<message>.+)$").expect("a constant pattern")
});
static WHERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+--> (?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+)$").expect("a constant pattern")
});

/// Lists what an output reports about files, each finding once, with paths relative to `root` where they lie in it.
pub(crate) fn findings(root: &Path, output: &str) -> Vec<CommandFinding> {
    let mut found: Vec<CommandFinding> = Vec::new();
    let (mut file, mut what): (Option<String>, Option<Captures<'_>>) = (None, None);
    let mut manifest = Manifest::default();
    for line in output.lines().filter(|line| line.len() <= LINE) {
        let line = line.trim_end();
        let finding = if let Some(finding) = manifest.line(root, line) {
            Some(finding)
        } else if let Some(asked) = DEPENDENCY.captures(line) {
            of_dependency(root, &asked, what.take())
        } else if let Some(at) = WHERE.captures(line) {
            what.take().map(|what| finding(root, &at["path"], &at, &what))
        } else if let Some(below) = BELOW.captures(line) {
            file.as_deref().map(|file| finding(root, file, &below, &below))
        } else {
            LINES.iter().find_map(|form| form.captures(line)).map(|all| finding(root, &all["path"], &all, &all))
        };
        if finding.is_none() {
            what = WHAT.captures(line).or(what);
            if !line.starts_with(char::is_whitespace) && is_path(line) {
                file = Some(line.to_owned());
            }
        }
        // A compiler that builds twice, and the summary of a build tool, repeat messages.
        let is_known = |finding: &CommandFinding| {
            found.iter().any(|other| {
                (&other.path, other.line, &other.message) == (&finding.path, finding.line, &finding.message)
            })
        };
        let finding = finding.filter(|finding| !is_known(finding));
        found.extend(finding);
        if found.len() >= MAX_FINDINGS {
            break;
        }
    }
    found.extend(manifest.rest(root));
    found.truncate(MAX_FINDINGS);
    found
}

/// Returns a finding for an unavailable dependency, in the manifest that requires it; `what` is the error above the
/// line.
fn of_dependency(root: &Path, asked: &Captures<'_>, what: Option<Captures<'_>>) -> Option<CommandFinding> {
    let said = asked.name("message").map(|said| said.as_str().to_owned());
    let message = said.or_else(|| what.map(|what| what["message"].to_owned()))?;
    Some(CommandFinding {
        path: relative(root, &format!("{}/Cargo.toml", &asked["folder"])),
        line: 1,
        column: None,
        severity: "error".to_owned(),
        message: message.chars().take(MESSAGE).collect(),
        rule: None,
    })
}

/// A manifest of Cargo or Maven that the output reports on.
#[derive(Default)]
struct Manifest {
    path: Option<String>,
    /// Line and column of Cargo's message, which follows below.
    place: Option<(u32, u32)>,
    /// True if the next line is the cause of the error.
    is_cause: bool,
    /// Innermost cause so far; used if no position in the manifest follows.
    cause: Option<String>,
}

// === impl Manifest ===

impl Manifest {
    /// Parses a line; returns a finding when it is complete.
    fn line(&mut self, root: &Path, line: &str) -> Option<CommandFinding> {
        let plain = |path: &str, line, column, message: &str| CommandFinding {
            path: relative(root, path),
            line,
            column: Some(column),
            severity: "error".to_owned(),
            message: message.trim().chars().take(MESSAGE).collect(),
            rule: None,
        };
        let number = |found: &Captures<'_>, name: &str| found[name].parse().unwrap_or(1);
        if let Some(found) = MANIFEST.captures(line) {
            *self = Self { path: Some(found["path"].to_owned()), ..Self::default() };
            return None;
        }
        if let Some(found) = POM.captures(line) {
            self.path = found.name("path").or_else(|| found.name("bad")).map(|path| path.as_str().to_owned());
        }
        let path = self.path.as_deref()?;
        if let Some(found) = POM_LINE.captures(line) {
            return Some(plain(path, number(&found, "line"), number(&found, "column"), &found["message"]));
        }
        if let Some(found) = PLACE.captures(line) {
            *self = Self {
                place: Some((number(&found, "line"), number(&found, "column"))),
                path: self.path.take(),
                ..Self::default()
            };
            return None;
        }
        if line == "Caused by:" {
            self.is_cause = true;
            return None;
        }
        if std::mem::take(&mut self.is_cause) && line.starts_with(' ') {
            self.cause = Some(line.trim().to_owned());
            return None;
        }
        let (at, column) = self.place?;
        let text = line.trim();
        let is_shown = text.is_empty()
            || text.starts_with('|')
            || text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
        if is_shown {
            return None;
        }
        let finding = plain(path, at, column, text);
        *self = Self::default();
        Some(finding)
    }

    /// Returns a finding for an error without a position, at the end of the output.
    fn rest(self, root: &Path) -> Option<CommandFinding> {
        let (path, cause) = (self.path?, self.cause?);
        Some(CommandFinding {
            path: relative(root, &path),
            line: 1,
            column: None,
            severity: "error".to_owned(),
            message: cause.chars().take(MESSAGE).collect(),
            rule: None,
        })
    }
}

/// Parses an output as the checks do: returns what it reports about files, and the test counts, if any.
///
/// The text is untrusted and may be anything; at most 200 findings are read out of it.
#[must_use]
pub fn read_output(text: &str) -> (Vec<CommandFinding>, Option<TestTotals>) {
    (findings(Path::new("/"), text), totals::guess(text))
}

fn is_path(line: &str) -> bool {
    line.len() < 500 && line.contains('.') && !line.contains("  ") && !line.ends_with(':')
}

fn finding(root: &Path, path: &str, place: &Captures<'_>, what: &Captures<'_>) -> CommandFinding {
    let number = |name| place.name(name).and_then(|digits| digits.as_str().parse().ok());
    CommandFinding {
        path: relative(root, path),
        line: number("line").unwrap_or(1),
        column: number("column"),
        severity: severity(what.name("severity").map_or("error", |word| word.as_str())).to_owned(),
        message: what.name("message").map_or("", |text| text.as_str()).trim().chars().take(MESSAGE).collect(),
        rule: what.name("rule").map(|rule| rule.as_str().to_owned()),
    }
}

fn relative(root: &Path, path: &str) -> String {
    let path = Path::new(path.trim());
    let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    path.strip_prefix("./").unwrap_or(&path).to_owned()
}

fn severity(word: &str) -> &'static str {
    match word {
        "warning" | "WARNING" | "style" | "performance" | "portability" | "C" | "R" | "W" => "warning",
        "note" | "info" => "info",
        _ => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(output: &str) -> (String, u32, Option<u32>, String, String, Option<String>) {
        let found = findings(Path::new("/w"), output);
        assert_eq!(found.len(), 1, "{found:#?}");
        let f = found.into_iter().next().unwrap();
        (f.path, f.line, f.column, f.severity, f.message, f.rule)
    }

    fn row(
        path: &str,
        line: u32,
        column: Option<u32>,
        severity: &str,
        message: &str,
        rule: Option<&str>,
    ) -> (String, u32, Option<u32>, String, String, Option<String>) {
        (path.to_owned(), line, column, severity.to_owned(), message.to_owned(), rule.map(str::to_owned))
    }

    #[test]
    fn the_forms_of_common_tools_are_read() {
        let cases = [
            (
                "src/a.ts(3,7): error TS2322: Type 'x' is wrong.",
                row("src/a.ts", 3, Some(7), "error", "Type 'x' is wrong.", Some("TS2322")),
            ),
            ("/w/a.c:1:2: warning: unused [-Wunused]", row("a.c", 1, Some(2), "warning", "unused [-Wunused]", None)),
            (
                "src/main.rs:2:5: error[E0308]: mismatched types",
                row("src/main.rs", 2, Some(5), "error", "mismatched types", Some("E0308")),
            ),
            (
                "error[E0425]: cannot find x\n  --> src/main.rs:9:1\n   |",
                row("src/main.rs", 9, Some(1), "error", "cannot find x", Some("E0425")),
            ),
            ("a.py:4:80: E501 line too long", row("a.py", 4, Some(80), "error", "line too long", Some("E501"))),
            ("A.java:7: error: ';' expected", row("A.java", 7, None, "error", "';' expected", None)),
            (
                "[ERROR] /w/src/A.java:[12,5] cannot find symbol",
                row("src/A.java", 12, Some(5), "error", "cannot find symbol", None),
            ),
            ("./x.go:3:2: undefined: y", row("x.go", 3, Some(2), "error", "undefined: y", None)),
            ("a.rb:1:1: C: [Correctable] Style/Foo: no", row("a.rb", 1, Some(1), "warning", "no", Some("Style/Foo"))),
            (
                "  error - lib/a.dart:1:2 - Undefined name - undefined_identifier",
                row("lib/a.dart", 1, Some(2), "error", "Undefined name", Some("undefined_identifier")),
            ),
            (
                "error: failed to parse manifest at `/w/Cargo.toml`\n\nCaused by:\n  TOML parse error at line 3, column 9\n    |\n  3 | name = a\n    |        ^\n  string values must be quoted, expected literal string\n",
                row("Cargo.toml", 3, Some(9), "error", "string values must be quoted, expected literal string", None),
            ),
            (
                "error: failed to parse manifest at `/w/Cargo.toml`\n\nCaused by:\n  dependency (b) specified without providing a local path\n",
                row("Cargo.toml", 1, None, "error", "dependency (b) specified without providing a local path", None),
            ),
            (
                "error: failed to get `b` as a dependency of package `a v0.1.0 (/w)`\n\nCaused by:\n  failed to load source for dependency `b`\n",
                row("Cargo.toml", 1, None, "error", "failed to get `b` as a dependency", None),
            ),
            (
                "error: no matching package named `b` found\nlocation searched: a registry\nrequired by package `a v0.1.0 (/w/c)`\n",
                row("c/Cargo.toml", 1, None, "error", "no matching package named `b` found", None),
            ),
            (
                "[ERROR]   The project a:b:1 (/w/pom.xml) has 1 error\n[ERROR]     'dependencies.dependency.version' for c:d:jar is missing. @ line 20, column 17\n",
                row(
                    "pom.xml",
                    20,
                    Some(17),
                    "error",
                    "'dependencies.dependency.version' for c:d:jar is missing.",
                    None,
                ),
            ),
            (
                "[ERROR] Non-parseable POM /w/pom.xml: expected name start (position: TEXT seen @5:3)  @ line 5, column 3\n",
                row(
                    "pom.xml",
                    5,
                    Some(3),
                    "error",
                    "Non-parseable POM /w/pom.xml: expected name start (position: TEXT seen @5:3)",
                    None,
                ),
            ),
            (
                "[ERROR] /w/A.java:[1,2] no\n[ERROR] Failed to execute goal x: Compilation failure\n[ERROR] /w/A.java:[1,2] no\n",
                row("A.java", 1, Some(2), "error", "no", None),
            ),
            (
                "/w/src/a.js\n  1:7  error  'x' is unused  no-unused-vars\n\n✖ 1 problem",
                row("src/a.js", 1, Some(7), "error", "'x' is unused", Some("no-unused-vars")),
            ),
        ];
        for (output, expected) in cases {
            assert_eq!(one(output), expected, "{output}");
        }
    }

    #[test]
    fn ordinary_output_is_no_finding() {
        let output =
            "Compiling x v0.1.0\n12:30:01 started\nhttp://localhost:8080/ is up\nDone in 1.2s: 3 files\n\n> build\n";

        assert_eq!(findings(Path::new("/w"), output), []);
    }

    #[test]
    fn a_flood_is_cut() {
        let output: String = (0..5_000).map(|at| format!("a.c:{}:1: error: x\n", at + 1)).collect();

        assert_eq!(findings(Path::new("/"), &output).len(), MAX_FINDINGS);
    }
}
