//! Answers that are written as they go out.

use std::time::Instant;

use super::flight::Ticket;
use super::output::Output;
use super::peer::Peer;
use crate::codec::Head;
use crate::command::{FLAG_RESPONSE, Language, VERSION_5_5_0};
use crate::server::Reply;
use crate::{Body, Command, EncodeHeader, ResponseCode, Serialization};

/// The answer to one request, to be written straight into what leaves on the connection: for requests of which there are
/// many, and that are answered at once. Whoever drops it answers in another way.
pub struct Answering<'a> {
    pub(super) peer: &'a Peer,
    pub(super) output: &'a mut Output,
    pub(super) ticket: Ticket,
    pub(super) serialization: Serialization,
    pub(super) received: Instant,
}

/// Requests of one connection whose answers were put off.
pub struct Settling<'a> {
    pub(super) peer: &'a Peer,
    pub(super) output: &'a mut Output,
    pub(super) serialization: Serialization,
    pub(super) received: Instant,
    pub(super) answered: usize,
}

impl Settling<'_> {
    /// When the requests came.
    pub fn received(&self) -> Instant {
        self.received
    }

    /// The answer to the request of a ticket.
    pub fn answering(&mut self, ticket: Ticket) -> Answering<'_> {
        self.answered += 1;
        let Self { peer, output, serialization, received, .. } = self;
        Answering { peer, output, ticket, serialization: *serialization, received: *received }
    }
}

impl Answering<'_> {
    /// When the request came: the same for all that came together.
    pub fn received(&self) -> Instant {
        self.received
    }

    /// What the answer must carry, for who puts it off.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Writes an answer that is there as a whole.
    pub fn give(self, mut response: Command) {
        if self.ticket.one_way {
            return;
        }
        self.peer.take_outbox(self.output);
        response.opaque = self.ticket.opaque;
        response.flag |= FLAG_RESPONSE;
        self.output.push(response, self.serialization);
    }

    /// Writes the answer.
    pub fn write(self, code: ResponseCode, remark: Option<&str>, header: &impl EncodeHeader, body: Body) -> Reply {
        self.write_parts(code, remark, Some(header), body)
    }

    /// Writes an answer of nothing but a code.
    pub fn write_code(self, code: ResponseCode) -> Reply {
        self.write_parts(code, None, None::<&()>, Body::default())
    }

    fn write_parts(
        self,
        code: ResponseCode,
        remark: Option<&str>,
        header: Option<&impl EncodeHeader>,
        body: Body,
    ) -> Reply {
        if !self.ticket.one_way {
            self.peer.take_outbox(self.output);
            let head = Head {
                code: code.0,
                language: Language::JAVA,
                version: VERSION_5_5_0,
                opaque: self.ticket.opaque,
                flag: FLAG_RESPONSE,
                remark,
                has_fields: header.is_some(),
            };
            match header {
                Some(header) => self.output.write(self.serialization, head, header, body),
                None => self.output.write(self.serialization, head, &(), body),
            }
        }
        Reply::Written
    }
}
