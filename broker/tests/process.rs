//! `mqbroker` as a process: its command line, its ready line, why it does not start, and how it ends.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "harness/ports.rs"]
mod ports;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_remoting::client::{Client, ClientOptions};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::server::{Peer, Reply, Server, ServerOptions, Service};
use apogee_remoting::{Command as Frame, RequestCode, ResponseCode};
use ports::free_ports;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// Longest wait for anything to happen.
const PATIENCE: Duration = Duration::from_mins(1);
/// How soon an idle broker has ended after a signal, where the disk takes no time.
const SHUTDOWN: Duration = Duration::from_secs(1);
/// How often that is tried: the machine may be busy, or the disk slow, for a while.
const ATTEMPTS: usize = 5;

/// A folder with a configuration file, and a port whose fast port is free, too.
struct Site {
    folder: TempDir,
    port: u16,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_ports() }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Writes the configuration with `lines` in front and gives its path.
    fn config(&self, lines: &str) -> PathBuf {
        let (port, store) = (self.port, self.store());
        let text = format!(
            "{lines}\nlistenPort={port}\nbindAddress=127.0.0.1\nbrokerIP1=127.0.0.1\nbrokerName=broker-p\n\
             storePathRootDir={store}\nstorePathCommitLog={store}/commitlog\nmappedFileSizeCommitLog=1048576\n",
            store = store.display()
        );
        let file = self.folder.path().join("broker.conf");
        fs::write(&file, text).unwrap();
        file
    }

    fn command(&self, lines: &str) -> Command {
        let mut command = mqbroker(self.folder.path());
        command.arg("-c").arg(self.config(lines));
        command
    }

    fn start(&self, lines: &str) -> Running {
        Running::new(self.command(lines))
    }
}

/// The program with an environment of its own, so that nothing of the machine's is touched.
fn mqbroker(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mqbroker"));
    command.env_clear().env("HOME", home).stdin(Stdio::null());
    command
}

/// A broker that has printed its ready line; killed when dropped.
struct Running {
    child: Child,
    ready: String,
    // Kept: a closed pipe is nothing a broker shall notice.
    _stdout: BufReader<ChildStdout>,
}

impl Running {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        stdout.read_line(&mut ready).unwrap();
        assert!(ready.contains("boot success"), "{ready:?}, {:?}", child.wait());
        Self { child, ready, _stdout: stdout }
    }

    /// Sends the signal, and waits for the end; also says how long that took.
    fn end(mut self, signal: Signal) -> (ExitStatus, Duration) {
        let sent = Instant::now();
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        while sent.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, sent.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("still running {PATIENCE:?} after {signal:?}");
    }
}

/// Whether that is how long an idle broker takes to end. Some of its files are synced then: the disk is asked how long that takes.
fn is_soon(took: Duration, folder: &Path) -> bool {
    const SYNCS: u32 = 20;
    let begun = Instant::now();
    let file = fs::File::create(folder.join("synced")).unwrap();
    file.set_len(1).unwrap();
    file.sync_all().unwrap();
    took < SHUTDOWN + begun.elapsed() * SYNCS
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stores a message.
fn send(port: u16, topic: &str, body: &[u8]) {
    let header = SendMessageRequestHeader {
        producer_group: Some("PG"),
        topic,
        default_topic: Some("TBW102"),
        default_topic_queue_nums: Some(1),
        queue_id: 0,
        sys_flag: 0,
        born_timestamp: 1,
        flag: 0,
        properties: Some("KEYS\u{1}k\u{2}"),
        reconsume_times: None,
        unit_mode: None,
        batch: None,
        max_reconsume_times: None,
    };
    let request = Frame::request(RequestCode::SEND_MESSAGE).with_header(&header).with_body(body.to_vec());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let client = Client::new(ClientOptions::default());
        client.call(&format!("127.0.0.1:{port}"), request, PATIENCE).await
    });
    assert_eq!(answer.unwrap().response_code(), ResponseCode::SUCCESS);
}

/// The one line that a program which did not start has printed.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let mut errors = text.lines().filter(|line| line.starts_with("mqbroker: "));
    let error = errors.next().unwrap_or_else(|| panic!("{text}")).to_owned();
    assert_eq!(errors.next(), None);
    error
}

#[test]
fn says_when_it_is_ready_and_ends_at_either_signal() {
    let site = Site::new();
    let abort = site.store().join("abort");
    for signal in [Signal::TERM, Signal::INT] {
        let ends = || {
            let running = site.start("");
            let line = format!("The broker[broker-p, 127.0.0.1:{}] boot success. serializeType=JSON\n", site.port);
            assert_eq!(running.ready, line);
            for port in [site.port, site.port - 2] {
                TcpStream::connect(("127.0.0.1", port)).unwrap();
            }
            assert!(abort.exists());
            let (status, took) = running.end(signal);
            assert_eq!((status.code(), status.signal()), (Some(0), None));
            assert!(!abort.exists(), "{signal:?}");
            took
        };
        assert!((0..ATTEMPTS).any(|_| is_soon(ends(), site.folder.path())), "{signal:?}: too late");
    }
}

#[test]
fn a_killed_one_leaves_its_mark_and_starts_again() {
    let site = Site::new();
    let (status, _) = site.start("").end(Signal::KILL);
    assert_eq!(status.signal(), Some(9));
    assert!(site.store().join("abort").exists());
    let (status, _) = site.start("").end(Signal::TERM);
    assert!(status.success());
}

#[test]
fn prints_its_configuration_and_its_help() {
    let site = Site::new();
    let stdout = |option: &str| {
        let output = site.command("").arg(option).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = stdout("-p");
    assert!(all.lines().any(|line| line == "brokerName=broker-p"));
    assert!(all.lines().any(|line| line == "brokerPermission=6"));
    let important = stdout("-m");
    assert!(important.lines().any(|line| line == "brokerName=broker-p"));
    assert!(important.lines().count() < all.lines().count());
    let help = stdout("-h");
    assert!(help.contains("--configFile") && help.contains("--namesrvAddr"), "{help}");
    assert!(!site.store().exists());
}

#[test]
fn the_environment_gives_defaults_and_the_command_line_wins() {
    let site = Site::new();
    let printed = |lines: &str, arguments: &[&str]| {
        let mut command = site.command(lines);
        command.env("NAMESRV_ADDR", "127.0.0.1:1").env("ROCKETMQ_HOME", "/opt/mq").arg("-p").args(arguments);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for (lines, arguments, expected) in [
        ("", &[][..], "namesrvAddr=127.0.0.1:1"),
        ("", &[], "rocketmqHome=/opt/mq"),
        ("namesrvAddr=127.0.0.1:2", &[], "namesrvAddr=127.0.0.1:2"),
        ("rocketmqHome=/home/mq", &[], "rocketmqHome=/home/mq"),
        ("namesrvAddr=127.0.0.1:2", &["-n", "127.0.0.1:3;127.0.0.1:4"], "namesrvAddr=127.0.0.1:3;127.0.0.1:4"),
    ] {
        let all = printed(lines, arguments);
        assert!(all.lines().any(|line| line == expected), "{expected}: {all}");
    }
}

#[test]
fn a_bad_configuration_is_named_and_nothing_is_touched() {
    let site = Site::new();
    let file = site.config("").display().to_string();
    for (lines, error) in [
        (
            "# a comment\nflushIntervalCommitLog=soon",
            format!(
                "{file}: line 2: flushIntervalCommitLog=soon: a whole number from -2147483648 to 2147483647 is expected"
            ),
        ),
        (
            "brokerRole=MASTER",
            format!("{file}: line 1: brokerRole=MASTER: one of ASYNC_MASTER SYNC_MASTER SLAVE is expected"),
        ),
        ("messageDelayLevel=1s never", "messageDelayLevel=1s never: ".to_owned()),
    ] {
        let line = refusal(&site.command(lines).output().unwrap());
        assert!(line.starts_with(&format!("mqbroker: {error}")), "{line}");
        assert!(!site.store().exists(), "{lines}");
    }
}

#[test]
fn an_address_that_is_none_is_named_and_nothing_is_touched() {
    let site = Site::new();
    // The last line of a key counts.
    let file = site.config("");
    let text = fs::read_to_string(&file).unwrap();
    for (key, value) in [("brokerIP1", "not an address"), ("brokerIP1", "300.0.0.1"), ("listenPort", "1")] {
        fs::write(&file, format!("{text}{key}={value}\n")).unwrap();
        let line = refusal(&mqbroker(site.folder.path()).arg("-c").arg(&file).output().unwrap());
        assert!(line.contains(&format!("{key}={value}")), "{line}");
        assert!(!site.store().exists(), "{key}={value}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for file in [folder.path().join("none.conf"), folder.path().to_owned()] {
        let line = refusal(&mqbroker(folder.path()).arg("-c").arg(&file).output().unwrap());
        assert!(line.contains(&file.display().to_string()), "{line}");
    }
}

#[test]
fn a_port_in_use_is_named_and_nothing_is_touched() {
    let site = Site::new();
    for port in [site.port, site.port - 2] {
        let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let line = refusal(&site.command("").output().unwrap());
        assert!(line.contains(&format!("127.0.0.1:{port}")), "{line}");
        assert!(!site.store().exists(), "{port}");
    }
}

#[test]
fn a_store_in_use_is_named_and_left_alone() {
    let site = Site::new();
    let first = site.start("");
    let files = files(&site.store());
    let second = Site { port: free_ports(), folder: tempfile::tempdir().unwrap() };
    let file = second.config("");
    let text = fs::read_to_string(&file).unwrap();
    let (ours, theirs) = (second.store().display().to_string(), site.store().display().to_string());
    fs::write(&file, text.replace(&ours, &theirs)).unwrap();
    let line = refusal(&mqbroker(second.folder.path()).arg("-c").arg(&file).output().unwrap());
    assert!(line.contains(&theirs) && line.contains("locked by another process"), "{line}");
    assert_eq!(self::files(&site.store()), files);
    let (status, _) = first.end(Signal::TERM);
    assert!(status.success());
}

#[test]
fn a_store_that_cannot_be_made_is_named() {
    let site = Site::new();
    fs::write(site.store(), "a file").unwrap();
    let line = refusal(&site.command("").output().unwrap());
    assert!(line.contains(&site.store().display().to_string()), "{line}");
    assert_eq!(fs::read_to_string(site.store()).unwrap(), "a file");
}

/// Every write that would make a file longer fails, as on a full disk.
#[test]
fn a_disk_without_room_is_named_and_nothing_is_touched() {
    let site = Site::new();
    let start = || {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", r#"trap "" XFSZ; ulimit -f 0; exec "$0" -c "$1""#, env!("CARGO_BIN_EXE_mqbroker")]);
        command.arg(site.config("")).env_clear().env("HOME", site.folder.path()).stdin(Stdio::null()).output().unwrap()
    };
    let store = site.store().display().to_string();
    let line = refusal(&start());
    assert!(line.starts_with(&format!("mqbroker: cannot open the store in {store}: ")), "{line}");

    // Neither is a store changed that is there already.
    let (status, _) = site.start("").end(Signal::TERM);
    assert!(status.success());
    let files = files(&site.store());
    let line = refusal(&start());
    assert!(line.contains(&store), "{line}");
    assert_eq!(self::files(&site.store()), files);
}

/// As the Java runtime: a limit that is only a default does not keep clients away.
#[test]
fn it_takes_as_many_descriptors_as_it_may() {
    let site = Site::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"ulimit -S -n 200; exec "$0" -c "$1""#, env!("CARGO_BIN_EXE_mqbroker")]).arg(site.config(""));
    command.env_clear().env("HOME", site.folder.path()).stdin(Stdio::null());
    let running = Running::new(command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", running.child.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard, ..] = line["Max open files".len()..].split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{line}")
    };
    assert_eq!(soft, hard);
    let (status, _) = running.end(Signal::TERM);
    assert!(status.success());
}

/// A disk that went read-only, or a part of it. Mounts are made in a namespace of the test's own; where the machine allows
/// none, there is nothing to try.
#[test]
fn what_is_read_only_is_named_and_nothing_is_touched() {
    let site = Site::new();
    let running = site.start("");
    send(site.port, "T", b"m");
    let (status, _) = running.end(Signal::TERM);
    assert!(status.success());
    let before = files(&site.store());
    for part in ["", "commitlog", "commitlog/00000000000000000000", "checkpoint", "consumequeue", "index", "lock"] {
        let path = site.store().join(part);
        let mut command = Command::new("unshare");
        let script = r#"mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; exec "$0" -c "$2""#;
        command.args(["-Urm", "/bin/sh", "-c", script, env!("CARGO_BIN_EXE_mqbroker")]).arg(&path).arg(site.config(""));
        command.env_clear().env("HOME", site.folder.path()).stdin(Stdio::null());
        let Ok(output) = command.env("PATH", std::env::var_os("PATH").unwrap()).output() else { return };
        if output.status.code() == Some(77) || String::from_utf8_lossy(&output.stderr).contains("unshare") {
            return;
        }
        let line = refusal(&output);
        assert!(line.contains(&*path.to_string_lossy()) && line.contains("Read-only file system"), "{line}");
        assert_eq!(files(&site.store()), before, "{part}");
    }
    let (status, _) = site.start("").end(Signal::TERM);
    assert!(status.success());
}

/// Room that goes and comes back while the broker runs: no table is lost or half written, and what could not be written is
/// written when there is room.
#[tokio::test(flavor = "multi_thread")]
async fn tables_without_room_stay_whole_and_are_written_later() {
    let site = Site::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" -c "$1""#, env!("CARGO_BIN_EXE_mqbroker")]);
    command.arg(site.config("flushConsumerOffsetInterval=20")).env_clear().env("HOME", site.folder.path());
    command.stdin(Stdio::null());
    let running = Running::new(command);
    let client = Client::new(ClientOptions::default());
    let address = format!("127.0.0.1:{}", site.port);
    let call = async |request| client.call(&address, request, PATIENCE).await.unwrap();
    let create = |topic: &str| {
        let fields = [("topic", topic), ("defaultTopic", "TBW102"), ("readQueueNums", "1"), ("writeQueueNums", "1")];
        let more = [("perm", "6"), ("topicFilterType", "SINGLE_TAG"), ("topicSysFlag", "0"), ("order", "false")];
        let request = Frame::request(RequestCode::UPDATE_AND_CREATE_TOPIC);
        fields.into_iter().chain(more).fold(request, |request, (name, value)| request.with_field(name, value))
    };
    let commit = |offset: &str| {
        let fields = [("consumerGroup", "TOOLS_CONSUMER"), ("topic", "A"), ("queueId", "0"), ("commitOffset", offset)];
        let request = Frame::request(RequestCode::UPDATE_CONSUMER_OFFSET);
        fields.into_iter().fold(request, |request, (name, value)| request.with_field(name, value))
    };
    let limit = |size| {
        let limit = Rlimit { current: size, maximum: None };
        prlimit(Some(Pid::from_child(&running.child)), Resource::Fsize, limit).unwrap();
    };
    let content = |name: &str| fs::read_to_string(site.store().join("config").join(name)).unwrap_or_default();
    let saved = async |offset: &str| {
        let deadline = Instant::now() + PATIENCE;
        let is_noise = |letter: char| letter.is_whitespace() || letter == '"';
        while !content("consumerOffset.json").replace(is_noise, "").contains(&format!("{{0:{offset}}}")) {
            assert!(Instant::now() < deadline, "offset {offset} is not saved");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    for topic in ["A", "B"] {
        assert_eq!(call(create(topic)).await.response_code(), ResponseCode::SUCCESS);
    }
    for offset in ["0", "1"] {
        assert_eq!(call(commit(offset)).await.response_code(), ResponseCode::SUCCESS);
        saved(offset).await;
    }
    let tables = ["topics.json", "topics.json.bak", "consumerOffset.json", "consumerOffset.json.bak"];
    let before = tables.map(content);
    limit(Some(0));
    let answer = call(create("C")).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    assert!(answer.remark.as_deref().unwrap_or_default().contains("topics.json"), "{:?}", answer.remark);
    let ask = Frame::request(RequestCode::GET_TOPIC_CONFIG).with_field("topic", "C");
    assert_eq!(call(ask.clone()).await.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    assert_eq!(call(commit("2")).await.response_code(), ResponseCode::SUCCESS);
    assert_eq!(tables.map(content), before);
    limit(None);
    assert_eq!(call(create("C")).await.response_code(), ResponseCode::SUCCESS);
    saved("2").await;
    assert_eq!(
        (content("topics.json.bak"), content("consumerOffset.json.bak")),
        (before[0].clone(), before[2].clone())
    );
    let (status, _) = tokio::task::spawn_blocking(|| running.end(Signal::TERM)).await.unwrap();
    assert!(status.success());
    let running = tokio::task::spawn_blocking(move || (site.start(""), site)).await.unwrap().0;
    assert_eq!(call(ask).await.response_code(), ResponseCode::SUCCESS);
    drop(running);
}

/// The test's own list of processes stands in for the machine's, whose other brokers are not to be ended.
#[test]
fn mqshutdown_asks_it_to_end_and_waits() {
    let site = Site::new();
    let mut running = site.start("");
    let list = site.folder.path().join("pgrep");
    let script = format!("#!/bin/sh\ncase \"$*\" in *' mqbroker') echo {} ;; *) exit 1 ;; esac\n", running.child.id());
    fs::write(&list, script).unwrap();
    fs::set_permissions(&list, fs::Permissions::from_mode(0o755)).unwrap();
    let mqshutdown = |arguments: &[&str]| {
        let path = format!("{}:{}", site.folder.path().display(), std::env::var("PATH").unwrap());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/mqshutdown");
        let output = Command::new(script).args(arguments).env("PATH", path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(mqshutdown(&[]), (Some(1), String::new()));
    assert_eq!(mqshutdown(&["namesrv"]), (Some(1), "No mqnamesrv running.\n".to_owned()));
    assert!(running.child.try_wait().unwrap().is_none());
    let (status, said) = mqshutdown(&["broker"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(&format!("Send shutdown request to mqbroker({}) OK", running.child.id())), "{said}");
    assert!(running.child.try_wait().unwrap().is_some_and(|status| status.success()));
    assert!(!site.store().join("abort").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registers_before_it_is_ready_and_leaves_when_it_ends() {
    let server = Server::bind("127.0.0.1:0", ServerOptions::default()).await.unwrap();
    let address = server.local_addr();
    let (seen, mut codes) = mpsc::unbounded_channel();
    let serving = tokio::spawn(server.run(Arc::new(Listener(seen)), std::future::pending()));
    let site = Site::new();
    let command = {
        let mut command = site.command("");
        command.arg("-n").arg(address.to_string());
        command
    };
    let running = tokio::task::spawn_blocking(move || Running::new(command)).await.unwrap();
    assert!(running.ready.ends_with(&format!(" and name server is {address}\n")), "{}", running.ready);
    assert_eq!(codes.try_recv(), Ok(RequestCode::REGISTER_BROKER));
    let (status, _) = tokio::task::spawn_blocking(move || running.end(Signal::TERM)).await.unwrap();
    assert!(status.success(), "{status}");
    // The broker does not wait long for who does not listen.
    let left = async { while codes.recv().await.unwrap() != RequestCode::UNREGISTER_BROKER {} };
    tokio::time::timeout(PATIENCE, left).await.unwrap();
    serving.abort();
}

/// A name server's ear: notes each request and agrees.
struct Listener(mpsc::UnboundedSender<RequestCode>);

impl Service for Listener {
    fn call(&self, _: &Arc<Peer>, request: Frame) -> Reply {
        let _ = self.0.send(request.request_code());
        Frame::response(ResponseCode::SUCCESS).into()
    }
}

/// Every file below with its content.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let mut content = Vec::new();
                fs::File::open(&path).unwrap().read_to_end(&mut content).unwrap();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}
