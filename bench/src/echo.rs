//! A server in the same framing that stores nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use apogee_remoting::protocol::send::SendMessageResponseHeader;
use apogee_remoting::server::{Answering, ConnectionOptions, Peer, Reply, Server, ServerOptions, Service};
use apogee_remoting::{Body, Command, RequestCode, ResponseCode, Serialization};
use clap::Args;

use crate::wire::parse_serialization;

/// How to serve.
#[derive(Args)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// How answers' headers are written: json or rocketmq.
    #[arg(long, default_value = "json", value_parser = parse_serialization)]
    serialization: Serialization,
    /// Worker threads; as many as processors by default.
    #[arg(long)]
    threads: Option<usize>,
}

/// Serves until the process is ended.
pub fn run(options: &Options) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = options.threads {
        runtime.worker_threads(threads);
    }
    runtime.enable_all().build()?.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<()> {
    let connection = ConnectionOptions {
        serialization: options.serialization,
        idle: Duration::ZERO,
        ..ConnectionOptions::default()
    };
    let server = Server::bind(&options.listen, ServerOptions { connection, ..ServerOptions::default() }).await?;
    println!("echo listens on {}", server.local_addr());
    server.run(Arc::new(Echo), async { drop(tokio::signal::ctrl_c().await) }).await;
    Ok(())
}

/// Answers as a broker would that had stored the message.
struct Echo;

impl Service for Echo {
    fn answer(&self, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
        match request.request_code() {
            RequestCode::SEND_MESSAGE | RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE => {
                answering.write(ResponseCode::SUCCESS, None, &STORED, Body::default())
            }
            _ => self.call(peer, request),
        }
    }

    fn call(&self, _: &Arc<Peer>, _: Command) -> Reply {
        Command::response(ResponseCode::SUCCESS).into()
    }
}

/// Fields of ordinary length.
const STORED: SendMessageResponseHeader = SendMessageResponseHeader {
    msg_id: "7F00000100002A9F00000000075BCD15",
    queue_id: 3,
    queue_offset: 1_234_567,
    transaction_id: None,
    batch_uniq_id: None,
    recall_handle: None,
};
