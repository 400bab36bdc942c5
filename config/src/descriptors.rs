//! How many files and connections a process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets the process have as many descriptors as the system allows it: shells and services often begin with 1024, which the
/// files of a store and some hundred clients use up. The Java runtime does so by itself.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, ?limit, "the limit of open files and connections is not raised (ulimit -n)");
    }
}
