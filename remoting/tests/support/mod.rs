//! A server on a free port whose handlers do what a test asks of them, and a raw socket to it.
#![allow(dead_code, reason = "every test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "clippy sees no test in a shared module")]

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::server::{Answering, Peer, Reply, Server, ServerOptions, Service, Settling, Ticket};
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization, frame};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Answers with the request's body.
pub const ECHO: RequestCode = RequestCode(1001);
/// Answers when the test says so.
pub const LATER: RequestCode = RequestCode(1002);
/// Panics in the handler.
pub const PANIC: RequestCode = RequestCode(1003);
/// Panics in the future.
pub const PANIC_LATER: RequestCode = RequestCode(1004);
/// Pushes three one-way requests, then answers.
pub const PUSH: RequestCode = RequestCode(1005);
/// Never answers.
pub const NEVER: RequestCode = RequestCode(1006);
/// Answers with as many bytes as the body says.
pub const LARGE: RequestCode = RequestCode(1007);
/// Is never refused.
pub const VITAL: RequestCode = RequestCode(1008);

/// Is answered with those that came with it.
pub const PUT_OFF: RequestCode = RequestCode(1009);
/// Should be, and is forgotten.
pub const FORGOTTEN: RequestCode = RequestCode(1010);
/// The answers to those that came with it panic.
pub const PANIC_TOGETHER: RequestCode = RequestCode(1011);

/// Panics when it is asked whether it may be refused.
pub const PANIC_UNASKED: RequestCode = RequestCode(1012);

thread_local! {
    /// What was put off: how to answer, and whether that panics.
    static PUT_OFF_HERE: RefCell<Vec<(Ticket, bool)>> = const { RefCell::new(Vec::new()) };
}

/// What the handlers saw.
pub enum Event {
    /// A LATER request, and the way to answer it.
    Held(Command, oneshot::Sender<Command>),
    /// A connection is gone.
    Closed(u64),
    /// A request came that is not answered.
    Seen(Arc<Peer>, Command),
}

pub struct Handlers(mpsc::UnboundedSender<Event>);

impl Service for Handlers {
    fn call(&self, peer: &Arc<Peer>, request: Command) -> Reply {
        let echo = Command::response(ResponseCode::SUCCESS).with_body(request.body.bytes());
        match request.request_code() {
            ECHO | VITAL => echo.into(),
            LATER => {
                let (sender, receiver) = oneshot::channel();
                let _ = self.0.send(Event::Held(request, sender));
                Reply::later(async { receiver.await.unwrap_or_else(|_| failed("forgotten")) })
            }
            PANIC => panic!("asked to"),
            PANIC_LATER => Reply::later(async { panic!("asked to") }),
            PUSH => {
                for _ in 0..3 {
                    peer.send(Command::request(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED).one_way()).unwrap();
                }
                echo.into()
            }
            LARGE => {
                let size = String::from_utf8(request.body.bytes().to_vec()).unwrap().parse().unwrap();
                Command::response(ResponseCode::SUCCESS).with_body(vec![b'x'; size]).into()
            }
            _ => {
                let _ = self.0.send(Event::Seen(Arc::clone(peer), request));
                Reply::Never
            }
        }
    }

    fn answer(&self, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
        let code = request.request_code();
        match code {
            PUT_OFF | PANIC_TOGETHER => {
                PUT_OFF_HERE.with_borrow_mut(|all| all.push((answering.ticket(), code == PANIC_TOGETHER)));
                Reply::PutOff
            }
            FORGOTTEN => Reply::PutOff,
            _ => self.call(peer, request),
        }
    }

    fn settle(&self, settling: &mut Settling<'_>) {
        let all = PUT_OFF_HERE.take();
        let body = all.len().to_string();
        for (ticket, panics) in all {
            assert!(!panics, "asked to");
            settling.answering(ticket).give(Command::response(ResponseCode::SUCCESS).with_body(body.clone()));
        }
    }

    fn may_refuse(&self, request: &Command) -> bool {
        match request.request_code() {
            VITAL | PUT_OFF => false,
            PANIC_UNASKED => panic!("asked to"),
            _ => true,
        }
    }

    fn closed(&self, peer: &Arc<Peer>) {
        let _ = self.0.send(Event::Closed(peer.id()));
    }
}

fn failed(remark: &'static str) -> Command {
    Command::error(ResponseCode::SYSTEM_ERROR, remark)
}

/// A running server.
pub struct Running {
    pub address: SocketAddr,
    pub events: mpsc::UnboundedReceiver<Event>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

pub async fn start(options: ServerOptions) -> Running {
    let server = Server::bind("127.0.0.1:0", options).await.unwrap();
    let address = server.local_addr();
    let (sender, events) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(server.run(Arc::new(Handlers(sender)), async {
        let _ = stopped.await;
    }));
    Running { address, events, stop: Some(stop), task }
}

impl Running {
    pub async fn held(&mut self) -> (Command, oneshot::Sender<Command>) {
        match soon(self.events.recv()).await {
            Some(Event::Held(request, answer)) => (request, answer),
            _ => panic!("expected a held request"),
        }
    }

    pub async fn seen(&mut self) -> (Arc<Peer>, Command) {
        match soon(self.events.recv()).await {
            Some(Event::Seen(peer, request)) => (peer, request),
            _ => panic!("expected a request"),
        }
    }

    pub async fn closed(&mut self) -> u64 {
        match soon(self.events.recv()).await {
            Some(Event::Closed(id)) => id,
            _ => panic!("expected a closed connection"),
        }
    }

    /// Begins the shutdown.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until `run` has returned.
    pub async fn stopped(mut self) -> mpsc::UnboundedReceiver<Event> {
        self.stop();
        soon(self.task).await.unwrap();
        self.events
    }

    pub async fn connect(&self) -> Raw {
        Raw { socket: TcpStream::connect(self.address).await.unwrap(), read: BytesMut::new() }
    }
}

/// A socket that writes bytes and reads frames.
pub struct Raw {
    pub socket: TcpStream,
    read: BytesMut,
}

impl Raw {
    pub async fn write(&mut self, bytes: &[u8]) {
        soon(self.socket.write_all(bytes)).await.unwrap();
    }

    /// The next frame's content, or `None` when the server has closed.
    pub async fn frame(&mut self) -> Option<Bytes> {
        soon(async {
            loop {
                if let Some(content) = frame::take(&mut self.read, usize::MAX).unwrap() {
                    return Some(content);
                }
                match self.socket.read_buf(&mut self.read).await {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                }
            }
        })
        .await
    }

    pub async fn command(&mut self) -> Command {
        Command::decode(self.frame().await.expect("the connection is closed")).unwrap().0
    }

    /// Sends the request and reads the next frame.
    pub async fn ask(&mut self, request: &Command) -> Command {
        self.write(&request.encode(Serialization::Json)).await;
        self.command().await
    }
}

/// A request with a number of its own.
pub fn request(code: RequestCode, opaque: i32, body: &[u8]) -> Command {
    let mut command = Command::request(code).with_body(body.to_vec());
    command.opaque = opaque;
    command
}

/// Fails the test instead of hanging.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("nothing happened in a minute")
}
