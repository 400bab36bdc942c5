//! The table behind the requests, and its file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::json;
use apogee_remoting::protocol::kv::{KVConfigSerializeWrapper, KVTable};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thiserror::Error;

type Table = BTreeMap<String, BTreeMap<String, String>>;

/// Values by namespace and key, kept in a file (`kvConfigPath`) in the reference's form. Readers never wait; a
/// change is visible once it is on disk.
#[derive(Debug)]
pub struct KvStore {
    file: StateFile,
    table: ArcSwap<Table>,
    writer: Mutex<()>,
}

/// The file could not be read or written.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct KvError(#[from] StateFileError);

impl KvStore {
    /// Reads the file; without one the table is empty.
    ///
    /// # Errors
    /// The file is damaged, and so is its copy or there is none.
    pub fn open(file: &Path) -> Result<Self, KvError> {
        let file = StateFile::new(file);
        let stored = file.read(json::from_slice::<KVConfigSerializeWrapper>)?.unwrap_or_default();
        Ok(Self { file, table: ArcSwap::from_pointee(stored.config_table), writer: Mutex::new(()) })
    }

    /// The value of a key.
    pub fn get(&self, namespace: &str, key: &str) -> Option<String> {
        self.table.load().get(namespace)?.get(key).cloned()
    }

    /// All keys of a namespace; `None` when nothing was ever put into it.
    pub fn namespace(&self, namespace: &str) -> Option<KVTable> {
        self.table.load().get(namespace).map(|table| KVTable { table: table.clone() })
    }

    /// Changes a namespace, which comes into being. Blocks until the file is synced.
    ///
    /// # Errors
    /// The file could not be written; then nothing changed.
    pub fn change(&self, namespace: &str, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), KvError> {
        let _one_at_a_time = self.writer.lock();
        let mut config_table = Table::clone(&self.table.load());
        change(config_table.entry(namespace.to_owned()).or_default());
        let content = KVConfigSerializeWrapper { config_table };
        self.file.write(json::to_vec(&content))?;
        self.table.store(Arc::new(content.config_table));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &KvStore, value: &str) {
        store.change("N", |table| drop(table.insert("k".into(), value.into()))).unwrap();
    }

    #[test]
    fn what_was_changed_is_there_after_a_restart_in_the_references_form() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/kvConfig.json");
        let store = KvStore::open(&file).unwrap();
        assert_eq!((store.get("N", "k"), store.namespace("N")), (None, None));
        put(&store, "v");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), r#"{"configTable":{"N":{"k":"v"}}}"#);
        let again = KvStore::open(&file).unwrap();
        assert_eq!(again.get("N", "k").as_deref(), Some("v"));
        again.change("N", |table| drop(table.remove("k"))).unwrap();
        assert_eq!(KvStore::open(&file).unwrap().namespace("N"), Some(KVTable::default()));
    }

    /// Reports 1498, 2531, 3401, 6096, 9328: power loss leaves a damaged file, and the server starts empty or not at all.
    #[test]
    fn b16_a_damaged_file_is_replaced_by_its_copy_and_two_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kvConfig.json");
        let good = br#"{"configTable":{"N":{"k":"old"}}}"#;
        for damage in [&b""[..], &good[..10], b"\0\0\0\0", b"{\"configTable\":{}}}}", b"garbage"] {
            std::fs::write(&file, damage).unwrap();
            std::fs::write(folder.path().join("kvConfig.json.bak"), good).unwrap();
            assert_eq!(KvStore::open(&file).unwrap().get("N", "k").as_deref(), Some("old"), "{damage:?}");
            std::fs::write(folder.path().join("kvConfig.json.bak"), damage).unwrap();
            let error = KvStore::open(&file).unwrap_err().to_string();
            assert!(error.contains("kvConfig.json"), "{error}");
        }
    }

    #[test]
    fn a_change_that_cannot_be_stored_does_not_happen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kvConfig.json");
        let store = KvStore::open(&file).unwrap();
        put(&store, "v");
        std::fs::create_dir(folder.path().join("kvConfig.json.tmp")).unwrap();
        assert!(store.change("N", BTreeMap::clear).is_err());
        assert_eq!(store.get("N", "k").as_deref(), Some("v"));
    }
}
