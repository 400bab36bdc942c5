//! `docs/keys-without-effect.md` lists the keys that are known and that no code reads.
//!
//! `UPDATE_DOCS=1 cargo test -p apogee-config --test keys_without_effect` writes it anew.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const CLASSES: [(&str, &str); 5] = [
    ("Broker", include_str!("../src/broker_config.rs")),
    ("Store", include_str!("../src/message_store_config.rs")),
    ("Name server", include_str!("../src/namesrv_config.rs")),
    ("Listening, of both servers", include_str!("../src/netty_server_config.rs")),
    ("Calling, of both servers", include_str!("../src/netty_client_config.rs")),
];

#[test]
fn are_listed() {
    let read = fields_read();
    let mut text = HEAD.to_owned();
    for (title, source) in CLASSES {
        let mut keys: Vec<_> = fields(source).filter(|(field, _)| !read.contains(*field)).map(|(_, key)| key).collect();
        keys.sort_unstable();
        write!(text, "\n## {title}\n\n").unwrap();
        for key in keys {
            writeln!(text, "- `{key}`").unwrap();
        }
    }
    let file = root().join("docs/keys-without-effect.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let listed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        listed == text,
        "UPDATE_DOCS=1 cargo test -p apogee-config --test keys_without_effect brings it up to date"
    );
}

/// The fields of a configuration class with their keys: `field: Type = default, "key";`.
fn fields(source: &str) -> impl Iterator<Item = (&str, &str)> {
    source.lines().filter_map(|line| {
        let (field, rest) = line.trim().split_once(": ")?;
        let (_, rest) = rest.rsplit_once(", \"")?;
        Some((field, rest.split_once('"')?.0))
    })
}

/// What stands behind a dot in the crates' code, for instance `config.broker_name`.
fn fields_read() -> BTreeSet<String> {
    let mut read = BTreeSet::new();
    let mut folders: Vec<PathBuf> =
        ["config", "store", "namesrv", "broker"].iter().map(|name| root().join(name).join("src")).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                // Unit tests may set what nobody reads.
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let names = code.split('.').skip(1).map(|rest| {
                    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
                });
                read.extend(names);
            }
        }
    }
    read
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

const HEAD: &str = "# Keys without effect

These keys are known, checked, printed and kept, and change nothing: what they adjust in the reference is not there yet or
is done in another way here (the sizes of thread pools and their queues, for instance: there are none).
Written by the test `config/tests/keys_without_effect.rs` from the code.
";
