//! Dockerfiles, by the rules of their reference: known instructions with arguments, lines continued by a backslash,
//! heredocs, a `FROM` before the instructions that need one. Source: docs.docker.com/reference/dockerfile.

use crate::problem::{Kind, Problem};

/// All instructions.
const INSTRUCTIONS: [&str; 18] = [
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// Finds the first line that is no valid instruction.
pub(super) fn problem(text: &str) -> Option<Problem> {
    let mut escape = '\\';
    let mut lines = Lines { text, at: 0 };
    let (mut has_from, mut is_head) = (false, true);
    while let Some((start, line)) = lines.next() {
        let plain = line.trim();
        if plain.starts_with('#') {
            let directive = plain.trim_start_matches('#').trim().to_ascii_lowercase();
            if is_head
                && directive.strip_prefix("escape").is_some_and(|rest| rest.trim_start_matches([' ', '=']) == "`")
            {
                escape = '`';
            }
            continue;
        }
        if plain.is_empty() {
            continue;
        }
        is_head = false;
        let instruction = lines.whole(plain, escape);
        if let Some(kind) = mistake(&instruction, &mut has_from) {
            return Some(Problem::at(text.as_bytes(), start + (line.len() - line.trim_start().len()), kind));
        }
        if let Some(start) = lines.skip_heredocs(&instruction, start) {
            return Some(Problem::at(text.as_bytes(), start, Kind::Stated("a heredoc that never ends".into())));
        }
    }
    None
}

fn mistake(instruction: &str, has_from: &mut bool) -> Option<Kind> {
    let (word, arguments) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
    let arguments = arguments.trim();
    let word = word.to_ascii_uppercase();
    let Some(word) = INSTRUCTIONS.iter().find(|known| **known == word) else {
        return Some(Kind::Stated("this is no instruction of a Dockerfile".into()));
    };
    *has_from |= *word == "FROM";
    if arguments.is_empty() {
        return Some(Kind::Stated(format!("`{word}` needs an argument")));
    }
    if !*has_from && *word != "ARG" {
        return Some(Kind::Stated(format!("`{word}` before the first `FROM`")));
    }
    let is_list = arguments.starts_with('[') && arguments.ends_with(']');
    let is_shell_only = *word == "SHELL" && !is_list;
    // Docker runs a list that is no JSON as a shell command, which is not intended with these instructions.
    let is_broken_list = is_list
        && matches!(*word, "SHELL" | "CMD" | "ENTRYPOINT")
        && serde_json::from_str::<Vec<String>>(arguments).is_err()
        && !arguments.starts_with("[[")
        && !arguments.starts_with("[ -");
    (is_shell_only || is_broken_list)
        .then(|| Kind::Stated(format!("`{word}` takes a list of strings in double quotes")))
}

/// Lines of a text with their positions.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

// === impl Lines ===

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.text[self.at..];
        let line = rest.split_inclusive('\n').next()?;
        let start = self.at;
        self.at += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    }

    /// Joins a line with those that continue it, leaving out comments and blank lines between them.
    fn whole(&mut self, first: &str, escape: char) -> String {
        let mut whole = first.trim_end().to_owned();
        while let Some(open) = whole.strip_suffix(escape) {
            let open = open.len();
            whole.truncate(open);
            loop {
                let Some((_, line)) = self.next() else { return whole };
                let plain = line.trim();
                if !plain.is_empty() && !plain.starts_with('#') {
                    whole.push_str(plain);
                    break;
                }
            }
        }
        whole
    }

    /// Skips the heredocs of an instruction; returns the position of one that never ends.
    fn skip_heredocs(&mut self, instruction: &str, start: usize) -> Option<usize> {
        let word = instruction.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        if !matches!(word.as_str(), "RUN" | "COPY" | "ADD") {
            return None;
        }
        for name in heredocs(instruction) {
            loop {
                let Some((_, line)) = self.next() else { return Some(start) };
                if line.trim() == name {
                    break;
                }
            }
        }
        None
    }
}

/// Lists the names of the heredocs of an instruction.
fn heredocs(instruction: &str) -> Vec<String> {
    instruction
        .split_whitespace()
        .filter_map(|word| {
            let name = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
            let name = name.strip_prefix('-').unwrap_or(name).trim_matches(['"', '\'']);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            (is_name && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# syntax=docker/dockerfile:1\nARG V=1\nFROM a:$V AS b\nRUN x && \\\n  # why\n\n  y\nCOPY <<-\"E\" /a\n  not an instruction\n  E\nRUN <<E\n  z\nE\nCMD [\"a\", \"b\"]\n";

    #[test]
    fn a_broken_instruction_is_found_with_its_line() {
        let lines = |text: &str| problem(text).map(|found| found.lines.start + 1);
        assert_eq!(lines(GOOD), None);

        for (from, to, line) in [
            ("RUN x && \\\n", "RUN x &&\n", 7),
            ("FROM", "FORM", 3),
            ("ARG V=1\n", "RUN a\n", 2),
            ("CMD [\"a\", \"b\"]", "CMD [\"a\", 'b']", 14),
            ("CMD [\"a\", \"b\"]", "CMD", 14),
            ("  z\nE\n", "  z\n", 11),
        ] {
            assert_eq!(lines(&GOOD.replacen(from, to, 1)), Some(line), "{from} -> {to}");
        }
    }
}
