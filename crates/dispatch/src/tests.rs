//! Tests that need the plan of a run, which is private here.

mod fields;
mod repository;

pub(crate) use self::repository::Repository;
