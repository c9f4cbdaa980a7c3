//! HCL (Terraform, Packer, Nomad), as `hcl-edit` reads it.

use crate::problem::{Kind, Problem};

/// Finds the first position that is no valid HCL.
pub(super) fn problem(text: &str) -> Option<Problem> {
    let text = text.trim_start_matches('\u{feff}');
    let error = text.parse::<hcl_edit::structure::Body>().err()?;
    Some(Problem::at(text.as_bytes(), error.location().offset().min(text.len()), Kind::Unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_resource_is_found_with_its_line() {
        let lines = |text: &str| problem(text).map(|found| found.lines.start + 1);

        assert_eq!(
            lines("resource \"a\" \"b\" {\n  c = [for x in y : x if x != \"\"]\n  d = <<-E\n    ${f}\n  E\n}\n"),
            None
        );
        assert_eq!(lines("resource \"a\" \"b\" {\n  c = [1, 2\n}\n"), Some(3));
        assert!(lines("resource \"a\" \"b\" {\n  c = 1\n").is_some());
        assert!(lines("a = \"b\nc = 1\n").is_some());
    }
}
