//! Tests that need the plan of a run, which is private here.

mod evidence;
mod fields;
mod plan_texts;
mod real_git;
mod repository;

pub(crate) use self::repository::Repository;
