//! Detects whether a description joins two verbs.
//!
//! A sentence has a first verb. Another one joins it if it follows `and`, `plus`, `then`, `;` or `as well as` in the
//! same clause structure, or if its `-ing` form follows `with` or `while`. Verbs inside an infinitive or a relative
//! clause (`a command to create and delete users`) belong to the thing that is made. A test, an export or a description
//! of the same thing (`and add a test`, `and export it`) is a companion: it makes the task MEDIUM. A result or
//! constraint of the task (`and return 0`, `and keep the API`, `; verify that …`) adds nothing.
//!
//! Measured on 101 descriptions from 20 public task lists that were not used to choose the verbs: 6 of 10 with two
//! actions were found, and 0 of the 91 others. Doubtful cases count as one action: a wrong refusal costs a round with
//! the architect, and a task that is too wide still faces its limits on files and its gates.

use std::fmt;

use super::verbs::{Verb, gerund, verb};
use tokens::{Mark, Token, sentences};

mod tokens;

/// Two joined verbs of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The first verb.
    pub first: String,
    /// Word or mark that joins them.
    pub by: String,
    /// The second verb.
    pub second: String,
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{} … {} {}`", self.first, self.by, self.second)
    }
}

const JOINTS: [&str; 4] = ["and", "&", "plus", "then"];
const JOINTS_OF_GERUNDS: [&str; 4] = ["with", "plus", "while", "besides"];
/// Words at the beginning of a later sentence that add an action.
const ADDING: [&str; 7] = ["also", "then", "next", "finally", "additionally", "afterwards", "furthermore"];
const ADVERBS: [&str; 9] =
    ["also", "then", "afterwards", "finally", "subsequently", "additionally", "just", "next", "automatically"];
/// Words that begin an object.
const OBJECTS: [&str; 22] = [
    "the", "a", "an", "its", "it", "them", "their", "all", "each", "every", "any", "this", "that", "these", "those",
    "both", "existing", "new", "old", "up", "out", "whether",
];
const PRONOUNS: [&str; 3] = ["it", "them", "this"];
/// Words before a verb that belongs to the thing that is made, not to the task.
const OPENERS: [&str; 19] = [
    "to", "can", "could", "may", "might", "must", "should", "shall", "will", "would", "cannot", "can't", "not",
    "don't", "lets", "that", "which", "who", "users",
];
/// Verbs whose object carries out the following verbs: `let users sort and filter the list`.
const CAUSING: [&str; 3] = ["let", "allow", "help"];
/// Verbs that complete a thing, such as exporting, naming or calling it.
const COMPLETING: [&str; 20] = [
    "call",
    "cover",
    "declare",
    "describe",
    "document",
    "enable",
    "export",
    "expose",
    "hook",
    "import",
    "link",
    "list",
    "mark",
    "mount",
    "name",
    "re-export",
    "register",
    "show",
    "test",
    "use",
];
const BRINGING: [&str; 7] = ["add", "write", "include", "extend", "update", "create", "provide"];
const TESTS: [&str; 6] = ["test", "tests", "testcase", "testcases", "unit-test", "unit-tests"];
/// Number of words within which a companion names its tests: `and add a small regression test`.
const NEAR: usize = 5;

/// Relation of a verb after a joint to the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The word is no verb of the task.
    None,
    /// The verb completes the same thing.
    Companion,
    /// The verb is another action.
    Second,
}

/// Returns the two verbs that a description joins, if any.
#[must_use]
pub fn joined(description: &str) -> Option<Joined> {
    relations(description).into_iter().find(|(relation, _)| *relation == Relation::Second).map(|(_, joined)| joined)
}

/// Returns true if a description has an action that completes the first: a test, an export.
pub(super) fn has_companion(description: &str) -> bool {
    relations(description).iter().any(|(relation, _)| *relation == Relation::Companion)
}

/// Returns every joint of a description with the relation of the verb after it.
fn relations(description: &str) -> Vec<(Relation, Joined)> {
    let sentences = sentences(description);
    let mut found = Vec::new();
    let mut first = None;
    for (nth, tokens) in sentences.iter().enumerate() {
        let sentence = Sentence { tokens };
        let Some(head) = sentence.head() else { continue };
        let adds = nth > 0 && ADDING.contains(&tokens[0].text.as_str());
        let own = tokens[head].text.clone();
        if let Some(first) = first.clone().filter(|_| adds) {
            found.push((sentence.relation_of(head), Joined { first, by: tokens[0].text.clone(), second: own.clone() }));
        }
        if nth == 0 || adds {
            found.extend(sentence.joints(head));
        }
        first.get_or_insert(own);
    }
    found
}

/// A sentence of a description.
struct Sentence<'a> {
    tokens: &'a [Token],
}

// === impl Sentence ===

impl Sentence<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn mark(&self, at: usize) -> Mark {
        self.tokens.get(at).map_or(Mark::Stop, |token| token.before)
    }

    /// Returns the position of the first verb: at the beginning any verb, later only one that is rarely a noun.
    fn head(&self) -> Option<usize> {
        let is_first = |at: usize| {
            at == 0
                || self.mark(at) != Mark::None
                || ["to", "please"].contains(&self.word(at - 1))
                || ADDING.contains(&self.word(at - 1))
        };
        let is_head = |at: &usize| match verb(self.word(*at)) {
            Some(Verb::Strong | Verb::Holding) => true,
            Some(Verb::Weak) => is_first(*at),
            None => false,
        };
        (0..self.tokens.len()).find(is_head)
    }

    fn joints(&self, head: usize) -> Vec<(Relation, Joined)> {
        let joined = |by: &str, at: usize, relation| {
            (
                relation,
                Joined { first: self.word(head).to_owned(), by: by.to_owned(), second: self.word(at).to_owned() },
            )
        };
        let mut found = Vec::new();
        for at in head + 1..self.tokens.len() {
            let word = self.word(at);
            if JOINTS.contains(&word) {
                let second = self.after_adverbs(at + 1);
                found.push(joined(word, second, self.relation(head, at, second)));
            } else if word == "well" && self.word(at - 1) == "as" && self.word(at + 1) == "as" {
                found.push(joined("as well as", at + 2, self.relation(head, at - 1, at + 2)));
                found.push(joined("as well as", at + 2, self.relation_of_gerund(at + 2)));
            } else if self.mark(at) == Mark::Clause && !JOINTS.contains(&word) {
                let second = self.after_adverbs(at);
                found.push(joined(";", second, self.relation(head, at, second)));
            } else if self.mark(at) == Mark::Comma && self.is_object(at + 1) && self.is_strong(at) {
                found.push(joined(",", at, self.relation(head, at, at)));
            }
            if JOINTS_OF_GERUNDS.contains(&word) {
                found.push(joined(word, at + 1, self.relation_of_gerund(at + 1)));
            }
        }
        found.retain(|(relation, _)| *relation != Relation::None);
        found
    }

    /// Returns the relation of the verb at `second`, after the joint at `joint`, to the first verb.
    fn relation(&self, head: usize, joint: usize, second: usize) -> Relation {
        if !self.is_verb(second) || self.is_inside(head, joint) {
            return Relation::None;
        }
        let before = joint.saturating_sub(1);
        let lists_verbs = before > head && verb(self.word(before)).is_some() && !self.is_object(second + 1);
        if lists_verbs && self.list_begin(before, head) != head {
            // In `add create and delete endpoints`, the verbs name what is added.
            return Relation::None;
        }
        self.relation_of(second)
    }

    fn relation_of(&self, at: usize) -> Relation {
        let word = self.word(at);
        let completes = COMPLETING.contains(&word) && PRONOUNS.contains(&self.word(at + 1));
        let brings_tests =
            BRINGING.contains(&word) && (at + 1..=at + NEAR).any(|near| TESTS.contains(&self.word(near)));
        let tests_it = ["test", "cover"].contains(&word) && ["that", "with"].contains(&self.word(at + 1));
        let wires_it = ["wire", "hook", "plug"].contains(&word) && PRONOUNS.contains(&self.word(at + 1));
        let makes_sure = word == "make" && ["sure", "certain"].contains(&self.word(at + 1));
        match verb(word) {
            None | Some(Verb::Holding) => Relation::None,
            Some(Verb::Strong | Verb::Weak) if makes_sure => Relation::None,
            Some(Verb::Strong | Verb::Weak) if completes || brings_tests || tests_it || wires_it => Relation::Companion,
            Some(Verb::Strong | Verb::Weak) => Relation::Second,
        }
    }

    /// As [`Self::relation`], for an `-ing` form; without an object it names a thing (`with caching`).
    fn relation_of_gerund(&self, at: usize) -> Relation {
        match gerund(self.word(at)) {
            Some(Verb::Strong | Verb::Weak) if self.is_object(at + 1) => Relation::Second,
            Some(_) | None => Relation::None,
        }
    }

    fn is_verb(&self, at: usize) -> bool {
        match verb(self.word(at)) {
            Some(Verb::Strong | Verb::Holding) => true,
            Some(Verb::Weak) => self.is_object(at + 1),
            None => false,
        }
    }

    fn is_strong(&self, at: usize) -> bool {
        verb(self.word(at)) == Some(Verb::Strong)
    }

    fn is_object(&self, at: usize) -> bool {
        let token = self.tokens.get(at);
        let begins_object = |token: &Token| token.is_code || OBJECTS.contains(&token.text.as_str());
        token.is_some_and(|token| token.before == Mark::None && begins_object(token))
    }

    /// Returns true if a joint is inside an infinitive or a relative clause whose verb is in its base form. A comma
    /// before the joint ends that clause, unless it is in a list of verbs.
    fn is_inside(&self, head: usize, joint: usize) -> bool {
        let before = joint.saturating_sub(1);
        let ends_clause = self.mark(joint) != Mark::None && verb(self.word(before)).is_none();
        let opens = |at: &usize| {
            let next = self.after_adverbs(at + 1);
            OPENERS.contains(&self.word(*at)) && next < joint && verb(self.word(next)).is_some()
        };
        let causes = CAUSING.contains(&self.word(head)) && (head + 1..joint).any(|at| verb(self.word(at)).is_some());
        !ends_clause && (causes || (head + 1..joint).any(|at| opens(&at)))
    }

    /// Returns the beginning of the list of verbs that ends at `at`: `parse, check and store`.
    fn list_begin(&self, at: usize, head: usize) -> usize {
        let mut begin = at;
        while begin > head && self.mark(begin) == Mark::Comma && verb(self.word(begin - 1)).is_some() {
            begin -= 1;
        }
        begin
    }

    fn after_adverbs(&self, at: usize) -> usize {
        let is_manner = |word: &str| word.ends_with("ly") && verb(word).is_none();
        let is_adverb = |at: &usize| ADVERBS.contains(&self.word(*at)) || is_manner(self.word(*at));
        (at..self.tokens.len()).find(|at| !is_adverb(at)).unwrap_or(self.tokens.len())
    }
}
