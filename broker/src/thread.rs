//! Work apart from the connection that asks for it: on a thread that may wait for the disk, or in a task of its own.

use std::future::Future;

use tokio::task::JoinHandle;

/// Does it on a thread that may wait. A panic goes on in who awaits it.
pub(crate) async fn on_thread<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    ended(tokio::task::spawn_blocking(act)).await
}

/// Does it now and to its end, though nobody awaits it: what is answered later ends with its connection. A panic goes on in who
/// awaits it.
pub(crate) fn in_task<T: Send + 'static>(act: impl Future<Output = T> + Send + 'static) -> impl Future<Output = T> {
    ended(tokio::spawn(act))
}

async fn ended<T>(task: JoinHandle<T>) -> T {
    match task.await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
