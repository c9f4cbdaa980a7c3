//! Tests of the bus from outside: one binary, so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a failed step of a test is the failure")]

mod announce;
mod auth;
mod count_mail;
mod dead_letters;
mod fixtures;
mod lease_simulation;
mod leases;
mod mail;
mod notes;
mod queue;
mod team;
