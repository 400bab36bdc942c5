//! `mqnamesrv` as a process: its command line, its ready line, why it does not start, and how it ends.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How soon a name server has ended after a signal.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// A folder with a configuration file, and a free port.
struct Site {
    folder: TempDir,
    port: u16,
}

impl Site {
    /// Each gets another port, and none that the system hands out to whoever asks for any.
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = std::process::id().wrapping_mul(64).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            let port = 12_000 + (number % 20_000) as u16;
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return Self { folder: tempfile::tempdir().unwrap(), port };
            }
        }
    }

    /// Writes the configuration with `lines` in front and gives its path.
    fn config(&self, lines: &str) -> PathBuf {
        let file = self.folder.path().join("namesrv.conf");
        fs::write(&file, format!("{lines}\nlistenPort={}\nbindAddress=127.0.0.1\n", self.port)).unwrap();
        file
    }

    fn command(&self, lines: &str) -> Command {
        let file = self.config(lines);
        let mut command = Command::new(env!("CARGO_BIN_EXE_mqnamesrv"));
        command.env_clear().env("HOME", self.folder.path()).stdin(Stdio::null()).arg("-c").arg(file);
        command
    }
}

/// The one line that a program which did not start has printed.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let mut errors = text.lines().filter(|line| line.starts_with("mqnamesrv: "));
    let error = errors.next().unwrap_or_else(|| panic!("{text}")).to_owned();
    assert_eq!(errors.next(), None);
    error
}

#[test]
fn says_when_it_is_ready_and_ends_at_either_signal() {
    let site = Site::new();
    for signal in [Signal::TERM, Signal::INT] {
        let ends = || {
            let mut child = site.command("").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut lines = [String::new(), String::new()];
            for line in &mut lines {
                stdout.read_line(line).unwrap();
            }
            let address = format!("127.0.0.1:{}", site.port);
            assert!(lines[0].starts_with("load config properties file OK, "), "{lines:?}");
            assert_eq!(lines[1], format!("The Name Server boot success. serializeType=JSON, address {address}\n"));
            // Not even a connected client keeps it.
            let _client = TcpStream::connect(address).unwrap();

            let sent = Instant::now();
            kill_process(Pid::from_child(&child), signal).unwrap();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                if sent.elapsed() > Duration::from_secs(30) {
                    child.kill().unwrap();
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            assert!(status.success(), "{signal:?}: {status}");
            sent.elapsed()
        };
        // Once is enough, for the machine may be busy for a while.
        assert!((0..5).any(|_| ends() < SHUTDOWN), "{signal:?}: too late");
    }
}

#[test]
fn prints_its_configuration_and_its_help() {
    let site = Site::new();
    let stdout = |option: &str| {
        let output = site.command("").env("ROCKETMQ_HOME", "/opt/mq").arg(option).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = stdout("-p");
    for line in [format!("listenPort={}", site.port), "rocketmqHome=/opt/mq".into(), "clusterTest=false".into()] {
        assert!(all.lines().any(|printed| printed == line), "{line}: {all}");
    }
    assert_eq!(stdout("-m").trim(), "", "the reference counts none of a name server's keys as important");
    let help = stdout("-h");
    assert!(help.contains("--configFile") && help.contains("--namesrvAddr"), "{help}");
}

#[test]
fn a_bad_configuration_is_named() {
    let site = Site::new();
    let file = site.config("").display().to_string();
    let line = refusal(&site.command("scanNotActiveBrokerInterval=often").output().unwrap());
    assert!(line.starts_with(&format!("mqnamesrv: {file}: line 1: scanNotActiveBrokerInterval=often: ")), "{line}");

    let mut command = site.command("");
    fs::remove_file(&file).unwrap();
    let line = refusal(&command.output().unwrap());
    assert!(line.contains(&file), "{line}");
}

#[test]
fn a_port_in_use_is_named() {
    let site = Site::new();
    let _taken = TcpListener::bind(("127.0.0.1", site.port)).unwrap();
    let line = refusal(&site.command("").output().unwrap());
    assert!(line.contains(&format!("127.0.0.1:{}", site.port)), "{line}");
}

#[test]
fn a_damaged_state_file_is_named_and_left_alone() {
    let site = Site::new();
    let file = site.folder.path().join("kvConfig.json");
    fs::write(&file, "{\"configTable\":{").unwrap();
    let line = refusal(&site.command(&format!("kvConfigPath={}", file.display())).output().unwrap());
    assert!(line.contains(&file.display().to_string()), "{line}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"configTable\":{");
}
