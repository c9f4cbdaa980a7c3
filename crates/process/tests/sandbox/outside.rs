//! Access beyond the file system: the network, sockets, signals, and other processes.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use rustix::io::Errno;
use switchboard_process::env::Env;
use switchboard_process::spawn::{Signal, Spawn};

use super::fixture::{Fixture, text, tries};

#[test]
fn nothing_of_the_machines_network_is_reached() {
    let fixture = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let to = receiver.local_addr().unwrap().to_string();

    assert_eq!(tries(None, &["connect-tcp", &port]), Ok(()));
    assert_eq!(fixture.tries(&["connect-tcp", &port]), Err(Errno::CONNREFUSED));
    assert_eq!(fixture.tries(&["send-udp", "192.0.2.1:53"]), Err(Errno::NETUNREACH));
    let _ = fixture.tries(&["send-udp", &to]);
    assert!(receiver.recv(&mut [0; 8]).is_err(), "its loopback is another one");
}

#[test]
fn its_own_loopback_works_so_that_tests_with_servers_do() {
    let fixture = Fixture::new();
    let script = "exec 3<>/dev/udp/127.0.0.1/9 && echo up";
    let Some(bash) = switchboard_process::spawn::which("bash") else { return };

    let spawn = Spawn::new([text(&bash), "-c".into(), script.into()]).env_only(Env::empty());
    let output = spawn.sandbox(fixture.sandbox.clone()).output().unwrap();

    assert_eq!(output.stdout.text(), "up\n", "{}", output.stderr.text());
}

#[test]
fn a_listed_socket_is_reached_and_one_that_others_left_in_tmp_or_an_abstract_one_is_not() {
    let mut fixture = Fixture::in_tmp();
    let (listed, left) = (fixture.state("daemon.sock"), fixture.state("terminal.sock"));
    let _listeners = [&listed, &left].map(|path| UnixListener::bind(path).unwrap());
    let name = format!("switchboard-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    fixture.sandbox.sockets.push(listed.clone());

    assert_eq!(fixture.tries(&["connect-unix", &text(&listed)]), Ok(()));
    assert_eq!(tries(None, &["connect-unix", &text(&left)]), Ok(()));
    assert_eq!(fixture.tries(&["connect-unix", &text(&left)]), Err(Errno::NOENT));
    assert_eq!(tries(None, &["connect-abstract", &name]), Ok(()));
    assert_eq!(fixture.tries(&["connect-abstract", &name]), Err(Errno::CONNREFUSED));
    let on_the_machines = Fixture::new().on_the_machines_network();
    assert_eq!(on_the_machines.tries(&["connect-abstract", &name]), Err(Errno::PERM), "Landlock alone");
}

#[test]
fn other_processes_are_neither_signalled_nor_looked_into() {
    let fixture = Fixture::new();
    let other = Spawn::new(["sleep", "60"]).env_only(Env::plain()).detached(None).unwrap();
    let pid = other.pid.to_string();
    let environ = format!("/proc/{pid}/environ");

    assert_eq!(tries(None, &["read", &environ]), Ok(()));
    assert_eq!(fixture.tries(&["read", &environ]), Err(Errno::ACCESS));
    assert_eq!(fixture.tries(&["kill", &pid]), Err(Errno::PERM));
    let by_root = format!("/proc/{pid}/root{}", text(&fixture.state("store.db")));
    assert_eq!(fixture.tries(&["read", &by_root]), Err(Errno::ACCESS));
    switchboard_process::fingerprint::Fingerprint::of(other.pid).unwrap().signal(Signal::KILL);
}
