//! Finds passwords on command lines, behind flags whose meaning depends on the program.

use crate::candidate::Assigned;
use crate::context::{Context, Found};
use crate::judge::judge;
use crate::name::Promise;

/// Number of bytes in which the flags of a command are searched.
const LINE: usize = 400;

/// Form in which a flag takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    /// `-p VALUE`, `-p=VALUE` or `-pVALUE`.
    Any(&'static str),
    /// `-pVALUE` only: with a space, the next word is not the value.
    Joined(&'static str),
    /// `-p VALUE` or `-p=VALUE`.
    Apart(&'static str),
    /// The value follows the first `:` or `%` in the flag's argument.
    Pair(&'static str, u8),
    /// The value is the word at this index behind the keyword.
    Word(usize),
    /// The value is in quotes directly behind the keyword.
    Quoted,
}

/// Programs and statements in lower case, with their flags for a password.
const COMMANDS: &[(&str, &[Flag])] = &[
    ("mysql ", &[Flag::Joined("-p")]),
    ("mysqldump ", &[Flag::Joined("-p")]),
    ("mysqladmin ", &[Flag::Joined("-p")]),
    ("mysqlimport ", &[Flag::Joined("-p")]),
    ("mariadb ", &[Flag::Joined("-p")]),
    ("mongo ", &[Flag::Apart("-p")]),
    ("mongosh ", &[Flag::Apart("-p")]),
    ("mongodump ", &[Flag::Apart("-p")]),
    ("mongorestore ", &[Flag::Apart("-p")]),
    ("sshpass ", &[Flag::Any("-p")]),
    ("docker login ", &[Flag::Apart("-p")]),
    ("podman login ", &[Flag::Apart("-p")]),
    ("oc login ", &[Flag::Apart("-p")]),
    ("cf login ", &[Flag::Apart("-p")]),
    ("az login ", &[Flag::Apart("-p")]),
    ("registry login ", &[Flag::Apart("-p")]),
    ("ldapsearch ", &[Flag::Any("-w")]),
    ("ldapadd ", &[Flag::Any("-w")]),
    ("ldapmodify ", &[Flag::Any("-w")]),
    ("ldapwhoami ", &[Flag::Any("-w")]),
    ("sqlcmd ", &[Flag::Any("-P")]),
    ("cqlsh ", &[Flag::Apart("-p")]),
    (
        "keytool ",
        &[
            Flag::Apart("-storepass"),
            Flag::Apart("-keypass"),
            Flag::Apart("-srcstorepass"),
            Flag::Apart("-deststorepass"),
        ],
    ),
    ("jarsigner ", &[Flag::Apart("-storepass"), Flag::Apart("-keypass")]),
    ("-passin ", &[Flag::Quoted]),
    ("-passout ", &[Flag::Quoted]),
    ("7z a ", &[Flag::Joined("-p")]),
    ("zip ", &[Flag::Apart("-P")]),
    ("smbclient ", &[Flag::Pair("-U", b'%')]),
    ("wget ", &[Flag::Apart("--password"), Flag::Apart("--http-password"), Flag::Apart("--ftp-password")]),
    ("rabbitmqctl add_user ", &[Flag::Word(1)]),
    ("rabbitmqctl change_password ", &[Flag::Word(1)]),
    ("identified by ", &[Flag::Quoted]),
];

/// Flags with which curl takes user and password.
const CURL: &[Flag] = &[Flag::Pair("-u", b':'), Flag::Pair("--user", b':'), Flag::Pair("--proxy-user", b':')];

/// Keywords of [`password`].
pub(crate) const KEYWORDS: &[&str] = &{
    let mut words = [""; COMMANDS.len()];
    let mut at = 0;
    while at < COMMANDS.len() {
        words[at] = COMMANDS[at].0;
        at += 1;
    }
    words
};

/// Reads the password of a command; the keyword is a program from the table or `curl`, with the space behind it.
pub(crate) fn password(place: &Context<'_>) -> Option<Found> {
    let keyword = &place.text[place.at..place.keyword_end];
    let flags = match COMMANDS.iter().find(|(name, _)| keyword.eq_ignore_ascii_case(name.as_bytes())) {
        Some((_, flags)) => flags,
        None => CURL,
    };
    // The `zip ` in `gzip ` is part of another program's name.
    if !place.begins_word() && !keyword.starts_with(b"-") {
        return None;
    }
    let line = &place.text[place.keyword_end..place.text.len().min(place.keyword_end + LINE)];
    let line = command_of(line);
    flags.iter().find_map(|flag| {
        let range = flag.value(line)?;
        let value = &line[range.clone()];
        let assigned = Assigned { name: b"password", value, kind: place.kind, is_compared: false, is_quoted: false };
        judge(Promise::Password, &assigned, place.keyword_end + range.start..place.keyword_end + range.end)
    })
}

/// Cuts a text at the end of its command; a backslash at a line end continues the command.
fn command_of(text: &[u8]) -> &[u8] {
    let ends = |at: usize| match text[at] {
        b'\n' => !text[..at].trim_ascii_end().ends_with(b"\\"),
        b'|' => true,
        b'&' => text.get(at + 1) == Some(&b'&'),
        _ => false,
    };
    &text[..(0..text.len()).find(|at| ends(*at)).unwrap_or(text.len())]
}

/// Lists the words of a command as ranges without quotes.
fn words(line: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            byte if byte.is_ascii_whitespace() || matches!(byte, b'\\' | b',' | b'[' | b']') => at += 1,
            quote @ (b'"' | b'\'') => {
                let length = line[at + 1..].iter().position(|byte| *byte == quote).unwrap_or(line.len() - at - 1);
                words.push(at + 1..at + 1 + length);
                at += length + 2;
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b';');
                let length = line[at..].iter().position(ends).unwrap_or(line.len() - at).max(1);
                words.push(at..at + length);
                at += length;
            }
        }
    }
    words
}

// === impl Flag ===

impl Flag {
    fn value(self, line: &[u8]) -> Option<std::ops::Range<usize>> {
        let words = words(line);
        let apart = |flag: &str| {
            let at = words.iter().position(|word| &line[word.clone()] == flag.as_bytes())?;
            words.get(at + 1).cloned()
        };
        // After `=` or the flag, a quote begins a new word.
        let joined = |flag: &str, mark: &[u8]| {
            let start = [flag.as_bytes(), mark].concat();
            let at = words.iter().position(|word| line[word.clone()].starts_with(&start))?;
            let rest = words[at].start + start.len()..words[at].end;
            let next = words.get(at + 1).filter(|next| rest.is_empty() && next.start == rest.end + 1).cloned();
            Some(next.unwrap_or(rest)).filter(|range| !range.is_empty())
        };
        match self {
            Self::Joined(flag) => joined(flag, b""),
            Self::Apart(flag) => joined(flag, b"=").or_else(|| apart(flag)),
            Self::Any(flag) => joined(flag, b"=").or_else(|| joined(flag, b"")).or_else(|| apart(flag)),
            Self::Pair(flag, mark) => {
                let own = joined(flag, b"=").or_else(|| if flag.len() == 2 { joined(flag, b"") } else { None });
                let range = own.or_else(|| apart(flag))?;
                let at = line[range.clone()].iter().position(|byte| *byte == mark)?;
                let value = range.start + at + 1..range.end;
                (at > 0 && !value.is_empty() && line[range.start..range.start + at] != line[value.clone()])
                    .then_some(value)
            }
            Self::Word(number) => words.get(number).cloned(),
            Self::Quoted => {
                let first = words.first()?;
                // `BY VALUES`, `BY PASSWORD '…'`, and `pass:…` of OpenSSL.
                if line[first.clone()].eq_ignore_ascii_case(b"password") {
                    return words.get(1).cloned().filter(|word| is_quoted(line, word));
                }
                let is_pass = line[first.clone()].starts_with(b"pass:");
                let value = first.start + if is_pass { 5 } else { 0 }..first.end;
                (is_pass || is_quoted(line, first)).then_some(value)
            }
        }
    }
}

fn is_quoted(line: &[u8], word: &std::ops::Range<usize>) -> bool {
    word.start.checked_sub(1).is_some_and(|at| matches!(line[at], b'"' | b'\''))
}
