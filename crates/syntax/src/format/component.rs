//! Vue and Svelte components: checks scripts by the grammar of their language, and styles by brackets and quotes.

use std::ops::Range;

use switchboard_grammars::Language;

use crate::balance::{Quoting, unbalanced};
use crate::grammar::problems_of;
use crate::overwrite::overwrite;
use crate::parsers::Parsers;
use crate::problem::{Kind as Mistake, Problem};

/// Kind of component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Vue,
    Svelte,
}

/// A script or style at the top level of a component.
struct Block {
    /// Byte range of the attributes in its tag.
    tag: Range<usize>,
    content: Range<usize>,
}

/// Lists the problems of the scripts and styles.
pub(super) fn problems(text: &[u8], kind: Kind, parsers: &mut Parsers) -> Vec<Problem> {
    let mut found = Vec::new();
    let endless = |at: usize| Problem::at(text, at, Mistake::Stated("an element that is never closed".to_owned()));
    for (name, is_script) in [("script", true), ("style", false)] {
        for block in blocks(text, name) {
            match block {
                Ok(block) if is_script => found.extend(in_script(text, &block, kind, parsers)),
                Ok(block) => found.extend(in_style(text, &block)),
                Err(at) => found.push(endless(at)),
            }
        }
    }
    if kind == Kind::Vue {
        found.extend(open_template(text).map(endless));
    }
    if found.is_empty() {
        found.extend(super::markup::problem(text, kind));
    }
    found
}

/// Lists the elements of a name that begin a line; `Err` holds the position of one that never ends.
fn blocks(text: &[u8], name: &str) -> Vec<Result<Block, usize>> {
    let (open, close) = (format!("<{name}"), format!("</{name}"));
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memmem::find(&text[at..], open.as_bytes()).map(|length| at + length) {
        let behind = text.get(start + open.len());
        let is_first = start == 0 || text[start - 1] == b'\n';
        let is_tag = behind.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'>');
        at = start + open.len();
        if !is_first || !is_tag {
            continue;
        }
        let Some(tag) = end_of_tag(&text[start..]).map(|length| start + length) else {
            found.push(Err(start));
            break;
        };
        at = tag;
        if text[..tag].ends_with(b"/>") {
            continue;
        }
        let Some(end) = memchr::memmem::find(&text[tag..], close.as_bytes()).map(|length| tag + length) else {
            found.push(Err(start));
            break;
        };
        found.push(Ok(Block { tag: start..tag, content: tag..end }));
        at = end;
    }
    found
}

/// Returns the length of a tag, ignoring `>` in quotes.
fn end_of_tag(tag: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.iter().enumerate() {
        match (quote, *byte) {
            (Some(mark), byte) if byte == mark => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return Some(at + 1),
            (Some(_) | None, _) => {}
        }
    }
    None
}

fn in_script(text: &[u8], block: &Block, kind: Kind, parsers: &mut Parsers) -> Vec<Problem> {
    let tag = String::from_utf8_lossy(&text[block.tag.clone()]).into_owned();
    let lang = attribute(&tag, "lang");
    let language = match lang.as_deref() {
        None | Some("js" | "javascript" | "jsx") => Language::JavaScript,
        Some("ts" | "typescript") => Language::TypeScript,
        Some("tsx") => Language::Tsx,
        Some(_) => return Vec::new(),
    };
    // JSON, or a template for another library, is no script.
    let is_script =
        |kind: String| ["javascript", "ecmascript", "babel", "module"].iter().any(|word| kind.contains(word));
    if !attribute(&tag, "type").is_none_or(is_script) {
        return Vec::new();
    }
    let mut alone = std::borrow::Cow::Owned(text.to_vec());
    overwrite(&mut alone, 0..block.content.start, b' ');
    overwrite(&mut alone, block.content.end..text.len(), b' ');
    let Some(tree) = parsers.parse(language, &alone) else { return Vec::new() };
    let mut problems = problems_of(&tree, &alone, language);
    // Both compilers wrap a script: `await` is allowed outside of functions there, and in Svelte `$:` names a
    // statement.
    let is_wrapped = kind == Kind::Svelte || tag.contains("setup");
    let is_await = |problem: &Problem| problem.kind == Mistake::Unexpected("await".to_owned());
    problems.retain(|problem| !(is_wrapped && is_await(problem)));
    problems
}

fn in_style(text: &[u8], block: &Block) -> Option<Problem> {
    let tag = String::from_utf8_lossy(&text[block.tag.clone()]).into_owned();
    let quoting = match attribute(&tag, "lang").as_deref() {
        None | Some("css" | "postcss") => Quoting::Css,
        Some("scss" | "less") => Quoting::Scss,
        Some(_) => return None,
    };
    let mut problem = unbalanced(&text[block.content.clone()], quoting)?;
    let start = block.content.start;
    problem.range = start + problem.range.start..start + problem.range.end;
    Some(Problem::at(text, problem.range.start, problem.kind))
}

/// Returns the position of a template that never ends.
fn open_template(text: &[u8]) -> Option<usize> {
    let start = memchr::memmem::find_iter(text, b"<template").find(|at| *at == 0 || text[at - 1] == b'\n')?;
    let tag = end_of_tag(&text[start..])?;
    let is_alone = text[..start + tag].ends_with(b"/>");
    let has_end = memchr::memmem::find(&text[start..], b"</template").is_some();
    (!is_alone && !has_end).then_some(start)
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.find(&format!(" {name}=")).or_else(|| tag.find(&format!("\n{name}=")))? + name.len() + 2;
    let rest = tag.get(at..)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lines(text: &str, kind: Kind) -> Option<usize> {
        let found = problems(text.as_bytes(), kind, &mut Parsers::new(Duration::from_secs(9)));
        found.first().map(|problem| problem.lines.start + 1)
    }

    #[test]
    fn scripts_and_styles_of_components_are_checked_in_place() {
        let vue = "<template>\n  <a :b=\"c > d\" />\n</template>\n\n<script setup lang=\"ts\">\nconst a: number = await b();\n</script>\n\n<style scoped lang=\"scss\">\n.a { &:hover { b: c } } // it's\n</style>\n";
        let svelte = "<script>\n  export let a;\n  $: b = a * 2;\n</script>\n\n{#if b}<p>it's {b}</p>{/if}\n\n<style>\n  p { a: b }\n</style>\n";
        assert_eq!((lines(vue, Kind::Vue), lines(svelte, Kind::Svelte)), (None, None));

        for (text, kind, from, to, line) in [
            (vue, Kind::Vue, "await b();", "await b(;", 6),
            (vue, Kind::Vue, "{ b: c } }", "{ b: c }", 10),
            (vue, Kind::Vue, "</script>", "", 5),
            (vue, Kind::Vue, "setup lang=\"ts\">\nconst a: number = await b();", "type=\"text/babel\">\nb(;", 6),
            (vue, Kind::Vue, "</template>", "", 1),
            (svelte, Kind::Svelte, "a * 2;", "a * ;", 3),
            (svelte, Kind::Svelte, "p { a: b }", "p { a: b", 9),
        ] {
            assert_eq!(lines(&text.replacen(from, to, 1), kind), Some(line), "{from}");
        }
    }
}
