//! Replaces legal code that a grammar does not know by code of the same length, so that all positions stay the same.

use std::borrow::Cow;

use switchboard_grammars::Language;

use crate::{conditions, csharp, front_matter, kotlin};

/// Maximum length of a comment that is skipped, in bytes.
const COMMENT: usize = 50_000;
/// Maximum length of a list of types that is searched, in bytes.
const TYPES: usize = 2_000;

/// Words that a module may export and that begin no value: `import { do as a }`.
const RESERVED: [&[u8]; 24] = [
    b"break",
    b"case",
    b"catch",
    b"const",
    b"continue",
    b"debugger",
    b"delete",
    b"do",
    b"else",
    b"enum",
    b"export",
    b"extends",
    b"finally",
    b"for",
    b"if",
    b"in",
    b"instanceof",
    b"return",
    b"switch",
    b"throw",
    b"try",
    b"var",
    b"while",
    b"with",
];

/// Returns a text in a form that its grammar can parse.
pub(super) fn tidied(language: Language, text: &[u8]) -> Cow<'_, [u8]> {
    let has_front_matter = matches!(language, Language::Css | Language::JavaScript);
    let mut tidy = Tidy { text: if has_front_matter { front_matter::without(text) } else { Cow::Borrowed(text) } };
    if matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
        conditions::first_arms(&mut tidy.text);
        tidy.values_called_as();
        tidy.private_fields();
    }
    match language {
        Language::CSharp => csharp::tidy(&mut tidy.text),
        Language::Css => {
            tidy.spaced_important();
            tidy.stylesheet();
        }
        Language::Java => tidy.null_or_default(),
        Language::JavaScript => {
            tidy.scripts();
            tidy.markup();
        }
        Language::Kotlin => kotlin::tidy(&mut tidy.text),
        Language::Ruby => ruby_symbols(&mut tidy.text),
        Language::Php => tidy.classes_called_like_types(),
        Language::TypeScript => {
            tidy.types();
            tidy.generic_lines();
        }
        Language::Rust => tidy.parenthesized_paths(),
        Language::Tsx => {
            tidy.types();
            tidy.markup();
        }
        Language::Bash => tidy.joined_ends(),
        Language::C
        | Language::Cpp
        | Language::Dart
        | Language::Go
        | Language::Ini
        | Language::PowerShell
        | Language::Python
        | Language::Regex
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

    /// Returns the start of the line if only blanks precede a position on it.
    fn line_of_first(&self, at: usize) -> Option<usize> {
        let blanks = self.text[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let line = at - blanks;
        (line == 0 || self.text[line - 1] == b'\n').then_some(line)
    }

    fn blank(&mut self, from: usize, to: usize) {
        self.text.to_mut()[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }

    /// Separates `fi \⏎ done`: the end of one construct directly before the end of another.
    fn joined_ends(&mut self) {
        const ENDS: [&[u8]; 4] = [b"fi", b"done", b"esac", b"}"];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        for at in self.all("\\\n") {
            let before = self.text[..at].trim_ascii_end();
            let ends = ENDS.iter().any(|word| {
                before.strip_suffix(*word).is_some_and(|rest| rest.last().is_none_or(u8::is_ascii_whitespace))
            });
            let next = self.text[at + 2..].trim_ascii_start();
            let closes = [&ENDS[..], &[b"else", b"elif"]]
                .concat()
                .iter()
                .any(|word| next.strip_prefix(*word).is_some_and(|rest| !rest.first().is_some_and(is_part)));
            if ends && closes {
                self.text.to_mut()[at] = b';';
            }
        }
    }

    /// Rewrites `! important`.
    fn spaced_important(&mut self) {
        for at in self.all("! important") {
            self.text.to_mut()[at..at + 11].copy_from_slice(b" !important");
        }
    }

    /// Rewrites JSX that the grammar does not know: attributes named like reserved words, `&` in text.
    fn markup(&mut self) {
        for word in ["class=", "for=", "default=", "in="] {
            for at in self.all(word) {
                let is_name = at > 0 && self.text[at - 1].is_ascii_whitespace();
                let has_value = matches!(self.text.get(at + word.len()), Some(b'{' | b'"' | b'\''));
                if is_name && has_value {
                    self.text.to_mut()[at] = b'_';
                }
            }
        }
        for at in self.all(" & ") {
            let is_text = |byte: &u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'&' | b',' | b'.' | b'\'' | b'!' | b'?' | b'-')
            };
            let start = at - self.text[..at].iter().rev().take(TYPES).take_while(|byte| is_text(byte)).count();
            let end = at + self.text[at..].iter().take(TYPES).take_while(|byte| is_text(byte)).count();
            let opens = start > 1 && self.text[start - 1] == b'>' && self.text[start - 2] != b'=';
            let begins = self.text.get(start).is_some_and(u8::is_ascii_alphanumeric);
            if opens && begins && self.text[end..].starts_with(b"</") {
                self.text.to_mut()[at + 1] = b'+';
            }
        }
    }

    /// Renames the class in `Integer::parse()`: the grammar reads such a name as a type.
    fn classes_called_like_types(&mut self) {
        for word in [
            "Integer::",
            "Boolean::",
            "Double::",
            "Float::",
            "String::",
            "Object::",
            "Binary::",
            "Real::",
            "Bool::",
            "Int::",
        ] {
            for at in self.all(word) {
                if at == 0 || !(is_name(self.text[at - 1]) || self.text[at - 1] == b'\\') {
                    self.text.to_mut()[at] = b'_';
                }
            }
        }
    }

    /// Rewrites `case null, default ->`.
    fn null_or_default(&mut self) {
        for at in self.all("case null, default") {
            self.blank(at + 9, at + 18);
        }
    }

    /// Rewrites what both dialects have.
    fn scripts(&mut self) {
        self.keyword_aliases();
        self.lists_on_their_own_line();
        for at in self.all("await using ") {
            self.text.to_mut()[at..at + 12].copy_from_slice(b"const       ");
        }
        for at in self.all("using = ") {
            if at == 0 || !is_name(self.text[at - 1]) {
                self.text.to_mut()[at] = b'_';
            }
        }
    }

    /// Ends the line above one that begins with `[` or `(` if it can't continue: `let a`, and `}` before `[...b]`.
    fn lists_on_their_own_line(&mut self) {
        for at in self.all("[").into_iter().chain(self.all("(")) {
            let Some(line) = self.line_of_first(at).filter(|line| *line > 0) else {
                continue;
            };
            let before = end_of(&self.text[..line]).trim_ascii_end();
            let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or(before).trim_ascii_start();
            let name = [&b"let "[..], b"var "].iter().find_map(|word| last.strip_prefix(*word));
            let is_bare = name.is_some_and(|name| !name.is_empty() && name.iter().all(|byte| is_name(*byte)));
            if is_bare || (last == b"}" && self.text[at..].starts_with(b"[...")) {
                // Without indentation, the line end is overwritten.
                let place = if line < at { line } else { line - 1 };
                self.text.to_mut()[place] = b';';
            }
        }
    }

    /// Rewrites style sheets that browsers accept and the grammar does not: bare addresses, a second semicolon, named
    /// containers.
    fn stylesheet(&mut self) {
        for at in self.all("url(") {
            let from = at + 4;
            let length = self.text[from..]
                .iter()
                .take(TYPES)
                .take_while(|byte| !matches!(byte, b')' | b'\n' | b'"' | b'\''))
                .count();
            let end = from + length;
            if length < 3 || self.text.get(end) != Some(&b')') {
                continue;
            }
            let is_close = self.text.get(end + 1).is_some_and(u8::is_ascii_alphabetic);
            let text = self.text.to_mut();
            text[from..end].fill(b'_');
            text[from] = b'"';
            text[end - 1] = b'"';
            if is_close {
                text[end - 2..=end].copy_from_slice(b"\") ");
            }
        }
        for at in self.all(";;") {
            self.blank(at, at + 1);
        }
        for at in self.all("@-moz-document url-prefix()") {
            self.text.to_mut()[at..at + 27].copy_from_slice(b"@media all                 ");
        }
        for at in self.all("@container ") {
            let name =
                self.text[at..].iter().take(TYPES).take_while(|byte| !matches!(byte, b'(' | b'{' | b'\n')).count();
            if self.text.get(at + name) == Some(&b'(') {
                self.blank(at + 6, at + name);
                self.text.to_mut()[at..at + 6].copy_from_slice(b"@media");
            }
        }
        for at in self.all(": }").into_iter().chain(self.all(": ;")) {
            let name = self.text[..at].iter().rev().take_while(|byte| is_name(**byte) || **byte == b'-').count();
            if self.text[at - name..at].starts_with(b"--") {
                self.text.to_mut()[at + 1] = b'0';
            }
        }
    }

    /// Rewrites what only TypeScript has.
    fn types(&mut self) {
        self.scripts();
        for at in self.all("\\`") {
            let before = self.text[..at].iter().rev().take(TYPES).take_while(|byte| **byte == b'\\').count();
            if before % 2 == 0 {
                self.text.to_mut()[at..at + 2].fill(b'_');
            }
        }
        // A parameter that is named like a type.
        for words in ["(any) =>", "(number) =>", "(string) =>"] {
            for at in self.all(words) {
                self.text.to_mut()[at + 1] = b'_';
            }
        }
        for words in ["}?: ", "]? : "] {
            for at in self.all(words) {
                self.blank(at + 1, at + 2);
            }
        }
        self.variance();
        self.typed_templates();
        self.imported_types();
        self.globals();
        self.nameless_default();
        for (words, skip, length) in [
            ("keyof readonly ", 6, 8),
            ("export import ", 0, 6),
            ("export type *", 7, 4),
            ("abstract: ", 0, 1),
            ("abstract?: ", 0, 1),
            ("using: ", 0, 1),
            ("in: ", 0, 1),
            ("in?: ", 0, 1),
        ] {
            for at in self.all(words) {
                match at.checked_sub(1).map(|before| self.text[before]) {
                    Some(before) if is_name(before) => {}
                    // A property with this name: one letter is replaced so that it is an ordinary name.
                    _ if length == 1 => self.text.to_mut()[at] = b'_',
                    _ => self.blank(at + skip, at + skip + length),
                }
            }
        }
    }

    /// Renames `as` used as a value, `const as = props.as; return as || 'div'`: these signs can follow only a name.
    fn values_called_as(&mut self) {
        const BEHIND: [&[u8]; 9] = [b"=", b"?", b")", b",", b";", b"}", b":", b"||", b"&&"];
        for at in self.all("as") {
            let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| is_name(*byte));
            let is_whole =
                !is_part(at.checked_sub(1).map(|before| &self.text[before])) && !is_part(self.text.get(at + 2));
            let next = &self.text[(at + 2).min(self.text.len())..];
            let is_member = next.starts_with(b".") && !next.starts_with(b"..");
            if is_whole && (is_member || BEHIND.iter().any(|sign| next.trim_ascii_start().starts_with(sign))) {
                self.text.to_mut()[at] = b'_';
            }
        }
    }

    /// Ends a field at its line end even if a bracket follows: `#a⏎⏎[b] = null`.
    fn private_fields(&mut self) {
        for at in self.all("#") {
            if self.line_of_first(at).is_none() {
                continue;
            }
            let end = at + 1 + self.text[at + 1..].iter().take_while(|byte| is_name(**byte)).count();
            let rest = &self.text[end..];
            let is_alone = rest.first() == Some(&b'\n') || rest.starts_with(b"\r\n");
            if end > at + 1 && is_alone && rest.trim_ascii_start().starts_with(b"[") {
                self.text.to_mut()[end] = b';';
            }
        }
    }

    /// Replaces the call in `import("./a").B<C>` and `typeof import("./a")` by a name.
    fn imported_types(&mut self) {
        for at in self.all("import(") {
            let quote = self.text.get(at + 7).copied().filter(|byte| matches!(byte, b'"' | b'\''));
            let Some(quote) = quote.filter(|_| at == 0 || !is_name(self.text[at - 1])) else {
                continue;
            };
            let path = self.text[at + 8..].iter().take_while(|byte| **byte != quote && **byte != b'\n').count();
            let end = at + 8 + path;
            let is_type = self.text[..at].ends_with(b"typeof ");
            let closes = if is_type { &b")"[..] } else { b")." };
            if self.text.get(end) == Some(&quote) && self.text[end + 1..].starts_with(closes) {
                self.text.to_mut()[at..end + 2].fill(b'_');
            }
        }
    }

    /// Rewrites `global {` in a declared module: the grammar knows only `declare global`.
    fn globals(&mut self) {
        for at in self.all("global {") {
            if self.line_of_first(at).is_some_and(|line| line < at) {
                self.blank(at, at + 6);
            }
        }
    }

    /// Rewrites `export default function (a: B): C;`: a function with neither name nor body.
    fn nameless_default(&mut self) {
        for words in ["export default function (", "export default function("] {
            for at in self.all(words) {
                let end = at + words.len() - 1;
                self.text.to_mut()[at + 7..at + 16].copy_from_slice(b"function ");
                self.text.to_mut()[at + 16..end].fill(b'_');
            }
        }
    }

    /// Renames the alias in `export { x as default }`: any word may follow `as`, including a reserved one.
    fn keyword_aliases(&mut self) {
        for at in self.all(" as ") {
            let word = at + 4;
            let end = word + self.text[word..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            let next = self.text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
            if end > word + 1 && matches!(next, Some(b',' | b'}')) {
                self.text.to_mut()[word] = b'_';
            }
            let name = at - self.text[..at].iter().rev().take_while(|byte| is_name(**byte)).count();
            let before = end_of(&self.text[..name]).trim_ascii_end().last();
            if RESERVED.contains(&&self.text[name..at]) && matches!(before, Some(b'{' | b',')) {
                self.text.to_mut()[name] = b'_';
            }
        }
    }

    /// Rewrites `Fn::(A)`: the compiler's parser accepts it, though no code that compiles has it.
    fn parenthesized_paths(&mut self) {
        for at in self.all("::(") {
            self.blank(at, at + 2);
        }
    }

    /// Removes the variance marks of `interface Box<in out T>`.
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

    /// Removes the type arguments of a tagged template: ``sql<{ id: number }>`…` ``.
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

    /// Ends the line above an interface member that begins with `<T>(`; it may lack a semicolon.
    fn generic_lines(&mut self) {
        for end in self.all("\n") {
            let indent = self.text[end + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let open = end + 1 + indent;
            let before = significant(&self.text[..end]);
            // A line that ends with an arrow continues.
            let ends = !self.text[..end].trim_ascii_end().ends_with(b"=>")
                && (is_name(before) || matches!(before, b'>' | b']' | b')' | b'}' | b'"' | b'\''));
            if indent > 0 && ends && self.text.get(open) == Some(&b'<') && is_generic_call(&self.text[open..]) {
                self.text.to_mut()[end + 1] = b';';
            }
        }
    }
}

/// Rewrites symbols of variables whose names are signs: `:$!`, `[:$;, :$"]`.
fn ruby_symbols(text: &mut Cow<'_, [u8]>) {
    let places: Vec<usize> = memchr::memmem::find_iter(text.as_ref(), ":$").collect();
    for at in places {
        let begins = at == 0 || text[at - 1].is_ascii_whitespace() || matches!(text[at - 1], b'[' | b'(' | b',');
        let is_sign = text.get(at + 2).is_some_and(u8::is_ascii_punctuation);
        if begins && is_sign && !text.get(at + 3).is_some_and(|byte| is_name(*byte)) {
            text.to_mut()[at + 1..at + 3].copy_from_slice(b"__");
        }
    }
}

/// Returns the last bytes of a text, so that repeated searches in one long line stay fast.
fn end_of(text: &[u8]) -> &[u8] {
    &text[text.len().saturating_sub(TYPES)..]
}

/// Returns the last byte before a place that is neither blank nor in a comment.
fn significant(text: &[u8]) -> u8 {
    let mut text = text[text.len().saturating_sub(COMMENT)..].trim_ascii_end();
    loop {
        let near = text.len() - end_of(text).len();
        let line = text[near..].iter().rposition(|byte| *byte == b'\n').map_or(near, |end| near + end + 1);
        let open = match text.strip_suffix(b"*/") {
            Some(comment) => memchr::memmem::rfind(comment, b"/*").unwrap_or(0),
            None if text[line..].trim_ascii_start().starts_with(b"//") => line,
            None => return text.last().copied().unwrap_or(b';'),
        };
        text = text[..open].trim_ascii_end();
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Returns whether a text begins with `<…>(` whose brackets match.
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
            (Language::Bash, "  fi \\\ndone; \\\n", "  fi ;\ndone; \\\n"),
            (Language::Bash, "fi \\\n | cat\necho fi \\\n finish", "fi \\\n | cat\necho fi \\\n finish"),
            (Language::Css, "a { b: c ! important }", "a { b: c  !important }"),
            (Language::JavaScript, "export { a as void };", "export { a as _oid };"),
            (Language::JavaScript, "import {a, do as b}; [null as c]", "import {a, _o as b}; [null as c]"),
            (Language::JavaScript, "<td class={a} />", "<td _lass={a} />"),
            (Language::JavaScript, "<h5>Live & Query</h5>", "<h5>Live + Query</h5>"),
            (Language::Tsx, "type A = B<C> & D<E>;", "type A = B<C> & D<E>;"),
            (Language::JavaScript, "var a\n\n[1].forEach(f)", "var a\n;[1].forEach(f)"),
            (Language::JavaScript, "var A\n(function (A) {})(A)", "var A;(function (A) {})(A)"),
            (Language::Php, "<?php Integer::g(A::String::x);", "<?php _nteger::g(A::_tring::x);"),
            (Language::TypeScript, "interface A<in out T, out U> {}", "interface A<       T,     U> {}"),
            (Language::TypeScript, "sql<{ a: Map<b, c> }>`x`", "sql                  `x`"),
            (Language::TypeScript, "{\n  (): A\n  <B>(b: B): A\n}", "{\n  (): A\n; <B>(b: B): A\n}"),
            (Language::TypeScript, "x = a as B", "x = a as B"),
            (Language::TypeScript, "<\n  // why\n  in A>", "<\n  // why\n     A>"),
            (Language::TypeScript, "let a: import('./b').C<D>;", "let a: _____________.C<D>;"),
            (Language::TypeScript, "a = import('./b')", "a = import('./b')"),
            (Language::TypeScript, "f: (any) => void", "f: (_ny) => void"),
            (Language::TypeScript, r"`a \` b \\`", r"`a __ b \\`"),
            (Language::TypeScript, "{\n  global {", "{\n         {"),
            (Language::TypeScript, "[K in keyof readonly any[]]", "[K in keyof          any[]]"),
            (Language::TypeScript, "export import A = B;", "       import A = B;"),
            (Language::TypeScript, "{ abstract: B; isabstract: C }", "{ _bstract: B; isabstract: C }"),
            (Language::Tsx, "export default function (a): B;", "export function ________(a): B;"),
            (Language::Ruby, "[:$;, :$\"]\na ? b :$c", "[:__, :__]\na ? b :$c"),
            (Language::Java, "case null, default -> 1;", "case null          -> 1;"),
        ] {
            assert_eq!(String::from_utf8_lossy(&tidied(language, text.as_bytes())), tidy);
        }
    }
}
