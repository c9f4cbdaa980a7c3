//! Compound commands of a shell, by how far they were read.

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

/// An open compound command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compound {
    pub(super) stage: Stage,
    /// Position of its first word.
    pub(super) at: usize,
}

// === impl Stage ===

impl Stage {
    /// Returns the word that began the command, for messages.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::If | Self::Elif | Self::Then | Self::Else => "if",
            Self::While | Self::For | Self::Do => "do",
            Self::Pattern | Self::Arm => "case",
            Self::Brace => "{",
        }
    }
}
