//! A server in the same framing that stores nothing, or nothing but the bytes of what is sent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use apogee_remoting::protocol::send::SendMessageResponseHeader;
use apogee_remoting::server::{Answering, ConnectionOptions, Peer, Reply, Server, ServerOptions, Service};
use apogee_remoting::{Body, Command, RequestCode, ResponseCode, Serialization};
use bytes::Bytes;
use clap::Args;

use crate::journal::Journal;
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
    /// Append every message to a file in this folder, and answer when it is synced.
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Bytes of the body of every answer but those to sends.
    #[arg(long, default_value_t = 0)]
    answer: usize,
}

/// Serves until the process is ended.
pub fn run(options: &Options) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = options.threads {
        runtime.worker_threads(threads);
    }
    runtime.enable_all().build().context("cannot start threads")?.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<()> {
    let connection = ConnectionOptions {
        serialization: options.serialization,
        idle: Duration::ZERO,
        ..ConnectionOptions::default()
    };
    let server = Server::bind(&options.listen, ServerOptions { connection, ..ServerOptions::default() }).await?;
    println!("echo listens on {}", server.local_addr());
    let journal = options.journal.as_deref().map(Journal::open).transpose()?;
    let echo = Echo { answer: vec![b' '; options.answer].into(), journal };
    server.run(Arc::new(echo), async { drop(tokio::signal::ctrl_c().await) }).await;
    Ok(())
}

/// Answers as a broker would that had stored the message.
struct Echo {
    answer: Bytes,
    journal: Option<Arc<Journal>>,
}

impl Service for Echo {
    fn answer(&self, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
        match request.request_code() {
            RequestCode::SEND_MESSAGE | RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE => {
                let Some(journal) = &self.journal else {
                    return answering.write(ResponseCode::SUCCESS, None, &STORED, Body::default());
                };
                let synced = journal.append(&request.body.contiguous());
                Reply::later(async {
                    match synced.await {
                        Ok(()) => Command::response(ResponseCode::SUCCESS).with_header(&STORED),
                        Err(error) => Command::error(ResponseCode::SYSTEM_ERROR, error.to_string()),
                    }
                })
            }
            _ => self.call(peer, request),
        }
    }

    fn call(&self, _: &Arc<Peer>, _: Command) -> Reply {
        Command::response(ResponseCode::SUCCESS).with_body(self.answer.clone()).into()
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
