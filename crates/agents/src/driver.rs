//! Drivers of agents: one contract, and one driver for each way to communicate with an agent.

mod acp;
mod contract;
mod exec;
mod pipe;
mod proxy;
mod start;

pub use acp::{Acp, MAX_LINE_BYTES};
pub(crate) use contract::ANSWER_KEPT;
pub use contract::{Driver, DriverOutput};
pub use exec::Exec;
pub use pipe::Stream;
pub use start::{Model, Start};
