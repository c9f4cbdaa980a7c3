//! Behaviour and failures that only a store on a disk has.

mod backup;
mod bits;
mod contended;
mod durability;
mod kill;
mod limits;
mod open;
mod rebuild;
mod words;
