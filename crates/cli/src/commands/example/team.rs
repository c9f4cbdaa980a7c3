//! `run --example team`: a request about a small Python project with a bug, which a team of scripts carries out.

use super::catalog::{Answered, Begins, Example, Tool};

/// The example `team`.
pub(super) const TEAM: Example = Example {
    name: "team",
    begins: Begins::Request {
        text: "Mend the fares, name the zones on receipts, and add a day ticket",
        coders: &["ada", "ben"],
        person: &[
            Answered { asked: "What may a day ticket cost at most?", option: "1" },
            Answered { asked: "phase 1 can't go on", option: "retry" },
            Answered { asked: "Ready for Phase 2?", option: "proceed" },
        ],
    },
    files: files!["team":
        ".gitignore",
        "README.md",
        "fares.py",
        "receipt.py",
        "test_fares.py",
        "tram.py",
    ],
    scripts: scripts!["team": "ada", "ben", "cleo", "dora", "emil", "fay", "gus", "hana", "ines"],
    roles: &[
        ("architect", "emil"),
        ("explorer", "fay"),
        ("sme", "gus"),
        ("critic", "ines"),
        ("docs", "hana"),
        ("reviewer", "cleo"),
        ("test_engineer", "dora"),
    ],
    message: "Print receipts of tram rides",
    tests_with: Tool { program: "python3", is_needed: true },
    look: &[
        ("switchboard status", "the state of everything"),
        ("switchboard show", "what each mode came to"),
        ("switchboard show 1.1", "the task whose first change deleted the tests"),
        ("switchboard show 2.1", "the task that the reviewer sent back"),
        ("switchboard log 2.2", "a task's review, tests and attack in the order of time"),
        ("switchboard diff 2.2", "what a task changed, its tests included"),
    ],
};
