//! Splits a reason into words and clauses, without quotations.

use crate::team::prose;

/// Words that don't change the meaning of a reason.
const FILLERS: [&str; 8] = ["just", "only", "really", "simply", "very", "actually", "basically", "quite"];

/// Words that begin a clause: a denial before them refers to something else.
const CONNECTIVES: [&str; 7] = ["because", "since", "as", "for", "so", "when", "given"];

/// Words that may precede the reason in a clause.
const LEADS: [&str; 6] = ["a", "the", "just", "only", "such", "it"];

/// Long forms of contractions, with or without their apostrophe.
const CONTRACTIONS: [(&str, &[&str]); 16] = [
    ("it's", &["it", "is"]),
    ("that's", &["that", "is"]),
    ("thats", &["that", "is"]),
    ("there's", &["there", "is"]),
    ("i'll", &["i", "will"]),
    ("we'll", &["we", "will"]),
    ("isn't", &["is", "not"]),
    ("aren't", &["are", "not"]),
    ("wasn't", &["was", "not"]),
    ("don't", &["do", "not"]),
    ("doesn't", &["does", "not"]),
    ("didn't", &["did", "not"]),
    ("won't", &["will", "not"]),
    ("can't", &["can", "not"]),
    ("cannot", &["can", "not"]),
    ("isnt", &["is", "not"]),
];

/// Words directly before a denied reason.
const DENIED_BEFORE: [&[&str]; 9] = [
    &["not"],
    &["never"],
    &["not", "because", "it"],
    &["not", "that", "it"],
    &["not", "true", "that", "it"],
    &["not", "mean", "it"],
    &["not", "mean", "that", "it"],
    &["instead", "of"],
    &["rather", "than"],
];

/// Words directly after a denied reason.
const DENIED_AFTER: [&[&str]; 12] = [
    &["is", "no", "reason"],
    &["is", "no", "excuse"],
    &["is", "not", "a", "reason"],
    &["is", "not", "an", "excuse"],
    &["is", "not", "enough"],
    &["is", "not", "evidence"],
    &["is", "no", "evidence"],
    &["is", "not", "sufficient"],
    &["does", "not", "count"],
    &["does", "not", "excuse"],
    &["is", "refused"],
    &["was", "refused"],
];

/// A word, and whether it begins a clause.
#[derive(Debug)]
struct Word {
    text: String,
    begins: bool,
}

/// Words of a reason.
#[derive(Debug)]
pub(super) struct Clauses(Vec<Word>);

// === impl Clauses ===

impl Clauses {
    pub(super) fn read(reason: &str) -> Self {
        let prose: Vec<String> = prose::lines(reason).into_iter().map(|line| line.prose).collect();
        let prose = prose.join("\n");
        let unquoted = prose::unquoted(&prose);
        // A reason that consists only of a quotation counts as offered.
        let text = if unquoted.contains(char::is_alphanumeric) { unquoted } else { prose };
        let mut words = Vec::new();
        let (mut word, mut begins) = (String::new(), true);
        for c in text.chars().chain([' ']) {
            match c {
                '\'' | '’' | 'ʼ' | '‘' | '´' if !word.is_empty() => word.push('\''),
                c if c.is_alphanumeric() => word.extend(c.to_lowercase()),
                c => {
                    if !word.is_empty() {
                        push(&mut words, &std::mem::take(&mut word), begins);
                        begins = false;
                    }
                    begins |= ".,;:!?()—–".contains(c);
                }
            }
        }
        Self(words)
    }

    /// Returns true if the reason has these words and doesn't deny them.
    pub(super) fn offer(&self, form: &[&[&str]], is_clause: bool) -> bool {
        let starts = 0..self.0.len();
        starts.filter_map(|at| self.end(at, form).map(|end| (at, end))).any(|(at, end)| {
            let is_whole = self.is_begin(at) && self.0.get(end).is_none_or(|word| word.begins);
            (!is_clause || is_whole) && !self.is_denied(at, end)
        })
    }

    /// Returns the end of the form that begins at `at`; fillers may stand between its words.
    fn end(&self, at: usize, form: &[&[&str]]) -> Option<usize> {
        let mut next = at;
        for (nth, wanted) in form.iter().enumerate() {
            let is_filler = |word: &Word| nth > 0 && FILLERS.contains(&word.text.as_str());
            while self.0.get(next).is_some_and(|word| is_filler(word) && !wanted.contains(&word.text.as_str())) {
                next += 1;
            }
            self.0.get(next).filter(|word| wanted.contains(&word.text.as_str()))?;
            next += 1;
        }
        Some(next)
    }

    /// Returns true if a clause begins at the word or at the leading words before it.
    fn is_begin(&self, at: usize) -> bool {
        let is_lead = |word: &&Word| LEADS.contains(&word.text.as_str()) && !word.begins;
        let leads = self.0[..=at].iter().rev().skip(1).take_while(is_lead).count();
        let first = at - leads;
        self.0[first].begins
            || first.checked_sub(1).is_some_and(|before| {
                let word = &self.0[before];
                CONNECTIVES.contains(&word.text.as_str()) || (LEADS.contains(&word.text.as_str()) && word.begins)
            })
    }

    fn is_denied(&self, at: usize, end: usize) -> bool {
        let before = |denial: &[&str]| {
            let from = at.checked_sub(denial.len());
            from.is_some_and(|from| self.has(from, denial) && self.0[from + 1..=at].iter().all(|word| !word.begins))
        };
        let after =
            |denial: &[&str]| self.has(end, denial) && self.0[end..end + denial.len()].iter().all(|w| !w.begins);
        DENIED_BEFORE.iter().any(|denial| before(denial)) || DENIED_AFTER.iter().any(|denial| after(denial))
    }

    fn has(&self, from: usize, words: &[&str]) -> bool {
        let found = self.0.get(from..from + words.len());
        found.is_some_and(|found| found.iter().map(|word| word.text.as_str()).eq(words.iter().copied()))
    }
}

/// Adds a word, with contractions expanded.
fn push(words: &mut Vec<Word>, word: &str, begins: bool) {
    let word = word.trim_end_matches('\'');
    let long = CONTRACTIONS.iter().find(|(short, _)| *short == word).map(|(_, long)| *long);
    // `Its a simple change` lacks an apostrophe.
    let is_owner = words.last().is_some_and(|last| last.text == "its");
    if is_owner
        && ["a", "just", "only", "really"].contains(&word)
        && let Some(last) = words.last_mut()
    {
        last.text = "it".to_owned();
        words.push(Word { text: "is".to_owned(), begins: false });
    }
    let parts: &[&str] = long.unwrap_or(&[]);
    if parts.is_empty() {
        words.push(Word { text: word.to_owned(), begins });
    }
    words.extend(
        parts.iter().enumerate().map(|(at, part)| Word { text: (*part).to_owned(), begins: begins && at == 0 }),
    );
}
