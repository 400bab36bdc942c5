//! From a frame to the handler or to the call that waits for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use super::Connection;
use super::answering::Answering;
use super::flight::Ticket;
use crate::command::FLAG_RESPONSE;
use crate::server::{Reply, Service};
use crate::{Command, DecodeError, ResponseCode};

impl<S: Service + ?Sized> Connection<S> {
    /// Handles one frame's content. What is answered at once is in the output afterwards.
    pub(super) fn dispatch(&mut self, content: Bytes) -> Result<(), DecodeError> {
        let bytes = content.len();
        let (command, _) = Command::decode(content)?;
        if command.is_response() {
            let (opaque, code) = (command.opaque, command.code);
            if !self.peer.answer_call(command) {
                tracing::debug!(peer = %self.peer.address(), opaque, code, "nobody waits for this response");
            }
            return Ok(());
        }
        let ticket = Ticket { opaque: command.opaque, one_way: command.is_one_way() };
        if self.flight.limit_reached() && self.service.may_refuse(&command) {
            self.answer(ticket, Command::error(ResponseCode::SYSTEM_BUSY, OVERLOAD));
            return Ok(());
        }
        let serialization = self.options.serialization;
        let (peer, output, received) = (&*self.peer, &mut self.output, self.received);
        let answering = Answering { peer, output, ticket, serialization, received };
        match catch_unwind(AssertUnwindSafe(|| self.service.answer(&self.peer, command, answering))) {
            Ok(Reply::Now(response)) => self.answer(ticket, response),
            Ok(Reply::Later(reply)) => self.flight.push(ticket, bytes, reply),
            Ok(Reply::Written | Reply::Never) => {}
            Err(panic) => self.answer(ticket, panicked(&*panic)),
        }
        Ok(())
    }

    /// Puts an answer into the output, behind what the handler pushed before it.
    pub(super) fn answer(&mut self, ticket: Ticket, mut response: Command) {
        if ticket.one_way {
            return;
        }
        self.peer.take_outbox(&mut self.output);
        response.opaque = ticket.opaque;
        response.flag |= FLAG_RESPONSE;
        self.output.push(response, self.options.serialization);
    }
}

/// The answer to a request whose handler panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Command {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("of unknown kind"), "a request handler panicked; the connection goes on");
    Command::error(ResponseCode::SYSTEM_ERROR, "internal error while handling the request")
}

const OVERLOAD: &str = "[OVERLOAD]system busy, start flow control for a while";
