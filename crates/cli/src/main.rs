//! The `switchboard` binary; everything is in the library beside it.

#[global_allocator]
static ALLOCATOR: process::memory::Allocator = process::memory::Allocator;

fn main() -> std::process::ExitCode {
    process::memory::settle_in();
    cli::run()
}
