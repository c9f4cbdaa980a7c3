//! Data and markup formats, which are checked by a parser or a small reader instead of a grammar.

use std::borrow::Cow;

use switchboard_grammars::Language;

use crate::balance::{Quoting, unbalanced};
use crate::front_matter;
use crate::parsers::Parsers;
use crate::problem::Problem;
use crate::source::Source;

mod component;
mod dockerfile;
mod hcl;
mod html;
mod json;
mod markup;
mod sql;
pub(crate) mod template;
mod toml;
mod xml;
mod yaml;

/// A format, by the reader that checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Format {
    Json(json::Dialect),
    Yaml,
    Toml,
    Xml,
    Html,
    Scss,
    Vue,
    Svelte,
    Sql,
    Hcl,
    Dockerfile,
}

/// Result of reading a text.
pub(crate) struct Reading {
    pub(crate) problems: Vec<Problem>,
    /// True if the text has gaps for a template engine: a problem may vanish when they are filled.
    pub(crate) is_template: bool,
}

// === impl Format ===

impl Format {
    /// Returns the format of a file by its name; `None` for code and for formats without a reader.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with("Dockerfile") || name.starts_with("Containerfile") {
            // `Dockerfile.md` and the like describe a Dockerfile.
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            let is_other =
                matches!(ending, "md" | "txt" | "html" | "dockerignore" | "j2" | "erb" | "tmpl" | "tpl" | "in");
            return (!is_other).then_some(Self::Dockerfile);
        }
        if let Some(dialect) = json::Dialect::of(path) {
            return Some(Self::Json(dialect));
        }
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            "xml" | "svg" | "xsd" | "xsl" | "xslt" | "wsdl" | "csproj" | "fsproj" | "vbproj" | "props" | "targets"
            | "resx" | "plist" | "xaml" | "nuspec" | "pom" | "storyboard" | "xib" | "xlf" | "xliff" | "rss"
            | "atom" => Self::Xml,
            "html" | "htm" => Self::Html,
            "scss" => Self::Scss,
            "vue" => Self::Vue,
            "svelte" => Self::Svelte,
            "sql" => Self::Sql,
            "tf" | "tfvars" | "hcl" => Self::Hcl,
            "dockerfile" => Self::Dockerfile,
            _ => match name {
                "Cargo.lock" | "poetry.lock" | "uv.lock" | "Pipfile" => Self::Toml,
                _ => return None,
            },
        })
    }

    /// Returns the name that the format's rules begin with.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Yaml => "yaml",
            Self::Toml => "toml",
            Self::Xml => "xml",
            Self::Html => "html",
            Self::Scss => "scss",
            Self::Vue => "vue",
            Self::Svelte => "svelte",
            Self::Sql => "sql",
            Self::Hcl => "hcl",
            Self::Dockerfile => "dockerfile",
        }
    }

    /// Returns the name as people write it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Json(_) => "JSON",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Xml => "XML",
            Self::Html => "HTML",
            Self::Scss => "SCSS",
            Self::Vue => "Vue",
            Self::Svelte => "Svelte",
            Self::Sql => "SQL",
            Self::Hcl => "HCL",
            Self::Dockerfile => "a Dockerfile",
        }
    }

    /// Reads a text. If that fails and the text has gaps for a template engine, reads it again with the gaps filled.
    pub(crate) fn read(self, path: &str, text: &[u8], parsers: &mut Parsers) -> Reading {
        // In YAML, lines of `---` belong to the format.
        let whole = if self == Self::Yaml { Cow::Borrowed(text) } else { front_matter::without(text) };
        let text = &*whole;
        let problems = self.problems(path, text, parsers);
        let is_component = matches!(self, Self::Vue | Self::Svelte);
        let has_gaps = if is_component { template::has_gaps_beside_markup } else { template::has_gaps };
        if problems.is_empty() || !has_gaps(text) {
            return Reading { problems, is_template: false };
        }
        let problems = self.problems(path, &template::filled(text), parsers);
        Reading { problems, is_template: true }
    }

    fn problems(self, path: &str, text: &[u8], parsers: &mut Parsers) -> Vec<Problem> {
        let Ok(plain) = std::str::from_utf8(text) else { return Vec::new() };
        let one = |problem: Option<Problem>| problem.into_iter().collect();
        match self {
            Self::Json(dialect) => one(json::problem(path, plain, dialect)),
            Self::Yaml => one(yaml::problem(path, plain)),
            Self::Toml => one(toml::problem(plain)),
            // Property lists have a format of their own that is older than XML.
            Self::Xml
                if path.ends_with(".plist") && !plain.trim_start_matches('\u{feff}').trim_start().starts_with('<') =>
            {
                Vec::new()
            }
            Self::Xml => one(xml::problem(plain)),
            Self::Html => one(html::problem(plain)),
            Self::Scss => one(unbalanced(text, Quoting::Scss)),
            Self::Vue => component::problems(text, component::Kind::Vue, parsers),
            Self::Svelte => component::problems(text, component::Kind::Svelte, parsers),
            Self::Sql => one(sql::problem(text)),
            Self::Hcl => one(hcl::problem(plain)),
            Self::Dockerfile => one(dockerfile::problem(plain)),
        }
    }
}

/// Language or format that a file is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Code(Language),
    Data(Format),
}

// === impl Subject ===

impl Subject {
    pub(crate) fn of(source: &Source) -> Option<Self> {
        match crate::parsers::language_of(source) {
            Some(language) => Some(Self::Code(language)),
            None => Format::of(&source.path).map(Self::Data),
        }
    }
}

/// Returns the language or format of a file name, in lower case; `None` if there is no reader for it.
#[must_use]
pub fn kind_of(path: &str) -> Option<&'static str> {
    Language::of(path, b"").map(Language::as_str).or_else(|| Format::of(path).map(Format::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_list_of_the_old_form_is_not_read_as_xml() {
        let mut parsers = Parsers::new(std::time::Duration::from_secs(3));
        let mut is_right =
            |text: &str| Format::Xml.read("Info.plist", text.as_bytes(), &mut parsers).problems.is_empty();

        assert!(is_right("{\n  Name = \"<a\";\n}\n"));
        assert!(!is_right("<plist>\n"));
    }

    #[test]
    fn the_format_comes_from_the_name() {
        for (path, kind) in [
            ("package.json", Some("json")),
            (".github/workflows/ci.yml", Some("yaml")),
            ("docker/Dockerfile.prod", Some("dockerfile")),
            ("app.dockerfile", Some("dockerfile")),
            ("Cargo.lock", Some("toml")),
            ("main.tf", Some("hcl")),
            ("a.rs", Some("rust")),
            ("Dockerfile.md", None),
            ("notes.txt", None),
        ] {
            assert_eq!(kind_of(path), kind, "{path}");
        }
    }
}
