//! Landlock: rules about files, signals and abstract sockets, made before the fork and applied after it.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use super::namespaces::Namespaces;
use super::{Network, Sandbox, Support};
use crate::env::Env;
use crate::spawn::{Exit, Spawn};
use crate::{Error, Result};

/// Version that the rules are written for and tested with; what an older kernel lacks of it is a gap of [`Support::gaps`].
const TESTED: ABI = ABI::V7;

/// Prepared rules, not applied yet.
#[derive(Debug)]
pub(crate) struct Ruleset {
    /// `None` if the kernel has no Landlock and the caller accepts that.
    landlock: Option<OwnedFd>,
    namespaces: Option<Namespaces>,
}

// === impl Ruleset ===

impl Ruleset {
    pub(super) fn new(sandbox: &Sandbox, cwd: Option<&Path>) -> Result<Self> {
        let wants_own = sandbox.network == Network::Own && super::supported().no_namespaces.is_none();
        Ok(Self {
            landlock: rules(sandbox)?,
            namespaces: wants_own.then(|| Namespaces::new(sandbox, cwd)).transpose()?,
        })
    }

    /// Applies the rules to the calling process. Makes system calls only: it runs between fork and exec.
    pub(crate) fn enforce(&self) -> std::io::Result<()> {
        // Name spaces come first, because they can't be made in a sandbox.
        if let Some(namespaces) = &self.namespaces {
            namespaces.enter()?;
        }
        rustix::thread::set_no_new_privs(true)?;
        let Some(rules) = &self.landlock else { return Ok(()) };
        #[expect(unsafe_code, reason = "the crate's own call allocates when it fails, which a forked child must not")]
        // SAFETY: a system call with a descriptor that is open and a flag word.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

fn rules(sandbox: &Sandbox) -> Result<Option<OwnedFd>> {
    let level = if sandbox.allow_unenforced { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
    let made = landlock::Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(TESTED))
        .and_then(|rules| rules.scope(Scope::from_all(TESTED)))
        .and_then(landlock::Ruleset::create);
    let mut rules = made.map_err(failed(Path::new("/")))?.set_compatibility(CompatLevel::BestEffort);
    let (read, device) = (AccessFs::from_read(TESTED), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev);
    let write = AccessFs::from_all(TESTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    for (paths, access) in [(&sandbox.read, read), (&sandbox.write, write), (&sandbox.devices, device)] {
        for path in paths {
            rules = allow(rules, path, access)?;
        }
    }
    Ok(rules.into())
}

/// Allows access at a path and below it; for a file only the rights that apply to files.
fn allow(rules: RulesetCreated, path: &PathBuf, access: BitFlags<AccessFs>) -> Result<RulesetCreated> {
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(TESTED) };
    let opened = PathFd::new(path).map_err(|error| Error::Sandbox { path: path.clone(), why: error.to_string() })?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(landlock::RulesetError) -> Error {
    let path = path.to_owned();
    move |error| Error::Sandbox { path, why: error.to_string() }
}

pub(super) fn support() -> Support {
    Support { landlock: version(), no_namespaces: no_namespaces() }
}

/// Returns the kernel's version of Landlock; 0 if there is none, or if it is disabled.
fn version() -> u32 {
    const ASK_VERSION: libc::c_uint = 1;
    #[expect(unsafe_code, reason = "the crate keeps the kernel's version to itself")]
    // SAFETY: with this flag, the call reads no memory.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, ASK_VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Returns why no name spaces can be made, by trying to make some.
fn no_namespaces() -> Option<String> {
    let namespaces = match Namespaces::new(&Sandbox::default(), None) {
        Ok(namespaces) => namespaces,
        Err(error) => return Some(error.to_string()),
    };
    let only_namespaces = Ruleset { landlock: None, namespaces: Some(namespaces) };
    match Spawn::new(["/bin/sh", "-c", ":"]).env_only(Env::empty()).held_to(only_namespaces).output() {
        Ok(output) if output.exit == Exit::Exited(0) => None,
        Ok(output) => Some(format!("{:?}", output.exit)),
        Err(error) => Some(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)),
    }
}
