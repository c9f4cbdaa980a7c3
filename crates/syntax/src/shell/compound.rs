//! The compound commands of a shell, by what of them was read.

/// How far a compound command was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    If,
    Elif,
    Then,
    Else,
    While,
    For,
    Do,
    /// Between the arms of a `case`.
    Pattern,
    Arm,
    Brace,
}

/// A compound command that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compound {
    pub(super) stage: Stage,
    /// Where its first word stands.
    pub(super) at: usize,
}

// === impl Stage ===

impl Stage {
    /// Returns the word that began the command, for the message.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::If | Self::Elif | Self::Then | Self::Else => "if",
            Self::While | Self::For | Self::Do => "do",
            Self::Pattern | Self::Arm => "case",
            Self::Brace => "{",
        }
    }
}
