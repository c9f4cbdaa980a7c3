//! Asks the person at the terminal. Questions go to standard error, so that standard output stays clean.

use std::io::{self, BufRead as _, Write as _};

use switchboard_protocol::error::Failure;

/// Asks a yes-or-no question; end of input means no.
///
/// # Errors
/// `io.denied` when the terminal is gone.
pub(crate) fn yes(question: &str, default: bool) -> Result<bool, Failure> {
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    let answer = line(&format!("{question} {choices} "))?;
    Ok(match answer.as_deref().map(str::trim) {
        None => false,
        Some("") => default,
        Some(word) => word.eq_ignore_ascii_case("y") || word.eq_ignore_ascii_case("yes"),
    })
}

/// Lets a person choose one of several words, by its number or by typing it; `None` for any other answer.
///
/// # Errors
/// `io.denied` when the terminal is gone.
pub(crate) fn choose<'a>(question: &str, words: &[&'a str]) -> Result<Option<&'a str>, Failure> {
    let list: String = words.iter().zip(1..).map(|(word, number)| format!("  {number}  {word}\n")).collect();
    let answer = line(&format!("{question}\n{list}> "))?.unwrap_or_default();
    let answer = answer.trim();
    let by_number = answer.parse::<usize>().ok().and_then(|number| words.get(number.checked_sub(1)?));
    Ok(by_number.or_else(|| words.iter().find(|word| **word == answer)).copied())
}

fn line(prompt: &str) -> Result<Option<String>, Failure> {
    let gone = |error: io::Error| Failure::new("io.denied", "the terminal is gone").because(&error);
    let mut stderr = io::stderr();
    stderr.write_all(prompt.as_bytes()).and_then(|()| stderr.flush()).map_err(gone)?;
    let mut answer = String::new();
    let count = io::stdin().lock().read_line(&mut answer).map_err(gone)?;
    if count == 0 {
        // At the end of input the question's line has no line end yet.
        stderr.write_all(b"\n").map_err(gone)?;
    }
    Ok((count > 0).then_some(answer))
}
