//! Merges role files. The user's files replace or add; a project's files only restrict, and a request beyond the role
//! is an error.

use switchboard_protocol::role::{Rights, RoleLimits, WriteRights};

use super::bad::{BadRole, Reason};
use super::file::{FileValues, Read, Words};
use super::{Origin, Role, RoleFile};

/// Keys that only the user may set.
const FOR_USER: [&str; 6] = ["description", "model", "fallback_models", "temperature", "answers", "prompt"];

/// Default share of a limit in percent at which a worker is warned: 75, the `warn_threshold` of opencode-swarm.
const WARN_AT: u8 = 75;

/// Merges the files of one origin into the list.
pub(super) fn add(list: &mut Vec<Role>, bad: &mut Vec<BadRole>, files: &[RoleFile<'_>], origin: Origin) {
    let mut read = Vec::new();
    for file in files {
        match Read::of(*file) {
            Ok(one) => read.push(one),
            Err(one) => bad.push(one),
        }
    }
    for one in &read {
        match added(list, &read, one, origin) {
            Ok(role) => match list.iter_mut().find(|known| known.id == role.id) {
                Some(known) => *known = role,
                None => list.push(role),
            },
            Err(one) => bad.push(one),
        }
    }
}

fn added(list: &[Role], all: &[Read<'_>], one: &Read<'_>, origin: Origin) -> Result<Role, BadRole> {
    if let Some(other) = all.iter().find(|other| other.id == one.id && other.file != one.file) {
        return Err(one.refuse(Some("name"), Reason::Twice { other: other.file.to_owned() }));
    }
    let known = list.iter().find(|role| role.id == one.id);
    match (origin, known) {
        (Origin::Project, Some(role)) => narrowed(role, one),
        (Origin::Project, None) => Err(one.refuse(Some("name"), Reason::NotARole)),
        (Origin::Shipped | Origin::User, Some(role)) => match &one.said.answers {
            Some(answers) if *answers != role.answers => {
                let has: Vec<_> = role.answers.iter().map(|kind| kind.as_str()).collect();
                Err(one.refuse(Some("answers"), Reason::AnswersOfShipped(has.join(", "))))
            }
            Some(_) | None => Ok(replaced(role, &one.said, origin)),
        },
        (Origin::Shipped | Origin::User, None) => new(one, origin),
    }
}

/// Returns a role with the values of a user's file in place of its own.
fn replaced(role: &Role, said: &FileValues, origin: Origin) -> Role {
    let said = said.clone();
    let words = said.rights.unwrap_or(Words {
        read: role.rights.read,
        execute: role.rights.execute,
        delegate: role.rights.delegate,
    });
    let write = &role.rights.write;
    Role {
        id: role.id.clone(),
        description: said.description.unwrap_or_else(|| role.description.clone()),
        model: said.model.or_else(|| role.model.clone()),
        fallback_models: said.fallback_models.unwrap_or_else(|| role.fallback_models.clone()),
        temperature: said.temperature.or(role.temperature),
        is_disabled: said.disabled.unwrap_or(role.is_disabled),
        limits: RoleLimits {
            tool_calls: said.tool_calls.unwrap_or(role.limits.tool_calls),
            minutes: said.minutes.unwrap_or(role.limits.minutes),
            errors: said.errors.unwrap_or(role.limits.errors),
            warn_at: said.warn_at.unwrap_or(role.limits.warn_at),
        },
        rights: Rights {
            read: words.read,
            execute: words.execute,
            delegate: words.delegate,
            write: WriteRights {
                zones: said.write.unwrap_or_else(|| write.zones.clone()),
                only: said.write_only.unwrap_or_else(|| write.only.clone()),
                except: said.write_except.unwrap_or_else(|| write.except.clone()),
            },
        },
        answers: said.answers.unwrap_or_else(|| role.answers.clone()),
        prompt: match (said.appends, said.body.is_empty()) {
            (_, true) => role.prompt.clone(),
            (true, false) => format!("{}\n\n{}", role.prompt, said.body),
            (false, false) => said.body,
        },
        origin,
    }
}

/// Returns a new role. Keys that its file lacks grant no rights except to read, and set no limits.
fn new(one: &Read<'_>, origin: Origin) -> Result<Role, BadRole> {
    let missing = |key| one.refuse(None, Reason::Missing(key));
    if one.said.description.is_none() {
        return Err(missing("description"));
    }
    if one.said.answers.as_ref().is_none_or(Vec::is_empty) {
        return Err(missing("answers"));
    }
    if one.said.body.is_empty() {
        return Err(missing("text below its frontmatter"));
    }
    let empty = Role {
        id: one.id.clone(),
        description: String::new(),
        model: None,
        fallback_models: Vec::new(),
        temperature: None,
        is_disabled: false,
        limits: RoleLimits { warn_at: WARN_AT, ..RoleLimits::default() },
        rights: Rights { read: true, ..Rights::default() },
        answers: Vec::new(),
        prompt: String::new(),
        origin,
    };
    Ok(replaced(&empty, &FileValues { appends: false, ..one.said.clone() }, origin))
}

/// Returns a role restricted by a project's file. The file's text is added to the prompt.
fn narrowed(role: &Role, one: &Read<'_>) -> Result<Role, BadRole> {
    if let Some(key) = one.first_of(&FOR_USER) {
        return Err(one.refuse(Some(key), Reason::ForUser(key)));
    }
    let beyond = |key: &'static str, what: String| one.refuse(Some(key), Reason::Beyond { key, what });
    if one.said.disabled == Some(false) && role.is_disabled {
        return Err(beyond("disabled", "a role that the user has disabled".to_owned()));
    }
    let narrow = Narrow { role, said: &one.said };
    let limits = narrow.limits().map_err(|(key, what)| beyond(key, what))?;
    let rights = narrow.rights().map_err(|(key, what)| beyond(key, what))?;
    let mut role = Role { limits, rights, origin: Origin::Project, ..role.clone() };
    role.is_disabled |= one.said.disabled == Some(true);
    if !one.said.body.is_empty() {
        role.prompt = format!("{}\n\nIn this project:\n\n{}", role.prompt, one.said.body);
    }
    Ok(role)
}

/// A request beyond a role: the key, and the value.
type Beyond = (&'static str, String);

/// A role, and a project's file that restricts it.
struct Narrow<'a> {
    role: &'a Role,
    said: &'a FileValues,
}

// === impl Narrow ===

impl Narrow<'_> {
    fn limits(&self) -> Result<RoleLimits, Beyond> {
        let RoleLimits { tool_calls, minutes, errors, warn_at } = self.role.limits;
        let (said, of) = (self.said, limit);
        Ok(RoleLimits {
            tool_calls: of("tool_calls", tool_calls, said.tool_calls)?,
            minutes: of("minutes", minutes, said.minutes)?,
            errors: of("errors", errors, said.errors)?,
            warn_at: said.warn_at.unwrap_or(warn_at),
        })
    }

    fn rights(&self) -> Result<Rights, Beyond> {
        let own = &self.role.rights;
        let words = self.said.rights.unwrap_or(Words { read: own.read, execute: own.execute, delegate: own.delegate });
        let more = [
            (words.read, own.read, "read"),
            (words.execute, own.execute, "execute"),
            (words.delegate, own.delegate, "delegate"),
        ];
        if let Some((_, _, word)) = more.iter().find(|(wants, has, _)| *wants && !has) {
            return Err(("rights", format!("`{word}`")));
        }
        Ok(Rights { read: words.read, execute: words.execute, delegate: words.delegate, write: self.write()? })
    }

    fn write(&self) -> Result<WriteRights, Beyond> {
        let own = &self.role.rights.write;
        let zones = self.said.write.clone().unwrap_or_else(|| own.zones.clone());
        if let Some(zone) = zones.difference(&own.zones).next() {
            return Err(("write", format!("the zone `{zone}`")));
        }
        let only = self.said.write_only.clone().filter(|only| !only.is_empty()).unwrap_or_else(|| own.only.clone());
        let is_within = |glob: &String| own.only.is_empty() || own.only.iter().any(|of| lies_in(glob, of));
        if let Some(glob) = only.iter().find(|glob| !is_within(glob)) {
            return Err(("write_only", format!("`{glob}`")));
        }
        let mut except = own.except.clone();
        except.extend(self.said.write_except.iter().flatten().cloned());
        Ok(WriteRights { zones, only, except })
    }
}

/// Returns a limit that is at most the role's; 0 means no limit.
fn limit(key: &'static str, own: u32, said: Option<u32>) -> Result<u32, Beyond> {
    match said {
        None => Ok(own),
        Some(said) if own != 0 && (said == 0 || said > own) => {
            Err((key, if said == 0 { "no limit".to_owned() } else { format!("{said} in place of {own}") }))
        }
        Some(said) => Ok(said),
    }
}

/// Returns true if all files of a glob certainly lie in another one: it is the same, or below a folder that the other
/// one names.
fn lies_in(glob: &str, other: &str) -> bool {
    let folder = other.strip_suffix("/**").unwrap_or(other);
    let is_literal = !folder.contains(['*', '?', '[', '{']);
    glob == other
        || (is_literal && (glob == folder || glob.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))))
}
