//! Compares the arms of conditions by the brackets they leave open. If one condition alone changes them, a new file is
//! broken for one of the condition's values, since nothing else in the file compensates.

use std::ops::Range;

use super::{Preprocessor, Scan, directive, goes_on, line_end};
use crate::balance::{Quoting, brackets, closes};
use crate::problem::{Kind, Problem};

/// Maximum number of different ends of a text.
const FORMS: usize = 8;
/// Maximum nesting of conditions.
const DEEPEST: usize = 50;

/// A part of a text.
enum Part {
    Text(Range<usize>),
    Chain(Chain),
}

/// A chain from `#if` to `#endif`.
#[derive(Default)]
struct Chain {
    arms: Vec<Arm>,
    has_else: bool,
}

#[derive(Default)]
struct Arm {
    parts: Vec<Part>,
    /// True for an arm behind `#if 0`.
    is_dead: bool,
}

/// Brackets without a partner in a part, with their positions.
type Form = Vec<(u8, usize)>;

/// Finds the open or surplus bracket in the only chain whose arms differ in their brackets; `None` if there is no such
/// chain, or more than one, which may belong together.
pub(crate) fn uneven(text: &[u8], quoting: Quoting, preprocessor: Preprocessor) -> Option<Problem> {
    let mut reader = Reader { text, quoting, uneven: Vec::new() };
    reader.sequence(&parts(text, preprocessor)?)?;
    match &reader.uneven[..] {
        [form] => problem(text, form),
        _ => None,
    }
}

/// Splits a text at its conditions; `None` if they are unpaired or nested too deep.
fn parts(text: &[u8], preprocessor: Preprocessor) -> Option<Vec<Part>> {
    let mut whole = Vec::new();
    let mut open: Vec<Chain> = Vec::new();
    let mut scan = Scan::default();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let start = at;
        let word = directive(&text[start..line_end(text, start)]).filter(|_| !scan.is_inside());
        at = line_end(text, at);
        let Some((word, condition)) = word else {
            scan.line(&text[start..at], preprocessor);
            continue;
        };
        while preprocessor == Preprocessor::C && goes_on(&text[start..at]) && at < text.len() {
            at = line_end(text, at);
        }
        scan.line(&text[start..at], preprocessor);
        let inner = open.last_mut().and_then(|chain| chain.arms.last_mut()).map_or(&mut whole, |arm| &mut arm.parts);
        inner.push(Part::Text(from..start));
        from = at;
        let arm = || Arm { parts: Vec::new(), is_dead: matches!(condition, b"0" | b"false") };
        match word {
            b"if" | b"ifdef" | b"ifndef" => open.push(Chain { arms: vec![arm()], has_else: false }),
            b"elif" | b"elifdef" | b"elifndef" | b"else" => {
                let chain = open.last_mut()?;
                chain.has_else |= word == b"else";
                chain.arms.push(arm());
            }
            b"endif" => {
                let chain = open.pop()?;
                let outer = open.last_mut().and_then(|chain| chain.arms.last_mut());
                outer.map_or(&mut whole, |arm| &mut arm.parts).push(Part::Chain(chain));
            }
            _ => {}
        }
        if open.len() > DEEPEST {
            return None;
        }
    }
    whole.push(Part::Text(from..text.len()));
    open.is_empty().then_some(whole)
}

struct Reader<'a> {
    text: &'a [u8],
    quoting: Quoting,
    /// Brackets that one arm leaves, for each chain whose arms differ.
    uneven: Vec<Form>,
}

// === impl Reader ===

impl Reader<'_> {
    /// Lists the brackets that a sequence may leave open or surplus.
    fn sequence(&mut self, parts: &[Part]) -> Option<Vec<Form>> {
        let mut forms = vec![Form::new()];
        for part in parts {
            let next = match part {
                Part::Text(range) => {
                    let found = brackets(&self.text[range.clone()], self.quoting)?;
                    vec![found.into_iter().map(|(mark, at)| (mark, range.start + at)).collect()]
                }
                Part::Chain(chain) => self.chain(chain)?,
            };
            let both = forms.iter().flat_map(|form| next.iter().map(|more| joined(form, more)));
            forms = distinct(both.collect());
            if forms.len() > FORMS {
                return None;
            }
        }
        Some(forms)
    }

    fn chain(&mut self, chain: &Chain) -> Option<Vec<Form>> {
        let mut ends = Vec::new();
        for arm in chain.arms.iter().filter(|arm| !arm.is_dead) {
            ends.push(self.sequence(&arm.parts)?);
        }
        if !chain.has_else {
            ends.push(vec![Form::new()]);
        }
        let Some((first, others)) = ends.split_first() else { return Some(vec![Form::new()]) };
        let in_all = |form: &&Form| others.iter().all(|forms| forms.iter().any(|other| is_same(form, other)));
        let common: Vec<Form> = first.iter().filter(in_all).cloned().collect();
        if !common.is_empty() {
            return Some(common);
        }
        let all = distinct(ends.into_iter().flatten().collect());
        self.uneven.extend(all.iter().max_by_key(|form| form.len()).cloned());
        Some(all)
    }
}

fn is_same(one: &Form, other: &Form) -> bool {
    marks(one) == marks(other)
}

/// Returns the brackets without positions. Removes `} … {`: inside an open block it changes nothing.
fn marks(form: &Form) -> Vec<u8> {
    let mut marks: Vec<u8> = form.iter().map(|(mark, _)| *mark).collect();
    let mut at = marks.iter().take_while(|mark| is_closing(**mark)).count();
    while at > 0 && marks.get(at).is_some_and(|opening| closes(*opening, marks[at - 1])) {
        marks.drain(at - 1..=at);
        at -= 1;
    }
    marks
}

const fn is_closing(mark: u8) -> bool {
    matches!(mark, b')' | b']' | b'}')
}

fn distinct(forms: Vec<Form>) -> Vec<Form> {
    let mut found: Vec<Form> = Vec::new();
    for form in forms {
        if !found.iter().any(|other| is_same(&form, other)) {
            found.push(form);
        }
    }
    found
}

/// Appends brackets and removes pairs.
fn joined(form: &Form, more: &Form) -> Form {
    let mut joined = form.clone();
    for bracket in more {
        if joined.last().is_some_and(|last| closes(last.0, bracket.0)) {
            joined.pop();
        } else {
            joined.push(*bracket);
        }
    }
    joined
}

/// Selects the unpaired bracket to report: an open one before a closing bracket, else the first closing one, else the
/// last open one.
fn problem(text: &[u8], form: &Form) -> Option<Problem> {
    let first = form.iter().position(|(mark, _)| is_closing(*mark));
    let (mark, at) = match first {
        Some(0) => form[0],
        Some(closing) => form[closing - 1],
        None => *form.last()?,
    };
    let name = char::from(mark).to_string();
    let kind = if is_closing(mark) { Kind::ClosesNothing(name) } else { Kind::Unclosed(name) };
    Some(Problem::at(text, at, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<usize> {
        uneven(text.as_bytes(), Quoting::C, Preprocessor::C).map(|found| found.lines.start + 1)
    }

    #[test]
    fn arms_that_make_up_for_each_other_are_even() {
        for text in [
            "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n}\n",
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a;\n#ifdef __cplusplus\n}\n#endif\n",
            "if (a) {\n#ifdef B\n} else if (b) {\n c();\n#endif\n}\n",
            "#if 0\nit's (\n#endif\n",
            "#if A\n#if 0\n(\n#else\n()\n#endif\n#elif B\n/* ( */ f(')');\n#endif\n",
            "#if A\n#if B\nif (b) {\n#else\n{\n#endif\n}\n#endif\n",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }

    #[test]
    fn one_arm_that_leaves_something_open_is_broken() {
        for (text, found) in [
            ("#ifdef A\nint f(void) {\n  g(1;\n}\n#endif\n", 3),
            ("#ifdef A\nf();\n}\n#else\ng();\n#endif\n", 3),
            ("#if A\n#if B\nf(;\n#endif\n#endif\n", 3),
            ("a();\n#if A\nif (b) {\n#endif\nc();\n", 3),
        ] {
            assert_eq!(line(text), Some(found), "{text}");
        }
    }

    #[test]
    fn conditions_that_nest_too_deep_are_left_alone() {
        assert_eq!(line(&"#if A\n(\n".repeat(20_000)), None);
    }
}
