//! A broker as a process of its own, which can be killed at any time and started again on the same files and port.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::free_ports;

/// Where a broker runs: its files and its port. Sizes and intervals are small, so that files roll and much happens.
pub struct Site {
    folder: TempDir,
    port: u16,
    lines: String,
}

impl Site {
    /// A new one; `lines` are added to the configuration of every broker.
    pub fn new(lines: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_ports(), lines: lines.to_owned() }
    }

    /// `127.0.0.1:listenPort`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Begins to start a broker, with these lines besides.
    pub fn spawn(&self, lines: &str) -> Process {
        let store = self.folder.path().join("store").display().to_string();
        let text = format!(
            "listenPort={port}\nhaListenPort={ha}\nbindAddress=127.0.0.1\nbrokerIP1=127.0.0.1\nbrokerName=broker-k\n\
             storePathRootDir={store}\nstorePathCommitLog={store}/commitlog\nmappedFileSizeCommitLog=65536\n\
             mappedFileSizeConsumeQueue=2000\nmaxHashSlotNum=500\nmaxIndexNum=1000\nmaxMessageSize=16384\n\
             flushIntervalCommitLog=20\nflushIntervalConsumeQueue=20\nflushConsumeQueueThoroughInterval=50\n\
             cleanResourceInterval=10\ndeleteCommitLogFilesInterval=0\n{}\n{lines}\n",
            self.lines,
            port = self.port,
            ha = self.port + 1,
        );
        let file = self.folder.path().join("broker.conf");
        fs::write(&file, text).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_mqbroker"));
        program.env_clear().env("HOME", self.folder.path()).arg("-c").arg(file);
        Process(program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts a broker and waits until it serves.
    pub fn start(&self, lines: &str) -> Process {
        let mut process = self.spawn(lines);
        let mut ready = String::new();
        BufReader::new(process.0.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.contains("boot success"), "{ready:?}, {:?}", process.0.wait());
        process
    }
}

/// A running broker. It is killed when dropped.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
