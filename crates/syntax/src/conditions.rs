//! Conditions inside comments of JavaScript, as uni-app compiles them: `// #ifdef H5` … `// #endif`.

use std::borrow::Cow;

use crate::overwrite::overwrite;

/// Overwrites all arms but the first of adjacent conditions: only one of them is compiled, and each may declare the
/// same name.
pub(crate) fn first_arms(text: &mut Cow<'_, [u8]>) {
    for (from, to) in other_arms(text) {
        overwrite(text, from..to, b' ');
    }
}

fn other_arms(text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if memchr::memmem::find(text, b"#endif").is_none() {
        return found;
    }
    let (mut at, mut depth, mut begin, mut follows) = (0, 0_usize, 0, false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match condition(line) {
            Some(true) => {
                if depth == 0 {
                    begin = at;
                }
                depth += 1;
            }
            Some(false) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    if follows {
                        found.push((begin, at + line.len()));
                    }
                    follows = true;
                }
            }
            None => follows &= depth > 0 || line.trim_ascii().is_empty(),
        }
        at += line.len();
    }
    found
}

/// Returns `true` for a line that begins a condition, `false` for one that ends it.
fn condition(line: &[u8]) -> Option<bool> {
    let comment = line.trim_ascii().strip_prefix(b"//")?.trim_ascii_start();
    let has = |word: &[u8]| comment.starts_with(word);
    (has(b"#ifdef") || has(b"#ifndef")).then_some(true).or_else(|| has(b"#endif").then_some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_arm_of_conditions_is_read() {
        let text =
            "// #ifdef A\nlet a;\n// #endif\n\n// #ifndef A\nlet a;\n// #endif\nlet b;\n//#ifdef B\nlet c;\n//#endif\n";
        let mut read = Cow::Borrowed(text.as_bytes());

        first_arms(&mut read);

        let read = String::from_utf8(read.into_owned()).unwrap();
        assert_eq!(read.len(), text.len());
        let kept: Vec<&str> = read.lines().filter(|line| line.starts_with("let")).collect();
        assert_eq!(kept, ["let a;", "let b;", "let c;"]);
    }
}
