//! What a producer is told when the store did not take a message.

use apogee_config::BrokerSettings;
use apogee_remoting::ResponseCode;
use apogee_store::AppendError;

use crate::Broker;
use crate::answer::Refusal;

/// The code and the beginning of the remark are the reference's; which resource was short follows.
pub(crate) fn refusal(broker: &Broker, settings: &BrokerSettings, error: &AppendError) -> Refusal {
    broker.stats.refused();
    let not_available = || {
        Refusal::new(
            ResponseCode::SERVICE_NOT_AVAILABLE,
            format!(
                "service not available now. It may be caused by one of the following reasons: the broker's disk is \
                 full [CL: {:.2} CQ: {:.2} INDEX: {:.2}], messages are put to the slave, message store has been shut \
                 down, etc. Here: {error}",
                broker.store.used_space(),
                broker.store.used_space(),
                broker.store.used_space(),
            ),
        )
    };
    match error {
        AppendError::MessageTooLarge { .. } | AppendError::Draft(_) | AppendError::Properties => illegal(settings),
        AppendError::Queue { .. } => Refusal::new(ResponseCode::INVALID_PARAMETER, error.to_string()),
        AppendError::TooManyLightQueues(_) => Refusal::new(
            ResponseCode::LMQ_QUOTA_EXCEEDED,
            format!("[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded. Here: {error}"),
        ),
        AppendError::DiskFull(_) | AppendError::NotWritable(_) | AppendError::Broken(_) | AppendError::Shutdown => {
            not_available()
        }
    }
}

/// A message cannot be stored as it is.
pub(super) fn illegal(settings: &BrokerSettings) -> Refusal {
    Refusal::new(
        ResponseCode::MESSAGE_ILLEGAL,
        format!(
            "the message is illegal, maybe msg body or properties length not matched. msg body length limit {}B, msg \
             properties length limit 32KB.",
            settings.store.max_message_size
        ),
    )
}
