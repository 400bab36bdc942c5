//! Answers that are written as they go out.

use super::flight::Ticket;
use super::output::Output;
use super::peer::Peer;
use crate::codec::Head;
use crate::command::{FLAG_RESPONSE, Language, VERSION_5_5_0};
use crate::server::Reply;
use crate::{Body, EncodeHeader, ResponseCode, Serialization};

/// The answer to one request, to be written straight into what leaves on the connection: for requests of which there are
/// many, and that are answered at once. Whoever drops it answers in another way.
pub struct Answering<'a> {
    pub(super) peer: &'a Peer,
    pub(super) output: &'a mut Output,
    pub(super) ticket: Ticket,
    pub(super) serialization: Serialization,
}

impl Answering<'_> {
    /// Writes the answer.
    pub fn write(self, code: ResponseCode, remark: Option<&str>, header: &impl EncodeHeader, body: Body) -> Reply {
        if !self.ticket.one_way {
            self.peer.take_outbox(self.output);
            let head = Head {
                code: code.0,
                language: Language::JAVA,
                version: VERSION_5_5_0,
                opaque: self.ticket.opaque,
                flag: FLAG_RESPONSE,
                remark,
                has_fields: true,
            };
            self.output.write(self.serialization, head, header, body);
        }
        Reply::Written
    }
}
