//! A producer of transactions that is asked how they end.

use std::sync::Arc;

use apogee_remoting::client::{CallError, Client, ClientOptions};
use apogee_remoting::server::{Peer, Reply, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::TIMEOUT;

/// A connected producer that only takes questions.
pub struct Producer {
    pub client: Client,
    questions: mpsc::UnboundedReceiver<Command>,
}

impl Producer {
    /// Tells the broker that there is a producer of a group.
    pub async fn connect(address: &str, group: &str) -> Result<Self, CallError> {
        let (asked, questions) = mpsc::unbounded_channel();
        let client = Client::with_service(ClientOptions::default(), Arc::new(Questions(asked)));
        let heartbeat =
            format!(r#"{{"clientID":"p","consumerDataSet":[],"producerDataSet":[{{"groupName":"{group}"}}]}}"#);
        let answer =
            client.call(address, Command::request(RequestCode::HEART_BEAT).with_body(heartbeat), TIMEOUT).await?;
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS);
        Ok(Self { client, questions })
    }

    /// The next CHECK_TRANSACTION_STATE, which has to come soon.
    pub async fn question(&mut self) -> Command {
        timeout(TIMEOUT, self.any_question()).await.unwrap()
    }

    /// The next one, whenever it comes.
    pub async fn any_question(&mut self) -> Command {
        // Its sender is in the client.
        self.questions.recv().await.unwrap()
    }
}

struct Questions(mpsc::UnboundedSender<Command>);

impl Service for Questions {
    fn call(&self, _: &Arc<Peer>, request: Command) -> Reply {
        if request.request_code() == RequestCode::CHECK_TRANSACTION_STATE {
            // The test may be over.
            let _ = self.0.send(request);
        }
        Reply::Never
    }
}
