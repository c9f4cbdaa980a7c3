//! The child: this test's own program again, which tries one thing and prints the errno.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// Variable with the attempt to make, one word per line.
pub(super) const TRY: &str = "SANDBOX_TRY";

/// Prefix of the line with the result.
pub(super) const TRIED: &str = "tried:";

#[test]
fn try_what_the_environment_says() {
    let Some(what) = switchboard_process::env::var(TRY) else { return };

    let errno = match tried(&what.lines().collect::<Vec<_>>()) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(-1),
    };

    println!("\n{TRIED} {errno}");
}

fn tried(what: &[&str]) -> io::Result<()> {
    match what {
        ["read", path] => fs::read(path).map(drop),
        ["list", path] => fs::read_dir(path).map(drop),
        ["write", path] => OpenOptions::new().write(true).open(path).map(drop),
        ["create", path] => File::create(path).map(drop),
        ["truncate", path] => OpenOptions::new().write(true).truncate(true).open(path).map(drop),
        ["unlink", path] => fs::remove_file(path),
        ["rename", from, to] => fs::rename(from, to),
        ["link", from, to] => fs::hard_link(from, to),
        ["read-by-symlink", from, to] => std::os::unix::fs::symlink(from, to).and_then(|()| fs::read(to)).map(drop),
        ["chmod", path] => fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)),
        ["run", program] => run(program),
        ["connect-tcp", port] => TcpStream::connect(("127.0.0.1", port.parse().unwrap())).map(drop),
        ["send-udp", to] => UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", to).map(drop),
        ["connect-unix", path] => UnixStream::connect(path).map(drop),
        ["connect-abstract", name] => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?).map(drop),
        ["kill", pid] => Ok(kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::TERM)?),
        ["type-into", terminal] => OpenOptions::new().write(true).open(terminal)?.write_all(b"x"),
        ["mount-over", from, to] => mount(Path::new(from), Path::new(to)),
        _ => panic!("nobody knows how to try {what:?}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "a bare child of the sandboxed one, as an agent would start it")]
fn run(program: &str) -> io::Result<()> {
    std::process::Command::new(program).arg("--version").output().map(drop)
}

/// Mounts as an agent would: in new name spaces, where it may mount.
fn mount(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::thread::UnshareFlags;
    #[expect(unsafe_code, reason = "there is no other call")]
    // SAFETY: no descriptor table is unshared.
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)?;
    }
    Ok(rustix::mount::mount_bind(from, to)?)
}
