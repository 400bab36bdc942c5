//! Key-value configuration of the name server: codes 100 to 102, 219.

use std::collections::BTreeMap;

use super::body::body;
use crate::header;

header! {
    /// Header of the request PUT_KV_CONFIG (100).
    pub struct PutKVConfigRequestHeader<'a> {
        /// Name space.
        pub namespace: &'a str = "namespace",
        /// Key.
        pub key: &'a str = "key",
        /// Value.
        pub value: &'a str = "value",
    }
}

header! {
    /// Header of the request GET_KV_CONFIG (101).
    pub struct GetKVConfigRequestHeader<'a> {
        /// Name space.
        pub namespace: &'a str = "namespace",
        /// Key.
        pub key: &'a str = "key",
    }
}

header! {
    /// Header of the response to GET_KV_CONFIG (101).
    pub struct GetKVConfigResponseHeader<'a> {
        /// Value.
        pub value: Option<&'a str> = "value",
    }
}

header! {
    /// Header of the request DELETE_KV_CONFIG (102).
    pub struct DeleteKVConfigRequestHeader<'a> {
        /// Name space.
        pub namespace: &'a str = "namespace",
        /// Key.
        pub key: &'a str = "key",
    }
}

header! {
    /// Header of the request GET_KVLIST_BY_NAMESPACE (219).
    pub struct GetKVListByNamespaceRequestHeader<'a> {
        /// Name space.
        pub namespace: &'a str = "namespace",
    }
}

body! {
    /// Pairs of texts: body of the responses to 28, 103 and 219.
    pub struct KVTable {
        /// The pairs.
        pub table: BTreeMap<String, String>,
    }
}

body! {
    /// The file kvConfig.json: pairs by name space.
    pub struct KVConfigSerializeWrapper {
        /// Pairs by name space.
        pub config_table: BTreeMap<String, BTreeMap<String, String>>,
    }
}
