//! Finds the fenced blocks of a Markdown text that can hold an answer, in one pass over its lines. It follows CommonMark (§4.5), except that any
//! indentation is accepted, because agents put blocks into lists.

use super::BadAnswer;

/// Minimum length of a fence, in characters.
const MIN_FENCE_LENGTH: usize = 3;

/// A fenced block that is marked as JSON or looks like JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Text between the fences.
    pub(super) text: &'a str,
    /// Line of the opening fence, from 1.
    pub(super) line: usize,
    /// Reason why the block can't be read, if it can't.
    pub(super) problem: Option<Problem>,
}

/// Reason why a block can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The text ends before the block is closed.
    Unclosed,
    /// The block contains a fence with a language.
    Nested,
}

/// Result of a scan.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Blocks that can hold an answer, in order.
    pub(super) blocks: Vec<Block<'a>>,
    /// Line of a block of another language that contains a JSON block.
    hidden_in: Option<usize>,
}

/// A line that opens or closes a block.
#[derive(Clone, Copy)]
struct Fence<'a> {
    mark: char,
    length: usize,
    /// First word after the fence; empty if there is none.
    language: &'a str,
}

/// A block that is not closed yet.
struct Open<'a> {
    fence: Fence<'a>,
    line: usize,
    /// Byte offset at which the block's text begins.
    start: usize,
    has_inner: bool,
}

// === impl Found ===

impl Found<'_> {
    /// Returns the reason why no block was found.
    pub(super) const fn missing_reason(&self) -> BadAnswer {
        match self.hidden_in {
            Some(line) => BadAnswer::Nested { line },
            None => BadAnswer::NoBlock,
        }
    }
}

/// Finds the blocks of a text that can hold an answer.
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

/// Parses a line as a fence.
fn fence(line: &str) -> Option<Fence<'_>> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    // A backtick after the opening backticks makes the line inline code, not a fence.
    let is_fence = length >= MIN_FENCE_LENGTH && !(mark == '`' && info.contains('`'));
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
        assert_eq!(hidden.missing_reason(), BadAnswer::Nested { line: 1 });
    }
}
