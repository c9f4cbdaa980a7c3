//! Finds passwords by their position: a column of a table, a word of a command, a field of a password file.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::candidate::Assigned;
use crate::context::{Context, Found};
use crate::header;
use crate::judge::judge;
use crate::name::Promise;

/// Number of bytes read from a keyword on.
const WINDOW: usize = 600;

/// Keywords in lower case with the pattern that they begin; the first group is the password.
const FORMS: &[(&str, &str)] = &[
    // The `.netrc` file of curl and ftp, on one line or on three.
    ("machine ", r"^machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)"),
    // host:port:database:user:password in PostgreSQL's password file.
    (":5432:", r"^:5432:[^:\s]+:[^:\s]+:([^:\s]+)[ \t]*(?:\r?\n|$)"),
    ("jdbc:oracle:", r#"^jdbc:oracle:\w+:\w+/([^@\s"'/$<{]+)@"#),
    ("convertto-securestring ", r#"(?i)^convertto-securestring\s+(?:-string\s+)?["']([^"'\n]+)["']"#),
    ("net use ", r"(?i)^net use [^\n|]*?/user:\S+\s+([^\s/*%\\]\S*)"),
    ("htpasswd ", r#"^htpasswd (?:-\w+ )*-\w*b\w* (?:-\w+ )*\S+ \S+ ["']?([^\s"']+)"#),
    ("redis-cli ", r#"^redis-cli [^\n|]*?-a ["']?([^\s"']+)"#),
    ("requirepass ", r#"^requirepass ["']?([^\s"']+)["']?\s*(?:\r?\n|$)"#),
    ("twine upload ", r#"^twine upload [^\n|]*?(?:-p|--password)[ =]["']?([^\s"']+)"#),
];

/// Keywords of [`word`].
pub(crate) const KEYWORDS: &[&str] = &{
    let mut words = [""; FORMS.len()];
    let mut at = 0;
    while at < FORMS.len() {
        words[at] = FORMS[at].0;
        at += 1;
    }
    words
};

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let pattern = |(_, pattern): &(&str, &str)| Regex::new(pattern).expect("a constant pattern");
    FORMS.iter().map(pattern).collect()
});
/// Text that is piped into a command that reads its password from its input.
static PIPED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:echo|printf)\s+(?:-n\s+|'?"?%s"?'?\s+)?["']?([^\s"'|]+)["']?\s*\|[^|\n]*$"#)
        .expect("a constant pattern")
});
/// Columns and first row of an INSERT.
static INSERTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)^insert\s+into\s+[\w.`\x22\[\]]+\s*\(([^()]{1,300})\)\s*values\s*\(").expect("a constant pattern")
});

/// Reads the password of a command or of a line of a password file.
pub(crate) fn word(place: &Context<'_>) -> Option<Found> {
    let keyword = place.text[place.at..place.keyword_end].to_ascii_lowercase();
    let form = FORMS.iter().position(|(word, _)| word.as_bytes() == keyword)?;
    let found = PATTERNS[form].captures(window(place))?.get(1)?;
    credential(place, place.at + found.start()..place.at + found.end())
}

/// Reads the text piped into `--password-stdin`; the keyword is the flag.
pub(crate) fn piped(place: &Context<'_>) -> Option<Found> {
    let from = place.at.saturating_sub(WINDOW);
    let line = place.text[from..place.at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let found = PIPED.captures(line)?.get(1)?;
    let start = place.at - line.len();
    credential(place, start + found.start()..start + found.end())
}

/// Reads the value in a password column; the keyword is `insert into `.
pub(crate) fn column(place: &Context<'_>) -> Option<Found> {
    let window = window(place);
    let insert = INSERTED.captures(window)?;
    let columns = insert.get(1)?.as_bytes();
    let is_password = |column: &[u8]| {
        let name = column.trim_ascii().to_ascii_lowercase();
        let name = name.strip_prefix(b"`").or_else(|| name.strip_prefix(b"\"")).unwrap_or(&name);
        let name: &[u8] = name.strip_suffix(b"`").or_else(|| name.strip_suffix(b"\"")).unwrap_or(name);
        [&b"password"[..], b"passwd", b"pwd", b"pass", b"user_password", b"api_key", b"secret"].contains(&name)
    };
    let wanted = columns.split(|byte| *byte == b',').position(is_password)?;
    let (mut at, mut number) = (insert.get(0)?.end(), 0);
    while let Some(byte) = window.get(at) {
        match byte {
            b'\'' => {
                let length = window[at + 1..].iter().position(|byte| *byte == b'\'')?;
                if number == wanted {
                    return credential(place, place.at + at + 1..place.at + at + 1 + length);
                }
                at += length + 1;
            }
            b',' => number += 1,
            b'(' | b')' | b';' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Reads `_auth=BASE64` in the settings of a package manager; the keyword is `_auth`.
pub(crate) fn registry(place: &Context<'_>) -> Option<Found> {
    let rest = window(place).get(5..)?;
    let marks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'=' | b'"' | b'\'')).count();
    if !rest[..marks].contains(&b'=') {
        return None;
    }
    header::user_and_password(place, place.keyword_end + marks)
}

fn window<'a>(place: &Context<'a>) -> &'a [u8] {
    &place.text[place.at..place.text.len().min(place.at + WINDOW)]
}

fn credential(place: &Context<'_>, range: Range<usize>) -> Option<Found> {
    let value = &place.text[range.clone()];
    let assigned = Assigned { name: b"password", value, kind: place.kind, is_compared: false, is_quoted: false };
    judge(Promise::Password, &assigned, range)
}
