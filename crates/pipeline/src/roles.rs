//! Stub.
/// stub
#[must_use]
pub fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
}
/// stub
#[must_use]
pub fn instructions(role: &str) -> &'static str {
    match role {
        "reviewer" => "You review.",
        _ => "You test.",
    }
}
