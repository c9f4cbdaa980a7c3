//! The contract of every backend.
//!
//! To add a backend, write one function `Fixture::NAME() -> Fixture` in `board.rs`, which creates an empty store with
//! the projections and the clock of the board, and one module in `on_every_backend!` beside it, which passes that
//! fixture to every test here. `model.rs` then compares it with the store in memory in random histories: pass it to
//! `compare`. These files must not depend on the backend that they run on.

mod commit;
mod guards;
mod log;
mod reads;
mod retention;
mod search;
mod waiting;
