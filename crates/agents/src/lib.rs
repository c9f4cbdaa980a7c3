//! Drivers for coding agents and the shim that owns a worker's process and output.
