//! The root's bearer token: a 0600 file, unchanged until it is rotated. Workers have their own tokens.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use switchboard_bus::auth::Keys;
use switchboard_protocol::error::Failure;

use crate::error::io;
use crate::{Error, RootPaths, project};

/// Returns the path of the token's file in the user's state folder. The one in the work tree is a copy for clients: whatever a repository brings
/// there is replaced, never trusted.
fn path(place: &RootPaths) -> PathBuf {
    place.state.join("auth_token")
}

/// Returns the path of the copy that clients read.
fn copy(place: &RootPaths) -> PathBuf {
    place.project.join("auth_token")
}

/// Reads the token; `None` if there is none.
///
/// # Errors
/// When the file exists but can't be read.
pub(crate) fn read(place: &RootPaths) -> Result<Option<String>, Error> {
    let path = path(place);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(&path)(error)),
    }
}

/// Ensures that a token exists and that its copy lies in the work tree, as a regular file of ours. Returns true if the copy was there.
pub(crate) fn ensure(place: &RootPaths) -> Result<bool, Error> {
    let Some(token) = read(place)? else { return rotate(place).map(|_| false) };
    let copy = copy(place);
    let is_plain = fs::symlink_metadata(&copy)
        .is_ok_and(|data| data.is_file() && data.nlink() == 1 && data.uid() == rustix::process::geteuid().as_raw());
    if is_plain && fs::read_to_string(&copy).is_ok_and(|text| text.trim() == token) {
        return Ok(true);
    }
    write(&copy, &token)?;
    Ok(false)
}

/// Makes a fresh token; the old one is invalid as soon as the daemon reads the file again.
///
/// # Errors
/// When a file can't be written.
pub fn rotate(place: &RootPaths) -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    let token = switchboard_protocol::id::Digest(bytes).hex();
    write(&path(place), &token)?;
    project::prepare(&place.project)?;
    write(&copy(place), &token)?;
    Ok(token)
}

fn write(path: &Path, token: &str) -> Result<(), Error> {
    project::write_private(path, format!("{token}\n").as_bytes())
}

/// Returns the file of the keys that sign message files.
pub(crate) fn dispatch_keys(place: &RootPaths) -> PathBuf {
    place.keys().join("dispatch.json")
}

/// Makes a fresh key for signing message files; `revoke` invalidates the old ones at once, otherwise they stay valid for what
/// they signed before now. Returns the id of the fresh key.
///
/// # Errors
/// When the file can't be read or written.
pub fn rotate_key(place: &RootPaths, revoke: bool) -> Result<String, Error> {
    let path = dispatch_keys(place);
    let mut keys = Keys::load(&path)?.rotated(&path, switchboard_process::clock::now())?;
    if revoke {
        keys = keys.without_old(&path)?;
    }
    Ok(keys.current().map(|key| key.id.clone()).unwrap_or_default())
}

/// Signs a message file's text: adds an `auth` envelope, and the time and an id if it has none.
///
/// # Errors
/// `file.malformed` when it is no JSON object; a missing key.
pub fn sign_message(place: &RootPaths, text: &[u8]) -> Result<String, Error> {
    let malformed = |why: String| Failure::new("file.malformed", why);
    let mut fields: switchboard_bus::auth::Fields =
        serde_json::from_slice(text).map_err(|error| malformed(format!("the message is no JSON object: {error}")))?;
    let now = switchboard_process::clock::now();
    let nonce = nonce();
    fields.entry("id").or_insert_with(|| format!("msg_{}_{}", now.0, &nonce[..8]).into());
    fields.insert("createdAt".to_owned(), now.to_string().into());
    fields.remove("auth");
    let keys = Keys::ensure(&dispatch_keys(place), now)?;
    let key = keys.current().ok_or_else(|| Failure::new("internal.bug", "there is no key although one was made"))?;
    let envelope = switchboard_bus::auth::sign(&fields, key, &nonce)?;
    let auth = serde_json::to_value(envelope).map_err(|error| malformed(error.to_string()))?;
    fields.insert("auth".to_owned(), auth);
    let text = serde_json::to_string_pretty(&fields).map_err(|error| malformed(error.to_string()))?;
    Ok(text + "\n")
}

/// Returns a random UUID.
pub(crate) fn nonce() -> String {
    uuid::Uuid::new_v4().to_string()
}
