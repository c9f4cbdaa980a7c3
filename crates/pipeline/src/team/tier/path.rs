//! Determines the tier of a change by a file's path.

use super::Tier;
use super::words::{self, parts};

/// Files that neither run nor are read by users, by their whole name in lower case.
const METADATA: [&str; 18] = [
    ".gitignore",
    ".gitattributes",
    ".gitkeep",
    ".keep",
    ".mailmap",
    ".editorconfig",
    ".dockerignore",
    ".npmignore",
    ".eslintignore",
    ".prettierignore",
    ".ignore",
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "citation.cff",
    ".git-blame-ignore-revs",
];

/// Extensions of documents. `.txt` is not included: `requirements.txt` and `CMakeLists.txt` are read by tools.
const DOCS: [&str; 6] = ["md", "markdown", "rst", "adoc", "asciidoc", "mdx"];

/// Names of documents, in lower case and without extension, that may end in `.txt` or have no extension.
const DOC_NAMES: [&str; 8] =
    ["readme", "changelog", "changes", "history", "contributing", "install", "maintainers", "code_of_conduct"];

/// Extensions of pictures, which are documents in a folder of documents.
const PICTURES: [&str; 6] = ["png", "jpg", "jpeg", "gif", "svg", "webp"];

/// Folders of documents.
const DOC_FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];

/// Instructions for agents, by name or by a folder above them.
const INSTRUCTIONS: [&str; 5] = ["agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "skill.md"];
const INSTRUCTION_FOLDERS: [&str; 6] = [".claude", ".cursor", ".codex", ".opencode", ".switchboard", "prompts"];

/// Files that run with credentials, or decide what is checked, by their whole name or a prefix of their path.
const GUARDS: [&str; 14] = [
    ".gitlab-ci.yml",
    "jenkinsfile",
    "codeowners",
    ".secretscanignore",
    ".gitleaks.toml",
    ".gitleaksignore",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".htpasswd",
    ".htaccess",
    "id_rsa",
    "id_ed25519",
    "sudoers",
];
const GUARD_FOLDERS: [&str; 4] = [".github/workflows/", ".github/actions/", ".circleci/", ".git/"];
const KEY_FILES: [&str; 7] = ["pem", "key", "p12", "pfx", "jks", "keystore", "gpg"];

/// Extensions of files that only describe a user interface.
const UI: [&str; 13] =
    ["tsx", "jsx", "vue", "svelte", "astro", "css", "scss", "sass", "less", "xaml", "qml", "storyboard", "xib"];

/// Extensions that belong to a user interface inside a folder of [`UI_FOLDERS`].
const UI_IN_FOLDERS: [&str; 9] = ["ts", "js", "mjs", "html", "hbs", "swift", "kt", "dart", "svg"];
const UI_FOLDERS: [&str; 13] = [
    "components",
    "component",
    "pages",
    "views",
    "ui",
    "layouts",
    "styles",
    "theme",
    "themes",
    "screens",
    "widgets",
    "frontend",
    "templates",
];

/// Returns the tier of a path and the reason. A folder or glob is assessed by its name.
pub(super) fn tier(path: &str) -> (Tier, String) {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let lower = path.to_lowercase();
    let name = lower.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if let Some(why) = guards(&lower, name) {
        return (Tier::Critical, why.to_owned());
    }
    if METADATA.contains(&name) || is_licence(name) {
        return (Tier::Metadata, "neither runs nor is read by users".to_owned());
    }
    if instructs(&lower, name) {
        return (Tier::Code, "agents follow it".to_owned());
    }
    if is_document(&lower, name) {
        return (Tier::Docs, "a document".to_owned());
    }
    if let Some(word) = words::security_part(path) {
        return (Tier::Critical, format!("its name has `{word}`"));
    }
    (Tier::Code, "it may run".to_owned())
}

/// Returns true if a change to a path affects the user interface. Its tests don't.
pub(super) fn is_ui(path: &str) -> bool {
    let lower = path.replace('\\', "/").to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let is_test = parts(name).iter().any(|part| ["test", "tests", "spec", "stories"].contains(&part.as_str()))
        || lower.split('/').any(|folder| ["test", "tests", "__tests__"].contains(&folder));
    let ending = ending(name);
    let in_folder = || lower.split('/').rev().skip(1).any(|folder| UI_FOLDERS.contains(&folder));
    !is_test && (UI.contains(&ending) || (UI_IN_FOLDERS.contains(&ending) && in_folder()))
}

fn guards(lower: &str, name: &str) -> Option<&'static str> {
    if name == ".env" || name.starts_with(".env.") || KEY_FILES.contains(&ending(name)) {
        return Some("it may hold a credential");
    }
    let is_in = |folder: &str| lower.starts_with(folder) || lower.contains(&format!("/{folder}"));
    if GUARDS.contains(&name) || GUARD_FOLDERS.iter().any(|folder| is_in(folder)) {
        return Some("it runs with credentials or decides what is checked");
    }
    None
}

fn is_licence(name: &str) -> bool {
    ["license-", "licence-", "license.", "licence."].iter().any(|beginning| name.starts_with(beginning))
        && !["rs", "py", "js", "ts", "go"].contains(&ending(name))
}

fn instructs(lower: &str, name: &str) -> bool {
    let in_folder = lower.split('/').rev().skip(1).any(|folder| INSTRUCTION_FOLDERS.contains(&folder));
    INSTRUCTIONS.contains(&name) || (in_folder && DOCS.contains(&ending(name)))
}

fn is_document(lower: &str, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let in_folder = lower.split('/').rev().skip(1).any(|folder| DOC_FOLDERS.contains(&folder));
    let is_folder =
        DOC_FOLDERS.contains(&name) || (in_folder && (lower.ends_with('/') || name.chars().all(|c| c == '*')));
    let is_text = ["", "txt"].contains(&ending(name));
    DOCS.contains(&ending(name))
        || (DOC_NAMES.contains(&stem) && is_text)
        || (in_folder && (PICTURES.contains(&ending(name)) || ending(name) == "txt"))
        || is_folder
}

/// Returns the extension of a name, or an empty text.
fn ending(name: &str) -> &str {
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, ending)| ending)
}
