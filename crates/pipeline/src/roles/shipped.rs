//! The shipped roles, in files of the same format as the user's.

use super::bad::BadRole;
use super::{Origin, Role, RoleFile, merge};

macro_rules! files {
    ($($name:literal)*) => {
        &[$(RoleFile {
            file: concat!("shipped/", $name, ".md"),
            text: include_str!(concat!("shipped/", $name, ".md")),
        },)*]
    };
}

const FILES: &[RoleFile<'static>] = files! {
    "architect" "explorer" "designer" "sme" "coder" "reviewer" "test_engineer" "critic" "critic_drift_verifier"
    "critic_hallucination_verifier" "docs"
};

/// Parses the shipped role files.
pub(super) fn roles() -> Vec<Role> {
    let (mut roles, mut bad) = (Vec::new(), Vec::<BadRole>::new());
    merge::add(&mut roles, &mut bad, FILES, Origin::Shipped);
    assert!(bad.is_empty(), "the files that ship can be read: {bad:?}");
    roles
}
