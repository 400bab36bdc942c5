//! Ports for servers of tests.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The third one of four ports in a row that nobody listens on: fast port, unused, port, replication port. Each call gives
/// others, and none that the system hands out to whoever asks for any.
pub fn free_ports() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = process::id().wrapping_mul(64).wrapping_add(NEXT.fetch_add(4, Ordering::Relaxed));
        let port = 12_002 + (number % 20_000) as u16;
        if [port - 2, port, port + 1].iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()) {
            return port;
        }
    }
}
