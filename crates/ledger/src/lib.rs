//! Signed statements about what happened: DSSE envelopes, Merkle heads, verification.
