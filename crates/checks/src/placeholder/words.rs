//! Comments that stand where code should.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::found::Placeholder;

/// Sentences that a hasty writer leaves instead of code. Each alternative is a whole phrase: single words such as
/// `placeholder` or `stub` are ordinary names.
const PHRASES: &str = r"(?x)
    \b(?:todo|fixme)\b[:\s(-]{1,4}(?:\w+\)?[:\s]{1,3})?implement\b
  | \b(?:your|actual|real|more|rest\sof\s(?:the\s|your\s)?)(?:\s?(?:code|logic|implementation))\s(?:goes\s)?here\b
  | \.\.\.\s*(?:rest\sof|existing|remaining|other|more|same)\s+(?:\w+\s+){0,3}(?:code|methods?|functions?|implementation|logic|fields?|tests?)\b
  | \b(?:rest|remainder)\sof\s(?:the\s)?(?:code|file|implementation|function|class|method)s?\s(?:remains?|stays?|is|here|unchanged|omitted)\b
  | (?:\.\.\.|\b(?:code|implementation|logic|body|rest|remaining|others?|details|handling|methods?|functions?|imports?|validation|tests?)\b)[^.\n]{0,40}\b(?:omitted|left\sout|removed|elided)\sfor\s(?:brevity|simplicity)\b
  | ^\W*(?:omitted|left\sout|elided)\sfor\s(?:brevity|simplicity)\W*$
  | \b(?:implement|implementation)\s(?:this\s)?(?:later|goes\shere|here\slater)\b
  | \bnot\s(?:yet\simplemented|implemented\syet)\b
  | \b(?:placeholder|dummy|stub|mock)\s(?:implementation|code|logic)\b
  | \bhard-?coded\s(?:\w+\s){0,2}for\snow\b
  | \b(?:stub(?:bed)?|fake|dummy|mock(?:ed)?|placeholder)\s(?:out\s)?(?:for\snow|until)\b
  | \breturn(?:s|ing)?\s(?:an?\s|some\s)?(?:dummy|fake|mock(?:ed)?|placeholder|hard-?coded)\s(?:value|data|response|result|list|object|token)s?\b
  | \b(?:temporary|simplified)\s(?:stub|placeholder)\b
  | \b(?:needs?|yet|still)\sto\sbe\simplemented\b
  | ^\W*(?:to\sbe\simplemented|implement\s(?:me|this|here)|fill\s(?:this\s|it\s|me\s)?in(?:\slater)?|stub|placeholder|dummy)\b[\W]*$
  | \b(?:add|put|write|insert)\s(?:your\s|the\s)?(?:\w+\s)?(?:code|logic|implementation)\shere\b
  | \b(?:in\sa\sreal|for\sa\sreal)\s(?:implementation|application|app|system|scenario)\b
";

static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(PHRASES).unicode(false).case_insensitive(true).build().expect("a constant pattern")
});

/// Finds the phrases of a comment.
pub(crate) fn in_comment(text: &[u8], comment: &Range<usize>) -> Vec<Placeholder> {
    let found = COMMENT.find_iter(&text[comment.clone()]);
    found
        .map(|phrase| Placeholder {
            rule: "placeholder/comment-text".into(),
            what: "a comment stands where code should",
            range: comment.start + phrase.start()..comment.start + phrase.end(),
        })
        .collect()
}

/// Tells whether the message of an error says that something is still to be written; that a subclass has to write it is
/// no such thing.
pub(crate) fn says_unfinished(text: &[u8]) -> bool {
    static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
        RegexBuilder::new(r"not (?:yet )?implemented|\btodo\b|implement (?:me|this)|to be implemented|\bstub\b")
            .unicode(false)
            .case_insensitive(true)
            .build()
            .expect("a constant pattern")
    });
    static CONTRACT: LazyLock<Regex> = LazyLock::new(|| {
        RegexBuilder::new(r"\b(?:sub-?class|child class|derived|overrid|must|should|has to|have to|needs? to)\w*\b")
            .unicode(false)
            .case_insensitive(true)
            .build()
            .expect("a constant pattern")
    });
    MESSAGE.is_match(text) && !CONTRACT.is_match(text)
}
