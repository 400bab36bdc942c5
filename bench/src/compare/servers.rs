//! The servers that are compared, as processes.

use std::ffi::OsStr;
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
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Whose server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The reference, 5.5.0.
    Reference,
    /// This project's.
    Ours,
    /// Our transport with no broker behind it: the ceiling for what is asked.
    Echo,
    /// The same with nothing behind it but a file that is appended to and synced: the ceiling for synchronous flush on our
    /// transport.
    Journal,
    /// Nothing but the system calls that the work needs at least: the ceiling for what is stored.
    Bare,
}

impl Kind {
    /// All, in the order in which tables have them.
    pub const ALL: [Self; 5] = [Self::Reference, Self::Ours, Self::Echo, Self::Journal, Self::Bare];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reference => "reference",
            Self::Ours => "ours",
            Self::Echo => "echo",
            Self::Journal => "journal",
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
        let bin = bin.map_or_else(|| this_program().map(|this| this.with_file_name("")), Ok)?;
        let work_dir = work_dir.unwrap_or_else(std::env::temp_dir);
        let at = work_dir.display();
        let space = rustix::fs::statvfs(&work_dir).with_context(|| format!("cannot put stores into {at}"))?;
        let free = space.f_bavail * space.f_frsize;
        ensure!(free > LEAST_FREE, "{at} has less than 14 GB free");
        Ok(Self { bin, reference, work_dir })
    }

    /// A folder for one server; what is in it goes with it.
    fn home(&self) -> Result<TempDir> {
        let home = tempfile::Builder::new().prefix("apogee-compare-").tempdir_in(&self.work_dir);
        home.with_context(|| format!("cannot put a store into {}", self.work_dir.display()))
    }

    /// Makes the command that starts a server: from its role, the heap of the reference's and its configuration.
    fn launcher(
        &self,
        kind: Kind,
        serialization: Serialization,
        home: &Path,
    ) -> impl Fn(&str, &str, &Path) -> Command + 'static {
        let (site, at) = (self.clone(), home.to_owned());
        move |role, heap, conf| {
            let mut command = if kind == Kind::Ours {
                Command::new(site.bin.join(format!("mq{role}")))
            } else {
                let mut script = Command::new(&site.reference);
                script.args(["5.5.0", role]).env("REFERENCE_JAVA_OPTS", heap);
                script
            };
            command.arg("-c").arg(conf).env("ROCKETMQ_HOME", &at).env("ROCKETMQ_SERIALIZE_TYPE", serialization.name());
            command.env("HOME", &at).env("XDG_CACHE_HOME", cache_home()).env_remove("NAMESRV_ADDR");
            command
        }
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
        match kind {
            Kind::Reference | Kind::Ours => Self::broker(site, kind, serialization, settings),
            Kind::Echo => Self::echo(site, serialization, &[]),
            Kind::Journal => Self::echo(site, serialization, &["--journal".as_ref(), site.work_dir.as_os_str()]),
            Kind::Bare => bail!("bare system calls are no server"),
        }
    }

    /// Starts a name server that nobody has registered with. The echo server in its place answers with so many bytes.
    pub fn name_server(site: &Site, kind: Kind, serialization: Serialization, answer: usize) -> Result<Self> {
        if kind == Kind::Echo {
            return Self::echo(site, serialization, &["--answer".as_ref(), answer.to_string().as_ref()]);
        }
        let (home, port) = (site.home()?, free_port()?);
        let conf = home.path().join("namesrv.conf");
        write(&conf, &name_server_settings(home.path(), port))?;
        let command = site.launcher(kind, serialization, home.path());
        let again = Box::new(move || command("namesrv", MEASURED_JAVA, &conf));
        let (server, _) = Process::start(again(), "boot success")?;
        let (address, ha_address) = (format!("127.0.0.1:{port}"), String::new());
        Ok(Self { name_server: None, server: Some(server), again, address, ha_address, home })
    }

    fn broker(site: &Site, kind: Kind, serialization: Serialization, settings: &str) -> Result<Self> {
        let home = site.home()?;
        let (name_server_port, port, ha_port) = (free_port()?, free_port()?, free_port()?);
        let (name_server, broker) = (home.path().join("namesrv.conf"), home.path().join("broker.conf"));
        write(&name_server, &name_server_settings(home.path(), name_server_port))?;
        let at = home.path().display();
        let own = format!(
            "brokerClusterName=bench\nbrokerName=bench\nbrokerId=0\nbrokerRole=ASYNC_MASTER\n\
             flushDiskType=ASYNC_FLUSH\nnamesrvAddr=127.0.0.1:{name_server_port}\nbrokerIP1=127.0.0.1\n\
             bindAddress=127.0.0.1\nlistenPort={port}\nhaListenPort={ha_port}\nstorePathRootDir={at}/store\n\
             storePathCommitLog={at}/store/commitlog\n{settings}"
        );
        write(&broker, &own)?;
        let command = site.launcher(kind, serialization, home.path());
        let (name_server, _) = Process::start(command("namesrv", BESIDE_JAVA, &name_server), "boot success")?;
        let again = Box::new(move || command("broker", MEASURED_JAVA, &broker));
        let (server, _) = Process::start(again(), "boot success")?;
        let (address, ha_address) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{ha_port}"));
        Ok(Self { name_server: Some(name_server), server: Some(server), again, address, ha_address, home })
    }

    fn echo(site: &Site, serialization: Serialization, options: &[&OsStr]) -> Result<Self> {
        let (home, this) = (site.home()?, this_program()?);
        let options: Vec<_> = options.iter().map(|option| option.to_os_string()).collect();
        let again = Box::new(move || {
            let mut echo = Command::new(&this);
            echo.args(["echo", "--serialization", serialization.name()]).args(&options);
            echo
        });
        let (server, line) = Process::start(again(), "echo listens on ")?;
        let address = line.rsplit(' ').next().unwrap_or_default().to_owned();
        Ok(Self { name_server: None, server: Some(server), again, address, ha_address: String::new(), home })
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
        kill_process(pid, signal).with_context(|| format!("cannot signal process {}", self.pid()))
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

    /// Where the broker's files are.
    pub fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }

    /// Removes all that the broker, which has been ended, wrote.
    pub fn remove_store(&self) -> Result<()> {
        let store = self.store();
        fs::remove_dir_all(&store).with_context(|| format!("cannot remove {}", store.display()))
    }

    /// Ends it as an operator would.
    pub fn stop(mut self) -> Result<()> {
        self.end_broker()?;
        self.name_server.take().map_or(Ok(()), Process::stop)
    }
}

/// What a name server is told, with the reference's keys.
fn name_server_settings(home: &Path, port: u16) -> String {
    let at = home.display();
    format!(
        "listenPort={port}\nbindAddress=127.0.0.1\nkvConfigPath={at}/kvConfig.json\n\
         configStorePath={at}/namesrv.properties\n"
    )
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot tell where this program is")
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
            kill_process(pid, Signal::TERM).with_context(|| format!("cannot end process {}", self.0.id()))?;
        }
        let deadline = Instant::now() + END;
        let mut ended = || self.0.try_wait().context("cannot wait for a server");
        while ended()?.is_none() && Instant::now() < deadline {
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
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let port = listener.local_addr().context("no free port")?.port();
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

const MEASURED_JAVA: &str = "-Xms2g -Xmx2g -XX:+UseG1GC";
/// For a name server that is only there because a broker wants one.
const BESIDE_JAVA: &str = "-Xms256m -Xmx256m";
const LEAST_FREE: u64 = 14_000_000_000;
const START: Duration = Duration::from_mins(1);
const END: Duration = Duration::from_secs(30);
