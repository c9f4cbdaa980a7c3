//! What only a store on a disk can do, or can do wrong.

mod bits;
mod durability;
mod kill;
mod open;
mod rebuild;
