//! A store that a broker works on is left alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::fs::OpenOptions;

use harness::{Golden, contents, mqstore};
use rustix::fs::{FlockOperation, fcntl_lock};

fn is_refused(golden: &Golden) {
    let before = contents(&golden.path().join("consumequeue"));
    let target = golden.beside("target");
    let dir = golden.dir();
    for words in [
        &["ls", &dir][..],
        &["cat", &dir],
        &["verify", &dir],
        &["rebuild", &dir],
        &["truncate", &dir, "--at", "0", "--yes"],
        &["export", &dir, &target],
        &["salvage", &dir, &target],
        &["diff", &dir, &dir],
    ] {
        let ended = mqstore(words);
        assert_eq!(ended.status, 2, "{words:?} {}{}", ended.out, ended.err);
        assert!(ended.err.contains("mqshutdown broker"), "{words:?} {}", ended.err);
    }
    let info = mqstore(&["info", &dir]).well();
    assert!(info.contains("in use           yes"), "{info}");
    assert_eq!(contents(&golden.path().join("consumequeue")), before);
}

#[test]
fn while_a_broker_has_it() {
    let golden = Golden::unpack("ipv6");
    let store = golden.open();
    is_refused(&golden);
    store.close().unwrap();
    drop(store);
    mqstore(&["verify", &golden.dir()]).well();
}

/// The reference holds a lock of its process.
#[test]
fn while_the_reference_has_it() {
    let golden = Golden::unpack("ipv6");
    let lock = OpenOptions::new().read(true).write(true).open(golden.path().join("lock")).unwrap();
    fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    is_refused(&golden);
    drop(lock);
    mqstore(&["verify", &golden.dir()]).well();
}
