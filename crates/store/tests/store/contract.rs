//! What every backend keeps.
//!
//! A further backend joins with one function `Fixture::NAME() -> Fixture` in `board.rs`, which makes an empty store with the
//! projections and the clock of the board, and one module in `on_every_backend!` beside it, which hands that fixture to
//! every test here. `model.rs` then holds it against the store in memory through random histories: give it to `compare`.
//! Nothing in these files may know which backend it runs on.

mod commit;
mod guards;
mod log;
mod reads;
mod retention;
mod search;
mod waiting;
