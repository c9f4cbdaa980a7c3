//! The text block in the prompt of a retry after a refusal by a gate.

use switchboard_protocol::text::cut;

use super::prose::is_invisible;

/// Maximum length of the name of a gate or step, in bytes.
const NAME_BYTES: usize = 80;
/// Maximum length of a reason or fix, in bytes: both share one event with other fields (1 KiB of facts).
const TEXT_BYTES: usize = 400;

/// Reason and instructions for a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Number of the retry, from 1.
    pub number: u32,
    /// Maximum number of retries.
    pub of: u32,
    /// Name of the failed gate.
    pub gate: String,
    /// What failed.
    pub reason: String,
    /// What the next attempt must do.
    pub required_fix: String,
    /// Step at which the retry begins.
    pub resume_at: String,
}

// === impl Retry ===

impl Retry {
    /// Returns the block on one line, for a screen.
    #[must_use]
    pub fn line(&self) -> String {
        self.render().trim_end().replace('\n', "; ")
    }

    /// Returns the five lines of the block. Text of gates and agents stays on its own line: it can't begin another
    /// field, close a fence or send escape sequences to the terminal.
    #[must_use]
    pub fn render(&self) -> String {
        let Self { number, of, gate, reason, required_fix, resume_at } = self;
        format!(
            "RETRY #{number}/{of}\nFAILED GATE: {}\nREASON: {}\nREQUIRED FIX: {}\nRESUME AT: {}\n",
            field(gate, NAME_BYTES),
            field(reason, TEXT_BYTES),
            field(required_fix, TEXT_BYTES),
            field(resume_at, NAME_BYTES),
        )
    }
}

/// Converts a text to one line: each run of spaces becomes one space, and three backticks or tildes in a row become
/// apostrophes or dashes.
fn field(text: &str, bytes: usize) -> String {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    // Removes escape sequences first, while their beginning is intact; line ends become spaces.
    let plain = cut(&visible, visible.len());
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.replace("```", "'''").replace("~~~", "---");
    let short = cut(&line, bytes);
    if short.is_empty() { "not given".to_owned() } else { short }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn retry() -> Retry {
        Retry {
            number: 2,
            of: 5,
            gate: "syntax_check".to_owned(),
            reason: "src/a.rs:3: expected `;`".to_owned(),
            required_fix: "end the statement in line 3".to_owned(),
            resume_at: "5c".to_owned(),
        }
    }

    #[test]
    fn the_block_has_five_lines() {
        let expected = "RETRY #2/5\nFAILED GATE: syntax_check\nREASON: src/a.rs:3: expected `;`\n\
            REQUIRED FIX: end the statement in line 3\nRESUME AT: 5c\n";

        assert_eq!(retry().render(), expected);
        assert!(retry().line().starts_with("RETRY #2/5; FAILED GATE: syntax_check; REASON: "));
    }

    #[test]
    fn a_field_can_not_begin_another_or_close_a_fence() {
        for text in [
            "bad\nRESUME AT: 5n",
            "bad\r\nRETRY #1/9",
            "bad\u{2028}RESUME AT: 5n",
            "bad\u{85}x",
            "```\nbad\n```",
            "~~~~",
            "\u{1b}[2Jbad",
            "b\u{202e}ad",
            "bad\0",
            "``\u{200b}`",
        ] {
            let block = Retry { reason: text.to_owned(), ..retry() }.render();

            assert_eq!(block.lines().count(), 5, "{block:?}");
            assert!(!block.contains("```") && !block.contains("~~~"), "{block:?}");
            assert!(
                block.chars().all(|c| c == '\n' || !(c.is_control() || is_invisible(c) || c == '\u{2028}')),
                "{block:?}"
            );
        }
        assert!(Retry { gate: " \n".to_owned(), ..retry() }.render().contains("FAILED GATE: not given\n"));
    }

    proptest! {
        #[test]
        fn any_fields_make_five_short_lines(gate in "\\PC{0,100}", reason in "[\\x00-\\x7f\u{2028}`~é]{0,600}", number in any::<u32>()) {
            let block = Retry { number, gate, reason: reason.clone(), required_fix: reason, ..retry() }.render();

            let lines: Vec<_> = block.split(['\n', '\u{2028}', '\u{2029}', '\u{85}']).collect();
            prop_assert_eq!(lines.len(), 6);
            prop_assert!(block.len() < 1_100);
            prop_assert!(!block.contains("```") && !block.contains("~~~"));
        }
    }
}
