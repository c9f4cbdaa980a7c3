//! The environment: settings are read only here, and children get only listed variables.

use std::collections::BTreeMap;

/// Names that every child may inherit: paths, user, language and terminal. No secrets.
const PLAIN: &[&str] = &[
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_COLOR",
    "PATH",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Names by which compilers and interpreters find their installation; a build in a work tree fails without them.
const TOOLCHAINS: &[&str] = &[
    "CARGO_HOME",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV",
];

/// Variables of a proxy, in both spellings: programs differ in which one they read. They may hold a password, so only what
/// needs the network inherits them: known agents, and the set-up of a work tree.
pub const PROXIES: &[&str] =
    &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy"];

/// Prefixes of further names that every child may inherit.
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Reads a setting. An empty value, or one that is not UTF-8, counts as not set.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the environment's one home")]
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The complete environment of a child: it gets no other variables.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Env(BTreeMap<String, String>);

// === impl Env ===

impl Env {
    /// Returns an empty environment.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the part of our own environment that any child may see: paths, identity, language, terminal, `XDG_*`. No token, no key,
    /// no proxy (its address may hold a password).
    #[must_use]
    pub fn plain() -> Self {
        Self::chosen_from(std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))))
    }

    fn chosen_from(all: impl Iterator<Item = (String, String)>) -> Self {
        let may = |name: &str| {
            PLAIN.contains(&name) || TOOLCHAINS.contains(&name) || PREFIXES.iter().any(|p| name.starts_with(p))
        };
        Self(all.filter(|(name, _)| may(name)).collect())
    }

    /// Adds variables of our own environment by name, if they are set: an agent's API key, a proxy.
    #[must_use]
    pub fn inherit<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            if let Some(value) = var(name) {
                self.0.insert(name.to_owned(), value);
            }
        }
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// Removes one variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// Returns the value of a variable, as the child will see it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns all variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns all variables as pairs, the form of a worker's spec.
    #[must_use]
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.0.into_iter().collect()
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl std::fmt::Debug for Env {
    /// Prints only names: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(names: &[&str]) -> impl Iterator<Item = (String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "value".to_owned())).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn children_see_places_and_language_but_no_key_token_or_proxy() {
        let env = Env::chosen_from(pairs(&[
            "PATH",
            "HOME",
            "LC_ALL",
            "XDG_STATE_HOME",
            "CARGO_HOME",
            "NODE_EXTRA_CA_CERTS",
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "HTTPS_PROXY",
            "SSH_AUTH_SOCK",
            "GIT_DIR",
            "LD_PRELOAD",
        ]));

        let names: Vec<_> = env.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["CARGO_HOME", "HOME", "LC_ALL", "NODE_EXTRA_CA_CERTS", "PATH", "XDG_STATE_HOME"]);
    }

    #[test]
    fn a_named_variable_is_inherited_and_an_unset_one_is_not_invented() {
        let env = Env::empty().inherit(["PATH", "SWITCHBOARD_TEST_THAT_NOBODY_SETS"]);

        assert_eq!(env.get("PATH"), var("PATH").as_deref());
        assert_eq!(env.iter().count(), 1);
    }

    #[test]
    fn values_never_show_in_debug_output() {
        let shown = format!("{:?}", Env::empty().set("KEY", "hunter2"));

        assert!(shown.contains("KEY") && !shown.contains("hunter2"), "{shown}");
    }
}
