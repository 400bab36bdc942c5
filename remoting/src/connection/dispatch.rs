//! From a frame to the handler or to the call that waits for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use super::Connection;
use super::answering::{Answering, Settling};
use super::end::End;
use super::flight::Ticket;
use crate::server::{Reply, Service};
use crate::{Command, DecodeError, ResponseCode};

impl<S: Service + ?Sized> Connection<S> {
    /// Handles one frame's content. What is answered at once is in the output afterwards; `true` when the answer was put off.
    pub(super) fn dispatch(&mut self, content: Bytes) -> Result<bool, DecodeError> {
        let bytes = content.len();
        let (command, _) = Command::decode(content)?;
        if command.is_response() {
            let (opaque, code) = (command.opaque, command.code);
            if !self.peer.answer_call(command) {
                tracing::debug!(peer = %self.peer.address(), opaque, code, "nobody waits for this response");
            }
            return Ok(false);
        }
        let ticket = Ticket { opaque: command.opaque, one_way: command.is_one_way() };
        if self.flight.limit_reached() && self.service.may_refuse(&command) {
            self.answer(ticket, Command::error(ResponseCode::SYSTEM_BUSY, OVERLOAD));
            return Ok(false);
        }
        let serialization = self.options.serialization;
        let (peer, output, received) = (&*self.peer, &mut self.output, self.received);
        let answering = Answering { peer, output, ticket, serialization, received };
        match catch_unwind(AssertUnwindSafe(|| self.service.answer(&self.peer, command, answering))) {
            Ok(Reply::Now(response)) => self.answer(ticket, response),
            Ok(Reply::Later(reply)) => self.flight.push(ticket, bytes, reply),
            Ok(Reply::Written | Reply::Never) => {}
            Ok(Reply::PutOff) => return Ok(true),
            Err(panic) => self.answer(ticket, panicked(&*panic)),
        }
        Ok(false)
    }

    /// Answers as many requests as were put off. Who waits for an answer that is lost learns it by the end of the connection.
    pub(super) fn settle(&mut self, put_off: usize) -> Result<(), End> {
        let (peer, output, received) = (&*self.peer, &mut self.output, self.received);
        let serialization = self.options.serialization;
        let mut settling = Settling { peer, output, serialization, received, answered: 0 };
        let settled = catch_unwind(AssertUnwindSafe(|| self.service.settle(&mut settling)));
        let answered = settling.answered;
        match settled {
            Ok(()) if answered == put_off => return Ok(()),
            Ok(()) => tracing::error!(answered, put_off, "requests that came together were forgotten"),
            Err(panic) => {
                tracing::error!(panic = text_of(&*panic), "answering requests that came together panicked");
            }
        }
        Err(End::Unanswered)
    }

    /// Puts an answer into the output, behind what the handler pushed before it.
    pub(super) fn answer(&mut self, ticket: Ticket, response: Command) {
        let (peer, output, received) = (&*self.peer, &mut self.output, self.received);
        Answering { peer, output, ticket, serialization: self.options.serialization, received }.give(response);
    }
}

/// The answer to a request whose handler panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Command {
    tracing::error!(panic = text_of(panic), "a request handler panicked; the connection goes on");
    Command::error(ResponseCode::SYSTEM_ERROR, "internal error while handling the request")
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("of unknown kind")
}

const OVERLOAD: &str = "[OVERLOAD]system busy, start flow control for a while";
