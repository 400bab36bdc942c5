//! `docs/keys-without-effect.md` lists the keys that are known and that no code of a server uses.
//!
//! `UPDATE_DOCS=1 cargo test -p apogee-config --test keys_without_effect` writes it anew.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A part of the page: what it is called, the class whose keys it lists with its source, and the server that may use them.
struct Part {
    title: &'static str,
    class: &'static str,
    source: &'static str,
    server: &'static [&'static str],
}

const BROKER: &[&str] = &["apogee_config", "apogee_store", "apogee_replication", "apogee_broker", "mqbroker"];
const NAME_SERVER: &[&str] = &["apogee_config", "apogee_namesrv", "mqnamesrv"];

const LISTENING: &str = include_str!("../src/netty_server_config.rs");
const CALLING: &str = include_str!("../src/netty_client_config.rs");

#[rustfmt::skip]
const PARTS: [Part; 7] = [
    Part { title: "Broker", class: "BrokerConfig", source: include_str!("../src/broker_config.rs"), server: BROKER },
    Part { title: "Store", class: "MessageStoreConfig", source: include_str!("../src/message_store_config.rs"), server: BROKER },
    Part { title: "Listening of a broker", class: "NettyServerConfig", source: LISTENING, server: BROKER },
    Part { title: "Calls of a broker", class: "NettyClientConfig", source: CALLING, server: BROKER },
    Part { title: "Name server", class: "NamesrvConfig", source: include_str!("../src/namesrv_config.rs"), server: NAME_SERVER },
    Part { title: "Listening of a name server", class: "NettyServerConfig", source: LISTENING, server: NAME_SERVER },
    Part { title: "Calls of a name server", class: "NettyClientConfig", source: CALLING, server: NAME_SERVER },
];

/// Keys of replication that nothing but `AutoSwitchHAService` and `isEnableControllerMode` lead to in 5.5.0.
const WITH_CONTROLLER: [&str; 2] = ["allAckInSyncStateSet", "haMaxTimeSlaveNotCatchup"];

#[test]
fn are_listed() {
    let uses = uses();
    let mut text = HEAD.to_owned();
    for Part { title, class, source, server } in PARTS {
        let is_used = |field: &str| server.iter().any(|part| uses.contains(&format!("{part} {class}::{field}")));
        let mut keys: Vec<_> = fields(source).filter(|(field, _)| !is_used(field)).map(|(_, key)| key).collect();
        keys.sort_unstable();
        write!(text, "\n## {title}\n\n").unwrap();
        for key in keys {
            let why =
                if WITH_CONTROLLER.contains(&key) { ": in the reference, too, only with the controller" } else { "" };
            writeln!(text, "- `{key}`{why}").unwrap();
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

/// Which part of the program uses which field, as the compiler sees it: `apogee_broker BrokerConfig::broker_name`. Tests
/// are not compiled, so what only they use is not there.
fn uses() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["check", "--locked", "--message-format=json", "--features=apogee-config/mark-reads"])
        .args(["config", "store", "replication", "namesrv", "broker"].map(|part| format!("--package=apogee-{part}")))
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut uses = BTreeSet::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: serde_json::Value = serde_json::from_slice(line).unwrap();
        let part = message["target"]["name"].as_str().unwrap_or_default();
        let text = message["message"]["message"].as_str().unwrap_or_default();
        if let Some(path) = text.strip_prefix("use of deprecated field `").and_then(|rest| rest.strip_suffix('`')) {
            let [.., class, field] = path.split("::").collect::<Vec<_>>()[..] else { panic!("{text}") };
            uses.insert(format!("{part} {class}::{field}"));
        }
    }
    assert!(uses.contains("apogee_broker BrokerConfig::broker_name"), "the compiler names what is used: {uses:?}");
    uses
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

const HEAD: &str = "# Keys without effect

These keys are known, checked, printed and kept, and change nothing: what they adjust in the reference is not there yet or
is done in another way here (the sizes of thread pools and their queues, for instance: there are none).
Written by the test `config/tests/keys_without_effect.rs` from the code.
";
