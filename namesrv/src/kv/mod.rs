//! Key-value configuration: codes 100, 101, 102, 219.

mod store;

use std::sync::Arc;

use apogee_remoting::protocol::kv::GetKVConfigResponseHeader;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode};

pub use self::store::{KvError, KvStore};
use crate::name_server::NameServer;
use crate::respond::{self, printed};

/// Namespace of the queues of ordered topics, by topic.
pub const ORDER_TOPIC_CONFIG: &str = "ORDER_TOPIC_CONFIG";

/// GET_KV_CONFIG.
pub fn get(server: &NameServer, request: &Command) -> Command {
    let (namespace, key) = (request.field("namespace"), request.field("key"));
    match namespace.zip(key).and_then(|(namespace, key)| server.kv.get(namespace, key)) {
        Some(value) => respond::success().with_header(&GetKVConfigResponseHeader { value: Some(&value) }),
        None => Command::error(
            ResponseCode::QUERY_NOT_FOUND,
            format!("No config item, Namespace: {} Key: {}", printed(namespace), printed(key)),
        )
        .with_header(&GetKVConfigResponseHeader { value: None }),
    }
}

/// GET_KVLIST_BY_NAMESPACE.
pub fn list(server: &NameServer, request: &Command) -> Command {
    let namespace = request.field("namespace");
    match namespace.and_then(|namespace| server.kv.namespace(namespace)) {
        Some(table) => respond::body(&table),
        None => {
            Command::error(ResponseCode::QUERY_NOT_FOUND, format!("No config item, Namespace: {}", printed(namespace)))
        }
    }
}

/// PUT_KV_CONFIG: answered when the file is written. Without a value the key counts as absent, as with the reference.
pub fn put(server: &NameServer, request: &Command) -> Reply {
    let (Some(namespace), Some(key)) = (request.field("namespace"), request.field("key")) else {
        return respond::system_error("namespace or key is null").into();
    };
    let value = request.field("value").map(str::to_owned);
    change(server, namespace, key, move |table, key| {
        match value {
            Some(value) => table.insert(key, value),
            None => table.remove(&key),
        };
    })
}

/// DELETE_KV_CONFIG: answered when the file is written. What is not there is passed over.
pub fn delete(server: &NameServer, request: &Command) -> Reply {
    match request.field("namespace").zip(request.field("key")) {
        Some((namespace, key)) if server.kv.namespace(namespace).is_some() => {
            change(server, namespace, key, |table, key| {
                table.remove(&key);
            })
        }
        _ => respond::success().into(),
    }
}

/// Changes one namespace away from the network's threads, since the file is synced before the answer.
fn change(
    server: &NameServer,
    namespace: &str,
    key: &str,
    change: impl FnOnce(&mut std::collections::BTreeMap<String, String>, String) + Send + 'static,
) -> Reply {
    let (kv, routes) = (Arc::clone(&server.kv), Arc::clone(&server.routes));
    let (namespace, key) = (namespace.to_owned(), key.to_owned());
    Reply::later(respond::in_background(move || {
        let topic = (namespace == ORDER_TOPIC_CONFIG).then(|| key.clone());
        match kv.change(&namespace, |table| change(table, key)) {
            Ok(()) => {
                if let Some(topic) = topic {
                    routes.forget(&topic);
                }
                respond::success()
            }
            Err(error) => {
                tracing::error!(%error, "key-value configuration was not changed");
                respond::system_error(error.to_string())
            }
        }
    }))
}
