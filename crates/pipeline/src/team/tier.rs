//! Stub.
/// Tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// 0
    Metadata,
    /// 1
    Docs,
    /// 2
    Code,
    /// 3
    Critical,
}
impl Tier {
    /// of
    #[must_use]
    pub fn of(_files: &[String], _description: &str) -> Self {
        Self::Code
    }
    /// number
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
    /// reason
    #[must_use]
    pub fn reason(self) -> String {
        "stub".to_owned()
    }
}
/// Stub.
#[must_use]
pub fn calls_for_security(files: &[String], words: &[&str]) -> Option<String> {
    let _ = words;
    files.iter().find(|file| file.contains("auth")).cloned()
}
