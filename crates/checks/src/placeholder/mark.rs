//! Marks such as `TODO` in comments: which of them say that code is missing.
//!
//! Finished code has many marks: of 1,525 patches that a distribution applies to 50 packages, 32 add one, and each of these asks
//! whether something could be better. Such a mark is listed. A mark blocks if its block has no other code, if it asks for all of
//! the code at hand, or if it names missing work and the place shows a gap: the block ends there or goes on with a statement that
//! does nothing.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use switchboard_syntax::notes::Note;
use tree_sitter::Tree;

use super::found::{Placeholder, Weight};
use super::place;

/// A short order to write code. Longer ones describe features: `add support for shelves in nested playlists`. So do most with a bare
/// `add` or `create`: of fifteen in published packages, one named work that was missing.
const ORDER: &str = r"(?x)
    ^(?:we\s|i\s|you\s)?(?:still\s)?(?:need(?:s|ed)?\sto\s|must\s|should\s|to\s|please\s)?(?:be\s)?
        (?:actually\s|properly\s|fully\s)?
        (?:implement(?:ed)?|(?:add|create|build|integrate)\s(?:(?:in\s)?(?:the|these|proper|real)\b|this\W*$|(?:(?:error|exception|input|argument|access|permission)\s)?(?:handling|validation|checks?|logic|implementation|code)\b\W*(?:$|\b(?:for|of|to|in|here)\b))
          |handle|validate|finish|complete|write|fill|flesh|wire|hook|connect|stub|do(?:\s(?:this|it|me)$))
        \b(?:\s(?:the|an?|this|these|all|in|out|up)\b)*(?:\s[^\s?]+){0,3}(?:\s(?:here|later|now|below|properly))?[\s.!]*$
";
/// Orders to write something other than code. `Validate` alone asks for a review of the code.
const NO_CODE: &str = r"\b(?:(?:unit\s?)?test\s?(?:case)?s?|doc(?:string|umentation|ument)?s?|descriptions?|jsdoc|readme|comments?|examples?|stubs?|hints|annotations|changelog)\b|^validate\W*$";

/// Orders for all of the code at hand. They need no gap.
///
/// Of 30 other orders in front of code that works, in 17.5 million lines of published packages, a reviewer would have stopped 6.
const ALL_OF_IT: &str = r"(?x)
    ^(?:actually\s|properly\s)?(?:to\s)?(?:be\s)?(?:implement(?:ed)?|finish|complete|write)
        (?:\s(?:me|this|it|the\s(?:rest|implementation|function|method|body)))?(?:\s(?:here|later|now|properly))?[\s.!]*$
";

/// The most words of a mark that blocks. Longer ones give reasons.
const WORDS_OF_MARK: usize = 16;
/// Orders for an extra or a better version, or for a trait that a type may also implement.
const BESIDES: &str = r"\bmore\W*$|^\W*(?:handle\smore\b|implement\s(?:`(?-i:[A-Z][a-z]+[A-Z]\w*)(?:<[^\s>]*>)?`\s\w|(?-i:[A-Z][a-z]+[A-Z]\w*)(?:<[^\s>]*>)?\s(?:for|on)\b))|^\W*(?:implement|write)\s(?:(?:a|an|some|the)\s)?(?:more|new|another|better|faster|something|custom|additional|alternative|optional|optimi[sz]ed|efficient|`?__\w+__|`?(?-i:[A-Z][a-z]+[A-Z]\w*)`?\W*$|`?(?:Debug|Display|Clone|Copy|Default|Hash|Eq|PartialEq|Ord|PartialOrd|Iterator|Drop|From|Into|Send|Sync|Serialize|Deserialize)\b)";
/// Conditions: the order is for another day.
const WAITS: &str = r"\b(?:when|once|after|until|unless|if|before)\b";

/// Names for missing code and for stand-ins. They also note the limits of code that works, so the place has to show a gap.
const MISSING: &str = r"(?x)
    \b(?:not|n't|never)\s(?:yet\s)?(?:implemented|done|finished|written|wired|connected|hooked)(?:\s(?:for|here|yet|at)\b|\s*[^\s\w]|\s*$)
  | \bunimplemented\b
  | \bproper\s(?:\w+\s)?(?:implementation|logic|code|validation|handling)\b
  | \b(?:placeholder|dummy|fake|mock(?:ed)?|stub(?:bed)?)(?:\s(?:values?|data|code|implementations?|logic|responses?|results?|versions?|calls?|for\snow|until|only|here)\b|\s*[^\s\w/]|\s*$)
  | \b(?:is|are|was|just|still)\shard-?coded(?:\s(?:for|here|to|until)\b|\W*$)
  | ^(?:for\snow|later|here|more|me|this|soon)[\s.,:;!*/-]*$
";
/// Names for the real code: what is there is not.
const REAL: &str = r"(?x)
    \bproper\serror\shandling\b
  | \bactual\s(?:\w+\s)?(?:implementation|logic|code|calls?|api|query|checks?|validation)(?:\s(?:here|later|calls?|from|instead|logic)\b|\s*[^\s\w]|\s*$)
  | \breal\s(?:\w+\s)?(?:implementation|logic|code|data|values?|calls?|queries|query|checks?|validation|response|api|database|service)(?:\s(?:here|later|calls?|from|instead)\b|\s*[^\s\w]|\s*$)
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

/// What the words of a mark say about the code behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Code is missing, whatever stands behind the mark.
    Missing,
    /// What is there is not the real code. Code that works is called so, too: it is missing if the place shows a gap.
    Real,
    /// Something may be missing: it is if the place shows a gap.
    Gap,
    /// Neither.
    Other,
}

/// Weighs the marks of a file's comments.
///
/// In tests a mark blocks only if it is all there is of a function.
pub(super) fn placeholders(
    notes: &[Note],
    tree: Option<&Tree>,
    text: &[u8],
    is_test: impl Fn(usize) -> bool,
) -> Vec<Placeholder> {
    let placeholder = |note: &Note| {
        // HACK and XXX mostly comment on code that is there.
        let (rule, may_be_bare) = match note.tag {
            "TODO" => ("placeholder/comment-todo", true),
            "FIXME" => ("placeholder/comment-fixme", true),
            "TBD" | "WIP" => ("placeholder/comment-other", true),
            "HACK" | "XXX" => ("placeholder/comment-other", false),
            _ => return None,
        };
        let is_test = is_test(note.range.start);
        // `HACK` and `XXX` comment on code that is there.
        let stands = |tree| {
            let is_in_test = is_test && !place::is_in_body_of_function(note, tree);
            let is_other =
                is_in_test || leaves_no_code_out(note) || is_remark(note) || place::is_above_shown(note, text);
            !matches!(note.tag, "HACK" | "XXX")
                && is_short(note)
                && !is_other
                && is_first(note, tree, text)
                && place::stands_for_code(note, tree, text)
        };
        let kind = said(note, text, may_be_bare);
        let says_it = || match kind {
            Said::Missing if !may_be_bare => tree.is_some_and(|tree| place::leaves_gap(&note.range, tree, text)),
            // A file that no grammar reads is mostly configuration.
            Said::Missing => tree.is_some() || is_alone(note, text),
            Said::Gap | Said::Real => {
                tree.map_or_else(|| is_alone(note, text), |tree| place::leaves_gap(&note.range, tree, text))
            }
            Said::Other => false,
        };
        let is_beside = tree.is_some_and(|tree| place::leaves_nothing_out(note, tree, text));
        let is_missing = !asks(note, text) && !is_beside && ((!is_test && says_it()) || tree.is_some_and(stands));
        let (weight, what) = if is_missing && !place::is_behind_head(&note.range, text) {
            (Weight::Blocks, "a mark for work that is left undone")
        } else if is_missing || (!is_test && !is_beside && kind == Said::Real && !asks(note, text)) {
            (Weight::Asks, "a mark for work that may be left undone")
        } else {
            (Weight::Note, "a mark for work that somebody may do")
        };
        Some(Placeholder { weight, rule: rule.into(), what, range: note.range.clone() })
    };
    notes.iter().filter_map(placeholder).collect()
}

/// Returns whether a mark is a question or a wish.
fn asks(note: &Note, text: &[u8]) -> bool {
    let said = note.text.to_ascii_lowercase();
    let asks_below = || !note.text.ends_with('.') && next_comment_line(note, text).contains(&b'?');
    said.contains('?') || WISHES.iter().any(|word| said.contains(word)) || asks_below()
}

/// Returns whether a mark asks for less code, speaks of tests, or is a statement that is commented out.
fn leaves_no_code_out(note: &Note) -> bool {
    static NO_CODE_HERE: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"^\W*(?:deprecated?\b|optimi[sz]e\b|dcheck\b|assert\b|log\b|(?:remove|delete|drop|disable|revert)\s(?:this|these|it|special|after|when|once)\b)|\bremove\W*$|\b(?:un)?tested\b|\b(?:by|in)\stests\b|\bwarn(?:ings?)?\b|^\W*test\s(?:me|on|with|this)\b|\bdo(?:es)?\snothing\b|\w\([^()]*\);$";
        RegexBuilder::new(words).unicode(false).case_insensitive(true).build().expect("a constant pattern")
    });
    let said = note.text.as_bytes().get(note.tag.len()..).unwrap_or_default();
    NO_CODE_HERE.is_match(without_owner(said.trim_ascii_start()))
}

/// Returns whether a mark waits for something else (`implement when available in Firefox`) or is a remark (`this is a candidate for …`).
fn is_remark(note: &Note) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        RegexBuilder::new(r"\bwhen\b|\bonce\b|\bif\b|^\w+\W*(?:\([^)]*\)\W*)?(?:this\sis|it\s?'?s|it\sis|it\swould|it\scould|that\s|they\s|surely|probably)\b")
            .unicode(false)
            .case_insensitive(true)
            .build()
            .expect("a constant pattern")
    });
    WORDS.is_match(note.text.as_bytes())
}

fn said(note: &Note, text: &[u8], may_be_bare: bool) -> Said {
    static WORDS: LazyLock<[Regex; 7]> = LazyLock::new(|| {
        [MISSING, REAL, ALL_OF_IT, ORDER, NO_CODE, WAITS, BESIDES].map(|words| {
            RegexBuilder::new(words).unicode(false).case_insensitive(true).build().expect("a constant pattern")
        })
    });
    let [missing, real, all_of_it, order, no_code, waits, besides] = &*WORDS;
    let said = note.text.as_bytes().get(note.tag.len()..).unwrap_or_default();
    let said = from_first_word(without_owner(said.trim_ascii_start()));
    let is_whole = said.ends_with(b".") || place::is_above_shown(note, text);
    let goes_on: &[u8] = if is_whole { b"" } else { from_first_word(next_comment_line(note, text)) };
    let said = [said, goes_on].join(&b' ');
    let said = said.trim_ascii();
    if said.is_empty() {
        let is_bare = may_be_bare && begins_comment(note, text) && is_alone(note, text);
        return if is_bare { Said::Missing } else { Said::Other };
    }
    // Behind a statement, "validate" asks whether the statement is right.
    let is_doubt = || {
        said.to_ascii_lowercase().starts_with(b"validate") && before(note, text).iter().any(u8::is_ascii_alphanumeric)
    };
    let is_order =
        || order.is_match(said) && !is_doubt() && ![no_code, waits, besides].iter().any(|other| other.is_match(said));
    if is_short(note) && real.is_match(said) {
        Said::Real
    } else if is_short(note) && missing.is_match(said) {
        Said::Gap
    } else if begins_comment(note, text) && is_order() {
        if all_of_it.is_match(said) { Said::Missing } else { Said::Gap }
    } else {
        Said::Other
    }
}

/// Returns whether a mark has few words.
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

/// Returns whether a mark is the first word of its line. It is not in a heading (`/// # TODO`) or in code that is commented out
/// (`// f(); // TODO`).
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

/// Returns whether a mark is the last line of its block or stands behind an empty one. Above other code it is about that code.
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
        let closes = next.trim_ascii_start().first().is_some_and(|byte| b"})]".contains(byte))
            || next.trim_ascii_start().starts_with(b"</");
        closes || next.trim_ascii().starts_with(b"end") || indent(next) < indent(&text[start..])
    })
}

/// Returns the line below a mark if it belongs to the comment.
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

/// Returns whether a mark is the first word of its comment on this line: not `# noqa # FIXME` and not `see the issue (TODO)`.
fn is_first(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let line = text[..note.range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let start = place::start_of_comment(&note.range, tree).unwrap_or(line).max(line);
    !text[start..note.range.start].iter().any(u8::is_ascii_alphanumeric)
}

/// Strips the owner or ticket of a mark: `TODO(ann): …`, `TODO[#12] …`.
fn without_owner(said: &[u8]) -> &[u8] {
    let close = match said.first() {
        Some(b'(') => b')',
        Some(b'[') => b']',
        Some(_) | None => return said,
    };
    said.iter().position(|byte| *byte == close).map_or(said, |end| &said[end + 1..])
}
