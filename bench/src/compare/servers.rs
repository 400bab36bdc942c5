//! The servers that are compared, as processes.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use apogee_remoting::Serialization;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Whose server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Kind {
    /// The reference, 5.5.0.
    Reference,
    /// This project's.
    Ours,
    /// Our transport with no broker behind it: the ceiling for what is asked.
    Echo,
    /// Nothing but the system calls that the work needs at least: the ceiling for what is stored.
    Bare,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reference => "reference",
            Self::Ours => "ours",
            Self::Echo => "echo",
            Self::Bare => "bare",
        })
    }
}

/// Where programs are and stores go.
#[derive(Clone)]
pub struct Site {
    bin: PathBuf,
    reference: PathBuf,
    work_dir: PathBuf,
}

impl Site {
    /// Checks that there is room for the stores.
    pub fn new(bin: Option<PathBuf>, reference: PathBuf, work_dir: Option<PathBuf>) -> Result<Self> {
        let this = std::env::current_exe()?;
        let bin = bin.unwrap_or_else(|| this.with_file_name(""));
        let work_dir = work_dir.unwrap_or_else(std::env::temp_dir);
        let space = rustix::fs::statvfs(&work_dir)?;
        let free = space.f_bavail * space.f_frsize;
        ensure!(free > LEAST_FREE, "{} has less than 14 GB free", work_dir.display());
        Ok(Self { bin, reference, work_dir })
    }

    /// Where stores go.
    pub fn work_dir(&self) -> &Path {
        &self.work_dir
    }
}

/// A started server with its store; dropping it ends it and removes the store.
pub struct Running {
    name_server: Option<Process>,
    /// The one that is measured.
    server: Option<Process>,
    again: Box<dyn Fn() -> Command>,
    address: String,
    /// Where slaves connect.
    ha_address: String,
    home: TempDir,
}

impl Running {
    /// Starts a server and waits until it serves. A broker gets a name server, and `settings` in its configuration.
    pub fn start(site: &Site, kind: Kind, serialization: Serialization, settings: &str) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("apogee-compare-").tempdir_in(&site.work_dir)?;
        let name = if serialization == Serialization::Json { "JSON" } else { "ROCKETMQ" };
        if kind == Kind::Echo {
            let this = std::env::current_exe()?;
            let again = Box::new(move || {
                let mut echo = Command::new(&this);
                echo.args(["echo", "--serialization", name]);
                echo
            });
            let (server, line) = Process::start(again(), "echo listens on ")?;
            let address = line.rsplit(' ').next().unwrap_or_default().to_owned();
            return Ok(Self {
                name_server: None,
                server: Some(server),
                again,
                address,
                ha_address: String::new(),
                home,
            });
        }
        ensure!(kind != Kind::Bare, "bare system calls are no server");
        let (port, ha_port) = (free_port()?, free_port()?);
        let files = Files::write(home.path(), [free_port()?, port, ha_port], settings)?;
        let (site, at) = (site.clone(), home.path().to_owned());
        let command = move |role: &str, conf: &Path| {
            let mut command = if kind == Kind::Ours {
                Command::new(site.bin.join(format!("mq{role}")))
            } else {
                let mut script = Command::new(&site.reference);
                let heap = if role == "broker" { BROKER_JAVA } else { NAME_SERVER_JAVA };
                script.args(["5.5.0", role]).env("REFERENCE_JAVA_OPTS", heap);
                script
            };
            command.arg("-c").arg(conf).env("ROCKETMQ_HOME", &at).env("ROCKETMQ_SERIALIZE_TYPE", name);
            command.env("HOME", &at).env("XDG_CACHE_HOME", cache_home()).env_remove("NAMESRV_ADDR");
            command
        };
        let (name_server, _) = Process::start(command("namesrv", &files.name_server), "boot success")?;
        let again = Box::new(move || command("broker", &files.broker));
        let (broker, _) = Process::start(again(), "boot success")?;
        let (address, ha_address) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{ha_port}"));
        Ok(Self { name_server: Some(name_server), server: Some(broker), again, address, ha_address, home })
    }

    /// Where it serves, host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where slaves connect, host:port.
    pub fn ha_address(&self) -> &str {
        &self.ha_address
    }

    /// Sends the measured process a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(self.pid() as i32).context("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// The process to measure.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().map_or(0, |process| process.0.id())
    }

    /// Ends the broker as an operator would, and keeps its store.
    pub fn end_broker(&mut self) -> Result<()> {
        self.server.take().map_or(Ok(()), Process::stop)
    }

    /// Kills the broker in the middle of whatever it does, and keeps its store.
    pub fn kill_broker(&mut self) {
        self.server = None;
    }

    /// Starts a process for the broker and does not wait for it.
    pub fn begin_broker(&mut self) -> Result<()> {
        self.server = Some(Process::spawn((self.again)())?.0);
        Ok(())
    }

    /// Removes all that the broker, which has been ended, wrote.
    pub fn remove_store(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.home.path().join("store"))?)
    }

    /// Ends it as an operator would.
    pub fn stop(mut self) -> Result<()> {
        self.end_broker()?;
        self.name_server.take().map_or(Ok(()), Process::stop)
    }
}

/// The configuration files of a pair of servers, with the reference's keys.
struct Files {
    name_server: PathBuf,
    broker: PathBuf,
}

impl Files {
    fn write(home: &Path, [name_server_port, port, ha_port]: [u16; 3], settings: &str) -> Result<Self> {
        let (name_server, broker) = (home.join("namesrv.conf"), home.join("broker.conf"));
        let at = home.display();
        fs::write(
            &name_server,
            format!(
                "listenPort={name_server_port}\nbindAddress=127.0.0.1\nkvConfigPath={at}/kvConfig.json\n\
                 configStorePath={at}/namesrv.properties\n"
            ),
        )?;
        fs::write(
            &broker,
            format!(
                "brokerClusterName=bench\nbrokerName=bench\nbrokerId=0\nbrokerRole=ASYNC_MASTER\n\
                 flushDiskType=ASYNC_FLUSH\nnamesrvAddr=127.0.0.1:{name_server_port}\nbrokerIP1=127.0.0.1\n\
                 bindAddress=127.0.0.1\nlistenPort={port}\nhaListenPort={ha_port}\nstorePathRootDir={at}/store\n\
                 storePathCommitLog={at}/store/commitlog\n{settings}"
            ),
        )?;
        Ok(Self { name_server, broker })
    }
}

/// A child process; dropping it kills it.
struct Process(Child);

impl Process {
    /// Starts it.
    fn spawn(mut command: Command) -> Result<(Self, Receiver<String>)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let lines = lines_of(&mut child)?;
        Ok((Self(child), lines))
    }

    /// Starts it and waits for a line of its output that contains `ready`.
    fn start(command: Command, ready: &str) -> Result<(Self, String)> {
        let what = format!("{command:?}");
        let (process, lines) = Self::spawn(command)?;
        let deadline = Instant::now() + START;
        let mut said = String::new();
        while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if line.contains(ready) {
                return Ok((process, line));
            }
            said.push_str(&line);
            said.push('\n');
        }
        bail!("not ready after {START:?}, or ended: {what}\n{said}")
    }

    fn stop(mut self) -> Result<()> {
        if let Some(pid) = Pid::from_raw(self.0.id() as i32) {
            kill_process(pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + END;
        while self.0.try_wait()?.is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // Whatever went wrong, nothing of it is to stay.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// The lines of its output, read on a thread so that the process never blocks on them.
fn lines_of(child: &mut Child) -> Result<Receiver<String>> {
    let output = BufReader::new(child.stdout.take().context("no output")?);
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    Ok(receiver)
}

/// A free port whose next but one below, which a broker takes as well, is free, too.
fn free_port() -> Result<u16> {
    for _ in 0..100 {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        if TcpListener::bind(("127.0.0.1", port - 2)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free pair of ports")
}

/// Where the reference's jars are: the servers get another home.
fn cache_home() -> PathBuf {
    let of_home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(of_home, PathBuf::from)
}

const BROKER_JAVA: &str = "-Xms2g -Xmx2g -XX:+UseG1GC";
const NAME_SERVER_JAVA: &str = "-Xms256m -Xmx256m";
const LEAST_FREE: u64 = 14_000_000_000;
const START: Duration = Duration::from_mins(1);
const END: Duration = Duration::from_secs(30);
