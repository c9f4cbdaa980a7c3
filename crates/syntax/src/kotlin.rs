//! Rewrites legal Kotlin that the grammar does not know: modifiers used as names, and code on one line or split over
//! several.

use std::borrow::Cow;

use crate::overwrite::overwrite;

/// Maximum number of bytes of a list that are searched.
const MAX_LIST_BYTES: usize = 2_000;
/// Modifiers that may also be names.
const MODIFIERS: [&str; 19] = [
    "abstract",
    "annotation",
    "data",
    "enum",
    "external",
    "final",
    "infix",
    "inline",
    "inner",
    "internal",
    "lateinit",
    "open",
    "operator",
    "override",
    "private",
    "protected",
    "public",
    "sealed",
    "tailrec",
];

/// Replaces what the grammar does not know by names and blanks of the same length.
pub(super) fn tidy(text: &mut Cow<'_, [u8]>) {
    Tidy { text }.all_of_it();
}

struct Tidy<'a, 'b> {
    text: &'b mut Cow<'a, [u8]>,
}

// === impl Tidy ===

impl Tidy<'_, '_> {
    fn all(&self, word: &str) -> Vec<usize> {
        memchr::memmem::find_iter(self.text.as_ref(), word).collect()
    }

    /// Returns whether a word begins at a position.
    fn begins(&self, at: usize) -> bool {
        at == 0 || !is_name(self.text[at - 1])
    }

    /// Returns whether only blanks precede a position on its line.
    fn is_first(&self, at: usize) -> bool {
        let blanks = self.text[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        blanks == at || self.text[at - blanks - 1] == b'\n'
    }

    fn blank(&mut self, from: usize, to: usize) {
        overwrite(self.text, from..to, b' ');
    }

    fn all_of_it(&mut self) {
        self.names();
        self.accessors();
        self.functions();
        self.handlers();
        self.constructors();
        self.lines();
    }

    /// Renames modifiers used as names, as in `open(x)` or `{ override -> override.a }`: what follows can't follow a
    /// modifier.
    fn names(&mut self) {
        for word in MODIFIERS {
            for at in self.all(word) {
                let end = at + word.len();
                let rest = &self.text[end..];
                let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                let is_over = next.is_some_and(|byte| b").,=?!]}&|+<>".contains(byte))
                    || rest.starts_with(b"(")
                    || rest.starts_with(b":")
                    || rest.trim_ascii_start().starts_with(b"->");
                if is_over && self.begins(at) && (at == 0 || !matches!(self.text[at - 1], b'.' | b'@' | b'`')) {
                    self.text.to_mut()[at] = b'_';
                }
            }
        }
        for at in self.all("dynamic") {
            if !self.text.get(at + 7).is_some_and(|byte| is_name(*byte)) && self.begins(at) {
                self.text.to_mut()[at] = b'_';
            }
        }
        // A suspending block; its type is written `suspend () -> A`.
        for at in self.all("suspend {") {
            if self.begins(at) {
                self.text.to_mut()[at] = b'_';
            }
        }
        for at in self.all("constructor") {
            let next = self.text[at + 11..].trim_ascii_start();
            let is_name =
                next.starts_with(b"?.") || next.starts_with(b"=") || next.starts_with(b".") || next.starts_with(b")");
            if is_name && self.begins(at) {
                self.text.to_mut()[at] = b'_';
            }
        }
    }

    /// Rewrites `@A get()`, an annotated accessor, which the grammar expects on a line of its own, and `; private set`.
    fn accessors(&mut self) {
        for word in [" get()", " set("] {
            for at in self.all(word) {
                let name = self.text[..at].iter().rev().take_while(|byte| is_name(**byte)).count();
                if name > 0 && self.text[..at - name].ends_with(b"@") {
                    self.blank(at - name - 1, at);
                }
            }
        }
        for word in ["; private set\n", "; protected set\n", "; internal set\n"] {
            for at in self.all(word) {
                self.blank(at, at + word.len() - 1);
            }
        }
    }

    /// Rewrites a class, object or block on one line: `class A { private val b = 1 }`, `object A { fun f() { g() } }`.
    fn lines(&mut self) {
        for at in self.all(" }") {
            let line = self.text[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = &line[line.len().saturating_sub(MAX_LIST_BYTES)..];
            let declares = |word: &[u8]| {
                memchr::memmem::find(line, b"{ ")
                    .is_some_and(|open| memchr::memmem::find(&line[open..], word).is_some())
            };
            let is_value = line.last().is_some_and(|byte| is_name(*byte) || matches!(byte, b')' | b'"' | b'>' | b'\''));
            let is_body = line.last() == Some(&b'}');
            let is_property = is_value && (declares(b" val ") || declares(b" var "));
            if is_property || ((is_value || is_body) && declares(b" fun ")) {
                self.text.to_mut()[at] = b';';
            }
        }
    }

    /// Rewrites `fun(a, b) { … }` whose parameters have no types, `(handler)(a)`, and `= []` in an annotation.
    fn functions(&mut self) {
        for word in ["fun(", "fun ("] {
            for at in self.all(word) {
                let from = at + word.len();
                let is_list = |byte: &&u8| is_name(**byte) || matches!(byte, b',' | b' ');
                let names = self.text[from..].iter().take(MAX_LIST_BYTES).take_while(is_list).count();
                if self.text.get(from + names) == Some(&b')') && self.begins(at) {
                    self.blank(from, from + names);
                }
            }
        }
        for at in self.all(")(") {
            let name = self.text[..at].iter().rev().take_while(|byte| is_name(**byte)).count();
            let opens = name > 0 && self.text[..at - name].ends_with(b"(");
            if opens && self.is_first(at - name - 1) {
                self.blank(at - name - 1, at - name);
                self.blank(at, at + 1);
            }
        }
        for at in self.all("this::class") {
            self.text.to_mut()[at + 4..at + 6].fill(b'_');
        }
        // Calls of functions that are named like accessors, which have at most one name in their brackets.
        for word in ["get(", "set("] {
            for at in self.all(word) {
                let name = self.text[at + 4..].iter().take_while(|byte| is_name(**byte)).count();
                let next = self.text.get(at + 4 + name);
                let is_call =
                    if word == "get(" { next != Some(&b')') || name > 0 } else { !matches!(next, Some(b')' | b':')) };
                if is_call && self.is_first(at) {
                    self.text.to_mut()[at] = b'_';
                }
            }
        }
        for at in self.all(" = []") {
            self.text.to_mut()[at + 3..at + 5].fill(b'_');
        }
    }

    /// Rewrites a handler on the line below the end of its statement, and one whose error is followed by a comma.
    fn handlers(&mut self) {
        for word in ["catch (", "catch(", "finally {"] {
            for at in self.all(word) {
                let before = end_of(&self.text[..at]).trim_ascii_end();
                let blanks = end_of(&self.text[..at]).len() - before.len();
                if before.ends_with(b"}") {
                    self.join(at - blanks, at);
                }
            }
        }
        for at in self.all("catch (").into_iter().chain(self.all("catch(")) {
            let reach = &self.text[at..self.text.len().min(at + MAX_LIST_BYTES)];
            let Some(open) = memchr::memmem::find(reach, b") {").or_else(|| memchr::memmem::find(reach, b"){")) else {
                continue;
            };
            let inner = reach[..open].trim_ascii_end();
            if inner.ends_with(b",") {
                let comma = at + inner.len() - 1;
                self.blank(comma, comma + 1);
            }
        }
    }

    /// Joins annotations and modifiers before the main constructor to the line of its class.
    fn constructors(&mut self) {
        for at in self.all("constructor") {
            let from = self.modifiers_before(at);
            let above = end_of(&self.text[..from]).trim_ascii_end();
            let blanks = end_of(&self.text[..from]).len() - above.len();
            let line = above.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_class =
                memchr::memmem::find(line, b"class ").is_some() && !line.contains(&b'{') && !line.contains(&b'(');
            if is_class && from < at {
                self.join(from - blanks, at);
            }
        }
    }

    /// Joins several lines to one.
    fn join(&mut self, from: usize, to: usize) {
        if self.text[from..to].contains(&b'\n') {
            self.text.to_mut()[from..to].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        }
    }

    /// Returns where the annotations and modifiers before a position begin.
    fn modifiers_before(&self, at: usize) -> usize {
        const MODIFIERS: [&[u8]; 6] = [b"private", b"internal", b"protected", b"public", b"actual", b"expect"];
        let mut from = at;
        loop {
            let before = end_of(&self.text[..from]).trim_ascii_end();
            let blanks = end_of(&self.text[..from]).len() - before.len();
            let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let word = before.iter().rev().take_while(|byte| is_name(**byte)).count();
            let length = if MODIFIERS.contains(&&before[before.len() - word..]) {
                word
            } else if line.trim_ascii_start().starts_with(b"@") {
                line.trim_ascii_start().len()
            } else {
                return from;
            };
            from -= blanks + length;
        }
    }
}

/// Returns the last bytes of a text, so that repeated searches in one long line stay fast.
fn end_of(text: &[u8]) -> &[u8] {
    &text[text.len().saturating_sub(MAX_LIST_BYTES)..]
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_grammar_does_not_know_is_replaced_and_nothing_moves() {
        for (text, expected) in [
            ("val a = open(b)\nopen class A", "val a = _pen(b)\nopen class A"),
            ("class A\n@Inject\nconstructor(b: C)", "class A @Inject constructor(b: C)"),
            ("class A\n@B\nprivate constructor(b: C)", "class A @B private constructor(b: C)"),
            (
                "class A\n@B\n@C(\"d\")\ninternal actual constructor(b: C)",
                "class A @B @C(\"d\") internal actual constructor(b: C)",
            ),
            ("a(fun(b, c) { d })\nfun(b: C) {}", "a(fun(    ) { d })\nfun(b: C) {}"),
            ("try { a }\n  catch (e: B) { c }", "try { a }   catch (e: B) { c }"),
            ("  (a)(b)\nval c: Array<D> = []", "   a (b)\nval c: Array<D> = __"),
            ("  set(a, b)\n  set(c) {}\n  get() = this::class.d", "  _et(a, b)\n  set(c) {}\n  get() = this__class.d"),
            ("  @B get() = dynamic.c", "     get() = _ynamic.c"),
            ("a?.let { override -> override.b(final) }", "a?.let { _verride -> _verride.b(_inal) }"),
            ("open class A(vararg a: B, private val c: D)", "open class A(vararg a: B, private val c: D)"),
            ("val a: suspend () -> B = suspend { c }", "val a: suspend () -> B = _uspend { c }"),
            ("catch (\n  e: A,\n) {}", "catch (\n  e: A \n) {}"),
            ("var a = 0; private set\n", "var a = 0             \n"),
            ("class A { private val b = 1 }", "class A { private val b = 1;}"),
            ("val constructor = a\nconstructor?.b()", "val _onstructor = a\n_onstructor?.b()"),
            ("return fun (a): B {", "return fun ( ): B {"),
        ] {
            let mut tidied = Cow::Borrowed(text.as_bytes());

            tidy(&mut tidied);

            assert_eq!(String::from_utf8_lossy(&tidied), expected);
        }
    }
}
