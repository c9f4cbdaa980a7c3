//! `run --example team`: a small Python project with a bug, two coders, a reviewer and a test engineer.

use super::catalog::{Example, Tool};

/// The example.
pub(super) const TEAM: Example = Example {
    name: "team",
    files: files!["team":
        ".gitignore",
        "README.md",
        "fares.py",
        "plan.json",
        "receipt.py",
        "test_fares.py",
        "tram.py",
    ],
    scripts: scripts!["team": "ada", "ben", "cleo", "dora"],
    roles: &[("reviewer", "cleo"), ("test_engineer", "dora")],
    message: "Print receipts of tram rides",
    tests_with: Tool { program: "python3", is_needed: true },
    look: &[
        ("switchboard status", "how everything stands"),
        ("switchboard show 1.1", "the task whose first change deleted the tests"),
        ("switchboard show 2.1", "the task that the reviewer sent back"),
        ("switchboard log 2.2", "a task's review, tests and attack in the order of time"),
        ("switchboard diff 2.2", "what a task changed, its tests included"),
    ],
};
