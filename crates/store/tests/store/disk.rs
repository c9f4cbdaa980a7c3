//! What only a store on a disk can do, or can do wrong.

mod backup;
mod bits;
mod contended;
mod durability;
mod kill;
mod limits;
mod open;
mod rebuild;
mod words;
