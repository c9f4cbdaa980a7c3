//! What is legal and a grammar does not know, replaced byte for byte, so that every place stays where it was.

use std::borrow::Cow;

use grammars::Language;

/// The longest list of types that is looked through.
const TYPES: usize = 2_000;

/// Gives a text as its grammar can read it.
pub(super) fn tidied(language: Language, text: &[u8]) -> Cow<'_, [u8]> {
    let mut tidy = Tidy { text: Cow::Borrowed(text) };
    match language {
        Language::Css => tidy.spaced_important(),
        Language::JavaScript => tidy.keyword_aliases(),
        Language::TypeScript => {
            tidy.keyword_aliases();
            tidy.variance();
            tidy.typed_templates();
            tidy.generic_lines();
        }
        Language::Rust => tidy.parenthesized_paths(),
        Language::Tsx => {
            tidy.keyword_aliases();
            tidy.variance();
            tidy.typed_templates();
        }
        Language::Bash
        | Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Dart
        | Language::Go
        | Language::Ini
        | Language::Java
        | Language::Kotlin
        | Language::Php
        | Language::PowerShell
        | Language::Python
        | Language::Regex
        | Language::Ruby
        | Language::Swift => {}
    }
    tidy.text
}

struct Tidy<'a> {
    text: Cow<'a, [u8]>,
}

// === impl Tidy ===

impl Tidy<'_> {
    fn all(&self, word: &str) -> Vec<usize> {
        memchr::memmem::find_iter(&self.text, word).collect()
    }

    fn blank(&mut self, from: usize, to: usize) {
        self.text.to_mut()[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }

    /// `! important`
    fn spaced_important(&mut self) {
        for at in self.all("! important") {
            self.text.to_mut()[at..at + 11].copy_from_slice(b" !important");
        }
    }

    /// `export { x as default }`: behind `as` any word may stand, also one of the language.
    fn keyword_aliases(&mut self) {
        for at in self.all(" as ") {
            let word = at + 4;
            let end = word + self.text[word..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            let next = self.text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
            if end > word + 1 && matches!(next, Some(b',' | b'}')) {
                self.text.to_mut()[word] = b'_';
            }
        }
    }

    /// `Fn::(A)`: legal to the parser of the compiler, though nothing that compiles has it.
    fn parenthesized_paths(&mut self) {
        for at in self.all("::(") {
            self.blank(at, at + 2);
        }
    }

    /// `interface Box<in out T>`
    fn variance(&mut self) {
        for word in ["in ", "out "] {
            for at in self.all(word) {
                let before = significant(&self.text[..at]);
                let name = self.text[at + word.len()..].trim_ascii_start();
                let is_type = name.first().is_some_and(|byte| byte.is_ascii_uppercase() || matches!(byte, b'$' | b'_'));
                if matches!(before, b'<' | b',') && (is_type || name.starts_with(b"out ")) {
                    self.blank(at, at + word.len() - 1);
                }
            }
        }
    }

    /// ``sql<{ id: number }>`…` ``
    fn typed_templates(&mut self) {
        for at in self.all(">`") {
            let mut depth = 0_usize;
            let from = self.text[at.saturating_sub(TYPES)..=at].iter().rposition(|byte| {
                match byte {
                    b'>' => depth += 1,
                    b'<' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let from = from.map(|from| at.saturating_sub(TYPES) + from);
            if let Some(from) = from.filter(|from| *from > 0 && is_name(self.text[from - 1])) {
                self.blank(from, at + 1);
            }
        }
    }

    /// A line of an interface that begins with `<T>(` ends the one above, which may have no semicolon.
    fn generic_lines(&mut self) {
        for end in self.all("\n") {
            let indent = self.text[end + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let open = end + 1 + indent;
            let before = significant(&self.text[..end]);
            let ends = is_name(before) || matches!(before, b'>' | b']' | b')' | b'}' | b'"' | b'\'');
            if indent > 0 && ends && self.text.get(open) == Some(&b'<') && is_generic_call(&self.text[open..]) {
                self.text.to_mut()[end + 1] = b';';
            }
        }
    }
}

/// Gives the last byte before a place that is neither blank nor in a comment.
fn significant(text: &[u8]) -> u8 {
    let mut text = text.trim_ascii_end();
    while let Some(comment) = text.strip_suffix(b"*/") {
        let open = memchr::memmem::rfind(comment, b"/*").unwrap_or(0);
        text = text[..open].trim_ascii_end();
    }
    text.last().copied().unwrap_or(b';')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// `<…>(` with brackets that fit.
fn is_generic_call(text: &[u8]) -> bool {
    let mut depth = 0_i32;
    for (at, byte) in text.iter().take(TYPES).enumerate() {
        match byte {
            b'<' => depth += 1,
            // The arrow of a function type.
            b'>' if at > 0 && text[at - 1] == b'=' => {}
            b'>' => depth -= 1,
            b';' => return false,
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 1) == Some(&b'(');
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_grammars_do_not_know_is_replaced_and_nothing_moves() {
        for (language, text, tidy) in [
            (Language::Css, "a { b: c ! important }", "a { b: c  !important }"),
            (Language::JavaScript, "export { a as void };", "export { a as _oid };"),
            (Language::TypeScript, "interface A<in out T, out U> {}", "interface A<       T,     U> {}"),
            (Language::TypeScript, "sql<{ a: Map<b, c> }>`x`", "sql                  `x`"),
            (Language::TypeScript, "{\n  (): A\n  <B>(b: B): A\n}", "{\n  (): A\n; <B>(b: B): A\n}"),
            (Language::TypeScript, "x = a as B", "x = a as B"),
        ] {
            assert_eq!(String::from_utf8_lossy(&tidied(language, text.as_bytes())), tidy);
        }
    }
}
