//! Cluster test mode (`clusterTest`): a name server without brokers that answers routes out of another environment
//! (`productEnvName`), for clients under test. As with the reference, every code is taken for a route query.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::client::{Client, ClientOptions, NameServers};
use apogee_remoting::command::VERSION_4_9_4;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, RequestCode, ResponseCode};

use crate::{respond, topic};

/// The name servers of the other environment.
pub struct Upstream(NameServers);

impl Upstream {
    /// The servers that the environment variable NAMESRV_ADDR names.
    pub fn from_environment() -> Self {
        let addresses = std::env::var("NAMESRV_ADDR").unwrap_or_default();
        Self::new(NameServers::parse_list(&addresses))
    }

    /// The servers at `addresses` (`host:port`).
    pub fn new(addresses: Vec<String>) -> Self {
        Self(NameServers::new(Arc::new(Client::new(ClientOptions::default())), addresses))
    }

    /// Asks for the route of a topic; `None` when there is none, or nobody answers.
    async fn route(&self, topic: &str, standard: bool) -> Option<Command> {
        let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC)
            .with_field("topic", topic)
            .with_field("acceptStandardJsonOnly", if standard { "true" } else { "false" });
        match self.0.call_any(query, TIMEOUT).await {
            Ok(response) if response.response_code() == ResponseCode::SUCCESS => Some(response),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(topic, %error, "no route from the other environment");
                None
            }
        }
    }
}

/// Answers with the other environment's route of the topic.
pub fn answer(upstream: &Arc<Upstream>, request: Command) -> Reply {
    let upstream = Arc::clone(upstream);
    Reply::later(async move {
        let topic = request.field("topic");
        let standard = request.version >= VERSION_4_9_4;
        let route = match topic {
            Some(topic) => upstream.route(topic, standard).await,
            None => None,
        };
        match route {
            Some(route) => respond::success().with_body(route.body),
            None => topic::no_route(topic),
        }
    })
}

/// For each of the other environment's servers.
const TIMEOUT: Duration = Duration::from_secs(3);
