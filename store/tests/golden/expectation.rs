//! A golden store, unpacked, with what it must read as.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apogee_store::read::RecordFields;
use serde_json::Value;
use tempfile::TempDir;

/// A store in a directory of its own.
pub struct Golden {
    directory: TempDir,
    expected: Value,
}

impl Golden {
    pub fn unpack(name: &str) -> Self {
        Self::unpack_as(name, name)
    }

    /// A store that must read as another one.
    pub fn unpack_as(name: &str, expected: &str) -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let directory = TempDir::new().unwrap();
        let packed = fs::File::open(golden.join(format!("{name}.tar.zst"))).unwrap();
        let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
        tar::Archive::new(unpacked).unpack(directory.path()).unwrap();
        let expected = fs::read(golden.join(format!("{expected}.json"))).unwrap();
        Self { directory, expected: serde_json::from_slice(&expected).unwrap() }
    }

    /// All there are, sorted.
    pub fn names() -> Vec<String> {
        let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")).unwrap();
        let name = |file: fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".tar.zst")?.to_owned());
        let mut names: Vec<_> = files.filter_map(|file| name(file.unwrap())).collect();
        names.sort_unstable();
        names
    }

    /// storePathRootDir.
    pub fn root(&self) -> PathBuf {
        self.beside("store")
    }

    /// A place in the same temporary directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The files of log, queues and index.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn add(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
            let Ok(entries) = fs::read_dir(directory) else { return };
            for path in entries.map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    add(&path, found);
                } else {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        for directory in ["commitlog", "consumequeue", "consumequeue_ext", "batchconsumequeue", "index"] {
            add(&self.root().join(directory), &mut found);
        }
        found
    }

    /// Where in the log its messages are.
    pub fn offsets(&self) -> Vec<i64> {
        self.list("messages").iter().map(|message| number(message, "commitLogOffset")).collect()
    }

    /// Whether the reference was not stopped cleanly.
    pub fn is_unclean(&self) -> bool {
        self.root().join("abort").exists()
    }

    /// Whether the reference had this line in its configuration.
    pub fn is_configured(&self, line: &str) -> bool {
        self.expected["about"]["brokerConf"].as_array().unwrap().contains(&Value::from(line))
    }

    pub fn list(&self, name: &str) -> &[Value] {
        self.expected[name].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn is_5x(&self) -> bool {
        self.expected["about"]["servedBy"].as_str().unwrap().starts_with('5')
    }

    /// Messages of a queue that the reference wrote after it opened the store.
    pub fn appended_after_restart(&self, topic: &str, queue_id: i32) -> i64 {
        let of_queue = |m: &&Value| text(m, "topic") == topic && number(m, "queueId") == i64::from(queue_id);
        self.list("appendedAfterRestart").iter().filter(of_queue).count() as i64
    }

    pub fn is_appended_after_restart(&self, topic: &str, queue_id: i32, offset: i64) -> bool {
        self.list("appendedAfterRestart").iter().any(|m| {
            text(m, "topic") == topic
                && number(m, "queueId") == i64::from(queue_id)
                && number(m, "queueOffset") == offset
        })
    }
}

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

pub fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

pub fn fields(record: &[u8]) -> RecordFields<'_> {
    RecordFields::of(record).unwrap()
}

pub fn record_equals(record: &[u8], expected: &Value) {
    let found = fields(record);
    assert_eq!(i64::from(found.size), number(expected, "storeSize"));
    assert_eq!(found.topic, text(expected, "topic"));
    assert_eq!(i64::from(found.queue_id), number(expected, "queueId"));
    assert_eq!(found.queue_offset, number(expected, "queueOffset"));
    assert_eq!(found.physical_offset, number(expected, "commitLogOffset"));
    // the client that wrote the expectation clears the compression bit once it has decompressed
    assert_eq!(i64::from(found.sys_flag) & !1, number(expected, "sysFlag") & !1);
    assert_eq!(found.store_timestamp, number(expected, "storeTimestamp"));
    let properties = expected["properties"].as_object().unwrap();
    assert_eq!(found.properties.iter().count(), properties.len());
    for (name, value) in properties {
        assert_eq!(found.properties.get_str(name), value.as_str(), "{name}");
    }
}
