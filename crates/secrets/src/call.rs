//! Finds passwords by their position among the arguments of a call.

use std::ops::Range;

use crate::candidate::Assigned;
use crate::context::{Context, Found};
use crate::judge::judge;
use crate::name::Promise;

/// Number of bytes in which the arguments are searched.
const WINDOW: usize = 400;

/// Calls in lower case, each with the index of its password argument.
const CALLS: &[(&str, usize, Promise)] = &[
    ("auth=(", 1, Promise::Password),
    ("auth = (", 1, Promise::Password),
    ("basicauth(", 1, Promise::Password),
    ("setbasicauth(", 1, Promise::Password),
    ("passwordcredentials(", 1, Promise::Password),
    ("networkcredential(", 1, Promise::Password),
    ("passwordauthentication(", 1, Promise::Password),
    (".login(", 1, Promise::Password),
    ("getconnection(", 2, Promise::Password),
    ("mysqli_connect(", 2, Promise::Password),
    ("mysql_connect(", 2, Promise::Password),
    ("new mysqli(", 2, Promise::Password),
    ("new pdo(", 2, Promise::Password),
    ("awscredentials(", 1, Promise::Key),
    ("jwt.sign(", 1, Promise::Key),
    ("jwt.verify(", 1, Promise::Key),
    ("createhmac(", 1, Promise::Key),
];

/// Keywords of [`argument`].
pub(crate) const KEYWORDS: &[&str] = &{
    let mut words = [""; CALLS.len()];
    let mut at = 0;
    while at < CALLS.len() {
        words[at] = CALLS[at].0;
        at += 1;
    }
    words
};

/// Reads the argument that is the password; the keyword is the call's name with its bracket.
pub(crate) fn argument(place: &Context<'_>) -> Option<Found> {
    let call = &place.text[place.at..place.keyword_end];
    let (_, wanted, promise) = CALLS.iter().find(|(name, _, _)| call.eq_ignore_ascii_case(name.as_bytes()))?;
    let range = literal(place, *wanted)?;
    let assigned = Assigned {
        name: b"password",
        value: &place.text[range.clone()],
        kind: place.kind,
        is_compared: false,
        is_quoted: false,
    };
    judge(*promise, &assigned, range)
}

/// Returns an argument by its index, if it is a quoted literal.
fn literal(place: &Context<'_>, wanted: usize) -> Option<Range<usize>> {
    let end = place.text.len().min(place.keyword_end + WINDOW);
    let (mut at, mut number, mut depth) = (place.keyword_end, 0, 0_usize);
    while at < end {
        match place.text[at] {
            quote @ (b'"' | b'\'' | b'`') => {
                let length = place.text[at + 1..end].iter().position(|byte| *byte == quote || *byte == b'\n')?;
                let range = at + 1..at + 1 + length;
                if place.text[range.end] == b'\n' {
                    return None;
                }
                if depth == 0 && number == wanted {
                    return (length > 0).then_some(range);
                }
                at = range.end;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => number += 1,
            b';' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}
