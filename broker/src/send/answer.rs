//! What a producer is told of its message.

use std::borrow::Cow;

use apogee_config::BrokerSettings;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::key;
use apogee_remoting::protocol::send::SendMessageResponseHeader;
use apogee_remoting::server::{Answering, Reply};
use apogee_remoting::{Body, Command, EncodeHeader, FieldSink, ResponseCode};

/// The answer for a message or a batch that is in the log, without region and trace mark.
pub(super) enum StoredAnswer<'a> {
    /// Where a single message went: of such answers there are many.
    Place(Place<'a>),
    Other(Command),
}

/// Where a single message went.
pub(super) struct Place<'a> {
    pub(super) id: OffsetMessageId,
    pub(super) queue_id: i32,
    pub(super) queue_offset: i64,
    pub(super) unique_key: Option<Cow<'a, [u8]>>,
}

impl StoredAnswer<'_> {
    /// Answers at once.
    pub(super) fn give(self, settings: &BrokerSettings, answering: Answering<'_>) -> Reply {
        match self {
            Self::Place(place) => {
                let header = (place, Trace(settings));
                answering.write(ResponseCode::SUCCESS, None, &header, Body::default())
            }
            Self::Other(command) => super::with_trace(settings, command).into(),
        }
    }

    /// The answer as a command, for later.
    pub(super) fn into_command(self, settings: &BrokerSettings) -> Command {
        let command = match self {
            Self::Place(place) => Command::response(ResponseCode::SUCCESS).with_header(&place),
            Self::Other(command) => command,
        };
        super::with_trace(settings, command)
    }
}

impl From<Command> for StoredAnswer<'_> {
    fn from(command: Command) -> Self {
        Self::Other(command)
    }
}

impl EncodeHeader for Place<'_> {
    fn encode(&self, fields: &mut impl FieldSink) {
        let id = self.id.text();
        let header = SendMessageResponseHeader {
            msg_id: id.as_str(),
            queue_id: self.queue_id,
            queue_offset: self.queue_offset,
            transaction_id: self.unique_key.as_ref().and_then(|key| str::from_utf8(key).ok()),
            batch_uniq_id: None,
            recall_handle: None,
        };
        header.encode(fields);
    }
}

/// The region of the broker, and whether it wants traces.
pub(super) struct Trace<'a>(pub(super) &'a BrokerSettings);

impl EncodeHeader for Trace<'_> {
    fn encode(&self, fields: &mut impl FieldSink) {
        fields.put(key::MSG_REGION, &self.0.broker.region_id);
        fields.put(key::TRACE_ON, if self.0.broker.trace_on { "true" } else { "false" });
    }
}
