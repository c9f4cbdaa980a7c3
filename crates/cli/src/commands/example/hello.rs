//! `run --example`: a small Rust crate, three agents, and a change that the gates refuse.

use super::catalog::{Begins, Example, Tool};

/// The example `hello`.
pub(super) const HELLO: Example = Example {
    name: "hello",
    begins: Begins::Plan,
    files: files!["hello":
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "plan.json",
        "plan.md",
        "src/greeting.rs",
        "src/language.rs",
        "src/lib.rs",
        "src/main.rs",
        "src/name.rs",
        "tests/greets.rs",
    ],
    scripts: scripts!["hello": "ada", "ben", "cleo"],
    roles: &[],
    message: "Say hello in two languages",
    tests_with: Tool { program: "cargo", is_needed: false },
    look: &[
        ("switchboard status", "the state of everything"),
        ("switchboard show 1.2", "the task that was refused, and why"),
        ("switchboard diff 2.1", "what a task changed"),
        ("switchboard messages", "what cleo asked and ada answered"),
    ],
};
