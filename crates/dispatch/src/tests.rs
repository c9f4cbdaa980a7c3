//! Tests that need the plan of a run, which is private here.

mod fields;
