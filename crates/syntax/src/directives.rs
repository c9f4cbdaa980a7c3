//! Reads texts with a preprocessor arm by arm: removes the lines of `#if` and its family, and leaves one arm of each
//! chain.
//!
//! The symbols that are set are unknown. Three readings cover the usual code: every condition true, every condition
//! false, and every `#elif` true. A text is right if one of its readings is; a change broke it if a reading that was
//! right no longer is.

mod arms;

pub(crate) use arms::uneven;

use crate::problem::{Kind, Problem};

const COMMENT_END: &[u8] = b"*/";

/// Set of rules for directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preprocessor {
    /// Rules of C and C++: a backslash continues a line.
    C,
    CSharp,
}

/// Assumed value of all conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Assumption {
    True,
    False,
    ElseIf,
}

/// An open chain from `#if` to `#endif`.
struct Chain {
    at: usize,
    /// True if the surrounding text is read.
    is_read_around: bool,
    /// True if one of its arms was already read.
    was_read: bool,
}

/// Readings of a text, each of the same length; or the first chain without an end.
pub(crate) struct Readings {
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) stray: Option<Problem>,
}

/// Reads a text arm by arm; returns one reading if it has no conditions.
pub(crate) fn readings(text: &[u8], preprocessor: Preprocessor) -> Readings {
    let all = [Assumption::True, Assumption::False, Assumption::ElseIf];
    let read: Vec<(Vec<u8>, Option<Problem>)> =
        all.iter().map(|assumption| reading(text, preprocessor, *assumption)).collect();
    let stray = read[0].1.clone();
    let mut texts: Vec<Vec<u8>> = read.into_iter().map(|(text, _)| text).collect();
    texts.dedup();
    Readings { texts, stray }
}

fn reading(text: &[u8], preprocessor: Preprocessor, assumption: Assumption) -> (Vec<u8>, Option<Problem>) {
    let mut read = text.to_vec();
    let mut chains: Vec<Chain> = Vec::new();
    let mut is_read = true;
    let mut scan = Scan::default();
    // A byte order mark belongs to no line.
    let mut at = if text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    while at < text.len() {
        let mut end = line_end(text, at);
        let word = directive(&text[at..end]).filter(|_| !scan.is_inside());
        let Some((word, condition)) = word else {
            // Skipped arms are scanned as well: a comment may end there.
            scan.line(&text[at..end], preprocessor);
            if !is_read {
                blank(&mut read[at..end]);
            }
            at = end;
            continue;
        };
        while preprocessor == Preprocessor::C && goes_on(&text[at..end]) && end < text.len() {
            end = line_end(text, end);
        }
        // A comment may begin after a directive and end some lines below.
        scan.line(&text[at..end], preprocessor);
        match word {
            b"if" | b"ifdef" | b"ifndef" => {
                let holds = holds(word, condition, &text[end..], assumption);
                chains.push(Chain { at, is_read_around: is_read, was_read: holds });
                is_read = is_read && holds;
            }
            b"elif" | b"elifdef" | b"elifndef" | b"else" => {
                let Some(chain) = chains.last_mut() else { return (read, Some(stray(text, at, word))) };
                let holds = !chain.was_read && (word == b"else" || assumption != Assumption::False);
                is_read = chain.is_read_around && holds;
                chain.was_read |= holds;
            }
            b"endif" => {
                let Some(chain) = chains.pop() else { return (read, Some(stray(text, at, word))) };
                is_read = chain.is_read_around;
            }
            _ => {}
        }
        // A comment that the directive leaves open is removed with it.
        let length = if scan.is_in_comment() { memchr::memmem::find(&text[end..], COMMENT_END) } else { None };
        blank(&mut read[at..length.map_or(end, |length| end + length + COMMENT_END.len())]);
        at = end;
    }
    let open = chains.pop().map(|chain| Problem::at(text, chain.at, Kind::Unclosed("#if".to_owned())));
    (read, open)
}

fn stray(text: &[u8], at: usize, word: &[u8]) -> Problem {
    Problem::at(text, at, Kind::ClosesNothing(format!("#{}", String::from_utf8_lossy(word))))
}

fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length + 1)
}

/// Returns whether a line continues on the next one.
fn goes_on(line: &[u8]) -> bool {
    line.ends_with(b"\\\n") || line.ends_with(b"\\\r\n")
}

fn blank(line: &mut [u8]) {
    line.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}

/// Splits a line that is a directive into its word and what follows.
fn directive(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.trim_ascii_start().strip_prefix(b"#")?.trim_ascii_start();
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some((&rest[..length], rest[length..].trim_ascii()))
}

/// Returns whether the first arm of a chain is read.
fn holds(word: &[u8], condition: &[u8], behind: &[u8], assumption: Assumption) -> bool {
    let plain = condition.split(|byte| *byte == b'/').next().unwrap_or_default().trim_ascii();
    match plain {
        b"0" | b"false" => return false,
        b"1" | b"true" => return true,
        _ => {}
    }
    // The guard of a header is read under every assumption.
    if word == b"ifndef" {
        let next = behind.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
        if directive(next).is_some_and(|(word, name)| word == b"define" && name.starts_with(plain)) {
            return true;
        }
    }
    let is_negated = word == b"ifndef" || plain.starts_with(b"!");
    match assumption {
        Assumption::True => !is_negated,
        Assumption::False | Assumption::ElseIf => is_negated,
    }
}

/// Scanner of comments and strings that span lines; a `#` inside is no directive.
#[derive(Default)]
struct Scan {
    inside: Option<&'static [u8]>,
}

// === impl Scan ===

impl Scan {
    fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    fn is_in_comment(&self) -> bool {
        self.inside == Some(COMMENT_END)
    }

    fn line(&mut self, line: &[u8], preprocessor: Preprocessor) {
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            if let Some(close) = self.inside {
                match memchr::memmem::find(rest, close) {
                    Some(end) => {
                        at += end + close.len();
                        // A doubled quote is part of a verbatim string.
                        if close == b"\"" && line.get(at) == Some(&b'"') {
                            at += 1;
                        } else {
                            self.inside = None;
                        }
                    }
                    None => return,
                }
                continue;
            }
            at += match rest[0] {
                b'/' if rest.starts_with(b"//") => return,
                b'/' if rest.starts_with(b"/*") => self.enter(COMMENT_END, 2),
                b'"' if preprocessor == Preprocessor::CSharp && rest.starts_with(b"\"\"\"") => self.enter(b"\"\"\"", 3),
                b'@' if preprocessor == Preprocessor::CSharp && rest.starts_with(b"@\"") => self.enter(b"\"", 2),
                b'@' if preprocessor == Preprocessor::CSharp && rest.starts_with(b"@$\"") => self.enter(b"\"", 3),
                b'"' | b'\'' => string(rest),
                _ => 1,
            };
        }
    }

    fn enter(&mut self, close: &'static [u8], length: usize) -> usize {
        self.inside = Some(close);
        length
    }
}

/// Returns the length of a string or character literal on one line; 1 if it has no end.
fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' => at += 1,
            byte if byte == rest[0] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, preprocessor: Preprocessor) -> Vec<String> {
        let read = readings(text.as_bytes(), preprocessor);
        assert_eq!(read.stray, None);
        let squeeze = |text: Vec<u8>| String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        read.texts.into_iter().map(squeeze).collect()
    }

    #[test]
    fn each_arm_is_read_in_some_reading() {
        let text = "a\n#if X\nb\n#elif Y\nc\n#else\nd\n#endif\n#define E ( \\\n  (\ne\n";

        assert_eq!(texts(text, Preprocessor::C), ["a b e", "a d e", "a c e"]);
        assert_eq!(texts("#if X\n#define E {\\\n\\\n\n#endif\na\n", Preprocessor::C), ["a"]);
        assert_eq!(texts("#ifndef A_H\n#define A_H\na\n#endif\n", Preprocessor::C), ["a"]);
        assert_eq!(texts("#if 0\nit's (\n#endif\nb\n", Preprocessor::C), ["b"]);
        assert_eq!(texts("#if !X\na\n#else\nb\n#endif\n#if X\nc\n#endif", Preprocessor::CSharp), ["b c", "a"]);
        assert_eq!(texts("/*\n#if X\n*/ a\n", Preprocessor::C), ["/* #if X */ a"]);
        assert_eq!(texts("x = @\"\n#if X\n\"\"\n\"; a\n", Preprocessor::CSharp), ["x = @\" #if X \"\" \"; a"]);
    }

    #[test]
    fn a_comment_that_begins_behind_a_directive_ends_in_its_arm() {
        let text = "#ifndef X /* a\n * b */\nc\n#endif\nd\n";

        assert_eq!(texts(text, Preprocessor::C), ["d", "c d"]);
        assert_eq!(texts("# /* (\n#  * a\n#  */\n# define X\nb\n", Preprocessor::C), ["b"]);
    }

    #[test]
    fn a_chain_without_its_end_is_found() {
        let stray = |text: &str| readings(text.as_bytes(), Preprocessor::C).stray.map(|found| found.message("C"));

        assert_eq!(stray("#if A\nb\n"), Some("`#if` is opened here and never closed".into()));
        assert_eq!(stray("a\n#endif\n"), Some("`#endif` closes nothing".into()));
        assert_eq!(stray("\u{feff}#if A\n#endif\n"), None);
    }
}
