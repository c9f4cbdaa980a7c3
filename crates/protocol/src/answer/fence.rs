//! The fenced blocks of a Markdown text that can hold an answer: one pass over its lines, by the rules of CommonMark (§4.5) but for the indentation,
//! of which any counts, since agents put blocks into lists.

use super::BadAnswer;

/// Least length of a fence.
const LEAST: usize = 3;

/// A fenced block that says it is JSON, or looks like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// What stands between the fences.
    pub(super) text: &'a str,
    /// Line of its first fence, from 1.
    pub(super) line: usize,
    /// Why it can't be read, if it can't.
    pub(super) problem: Option<Problem>,
}

/// Why a block can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The text ends before it does.
    Unclosed,
    /// A fence with a language stands in it.
    Nested,
}

/// What a text has.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// The blocks that can hold an answer, in their order.
    pub(super) blocks: Vec<Block<'a>>,
    /// Line of a block of another language in which a JSON block stands.
    hidden_in: Option<usize>,
}

/// A line that is a fence.
#[derive(Clone, Copy)]
struct Fence<'a> {
    mark: char,
    length: usize,
    /// The first word behind it; empty for a bare one.
    language: &'a str,
}

/// A block whose end has not come yet.
struct Open<'a> {
    fence: Fence<'a>,
    line: usize,
    /// Where its text begins.
    start: usize,
    has_inner: bool,
}

// === impl Found ===

impl Found<'_> {
    /// Why there is no answer where there is no block.
    pub(super) const fn why_none(&self) -> BadAnswer {
        match self.hidden_in {
            Some(line) => BadAnswer::Nested { line },
            None => BadAnswer::NoBlock,
        }
    }
}

/// Finds the blocks of a text.
pub(super) fn scan(text: &str) -> Found<'_> {
    let mut found = Found::default();
    let mut open: Option<Open<'_>> = None;
    let mut at = 0;
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let start = at;
        at += content.len();
        let Some(fence) = fence(content) else { continue };
        match open.take() {
            None => open = Some(Open { fence, line, start: at, has_inner: false }),
            Some(block) if block.is_closed_by(fence) => block.end(&text[block.start..start], None, &mut found),
            Some(mut block) => {
                block.has_inner |= is_json(fence.language);
                open = Some(block);
            }
        }
    }
    if let Some(block) = open {
        block.end(&text[block.start..], Some(Problem::Unclosed), &mut found);
    }
    found
}

// === impl Open ===

impl<'a> Open<'a> {
    fn is_closed_by(&self, fence: Fence<'_>) -> bool {
        fence.mark == self.fence.mark && fence.length >= self.fence.length && fence.language.is_empty()
    }

    fn end(&self, text: &'a str, problem: Option<Problem>, found: &mut Found<'a>) {
        let says_json = is_json(self.fence.language);
        let looks_like_json = self.fence.language.is_empty() && text.trim_start().starts_with('{');
        let problem = if self.has_inner { Some(Problem::Nested) } else { problem };
        if says_json || looks_like_json {
            found.blocks.push(Block { text, line: self.line, problem });
        } else if self.has_inner {
            found.hidden_in = Some(self.line);
        }
    }
}

fn is_json(language: &str) -> bool {
    ["json", "switchboard"].iter().any(|one| language.eq_ignore_ascii_case(one))
}

/// The fence that a line is, if it is one.
fn fence(line: &str) -> Option<Fence<'_>> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    // A back tick behind backticks makes it code within a line.
    let is_fence = length >= LEAST && !(mark == '`' && info.contains('`'));
    is_fence.then(|| Fence { mark, length, language: info.split_whitespace().next().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        scan(text).blocks.iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_of_json_are_found_and_others_are_not() {
        assert_eq!(texts("a\n```json\n{}\n```\nb\n```rust\n{}\n```\n"), ["{}\n"]);
        assert_eq!(texts("```\n{ }\n```\n```\nls -l\n```\n"), ["{ }\n"]);
        assert_eq!(texts("~~~ JSON title=x\r\n[]\r\n~~~~\r\n"), ["[]\r\n"]);
        assert_eq!(texts("  - x\n      ```switchboard\n      {}\n      ```\n"), ["      {}\n"]);
        assert!(texts("```json {\"a\": 1} ```\n> ```json\n> {}\n> ```\n").is_empty());
    }

    #[test]
    fn a_block_without_an_end_and_one_within_another_say_so() {
        let problems = |text| scan(text).blocks.iter().map(|block| block.problem).collect::<Vec<_>>();

        assert_eq!(problems("```json\n{}\n"), [Some(Problem::Unclosed)]);
        assert_eq!(problems("```json\n{\n```json\n{}\n```\n"), [Some(Problem::Nested)]);
        assert_eq!(problems("```json\n{}\n````\n"), [None]);
        assert_eq!(problems("````json\n{}\n```\n````\n"), [None]);
        let hidden = scan("````markdown\n```json\n{}\n```\n````\n");
        assert!(hidden.blocks.is_empty());
        assert_eq!(hidden.why_none(), BadAnswer::Nested { line: 1 });
    }
}
