//! Black-box stories over the real binary.
