//! Marks such as `TODO` in comments: which of them say that code is missing.
//!
//! People merge marks all the time: of 1,525 patches that a distribution applies to 50 packages, 32 bring one, and all of these
//! ask whether something could be better. Such a mark is listed. One that says what is still to be written, that says
//! nothing, or that stands alone where code should, blocks.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use switchboard_syntax::notes::Note;
use tree_sitter::Tree;

use super::found::{Placeholder, Weight};

mod place;

/// A short order to write what is not there. Longer ones are wishes, and people merge them: `add support for shelves in nested playlists`.
/// `add` and `create` alone are such as well: of fifteen in draws of published packages, one left something undone.
const ORDER: &str = r"(?x)
    ^(?:we\s|i\s|you\s)?(?:still\s)?(?:need(?:s|ed)?\sto\s|must\s|should\s|to\s|please\s)?(?:be\s)?
        (?:actually\s|properly\s|fully\s)?
        (?:implement(?:ed)?|(?:add|create|build|integrate)\s(?:(?:in\s)?(?:the|these|proper|real)\b|this\W*$|(?:(?:error|exception|input|argument|access|permission)\s)?(?:handling|validation|checks?|logic|implementation|code)\b\W*(?:$|\b(?:for|of|to|in|here)\b))
          |handle|validate|finish|complete|write|fill|flesh|wire|hook|connect|stub|do(?:\s(?:this|it|me)$))
        \b(?:\s(?:the|an?|this|these|all|in|out|up)\b)*(?:\s[^\s?]+){0,3}(?:\s(?:here|later|now|below|properly))?[\s.!]*$
";
/// What is no code: an order to write it leaves nothing out. `Validate` alone asks somebody to look at what is there.
const NO_CODE: &str = r"\b(?:(?:unit\s?)?test\s?(?:case)?s?|doc(?:string|umentation|ument)?s?|descriptions?|jsdoc|readme|comments?|examples?|stubs?|hints|annotations|changelog)\b|^validate\W*$";

/// The most words of a mark that are taken for a remark about missing code.
const WORDS_OF_MARK: usize = 16;
/// What would be one more or a better one, and what a type may have besides: the code does its work without it.
const BESIDES: &str = r"\bmore\W*$|^\W*(?:handle\smore\b|implement\s(?:`(?-i:[A-Z][a-z]+[A-Z]\w*)(?:<[^\s>]*>)?`\s\w|(?-i:[A-Z][a-z]+[A-Z]\w*)(?:<[^\s>]*>)?\s(?:for|on)\b))|^\W*(?:implement|write)\s(?:(?:a|an|some|the)\s)?(?:more|new|another|better|faster|something|custom|additional|alternative|optional|optimi[sz]ed|efficient|`?__\w+__|`?(?-i:[A-Z][a-z]+[A-Z]\w*)`?\W*$|`?(?:Debug|Display|Clone|Copy|Default|Hash|Eq|PartialEq|Ord|PartialOrd|Iterator|Drop|From|Into|Send|Sync|Serialize|Deserialize)\b)";
/// What an order waits for.
const WAITS: &str = r"\b(?:when|once|after|until|unless|if|before)\b";

/// A word for what stands in the place of code.
const MISSING: &str = r"(?x)
    \b(?:not|n't|never)\s(?:yet\s)?(?:implemented|done|finished|written|wired|connected|hooked)(?:\s(?:for|here|yet|at)\b|\s*[^\s\w]|\s*$)
  | \bunimplemented\b
  | \bactual\s(?:\w+\s)?(?:implementation|logic|code|calls?|api|query|checks?|validation)(?:\s(?:here|later|calls?|from|instead)\b|\s*[^\s\w]|\s*$)
  | \breal\s(?:\w+\s)?(?:implementation|logic|code|data|values?|calls?|queries|query|checks?|validation|response|api|database|service)(?:\s(?:here|later|calls?|from|instead)\b|\s*[^\s\w]|\s*$)
  | \bproper\s(?:\w+\s)?(?:implementation|logic|code|validation|(?:error\s)?handling)\b
  | \b(?:placeholder|dummy|fake|mock(?:ed)?|stub(?:bed)?)(?:\s(?:values?|data|code|implementations?|logic|responses?|results?|versions?|calls?|for\snow|until|only|here)\b|\s*[^\s\w/]|\s*$)
  | \b(?:is|are|was|just|still)\shard-?coded(?:\s(?:for|here|to|until)\b|\W*$)
  | ^(?:for\snow|later|here|more|me|this|soon)[\s.,:;!*/-]*$
";

/// Words of a mark that wishes, asks, or says why the code is as it is.
const WISHES: [&str; 35] = [
    "maybe",
    "perhaps",
    "consider",
    "could",
    "might",
    "ideally",
    "would be nice",
    "nice to have",
    "should we ",
    "would we ",
    "if necessary",
    "if needed",
    "if possible",
    "workaround",
    "work around",
    "work-around",
    "something like",
    "whether",
    "optimization",
    "better",
    "cleaner",
    "nicer",
    "differently",
    "wasteful",
    "improve",
    "accurate",
    "figure out",
    "investigate",
    "refactor",
    "simplify",
    "clean up",
    "rename",
    "no way to",
    "not possible",
    "impossible",
];
/// Returns the marks of a file's comments, each with its weight.
///
/// In tests one only blocks that stands where code should.
pub(super) fn placeholders(
    notes: &[Note],
    tree: Option<&Tree>,
    text: &[u8],
    is_test: impl Fn(usize) -> bool,
) -> Vec<Placeholder> {
    let placeholder = |note: &Note| {
        // The last two are mostly a remark about code that is there.
        let (rule, may_be_bare) = match note.tag {
            "TODO" => ("placeholder/comment-todo", true),
            "FIXME" => ("placeholder/comment-fixme", true),
            "TBD" | "WIP" => ("placeholder/comment-other", true),
            "HACK" | "XXX" => ("placeholder/comment-other", false),
            _ => return None,
        };
        // A hack is done: what it says is why.
        let stands = |tree| {
            let is_test = is_test(note.range.start) && !place::is_in_body_of_function(note, tree);
            let is_other = is_test || leaves_no_code_out(note) || place::is_above_shown(note, text);
            note.tag != "HACK" && is_short(note) && !is_other && place::stands_for_code(note, tree, text)
        };
        let says_it = || !is_test(note.range.start) && says_missing(note, text, may_be_bare);
        let is_beside = tree.is_some_and(|tree| place::leaves_nothing_out(note, tree, text));
        let is_missing = !asks(note, text) && !is_beside && (says_it() || tree.is_some_and(stands));
        let (weight, what) = if is_missing {
            (Weight::Blocks, "a mark for work that is left undone")
        } else {
            (Weight::Note, "a mark for work that somebody may do")
        };
        Some(Placeholder { weight, rule: rule.into(), what, range: note.range.clone() })
    };
    notes.iter().filter_map(placeholder).collect()
}

/// Returns whether a mark asks whether there is anything to do at all.
fn asks(note: &Note, text: &[u8]) -> bool {
    let said = note.text.to_ascii_lowercase();
    let asks_below = || !note.text.ends_with('.') && next_comment_line(note, text).contains(&b'?');
    said.contains('?') || WISHES.iter().any(|word| said.contains(word)) || asks_below()
}

/// Returns whether a mark that stands where code could wishes for less of it, speaks of tests, or is itself a statement that is switched off.
fn leaves_no_code_out(note: &Note) -> bool {
    static NO_CODE_HERE: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"^\W*(?:deprecate\b|(?:remove|delete|drop|disable|revert)\s(?:this|these|it|special)\b)|\b(?:un)?tested\b|\bby\stests\b|^\W*test\sme\b|\w\([^()]*\);$";
        RegexBuilder::new(words).unicode(false).case_insensitive(true).build().expect("a constant pattern")
    });
    let said = note.text.as_bytes().get(note.tag.len()..).unwrap_or_default();
    NO_CODE_HERE.is_match(without_owner(said.trim_ascii_start()))
}

fn says_missing(note: &Note, text: &[u8], may_be_bare: bool) -> bool {
    static WORDS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
        [MISSING, ORDER, NO_CODE, WAITS, BESIDES].map(|words| {
            RegexBuilder::new(words).unicode(false).case_insensitive(true).build().expect("a constant pattern")
        })
    });
    let [missing, order, no_code, waits, besides] = &*WORDS;
    let said = note.text.as_bytes().get(note.tag.len()..).unwrap_or_default();
    let said = from_first_word(without_owner(said.trim_ascii_start()));
    let is_whole = said.ends_with(b".") || place::is_above_shown(note, text);
    let goes_on: &[u8] = if is_whole { b"" } else { from_first_word(next_comment_line(note, text)) };
    let said = [said, goes_on].join(&b' ');
    let said = said.trim_ascii();
    if said.is_empty() {
        return may_be_bare && begins_comment(note, text) && is_alone(note, text);
    }
    // Behind code, to validate is to look whether that is right.
    let is_doubt = || {
        said.to_ascii_lowercase().starts_with(b"validate") && before(note, text).iter().any(u8::is_ascii_alphanumeric)
    };
    let is_order =
        || order.is_match(said) && !is_doubt() && ![no_code, waits, besides].iter().any(|other| other.is_match(said));
    (is_short(note) && missing.is_match(said)) || (begins_comment(note, text) && is_order())
}

/// Returns whether a mark has few words: a longer sentence speaks of code that is there, or says why there is none.
fn is_short(note: &Note) -> bool {
    note.text.split_whitespace().count() <= WORDS_OF_MARK
}

fn from_first_word(said: &[u8]) -> &[u8] {
    let start = said.iter().position(u8::is_ascii_alphanumeric);
    start.map_or(&b""[..], |start| &said[start..])
}

/// The line up to a mark.
fn before<'a>(note: &Note, text: &'a [u8]) -> &'a [u8] {
    text[..note.range.start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii()
}

/// Returns whether no words of the comment stand before a mark on its line, and it is no heading and no part of code that is shown: `/// # TODO`,
/// `//   // TODO`, `// f(); // TODO`.
fn begins_comment(note: &Note, text: &[u8]) -> bool {
    let before = before(note, text);
    let signs = before.iter().take_while(|byte| b"#/*!".contains(byte)).count();
    let is_shown = signs > 0 && !before[signs..].is_empty();
    if is_shown || before.ends_with(b"##") {
        return false;
    }
    before.iter().all(|byte| *byte == b'-')
        || before.ends_with(b"<!--")
        || before.last().is_some_and(|byte| b"#/*;!%<'{[\"".contains(byte))
}

/// Returns whether a mark is the last line of its block, or stands behind an empty one: above or behind other code it is about that.
fn is_alone(note: &Note, text: &[u8]) -> bool {
    let before = before(note, text);
    if before.iter().any(u8::is_ascii_alphanumeric) {
        let code = before.strip_suffix(b"//").or_else(|| before.strip_suffix(b"#")).unwrap_or(before);
        return ["{}", "{ }", "pass"].iter().any(|empty| code.trim_ascii_end().ends_with(empty.as_bytes()));
    }
    let indent = |line: &[u8]| line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = text[..note.range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut below =
        text[note.range.end..].split(|byte| *byte == b'\n').skip(1).filter(|line| !line.trim_ascii().is_empty());
    below.next().is_none_or(|next| {
        let closes = next.trim_ascii_start().first().is_some_and(|byte| b"})]".contains(byte));
        closes || next.trim_ascii().starts_with(b"end") || indent(next) < indent(&text[start..])
    })
}

/// Returns the line below a mark if it is a comment as well.
fn next_comment_line<'a>(note: &Note, text: &'a [u8]) -> &'a [u8] {
    let mut lines = text[note.range.end..].split(|byte| *byte == b'\n');
    let rest = lines.next().unwrap_or_default();
    let next = lines.next().unwrap_or_default().trim_ascii();
    let is_closed = memchr::memmem::find(rest, b"*/").is_some() || memchr::memmem::find(rest, b"-->").is_some();
    let is_comment = ["#", "//", "*", "--", ";"].iter().any(|mark| next.starts_with(mark.as_bytes()));
    // A block goes on without a sign of its own.
    let line = before(note, text);
    let is_open = line.ends_with(b"/*") || line.ends_with(b"<!--");
    let is_comment = is_comment || is_open;
    let is_end = next.starts_with(b"*/") || next.starts_with(b"#[") || next.starts_with(b"-->");
    if is_comment && !is_end && !is_closed { next } else { b"" }
}

/// `TODO(ann): …`, `TODO[#12] …`: whose it is says nothing of what it is.
fn without_owner(said: &[u8]) -> &[u8] {
    let close = match said.first() {
        Some(b'(') => b')',
        Some(b'[') => b']',
        Some(_) | None => return said,
    };
    said.iter().position(|byte| *byte == close).map_or(said, |end| &said[end + 1..])
}
