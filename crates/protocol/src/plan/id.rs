//! The id of a task and its ordering.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::MAX_TASK_ID_BYTES;
use crate::schema::JsonSchema;

/// The id of a task, `1.2`: unique in its plan, ordered by its numbers (1.2 before 1.10).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct TaskId {
    /// First numbers of the text: most ids differ in them.
    rank: u64,
    text: Arc<str>,
}

crate::text_serde!(TaskId);

/// Reason why a text is not a task id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a task id is at most 64 letters, digits, '.', '_' and '-', begins with a letter or digit, holds no '..' and doesn't end in '.' or '.lock'"
)]
pub struct BadTaskId;

impl TaskId {
    /// Makes an id from a text that is safe as a folder name and in a branch name.
    ///
    /// # Errors
    /// When the text is not safe: see [`BadTaskId`].
    pub fn new(text: impl Into<String>) -> Result<Self, BadTaskId> {
        Self::parse(&text.into())
    }

    fn parse(text: &str) -> Result<Self, BadTaskId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let safe = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.len() <= MAX_TASK_ID_BYTES
            && text.chars().all(allowed)
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.ends_with(".lock");
        if safe { Ok(Self { rank: rank(text), text: text.into() }) } else { Err(BadTaskId) }
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadTaskId;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.text.to_string()
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TaskId {
    /// Compares by [`natural_order`], then by text, so that `1.1` and `1.1.0` stay two ids.
    fn cmp(&self, other: &Self) -> Ordering {
        if self.rank != other.rank {
            return self.rank.cmp(&other.rank);
        }
        if self.text == other.text {
            return Ordering::Equal;
        }
        natural_order(&self.text, &other.text).then_with(|| self.text.cmp(&other.text))
    }
}

impl Hash for TaskId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Returns a number that orders ids as [`natural_order`] does, or is the same for two ids: their first three numbers in
/// 21 bits each, up to the first that needs more.
fn rank(text: &str) -> u64 {
    const MOST: u64 = (1 << 21) - 1;
    let (mut rest, mut rank) = (text.as_bytes(), 0);
    for left in [42, 21, 0] {
        let number = next_number(&mut rest);
        if number >= MOST {
            return rank | ((1 << (left + 21)) - 1);
        }
        rank |= number << left;
    }
    rank
}

/// Compares ids part by part as numbers: `1.2` before `1.10`; a missing or non-numeric part counts as 0.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // Identical text is the same number.
    let (mut same, mut part) = (0, 0);
    while let (Some(byte), Some(other)) = (a.get(same), b.get(same))
        && byte == other
    {
        same += 1;
        if *byte == b'.' {
            part = same;
        }
    }
    let (mut a, mut b) = (&a[part..], &b[part..]);
    while !a.is_empty() || !b.is_empty() {
        let order = next_number(&mut a).cmp(&next_number(&mut b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Removes the next part, with its dot, and reads the digits at its beginning.
fn next_number(rest: &mut &[u8]) -> u64 {
    let (mut number, mut at) = (0_u64, 0);
    while let Some(digit @ b'0'..=b'9') = rest.get(at) {
        number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        at += 1;
    }
    while rest.get(at).is_some_and(|byte| *byte != b'.') {
        at += 1;
    }
    *rest = rest.get(at + 1..).unwrap_or_default();
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_equal_or_large_first_numbers_are_ordered_by_the_others() {
        let large = (1_u64 << 21) - 1;
        let texts = [
            "1.2.3.4".to_owned(),
            "1.2.3.10".to_owned(),
            "1.2.4".to_owned(),
            format!("1.{}.9", large - 1),
            format!("1.{large}.2"),
            format!("1.{large}.10"),
            format!("1.{}.1", large + 1),
            "2.a.1".to_owned(),
            "2.1".to_owned(),
            format!("{large}.1"),
            format!("{}.0", large + 1),
        ];
        let ids: Vec<_> = texts.iter().map(|text| TaskId::new(text.as_str()).unwrap()).collect();

        for (at, id) in ids.iter().enumerate() {
            for (other_at, other) in ids.iter().enumerate() {
                assert_eq!(id.cmp(other), at.cmp(&other_at), "{id} and {other}");
            }
        }
    }

    #[test]
    fn orders_ids_by_their_numbers() {
        let mut ids: Vec<_> = ["2.1", "1.10", "1.2", "1.1.0", "1.1"].map(|id| TaskId::new(id).unwrap()).into();

        ids.sort();

        let ids: Vec<_> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(ids, ["1.1", "1.1.0", "1.2", "1.10", "2.1"]);
        assert_eq!(natural_order("1.1", "1.1.0"), Ordering::Equal);
        assert_eq!(natural_order("1.2a3", "1.2"), Ordering::Equal);
        assert_eq!(natural_order("1.2", "1.12"), Ordering::Less);
        assert_eq!(natural_order("1.02", "1.2.0"), Ordering::Equal);
        assert_eq!(natural_order("2", "1.99999999999999999999999"), Ordering::Greater);
    }

    #[test]
    fn orders_ids_as_their_numbers_one_by_one() {
        let numbers = |id: &str| {
            let part = |part: &str| {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                digits.parse().unwrap_or(if digits.is_empty() { 0 } else { u64::MAX })
            };
            let mut numbers: Vec<u64> = id.split('.').map(part).collect();
            while numbers.last() == Some(&0) {
                numbers.pop();
            }
            numbers
        };
        let big = format!("1.{}", "9".repeat(30));
        let ids = [
            "1", "1.0", "1.1", "1.1.0", "1.01", "1.1a", "1.1a2", "1.a1", "1.2", "1.10", "10", "2.1.3", "2.1", "T_7",
            "1.2-b", &big,
        ];

        for (a, b) in ids.iter().flat_map(|a| ids.iter().map(move |b| (a, b))) {
            assert_eq!(natural_order(a, b), numbers(a).cmp(&numbers(b)), "{a} {b}");
        }
    }

    #[test]
    fn refuses_ids_that_could_be_paths_or_options_or_bad_branches() {
        for bad in ["", "..", "a/b", "a\\b", "-x", ".a", "a..b", "a\0", "a b", "1.", "x.lock", &"x".repeat(65)] {
            assert!(TaskId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["1.2", "retro-1", "T_7", "a.b-c"] {
            assert!(TaskId::new(good).is_ok(), "{good:?}");
        }
    }
}
