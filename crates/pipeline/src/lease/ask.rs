//! A checked request for a lease.

use std::collections::BTreeSet;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::{MAX_GLOBS, MAX_TTL_S, Mode, Resource};
use switchboard_protocol::text::cut;

use crate::paths::{Pattern, UnsafePath};

/// The shortest lease in milliseconds.
pub const MIN_SPAN: u64 = 1_000;
/// The longest lease in milliseconds.
pub const MAX_SPAN: u64 = MAX_TTL_S * 1_000;

/// Why globs can't be leased.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGlob {
    /// There are none or too many.
    #[error("1 to {MAX_GLOBS} globs can be reserved at once, not {0}")]
    Count(usize),
    /// The glob could match files outside the repository.
    #[error("{glob:?} can't be reserved: {why}")]
    Unsafe {
        /// The glob, shortened.
        glob: String,
        /// The rule that the glob breaks.
        why: UnsafePath,
    },
    /// Other tools would match other files with the glob, so that it would protect too little.
    #[error("{glob:?} can't be reserved: {why}")]
    Unclear {
        /// The glob, shortened.
        glob: String,
        /// Why the glob is ambiguous.
        why: &'static str,
    },
}

/// A request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    holder: AgentName,
    resource: Resource,
    mode: Mode,
    span: u64,
    patterns: Vec<Pattern>,
}

// === impl Ask ===

impl Ask {
    /// Creates a request for a resource for `span` milliseconds, which are clamped to [`MIN_SPAN`] and [`MAX_SPAN`].
    /// Globs are normalised, sorted and deduplicated.
    ///
    /// # Errors
    /// When there are no globs or too many, or one can't be leased.
    pub fn new(holder: AgentName, resource: Resource, mode: Mode, span: u64) -> Result<Self, BadGlob> {
        let span = span.clamp(MIN_SPAN, MAX_SPAN);
        let Resource::Files(globs) = resource else {
            return Ok(Self { holder, resource, mode, span, patterns: Vec::new() });
        };
        if globs.is_empty() || globs.len() > MAX_GLOBS {
            return Err(BadGlob::Count(globs.len()));
        }
        let globs = globs.iter().map(|glob| Ok(shown(&parse(glob)?).to_owned()));
        let globs: BTreeSet<String> = globs.collect::<Result<_, _>>()?;
        let patterns = globs.iter().map(|glob| parse(glob)).collect::<Result<_, _>>()?;
        Ok(Self { holder, resource: Resource::Files(globs.into_iter().collect()), mode, span, patterns })
    }

    /// Returns the agent that asks.
    #[must_use]
    pub fn holder(&self) -> &AgentName {
        &self.holder
    }

    /// Returns the requested resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Returns whether the lease is shared or exclusive.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the length of the lease in milliseconds.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.span
    }

    pub(super) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    pub(super) fn weight(&self) -> usize {
        self.patterns.len().max(1)
    }
}

/// Returns the normalised pattern; the root is `.`.
pub(super) fn shown(pattern: &Pattern) -> &str {
    if pattern.as_str().is_empty() { "." } else { pattern.as_str() }
}

/// Parses a glob that matches the same files in every tool. Case is significant.
pub(super) fn parse(glob: &str) -> Result<Pattern, BadGlob> {
    let shown = || cut(glob, 80);
    let pattern = Pattern::parse(glob).map_err(|why| BadGlob::Unsafe { glob: shown(), why })?;
    let unclear = |why| Err(BadGlob::Unclear { glob: shown(), why });
    if glob.starts_with('!') {
        return unclear("`!` takes files away; say what is to be reserved");
    }
    let unpaired =
        |open, close| pattern.as_str().split('/').any(|part| part.matches(open).count() != part.matches(close).count());
    if unpaired('{', '}') {
        return unclear("braces end in the part that they begin in; say each path by itself");
    }
    Ok(pattern)
}
