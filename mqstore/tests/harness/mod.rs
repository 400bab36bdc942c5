//! Golden stores in directories of their own, and the program run over them.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_store::{Hooks, Store};
use serde_json::Value;
use tempfile::TempDir;

/// A store that the reference wrote; `store/tests/golden/README.md` says which there are.
pub struct Golden {
    directory: TempDir,
    name: String,
}

impl Golden {
    pub fn unpack(name: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let packed = fs::File::open(packed().join(format!("{name}.tar.zst"))).unwrap();
        let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
        tar::Archive::new(unpacked).unpack(directory.path()).unwrap();
        let golden = Self { directory, name: name.to_owned() };
        // large, and nothing that is looked into
        let _ = fs::remove_file(golden.path().join("timerwheel"));
        golden
    }

    /// storePathRootDir.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The same as text.
    pub fn dir(&self) -> String {
        self.path().display().to_string()
    }

    /// A place beside the store.
    pub fn beside(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// What the reference answered from it.
    pub fn expected(&self) -> Value {
        serde_json::from_slice(&fs::read(packed().join(format!("{}.json", self.name))).unwrap()).unwrap()
    }

    /// Opens the store as a broker does, which locks it.
    pub fn open(&self) -> Arc<Store> {
        let config = MessageStoreConfig {
            store_path_root_dir: self.dir(),
            mapped_file_size_commit_log: 262_144,
            mapped_file_size_consume_queue: 1200,
            max_hash_slot_num: 100,
            max_index_num: 400,
            mapper_file_size_batch_consume_queue: 4600,
            enable_consume_queue_ext: self.path().join("consumequeue_ext").exists(),
            mapped_file_size_consume_queue_ext: 49_152,
            ..MessageStoreConfig::default()
        };
        Store::open(&config, Hooks::default()).unwrap()
    }
}

/// How the program ended.
pub struct Ended {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The output when the status is as it should be.
    pub fn with(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}{}", self.out, self.err);
        self.out
    }

    pub fn well(self) -> String {
        self.with(0)
    }
}

/// Runs `mqstore` with these words.
pub fn mqstore(words: &[&str]) -> Ended {
    let output = command(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap_or(-1);
    Ended { status, out: text(output.stdout), err: text(output.stderr) }
}

/// Starts `mqstore` and does not wait for it.
pub fn start(words: &[&str]) -> Child {
    command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mqstore"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Every file below a directory with its content, sorted.
pub fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return files };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            let content = fs::read(&path).unwrap();
            files.push((path, content));
        }
    }
    files.sort();
    files
}

/// Lines of JSON.
pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn packed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/golden")
}
