//! Detects language that asks for several tasks without naming them.

use crate::team::prose::{CODE, Word};

/// Phrases that always ask for more than one task.
const ALWAYS: [&[&str]; 18] = [
    &["rest", "of", "the", "tasks"],
    &["rest", "of", "the", "phase"],
    &["rest", "of", "the", "plan"],
    &["rest", "of", "phase"],
    &["whole", "phase"],
    &["whole", "plan"],
    &["entire", "phase"],
    &["entire", "plan"],
    &["complete", "the", "phase"],
    &["complete", "phase"],
    &["finish", "the", "phase"],
    &["finish", "the", "plan"],
    &["while", "you're", "at", "it"],
    &["while", "you", "are", "at", "it"],
    &["while", "you're", "there"],
    &["in", "one", "batch"],
    &["in", "one", "go"],
    &["continue", "with", "the", "next", "task"],
];

/// Phrases that ask for several tasks if they begin the delegation or are the object of a verb of [`DOING`]. Elsewhere
/// a list of tasks may be the topic of the task (`show all tasks`). `*` stands for one word.
const OF_WORK: [&[&str]; 20] = [
    &["all", "tasks"],
    &["all", "the", "tasks"],
    &["all", "of", "the", "tasks"],
    &["all", "remaining"],
    &["all", "the", "remaining"],
    &["all", "*", "tasks"],
    &["every", "task"],
    &["each", "task"],
    &["each", "of", "the", "tasks"],
    &["both", "tasks"],
    &["these", "tasks"],
    &["those", "tasks"],
    &["following", "tasks"],
    &["multiple", "tasks"],
    &["several", "tasks"],
    &["remaining", "tasks"],
    &["other", "tasks"],
    &["next", "*", "tasks"],
    &["two", "tasks"],
    &["three", "tasks"],
];

/// Verbs whose object is work.
const DOING: [&str; 15] = [
    "do",
    "implement",
    "complete",
    "finish",
    "start",
    "work",
    "execute",
    "perform",
    "deliver",
    "tackle",
    "address",
    "continue",
    "carry",
    "code",
    "build",
];
/// Maximum number of words between a phrase and its verb before it.
const DOES_WITHIN: usize = 5;

/// Words before a phrase that negate it: `do not start the remaining tasks`.
const FORBIDDING: [&str; 9] = ["not", "don't", "never", "no", "without", "than", "nor", "avoid", "leave"];
/// Maximum number of words between a phrase and a negating word before it.
const FORBIDS_WITHIN: usize = 5;

/// Returns the first phrase that asks for several tasks and is not negated by the words before it.
pub(super) fn batching(lines: &[String]) -> Option<String> {
    let words = &words(lines);
    let is_at = |at: usize, phrase: &[&str]| {
        let window = words.get(at..at + phrase.len())?;
        let is_same = window.iter().zip(phrase).all(|(word, wanted)| *wanted == "*" || word.text == *wanted);
        let is_joined = window.iter().skip(1).all(|word| !word.begins);
        (is_same && is_joined).then(|| window.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    };
    let is_forbidden = |at: usize| {
        let from = at.saturating_sub(FORBIDS_WITHIN);
        // Only words of the phrase's own clause count.
        let clause = words[from..at].iter().rposition(|word| word.begins).map_or(from, |begin| from + begin);
        let from = if words.get(at).is_some_and(|word| word.begins) { at } else { clause };
        words[from..at].iter().any(|word| FORBIDDING.contains(&word.text.as_str()))
    };
    let is_work = |at: usize| {
        let before = &words[at.saturating_sub(DOES_WITHIN)..at];
        let own = before.iter().rposition(|word| word.begins).map_or(before, |begin| &before[begin..]);
        at == 0 || (!words[at].begins && own.iter().any(|word| DOING.contains(&word.text.as_str())))
    };
    (0..words.len()).find_map(|at| {
        let always = ALWAYS.iter().find_map(|phrase| is_at(at, phrase));
        let phrase = always.or_else(|| OF_WORK.iter().find_map(|phrase| is_at(at, phrase)).filter(|_| is_work(at)))?;
        (!is_forbidden(at)).then_some(phrase)
    })
}

/// Returns the words of lines in lower case, with apostrophes. A clause begins after punctuation, code or an empty
/// line.
fn words(lines: &[String]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begins = true;
    for (at, line) in lines.iter().enumerate() {
        begins |= line.trim().is_empty();
        let mut word = String::new();
        for c in line.chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' {
                word.extend(c.to_lowercase());
            } else if "'’ʼ".contains(c) && !word.is_empty() {
                word.push('\'');
            } else {
                if !word.is_empty() {
                    words.push(Word { line: at + 1, text: std::mem::take(&mut word), begins });
                    begins = false;
                }
                begins |= ".,;:!?()—–".contains(c) || c == CODE;
            }
        }
    }
    words
}
