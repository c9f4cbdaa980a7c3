//! Regular expressions that no engine compiles: unmatched groups, quantifiers of nothing, unknown flags.

use tree_sitter::Node;

use crate::node::problem;
use crate::problem::{Kind, Problem};

const FLAGS: &[u8] = b"dgimsuvy";

/// Reports a literal that is not a valid regular expression.
pub(super) fn mistake(literal: Node<'_>, text: &[u8]) -> Option<Problem> {
    let pattern = literal.child_by_field_name("pattern")?;
    let flags = literal.child_by_field_name("flags").map_or(&b""[..], |flags| &text[flags.byte_range()]);
    let is_known = flags.iter().enumerate().all(|(at, flag)| FLAGS.contains(flag) && !flags[..at].contains(flag));
    let is_fine = is_known && Reader { rest: &text[pattern.byte_range()], can_repeat: false }.compiles(flags);
    (!is_fine).then(|| problem(literal, Kind::Unreadable))
}

struct Reader<'a> {
    rest: &'a [u8],
    /// True if a quantifier may come next.
    can_repeat: bool,
}

// === impl Reader ===

impl Reader<'_> {
    fn compiles(mut self, flags: &[u8]) -> bool {
        let (mut groups, has_sets) = (Vec::new(), flags.contains(&b'v'));
        while let Some((first, rest)) = self.rest.split_first() {
            self.rest = rest;
            match first {
                b'\\' => {
                    self.skip(1);
                    self.can_repeat = true;
                }
                b'[' if has_sets => return true,
                b'[' => {
                    if !self.class() {
                        return false;
                    }
                    self.can_repeat = true;
                }
                b'(' => match self.group() {
                    Some(can_repeat) => groups.push(can_repeat),
                    None => return false,
                },
                b')' => match groups.pop() {
                    Some(can_repeat) => self.can_repeat = can_repeat,
                    None => return false,
                },
                b'|' | b'^' => self.can_repeat = false,
                b'*' | b'+' | b'?' if !self.can_repeat => return false,
                b'*' | b'+' | b'?' => self.repeated(),
                b'{' => match self.counts() {
                    Some((least, most)) if !self.can_repeat || least > most => return false,
                    Some(_) => self.repeated(),
                    None => self.can_repeat = true,
                },
                b'$' => self.can_repeat = false,
                _ => self.can_repeat = true,
            }
        }
        groups.is_empty()
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Skips the `?` of a lazy quantifier; no further quantifier may follow.
    fn repeated(&mut self) {
        self.rest = self.rest.strip_prefix(b"?").unwrap_or(self.rest);
        self.can_repeat = false;
    }

    /// Reads to the end of a class.
    fn class(&mut self) -> bool {
        let mut at = usize::from(self.rest.starts_with(b"^"));
        let (mut before, mut is_range) = (None, false);
        while let Some(byte) = self.rest.get(at) {
            if *byte == b']' {
                self.skip(at + 1);
                return true;
            }
            let is_plain = *byte != b'\\' && byte.is_ascii();
            if *byte == b'-' && before.is_some() && !is_range && self.rest.get(at + 1) != Some(&b']') {
                is_range = true;
                at += 1;
                continue;
            }
            if is_range && is_plain && before.flatten().is_some_and(|low| low > *byte) {
                return false;
            }
            before = (!is_range).then_some(is_plain.then_some(*byte));
            is_range = false;
            at += 1 + usize::from(*byte == b'\\');
        }
        false
    }

    /// Reads the opening of a group; returns whether the group may be repeated.
    fn group(&mut self) -> Option<bool> {
        self.can_repeat = false;
        let Some(rest) = self.rest.strip_prefix(b"?") else {
            return Some(true);
        };
        let is_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\\') || !byte.is_ascii();
        let length = match rest {
            [b':', ..] => 1,
            [b'=' | b'!', ..] => 1,
            [b'<', b'=' | b'!', ..] => {
                self.rest = &rest[2..];
                return Some(false);
            }
            [b'<', name @ ..] => {
                let length = name.iter().take_while(|byte| is_name(byte)).count();
                (length > 0 && name.get(length) == Some(&b'>')).then_some(length + 2)?
            }
            _ => {
                let length = rest.iter().take_while(|byte| matches!(byte, b'i' | b'm' | b's' | b'-')).count();
                (length > 0 && rest.get(length) == Some(&b':')).then_some(length + 1)?
            }
        };
        self.rest = &rest[length..];
        Some(true)
    }

    /// Reads `2}`, `2,}` or `2,3}`; anything else is plain text.
    fn counts(&mut self) -> Option<(u64, u64)> {
        let end = self.rest.iter().take(40).position(|byte| *byte == b'}')?;
        let inner = std::str::from_utf8(&self.rest[..end]).ok()?;
        let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if least.is_empty() || !is_number(least) || !is_number(most) {
            return None;
        }
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        self.skip(end + 1);
        Some((number(least), number(most)))
    }
}
