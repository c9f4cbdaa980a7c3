//! The `switchboard` binary; everything is in the library beside it.

#[global_allocator]
static ALLOCATOR: switchboard_process::memory::Allocator = switchboard_process::memory::Allocator;

fn main() -> std::process::ExitCode {
    switchboard_process::memory::configure();
    switchboard_cli::run()
}
