//! Clean, well-known code: the checks stay silent where there is nothing to say.

use std::path::PathBuf;

use checks::Limits;
use protocol::finding::{Base, CheckName, CheckRequest};

/// The most findings of the placeholder check in 10,000 lines.
const MOST: f64 = 1.0;

#[test]
#[ignore = "reads 30 MB; run it with --ignored where Python is installed"]
fn the_standard_library_of_python_is_not_full_of_placeholders() {
    let python = process::spawn::Spawn::new(["python3", "-c", "import os; print(os.path.dirname(os.__file__))"]);
    let Ok(output) = python.env_only(process::env::Env::plain()).output() else { return };
    let library = PathBuf::from(output.stdout.text().trim());
    let copy = tempfile::tempdir().unwrap();
    let mut lines = 0;
    for entry in
        ignore::Walk::new(&library).flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "py"))
    {
        let name = entry.path().strip_prefix(&library).unwrap();
        if name.starts_with("site-packages") {
            continue;
        }
        let text = std::fs::read(entry.path()).unwrap();
        lines += text.iter().filter(|byte| **byte == b'\n').count();
        let to = copy.path().join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, text).unwrap();
    }
    let request = CheckRequest {
        root: copy.path().display().to_string(),
        base: Base::None,
        only: vec![CheckName::PlaceholderScan],
        ..CheckRequest::default()
    };

    let reply = checks::run(&request, &Limits { findings: usize::MAX, ..Limits::default() });

    let findings = &reply.reports[0].findings;
    for finding in findings {
        println!("{}:{} {} {}", finding.path, finding.span.start_line, finding.rule, finding.message);
    }
    let rate = findings.len() as f64 * 10_000.0 / lines as f64;
    println!("{} findings in {lines} lines: {rate:.2} in 10,000", findings.len());
    assert!(rate <= MOST, "{rate:.2} in 10,000 lines");
}
