//! Rebalancing by the broker: which queues a client of a group gets (code 400).
//!
//! The queues are those of all brokers, as the name servers know them. Pop is not served yet, so everybody is told to pull,
//! whatever mode a group was given.

mod routes;
mod share;

use std::sync::Arc;

use apogee_remoting::protocol::assignment::{
    MessageQueueAssignment, QueryAssignmentRequestBody, QueryAssignmentResponseBody,
};
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::subscription::MessageModel;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode, json};
use apogee_store::light::is_light;

pub(crate) use routes::Routes;

use crate::Broker;
use crate::answer::Refusal;

/// Which queues of a topic the asking client shall consume (400). An answer without a list means: stay as you are.
pub(crate) fn query(broker: &Arc<Broker>, request: &Command) -> Reply {
    let body = match read(request) {
        Ok(body) => body,
        Err(refusal) => return Command::from(refusal).into(),
    };
    let broker = Arc::clone(broker);
    Reply::later(async move {
        let queues = assigned(&broker, &body).await;
        let assignment =
            |queue| MessageQueueAssignment { message_queue: Some(queue), ..MessageQueueAssignment::default() };
        let body = QueryAssignmentResponseBody {
            message_queue_assignments: queues.map(|queues| queues.into_iter().map(assignment).collect()),
        };
        Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body))
    })
}

fn read(request: &Command) -> Result<QueryAssignmentRequestBody, Refusal> {
    let body: QueryAssignmentRequestBody = json::from_slice(&request.body.bytes())?;
    if body.topic.is_empty() || body.consumer_group.is_empty() || body.message_model.is_none() {
        return Err(Refusal::new(
            ResponseCode::SYSTEM_ERROR,
            "an assignment needs a topic, a consumerGroup and a messageModel",
        ));
    }
    Ok(body)
}

async fn assigned(broker: &Broker, body: &QueryAssignmentRequestBody) -> Option<Vec<MessageQueue>> {
    match body.message_model? {
        MessageModel::Broadcasting => Some(broker.routes.queues(broker, &body.topic).await?.to_vec()),
        MessageModel::Clustering => {
            let queues = if is_light(&body.topic) {
                let broker_name = broker.settings().broker.broker_name.clone();
                Arc::from([MessageQueue { broker_name, queue_id: 0, topic: body.topic.clone() }])
            } else {
                broker.routes.queues(broker, &body.topic).await?
            };
            if !broker.settings().broker.server_load_balancer_enable {
                return Some(queues.to_vec());
            }
            let mut clients = broker.consumers.group(&body.consumer_group)?.client_ids();
            clients.sort_unstable();
            share::share(&body.strategy_name, &queues, &clients, &body.client_id)
        }
        _ => None,
    }
}
