//! A commit log in several directories.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;
use apogee_store::{Hooks, OpenError, Store};

const FILE: i64 = 16 * 1024;

fn open(root: &Path, directories: &[&str], read_only: &[&str]) -> Arc<Store> {
    try_open(root, directories, read_only).unwrap()
}

fn try_open(root: &Path, directories: &[&str], read_only: &[&str]) -> Result<Arc<Store>, OpenError> {
    let list =
        |names: &[&str]| names.iter().map(|name| root.join(name).display().to_string()).collect::<Vec<_>>().join(",");
    let config = MessageStoreConfig {
        store_path_root_dir: root.display().to_string(),
        store_path_commit_log: Some(list(directories)),
        read_only_commit_log_store_paths: Some(list(read_only)),
        mapped_file_size_commit_log: FILE as i32,
        ..MessageStoreConfig::default()
    };
    Store::open(&config, Hooks::default())
}

/// Writes messages until the log is in its `files`th file, and returns where they are.
fn fill(store: &Store, files: i64) -> Vec<i64> {
    let mut places = Vec::new();
    while store.max_physical_offset() < (files - 1) * FILE {
        let appended = store.append(&Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), &[7; 1000]));
        places.push(appended.unwrap().physical_offset);
    }
    places
}

/// Numbers of the files in a directory.
fn files(directory: &Path) -> Vec<i64> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut numbers: Vec<i64> =
        fs::read_dir(directory).unwrap().map(|entry| name(entry).parse::<i64>().unwrap() / FILE).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn files_go_round_and_a_retired_directory_is_only_read() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path(), &["b", "a"], &[]);
    let mut places = fill(&store, 4);
    store.close().unwrap();
    drop(store);
    // the next file may have been made ahead
    assert!(files(&root.path().join("a")).starts_with(&[0, 2]));
    assert!(files(&root.path().join("b")).starts_with(&[1, 3]));

    let before = files(&root.path().join("a"));
    let store = open(root.path(), &["a", "b", "c"], &["a"]);
    places.extend(fill(&store, 8));
    for place in places {
        assert!(store.record_at(place).unwrap().is_some(), "{place}");
    }
    assert_eq!(files(&root.path().join("a")), before);
    assert!(files(&root.path().join("b")).contains(&6));
    assert!(files(&root.path().join("c")).contains(&5));
}

/// A directory whose disk is not mounted: the file that is missing is named, and with the disk all is there again. A retired one
/// that is empty may go for good.
#[test]
fn a_directory_that_is_not_there_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path(), &["a", "b"], &[]);
    let places = fill(&store, 4);
    store.close().unwrap();
    drop(store);
    let [b, away] = ["b", "away"].map(|name| root.path().join(name));
    let before = files(&root.path().join("a"));
    fs::rename(&b, &away).unwrap();
    let error = try_open(root.path(), &["a", "b"], &[]).err().unwrap().to_string();
    assert!(error.contains(&format!("file {FILE:020} is missing")), "{error}");
    assert_eq!(files(&root.path().join("a")), before);
    fs::remove_dir(&b).unwrap();
    fs::rename(&away, &b).unwrap();
    let store = open(root.path(), &["a", "b"], &["gone"]);
    for place in places {
        assert!(store.record_at(place).unwrap().is_some(), "{place}");
    }
}
