//! Work that may wait for the disk, away from the runtime's own threads.

/// Does it on a thread that may wait. A panic goes on in who awaits it.
pub(crate) async fn on_thread<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
