//! Checks shell scripts by their reserved words, brackets and quotes, for new files in which the grammar fails: what is
//! open at the end is open for every shell. Source of the rules: POSIX.1-2017, Shell Command Language, sections 2.2 to
//! 2.10, and the manual of Bash for `[[`, `((`, arrays and extended patterns.

mod compound;
mod word;

use compound::{Compound, Stage};
use word::Text;

use crate::problem::{Kind, Problem};

/// Maximum nesting of command substitutions; a deeper script is not judged.
const DEEPEST: usize = 60;

/// Reason that reading ended early.
#[derive(Debug)]
enum Stop {
    /// A word or bracket at this position has no partner.
    At(usize, Kind),
    /// The text can't be read here.
    Unknown,
}

/// End of a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Parenthesis,
}

/// Finds the first word, bracket or quote without a partner.
pub(crate) fn unbalanced(text: &[u8]) -> Option<Problem> {
    match list(&mut Text::new(text), End::Text, 0) {
        Err(Stop::At(at, kind)) => Some(Problem::at(text, at, kind)),
        Err(Stop::Unknown) | Ok(()) => None,
    }
}

fn unclosed(at: usize, what: &str) -> Stop {
    Stop::At(at, Kind::Unclosed(what.to_owned()))
}

fn closes_nothing(at: usize, what: &str) -> Stop {
    Stop::At(at, Kind::ClosesNothing(what.to_owned()))
}

/// Reads commands up to the end of the text, or past the parenthesis that ends them.
fn list(text: &mut Text<'_>, end: End, depth: usize) -> Result<(), Stop> {
    if depth > DEEPEST {
        return Err(Stop::Unknown);
    }
    let began = text.at;
    let mut list = List { open: Vec::new(), begins_command: true, end, depth };
    loop {
        text.skip_blanks();
        let Some(byte) = text.peek() else {
            return match (list.open.pop(), end) {
                (Some(open), _) => Err(unclosed(open.at, open.stage.word())),
                (None, End::Parenthesis) => Err(unclosed(began.saturating_sub(1), "(")),
                (None, End::Text) => Ok(()),
            };
        };
        if list.is_in_pattern() {
            list.pattern(text)?;
            continue;
        }
        match byte {
            b'#' => text.skip_line(),
            b'\n' => {
                text.end_line();
                list.begins_command = true;
            }
            b';' if text.starts_with(b";;") || text.starts_with(b";&") => list.end_of_arm(text)?,
            b';' | b'&' | b'|' => {
                text.at += 1;
                // `&>` redirects.
                list.begins_command = !(byte == b'&' && text.peek() == Some(b'>'));
            }
            b')' => {
                if list.closes(text.at)? {
                    text.at += 1;
                    return Ok(());
                }
            }
            b'(' => list.parenthesis(text)?,
            b'<' | b'>' => redirect(text, depth)?,
            _ => list.word(text)?,
        }
    }
}

fn redirect(text: &mut Text<'_>, depth: usize) -> Result<(), Stop> {
    if text.starts_with(b"<(") || text.starts_with(b">(") {
        text.at += 2;
        return self::list(text, End::Parenthesis, depth + 1);
    }
    if text.starts_with(b"<<") && !text.starts_with(b"<<<") {
        text.at += 2;
        return text.here_document();
    }
    while matches!(text.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
        text.at += 1;
    }
    text.skip_blanks();
    if text.starts_with(b"<(") || text.starts_with(b">(") {
        return Ok(());
    }
    text.word(depth).map(|_| ())
}

/// A list of commands being read.
struct List {
    open: Vec<Compound>,
    /// True if a reserved word may stand here.
    begins_command: bool,
    end: End,
    depth: usize,
}

// === impl List ===

impl List {
    fn is_in_pattern(&self) -> bool {
        self.open.last().is_some_and(|open| open.stage == Stage::Pattern)
    }

    /// Reads one pattern of a `case` with its parenthesis, or the `esac` in its place.
    fn pattern(&mut self, text: &mut Text<'_>) -> Result<(), Stop> {
        match text.peek() {
            Some(b'#') => text.skip_line(),
            Some(b'\n') => text.end_line(),
            _ if text.starts_with_word(b"esac") => {
                text.at += 4;
                self.open.pop();
                self.begins_command = true;
            }
            _ => {
                text.case_pattern(self.depth)?;
                if let Some(case) = self.open.last_mut() {
                    case.stage = Stage::Arm;
                }
                self.begins_command = true;
            }
        }
        Ok(())
    }

    /// Reads `;;`, `;&` or `;;&`.
    fn end_of_arm(&mut self, text: &mut Text<'_>) -> Result<(), Stop> {
        self.advance(&[Stage::Arm], Some(Stage::Pattern), text.at, ";;")?;
        while matches!(text.peek(), Some(b';' | b'&')) {
            text.at += 1;
        }
        Ok(())
    }

    /// Takes a closing parenthesis; returns whether it ends this list.
    fn closes(&self, at: usize) -> Result<bool, Stop> {
        match (self.open.last(), self.end) {
            (Some(open), _) if self.end == End::Parenthesis => Err(unclosed(open.at, open.stage.word())),
            (None, End::Parenthesis) => Ok(true),
            (_, _) => Err(closes_nothing(at, ")")),
        }
    }

    fn parenthesis(&mut self, text: &mut Text<'_>) -> Result<(), Stop> {
        if text.starts_with(b"((") && text.arithmetic(self.depth)? {
            self.begins_command = true;
            return Ok(());
        }
        text.at += 1;
        list(text, End::Parenthesis, self.depth + 1)?;
        // `name()` is followed by its body, a subshell by a separator or a reserved word.
        self.begins_command = true;
        Ok(())
    }

    fn word(&mut self, text: &mut Text<'_>) -> Result<(), Stop> {
        let at = text.at;
        if self.begins_command && text.starts_with_word(b"[[") {
            text.at += 2;
            self.begins_command = false;
            return text.test(at, self.depth);
        }
        let word = text.word(self.depth)?;
        if text.at == at {
            return Err(Stop::Unknown);
        }
        if !self.begins_command {
            return Ok(());
        }
        let is_reserved = self.reserved(word, at, text)?;
        self.begins_command = is_reserved;
        Ok(())
    }

    /// Reads a word where a command begins; returns whether another command begins after it.
    fn reserved(&mut self, word: &[u8], at: usize, text: &mut Text<'_>) -> Result<bool, Stop> {
        let (wants, becomes): (&[Stage], Option<Stage>) = match word {
            b"if" => return Ok(self.open(Stage::If, at)),
            b"while" | b"until" => return Ok(self.open(Stage::While, at)),
            b"{" => return Ok(self.open(Stage::Brace, at)),
            b"for" | b"select" => {
                self.open(Stage::For, at);
                return text.loop_head(self.depth);
            }
            b"case" => {
                self.open(Stage::Pattern, at);
                return text.case_head(at, self.depth).map(|()| true);
            }
            b"function" => {
                text.skip_blanks();
                text.word(self.depth)?;
                return Ok(true);
            }
            b"!" | b"time" | b"coproc" => return Ok(true),
            b"then" => (&[Stage::If, Stage::Elif], Some(Stage::Then)),
            b"elif" => (&[Stage::Then], Some(Stage::Elif)),
            b"else" => (&[Stage::Then], Some(Stage::Else)),
            b"fi" => (&[Stage::Then, Stage::Else], None),
            b"do" => (&[Stage::While, Stage::For], Some(Stage::Do)),
            b"done" => (&[Stage::Do], None),
            b"esac" => (&[Stage::Arm], None),
            b"}" => (&[Stage::Brace], None),
            _ => return Ok(false),
        };
        self.advance(wants, becomes, at, &String::from_utf8_lossy(word))?;
        Ok(true)
    }

    /// Moves the innermost command, which must be in one of these stages, to its next stage; `None` ends it.
    fn advance(&mut self, wants: &[Stage], becomes: Option<Stage>, at: usize, word: &str) -> Result<(), Stop> {
        let has_partner = self.open.iter().any(|outer| wants.contains(&outer.stage));
        match self.open.last_mut() {
            Some(open) if wants.contains(&open.stage) => match becomes {
                Some(stage) => open.stage = stage,
                None => drop(self.open.pop()),
            },
            // The inner command is not closed, or the word has no matching command.
            Some(open) if has_partner => return Err(unclosed(open.at, open.stage.word())),
            Some(_) | None => return Err(closes_nothing(at, word)),
        }
        Ok(())
    }

    fn open(&mut self, stage: Stage, at: usize) -> bool {
        self.open.push(Compound { stage, at });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_accepts_is_balanced() {
        for text in [
            "#!/bin/sh\nif [ -f \"$a\" ]; then b; elif c; then d; else e; fi\n",
            "for i in \"${a[@]}\" $(ls); do echo \"it's $i (\"; done < file | sort\n",
            "for ((i = 0; i < (3); i++)); do :; done; for x; do :; done; for x do :; done",
            "case $1 in\n  -a|--all) a ;;\n  (b) if c; then d; fi ;;\n  @(x|y)*) ;;\n  \"it's)\") ;;\n  # no)\n  *) e\nesac",
            "f() {\n  local a=(1 \"2)\" # it's\n  3)\n  (cd x && y) || { z; }\n}\nfunction g { :; }\n",
            "cat <<EOF >out\nit's (\nEOF\ncat <<-'END' | b\n\tif\n\tEND\n",
            "a=$(( (1 + 2) * 3 )) b=`c \\`d\\``; [[ $a =~ ^(x|y)$ && -n $b ]] && ((a++))",
            "while read -r a; do echo ${a#*(} \"${b:-it's}\" ${c//\\'/}; done < <(cmd)",
            "echo if then fi } done; a=if; ((b) | (c)); ! d; diff <(a) >(b); echo a#b # (",
            "x='it\\'; y=$'it\\'s'; z=\"$(echo \"(\")\"; if a; then if b; then c; fi fi",
            "case a in a) b;; esac; until a; do b; done; select a in b c; do break; done",
        ] {
            assert_eq!(unbalanced(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_open_or_closes_nothing_is_found_where_it_stands() {
        for (text, line, message) in [
            ("if a; then\n b\n", 1, "`if` is opened here and never closed"),
            ("f() {\n  a\n", 1, "`{` is opened here and never closed"),
            ("f()\n  a\n}\n", 3, "`}` closes nothing"),
            ("a=$(b\nc\n", 1, "`(` is opened here and never closed"),
            ("a=$b)\n", 1, "`)` closes nothing"),
            ("a\ncase b in\n  c) d ;;\n", 2, "`case` is opened here and never closed"),
            ("case b in\n  c d ;;\nesac\n", 2, "`)` expected here"),
            ("while a; do\n  if b; then c\ndone\n", 2, "`if` is opened here and never closed"),
            ("a \"b\nc\n", 1, "a string that never ends"),
            ("a; done\n", 1, "`done` closes nothing"),
            ("if [[ a; then b; fi\n", 1, "`[[` is opened here and never closed"),
        ] {
            let found = unbalanced(text.as_bytes()).unwrap();

            assert_eq!((found.lines.start + 1, found.message("Bash")), (line, message.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_nests_too_deep_is_left_alone() {
        let text = "$(".repeat(10_000);

        assert_eq!(unbalanced(text.as_bytes()), None);
        assert_eq!(unbalanced("${a:-".repeat(10_000).as_bytes()), None);
    }
}
