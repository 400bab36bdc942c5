//! Masters and slaves on real stores, over real sockets.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod join;
mod pair;
mod proxy;
mod slave;
mod wake;
mod wire;
