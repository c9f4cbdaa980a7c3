//! SQLite's file layer with a hook in it: records every write, truncation, sync and opening of the recorded store on
//! the tape, and makes it fail if a fault is due. It is the default of the process, so the store runs unchanged.
#![expect(unsafe_code, reason = "a file layer of SQLite is a table of C functions")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::bail;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use super::tape::{self, Call, File, Op};

/// The original layer, which lives as long as the process.
struct Below(*mut sqlite3_vfs);

// SAFETY: SQLite's own layer is made for use by all threads, and the pointer is never written again.
unsafe impl Send for Below {}
// SAFETY: as above.
unsafe impl Sync for Below {}

static BELOW: OnceLock<Below> = OnceLock::new();

/// An open file as SQLite holds it: our header, followed by the file of the layer below.
#[repr(C)]
struct HookedFile {
    base: sqlite3_file,
    file: Option<File>,
    /// True if the next sync also syncs the folder, as SQLite's layer does for a log that it may have created.
    syncs_folder: bool,
}

/// Number of syncs of any file so far.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of syncs of any file since the layer was installed.
pub(super) fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    // 2: with shared memory, without memory maps, which would bypass this layer.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Makes the layer the default of this process, once.
///
/// # Errors
/// When SQLite refuses the layer.
pub(super) fn install() -> anyhow::Result<()> {
    if BELOW.get().is_some() {
        return Ok(());
    }
    // SAFETY: the library is initialised by the call; the copy is leaked, so it lives as long as SQLite keeps it.
    let code = unsafe {
        ffi::sqlite3_initialize();
        let below = ffi::sqlite3_vfs_find(ptr::null());
        if below.is_null() || BELOW.set(Below(below)).is_err() {
            bail!("SQLite has no file layer to listen to");
        }
        let head = c_int::try_from(size_of::<HookedFile>())?;
        let hooked = sqlite3_vfs {
            szOsFile: head + (*below).szOsFile,
            pNext: ptr::null_mut(),
            zName: c"torture".as_ptr(),
            xOpen: Some(open),
            xDelete: Some(delete),
            ..*below
        };
        ffi::sqlite3_vfs_register(Box::leak(Box::new(hooked)), 1)
    };
    if code != ffi::SQLITE_OK {
        bail!("SQLite refuses the file layer: {code}");
    }
    Ok(())
}

fn below() -> *mut sqlite3_vfs {
    BELOW.get().map_or(ptr::null_mut(), |below| below.0)
}

/// Returns the file of the layer below.
///
/// # Safety
/// `file` is one that [`open`] was given.
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite has made room for both, ours first.
    unsafe { file.cast::<HookedFile>().add(1).cast() }
}

/// # Safety
/// As [`inner`].
unsafe fn hooked_file(file: *mut sqlite3_file) -> Option<File> {
    // SAFETY: `open` has written it.
    unsafe { (*file.cast::<HookedFile>()).file }
}

/// # Safety
/// `name` is null or a C string.
unsafe fn file_of(name: *const c_char) -> Option<File> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    tape::which(Path::new(OsStr::from_bytes(name.to_bytes())))
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives a name or null, and room of `szOsFile` bytes.
    unsafe {
        let heard = file_of(name);
        let (base, syncs_folder) = (sqlite3_file { pMethods: ptr::null() }, heard == Some(File::Wal));
        ptr::write(file.cast::<HookedFile>(), HookedFile { base, file: heard, syncs_folder });
        if heard.is_some() && tape::is_to_fail(Call::Open).is_some() {
            return ffi::SQLITE_CANTOPEN;
        }
        let below = below();
        let Some(open) = (*below).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(below, name, inner(file), flags, out);
        if !(*inner(file)).pMethods.is_null() {
            (*file).pMethods = &raw const METHODS;
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite gives a name.
    unsafe {
        if let Some(file) = file_of(name) {
            tape::record(Op::Truncate { file, size: 0 });
            if sync != 0 {
                tape::record(Op::Sync(file));
            }
        }
        let below = below();
        (*below).xDelete.map_or(ffi::SQLITE_OK, |delete| delete(below, name, sync))
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, count: c_int, at: sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives a file that `open` was given, and `count` bytes.
    unsafe {
        if let Some(heard) = hooked_file(file) {
            match tape::is_to_fail(Call::Write) {
                Some(true) => return ffi::SQLITE_FULL,
                Some(false) => return ffi::SQLITE_IOERR_WRITE,
                None => {}
            }
            let data = std::slice::from_raw_parts(data.cast::<u8>(), usize::try_from(count).unwrap_or(0)).to_vec();
            tape::record(Op::Write { file: heard, offset: usize::try_from(at).unwrap_or(0), data });
        }
        let inner = inner(file);
        (*(*inner).pMethods).xWrite.map_or(ffi::SQLITE_IOERR, |write| write(inner, data, count, at))
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives a file that `open` was given.
    unsafe {
        if let Some(heard) = hooked_file(file) {
            if tape::is_to_fail(Call::Truncate).is_some() {
                return ffi::SQLITE_IOERR_TRUNCATE;
            }
            tape::record(Op::Truncate { file: heard, size: usize::try_from(size).unwrap_or(0) });
        }
        let inner = inner(file);
        (*(*inner).pMethods).xTruncate.map_or(ffi::SQLITE_IOERR, |truncate| truncate(inner, size))
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite gives a file that `open` was given.
    unsafe {
        let heard = hooked_file(file);
        if heard.is_some() && tape::is_to_fail(Call::Sync).is_some() {
            return ffi::SQLITE_IOERR_FSYNC;
        }
        let inner = inner(file);
        let code = (*(*inner).pMethods).xSync.map_or(ffi::SQLITE_IOERR, |sync| sync(inner, flags));
        SYNCS.fetch_add(1, Ordering::Relaxed);
        if let Some(heard) = heard.filter(|_| code == ffi::SQLITE_OK) {
            tape::record(Op::Sync(heard));
            // With the folder synced, an earlier deletion of a journal is durable.
            let hooked = &mut *file.cast::<HookedFile>();
            if std::mem::take(&mut hooked.syncs_folder) {
                tape::record(Op::Sync(File::Journal));
            }
        }
        code
    }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite gives a file that `open` was given.
    unsafe {
        let inner = inner(file);
        if let Some(barrier) = (*(*inner).pMethods).xShmBarrier {
            barrier(inner);
        }
    }
}

/// Defines a method that only forwards to the layer below.
macro_rules! hand_on {
    ($($name:ident = $method:ident($($argument:ident: $ty:ty),*);)*) => {
        $(unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $ty)*) -> c_int {
            // SAFETY: SQLite gives a file that `open` was given, and arguments for the layer below.
            unsafe {
                let inner = inner(file);
                (*(*inner).pMethods).$method.map_or(ffi::SQLITE_NOTFOUND, |method| method(inner $(, $argument)*))
            }
        })*
    };
}

hand_on! {
    close = xClose();
    read = xRead(data: *mut c_void, count: c_int, at: sqlite3_int64);
    file_size = xFileSize(size: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(out: *mut c_int);
    file_control = xFileControl(op: c_int, argument: *mut c_void);
    sector_size = xSectorSize();
    device_characteristics = xDeviceCharacteristics();
    shm_map = xShmMap(page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void);
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int);
    shm_unmap = xShmUnmap(delete: c_int);
}
