//! Comments that stand where code should.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use tree_sitter::Tree;

use super::found::{Placeholder, Weight};
use super::place;

/// Comments that stand for code that somebody left out. An agent that rewrites a file with one of them deletes what was there.
/// `\xE2\x80\xA6` is the character for three dots.
const ELISIONS: &str = r"(?x)
    ^\W*(?:\.\.\.|\xE2\x80\xA6)\W*(?:\(\s*)?(?:the\s)?(?:rest|remaining|remainder|existing|other|previous|same|unchanged|more)\b
        [^.\n]{0,30}\b(?:codes?|files?|methods?|functions?|classe?s?|implementations?|logic|fields?|imports?|tests?|content|body|handlers?|routes?|props|unchanged|same|as\sbefore|omitted|above|here)\b[^?\n]{0,40}$
  | ^\W*(?:\.\.\.|\xE2\x80\xA6)\W*(?:unchanged|same\sas\s(?:before|above)|omitted)\b
  | ^\W*(?:the\s)?(?:rest|remainder)\b(?:\sof\s(?:the\s|this\s|your\s)?(?:\w+\s){1,3}?)?\s?(?:is\s|are\s|remains?\s|stays?\s|goes\s|of\s)?(?:the\s)?(?:(?:unchanged|as\sbefore|as\sis|omitted|here|elided)\b[^\n]{0,20}|same(?:\sas\s(?:before|above|earlier))?\W*)$
  | ^\W*(?:all\s)?(?:existing|previous|original|other|unchanged|remaining)\s(?:\w+\s){0,2}(?:codes?|methods?|functions?|implementations?|logic|imports?|fields?|content|tests?|routes?|handlers?)\s?(?:here|above|below|as\sbefore|unchanged|remains?\s?[a-z\s]{0,20}|stays?\s?[a-z\s]{0,20}|goes\shere)?\W*(?:\.\.\.|\xE2\x80\xA6)\W*$
  | ^\W*(?:all\s)?(?:existing|previous|original|other|remaining)\s(?:\w+\s){0,2}(?:codes?|methods|functions|implementations?|logic|imports|fields|tests|routes|handlers)\s(?:here|unchanged|remains?\s(?:unchanged|the\ssame|as\sis)|stays?\s(?:unchanged|the\ssame|as\sis)|goes\shere)\W*$
  | \.\.\.\s*(?:rest\sof|existing|remaining|other|more|same)\s+(?:\w+\s+){0,3}(?:code|methods?|functions?|implementation|logic|fields?|tests?)\b
  | \b(?:rest|remainder)\sof\s(?:the\s)?(?:code|file|implementation|function|class|method)s?\s(?:(?:is\s|are\s)?(?:here\W*$|(?:unchanged|omitted|elided|the\ssame|as\sbefore)\b)|(?:remains?|stays?)\b)
  | (?:\.\.\.|\b(?:code|implementation|logic|body|rest|remaining|others?|details|handling|methods?|functions?|imports?|validation|tests?)\b)[^.\n]{0,40}\b(?:omitted|left\sout|removed|elided)\sfor\s(?:brevity|simplicity)\b
  | ^\W*(?:omitted|left\sout|elided)\sfor\s(?:brevity|simplicity)\W*$
";

/// Comments that admit that the code below them is made up, whatever that code is.
const PRETENCES: &str = r"(?x)
    \b(?:your|actual|real|more|rest\sof\s(?:the\s|your\s)?)(?:\s?(?:code|logic|implementation))\s(?:goes\shere\b|here(?:\W*$|\W+(?:to|for|and|once|when)\b|[.,;:!]))
  | \bimplementation\s(?:goes\shere|here\slater)\b
  | (?:^\W*(?:(?:just|simply|for\snow),?\s)?(?:just\s|we\s)?|\bfor\snow,?\s(?:\w+\s){0,2})return(?:s|ing)?\s(?:an?\s|some\s)?(?:dummy|fake|mock(?:ed)?|placeholder|hard-?coded|canned)\s(?:value|data|response|result|list|object|token)s?(?:\W*$|\s(?:for\snow|until|here)\b)
  | \bfor\snow,?\s(?:we\s|i\s|it\s|this\s|let'?s\s)?(?:just\s|simply\s|always\s)(?:pretends?|fakes?)\b
  | ^\W*(?:just\s)?simulat(?:e|es|ed|ing)\s(?:an?\s|the\s|some\s)?(?:\w+\s){0,2}?(?:api|network|database|db|http|server|backend|service|payment|async|external|remote)\s?(?:calls?|requests?|quer(?:y|ies)|latency|delays?|responses?|processing|operations?|work|access|lookups?)(?:\W*$|[^\w\s]|\s(?:for|with|until|here|by|delays?|using|to)\b)
  | ^\W*(?:(?:todo|fixme|note)\b\W*)?(?:please\s)?(?:add|put|write|insert)\s(?:your\s|the\s)?(?:actual\s|real\s)?(?:\w+\s)?(?:code|logic|implementation)\shere(?:\W*$|[.,;:!]|\W+(?:to|for|and)\b)
  | ^\W*(?:but\s|note:?\s)?(?:in\sa\sreal|for\sa\sreal|in\san?\sactual)\s(?:implementation|application|app|system|scenario)\b
  | \b(?:in\sa\sreal|for\sa\sreal|in\san?\sactual)\s(?:implementation|application|app|system|scenario),?\s(?:you|we|i|it|this|that|one|there|these|should|would|could)\b
  | \bin\s(?:a\s)?(?:production|real-world)(?:\s\w+)?,?\s(?:(?:you|we|this)(?:'d|\swould)|it(?:'d|\swould))\b
";

/// Names for a stand-in. People leave them above code that they have finished since, so little may follow.
const STAND_INS: &str = r"(?x)
    \bplaceholder\s(?:implementation|code|logic)(?:\W*$|[,;:.(]|\s(?:for|until|here|to|that|which)\b)
  | ^\W*(?:this\sis\s)?(?:just\s)?(?:an?\s)?(?:dummy|stub|mock|fake)\s(?:implementation|logic)(?:\W*$|[,;:.]\s|\s(?:for\snow|until|to\sbe)\b)
  | \b(?:stub(?:bed)?|fake|dummy|mock(?:ed)?|placeholder)s?\s(?:(?:impl(?:ementation)?|value|data|response|result|code|logic|function|method|version)s?\s)?(?:out\s)?for\snow(?:[^?\w]*$|[^?\w]\W*\w)
  | ^\W*(?:a\s|an\s)?(?:stub(?:bed)?|fake|dummy|mock(?:ed)?|placeholder)\s(?:(?:impl(?:ementation)?|value|data|response|result|code|logic|function|method|version)s?\s)?(?:out\s)?until\s\w+(?:[\s,;]|[.!]?\s*(?:\*/)?$)
  | \b(?:temporary|simplified)\s(?:(?:stub|placeholder)\s(?:until|implementation|value|data|code|logic)|implementation\sfor\snow)\b
";

/// Orders to write what a template left open, and what is returned or set for now. Finished code keeps such comments, so the place
/// has to show a gap.
const FILL_IN: &str = r"(?x)
    ^\W*implement\s(?:this\s)?(?:here\s)?later\b
  | \bimplement\s(?:goes\shere|here\slater)\b
  | ^\W*(?:to\sbe\simplemented|implement\s(?:me|this|here)|fill\s(?:this\s|me\s)in|fill\s(?:it\s)?in\slater|stub)\b[^\w:]*$
  | \bfor\snow,?\s(?:we\s|i\s|it\s|this\s|let'?s\s)?(?:just\s|simply\s|always\s)(?:returns?|logs?|prints?)(?:\s[^\s.,;:]+){0,4}\W*$
  | \bfor\snow,?\s(?:we\s|i\s|it\s|this\s|let'?s\s)?returns?\s(?:an?\s|some\s)?(?:dummy|fake|mock|placeholder|hard-?coded|constant|empty|sample)\b
  | \bfor\snow,?\s(?:we\s|i\s|it\s|this\s|let'?s\s)?returns?\s(?:true|false|none|null|nil|success)\b(?:\W*$|[.,;:]|\s(?:and|as|because|for|here|since|so|to|until)\b)
  | \bhard-?coded\s(?:\w+\s){0,3}for\snow\b
";

/// The most statements of a block behind a stand-in: a stub of four packages has one or two, code that does its work has more.
const FEW: usize = 2;

/// Sentences that finished code has as well: what it does not do, and when somebody may do it.
const REMARKS: &str = r"(?x)
    \b(?:todo|fixme)\b[:\s(-]{1,4}(?:\w+\)?[:\s]{1,3})?implement\b
  | \bnot\s(?:yet\simplemented|implemented\syet)\b
  | \b(?:dummy|stub|mock)\s(?:implementation|code|logic)\b
  | \b(?:needs?|yet|still)\sto\sbe\simplemented\b
";

/// What a phrase says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Elision,
    Pretence,
    StandIn,
    FillIn,
    Remark,
}

// === impl Kind ===

impl Kind {
    const fn says(self) -> &'static str {
        match self {
            Self::Elision => "a comment stands for code that was left out",
            Self::Pretence => "a comment says that the code is made up",
            Self::StandIn | Self::FillIn => "a comment says that the code is a stand-in",
            Self::Remark => "a comment speaks of code to come",
        }
    }
}

static PHRASES: LazyLock<[(Regex, Kind); 5]> = LazyLock::new(|| {
    [
        (pattern(ELISIONS), Kind::Elision),
        (pattern(PRETENCES), Kind::Pretence),
        (pattern(STAND_INS), Kind::StandIn),
        (pattern(FILL_IN), Kind::FillIn),
        (pattern(REMARKS), Kind::Remark),
    ]
});

/// Finds the phrases of a comment, line by line. In tests and their doubles only elisions block.
pub(crate) fn in_comment(
    text: &[u8],
    comment: &Range<usize>,
    tree: Option<&Tree>,
    is_for_tests: bool,
) -> Vec<Placeholder> {
    // A word between two pieces of code is a remark about them.
    let line_start = text[..comment.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let has_own_line = text[line_start..comment.start].trim_ascii().is_empty();
    let lightest = |is_elision: bool| {
        let is_double = !is_elision && is_for_tests;
        // What describes a function to those who call it says how it behaves, also that it is a stand-in.
        let is_light =
            is_double || (!is_elision && (describes(&text[comment.clone()]) || stands_above_function(text, comment)));
        if is_light || (!has_own_line && is_inline(text, comment)) { Weight::Note } else { Weight::Blocks }
    };
    let mut found: Vec<Placeholder> = Vec::new();
    let mut start = comment.start;
    let is_block = text[comment.clone()].starts_with(b"/*");
    for line in text[comment.clone()].split_inclusive(|byte| *byte == b'\n') {
        let is_shown = is_shown_code(line) || (is_block && is_line_comment(line));
        let hit = PHRASES.iter().find_map(|(phrase, kind)| {
            let is_elision = *kind == Kind::Elision;
            let hit = phrase.find(line.trim_ascii_end()).filter(|_| !is_shown)?;
            let says_when = contains(hit.as_bytes(), b"for now");
            let is_remark = (is_elision || !says_when) && is_part_of_more(text, start, line);
            let is_about_value = !has_own_line && contains(hit.as_bytes(), b" until ");
            // An example leaves to its readers what they are to write.
            let is_exercise = is_for_tests && contains(hit.as_bytes(), b"goes here");
            let is_kept = says_when && is_put_away(&line[..hit.start()]);
            let is_left_open =
                ["to be implemented", " here"].iter().any(|word| contains(hit.as_bytes(), word.as_bytes()));
            let is_hook = !is_elision && is_left_open && is_for_others(&text[..comment.start]);
            let is_note = is_remark
                || (is_elision && names_syntax(hit.as_bytes()))
                || (is_elision
                    && line[..hit.start()].iter().any(u8::is_ascii_alphabetic)
                    && goes_on_below(text, start + line.len(), &line[hit.end()..]))
                || is_kept
                || is_replaced(&line[hit.start()..])
                || is_hook
                || is_about_value
                || is_exercise
                || is_heading(text, start);
            let least = if is_note { Weight::Note } else { lightest(is_elision) };
            let shows_it = || match (kind, tree) {
                (Kind::StandIn, Some(tree)) => place::few_follow(comment, tree, FEW),
                (Kind::FillIn, Some(tree)) => place::leaves_gap(comment, tree, text),
                (Kind::Remark, _) => false,
                (Kind::Elision | Kind::Pretence, _) | (_, None) => true,
            };
            let weight = if shows_it() { Weight::Blocks } else { Weight::Note };
            Some((hit.range(), weight.max(least), kind.says()))
        });
        found.extend(hit.map(|(range, weight, what)| Placeholder {
            weight,
            rule: "placeholder/comment-text".into(),
            what,
            range: start + range.start..start + range.end,
        }));
        start += line.len();
    }
    found
}

/// Returns whether a sentence about what was left out goes on in the line below: `The rest of the code here` and `tried to parse it`.
fn goes_on_below(text: &[u8], below: usize, behind: &[u8]) -> bool {
    let rest = text.get(below..).unwrap_or_default();
    let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    let next = rest.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
    let marks = next.iter().take_while(|byte| b"#/*!-".contains(byte)).count();
    let words = next[marks..].trim_ascii_start();
    behind.trim_ascii().is_empty() && words.len() < next.len() && words.first().is_some_and(u8::is_ascii_lowercase)
}

/// `... rest parameters`: a part of a language.
fn names_syntax(said: &[u8]) -> bool {
    ["param", "element", "arg", "pattern", "operator", "propert"]
        .iter()
        .any(|word| contains(said, format!("rest {word}").as_bytes()))
}

/// `store a placeholder for now`: a value that the code fills in itself.
fn is_put_away(before: &[u8]) -> bool {
    let before = before.trim_ascii_end().to_ascii_lowercase();
    ["store", "insert", "push", "reserve", "append", "put", "write", "emit"]
        .iter()
        .any(|verb| ["a", "an", "the"].iter().any(|article| before.ends_with(format!(" {verb} {article}").as_bytes())))
}

/// `stub implementation, overridden below`: the code that counts is written.
fn is_replaced(said: &[u8]) -> bool {
    ["overrid", "overwrit", "replaced below", "replaced by"].iter().any(|word| contains(said, word.as_bytes()))
}

/// Returns whether what stands above a comment says that others write the function.
fn is_for_others(above: &[u8]) -> bool {
    /// As far as a description and the head of a function reach.
    const NEAR: usize = 400;
    let near = above[above.len().saturating_sub(NEAR)..].to_ascii_lowercase();
    ["@protected", "@abstract", "overrid", "subclass"].iter().any(|word| contains(&near, word.as_bytes()))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(&text.to_ascii_lowercase(), word).is_some()
}

/// Returns whether a line of a comment is a heading: the line above it is a comment of signs alone.
fn is_heading(text: &[u8], start: usize) -> bool {
    let line_start = text[..start].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let above = text[..line_start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    above.len() >= 6 && above.iter().all(|byte| byte.is_ascii_punctuation())
}

/// Returns whether a comment stands right above a function with a body that is more than a stand-in: there it describes code that is
/// written.
fn stands_above_function(text: &[u8], comment: &Range<usize>) -> bool {
    /// The most lines of a body that may be a stand-in.
    const SHORT: usize = 3;
    const FUNCTIONS: [&[u8]; 5] = [b"fn", b"func", b"function", b"def", b"fun"];
    const BEFORE: [&[u8]; 12] = [
        b"pub",
        b"async",
        b"export",
        b"default",
        b"public",
        b"private",
        b"protected",
        b"internal",
        b"static",
        b"abstract",
        b"unsafe",
        b"const",
    ];
    let is_mark = |line: &[u8]| ["//", "#", "*", "/*", "@"].iter().any(|mark| line.starts_with(mark.as_bytes()));
    let mut lines = text[comment.end..].split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let Some(line) = lines.find(|line| !is_mark(line.trim_ascii())) else { return false };
    let is_part = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b'_');
    let word = line.split(is_part).find(|word| !word.is_empty() && *word != b"crate" && !BEFORE.contains(word));
    let indent = |line: &[u8]| line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let is_inner =
        |inner: &&[u8]| indent(inner) > indent(line) || matches!(inner.trim_ascii().first(), Some(b'{' | b')'));
    let is_long = || lines.take_while(is_inner).take(SHORT + 1).count() > SHORT;
    word.is_some_and(|word| FUNCTIONS.contains(&word)) && is_long()
}

/// Returns whether a line of a comment that stands for what was left out is a remark behind code, `a = 1; // others unchanged`, or ends a sentence
/// that the line above begins.
fn is_part_of_more(text: &[u8], start: usize, line: &[u8]) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b'#' | b'/' | b'*' | b'!' | b'-') || byte.is_ascii_whitespace();
    let words = |line: &[u8]| line.iter().take_while(|byte| is_mark(byte)).count();
    let first = &line[words(line)..];
    let before = &text[..start];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if !before[line_start..].trim_ascii().is_empty() {
        return !first.starts_with(b"...");
    }
    let above =
        before[..line_start].trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let marks = words(above);
    let goes_on = marks > 0
        && above.len() > marks
        && above.last().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b',');
    goes_on && first.first().is_some_and(u8::is_ascii_lowercase)
}

/// Returns whether a line of a comment shows code with a comment in it, as the manual of a function does.
fn is_shown_code(line: &[u8]) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b'#' | b'/' | b'*' | b'!' | b'-');
    let line = line.trim_ascii_start();
    let marks = line.iter().take_while(|byte| is_mark(byte)).count();
    let (mark, rest) = line.split_at(marks);
    let indent = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let inner = &rest[indent..];
    // A line that a manual of Rust hides begins with `#`.
    let is_hidden = matches!(mark, b"///" | b"//!") && inner.starts_with(b"#");
    let has_comment =
        is_hidden || inner.starts_with(b"//") || inner.starts_with(b"/*") || (indent >= 2 && inner.starts_with(b"#"));
    // A manual shows code with gaps, and code that is commented out keeps its indentation.
    let has_gap = indent >= 3 && (inner.starts_with(b"...") || inner.starts_with(b"[...]"));
    marks > 0 && indent >= 1 && (has_comment || has_gap)
}

/// Returns whether a comment is part of the manual: `///`, `//!`, `/** */`, `/*! */`.
fn describes(comment: &[u8]) -> bool {
    let is_line = |mark: &[u8]| comment.starts_with(mark) && comment.get(3) != Some(&b'/');
    is_line(b"///")
        || is_line(b"//!")
        || is_line(b"/*!")
        || (comment.starts_with(b"/**") && comment.get(3) != Some(&b'/'))
}

/// Returns whether a line of a comment in `/* */` is a comment of the other kind: that of code which is shown.
fn is_line_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.strip_prefix(b"*").unwrap_or(line).trim_ascii_start().starts_with(b"//")
}

/// Returns whether code follows a comment on its last line.
fn is_inline(text: &[u8], comment: &Range<usize>) -> bool {
    let rest = text[comment.end..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    !rest.trim_ascii().is_empty()
}

fn pattern(text: &str) -> Regex {
    RegexBuilder::new(text).unicode(false).case_insensitive(true).build().expect("a constant pattern")
}

/// Returns whether the message of an error says that something is still to be written; that a subclass has to write it, or that
/// something is not supported here, is no such thing.
pub(crate) fn says_unfinished(text: &[u8]) -> bool {
    static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"not (?:yet )?implemented|\bunimplemented\b|\btodo\b|implement (?:me|this)|to be implemented|\bstub\b")
    });
    MESSAGE.is_match(text) && !says_contract(text)
}

/// Returns whether a message says that what is missing is to come, or no more than an editor writes.
pub(crate) fn says_to_come(text: &[u8]) -> bool {
    [" yet", "todo", "implement me", "method not implemented", "function not implemented"]
        .iter()
        .any(|word| contains(text, word.as_bytes()))
}

/// Returns whether a message tells who has to do something, or that nobody is to come here.
pub(crate) fn says_contract(text: &[u8]) -> bool {
    static CONTRACT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:sub-?class|child class|derived|overrid|must|should|has to|have to|needs? to|requires?|provided|never|can ?not|can't|unsupported|abstract|mixin)\w*\b|does not implement\b|implemented (?:for|on|in|with|when|by|under|outside)\b|\bnot (?:supported|needed|required)\b|\b(?:use|call) \S+ instead\b|\buse \S+ (?:plugin|package|module|method|function)\b",
        )
    });
    CONTRACT.is_match(text)
}
