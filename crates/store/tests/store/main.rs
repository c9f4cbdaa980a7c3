//! The store from outside: one contract for every backend, what only a disk can do wrong, and random histories.

mod board;
mod contract;
//mod disk;
//mod model;
