//! Maps by name.

use std::sync::Arc;

use dashmap::DashMap;

/// A map by names of topics or groups that many threads share. Its hash function is made for short names; clients choose
/// them, so its seed is random.
pub type NameMap<V> = DashMap<Arc<str>, V, foldhash::fast::RandomState>;
