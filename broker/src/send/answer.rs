//! What a producer is told of its message.

use std::borrow::Cow;

use apogee_config::BrokerSettings;
use apogee_remoting::header::FieldValue;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::key;
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

/// As a [`SendMessageResponseHeader`](apogee_remoting::protocol::send::SendMessageResponseHeader), of bytes that nobody has to
/// look at first.
impl EncodeHeader for Place<'_> {
    fn encode(&self, fields: &mut impl FieldSink) {
        fields.put_plain_bytes("msgId", self.id.text().as_bytes());
        self.queue_id.write("queueId", fields);
        self.queue_offset.write("queueOffset", fields);
        if let Some(key) = &self.unique_key {
            fields.put_bytes("transactionId", key);
        }
    }
}

/// The region of the broker, and whether it wants traces.
pub(super) struct Trace<'a>(pub(super) &'a BrokerSettings);

impl EncodeHeader for Trace<'_> {
    fn encode(&self, fields: &mut impl FieldSink) {
        fields.put(key::MSG_REGION, &self.0.broker.region_id);
        fields.put_plain(key::TRACE_ON, if self.0.broker.trace_on { "true" } else { "false" });
    }
}
