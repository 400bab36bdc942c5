//! How a handler answers, and the one place that says what a refusal means on the wire.

use std::borrow::Cow;
use std::future::Future;

use apogee_config::state_file::StateFileError;
use apogee_remoting::json::JsonError;
use apogee_remoting::{Command, HeaderError, ResponseCode};

use crate::saved_table::{SaveError, Saving};

/// What a handler that answers at once returns.
pub(crate) type Answer = Result<Command, Refusal>;

/// A request that is not carried out: the code and the remark that its sender gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ResponseCode,
    pub(crate) remark: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { code, remark: remark.into() }
    }
}

impl From<Refusal> for Command {
    fn from(refusal: Refusal) -> Self {
        Self::error(refusal.code, refusal.remark)
    }
}

/// The reference ends in an exception where a needed field is missing or malformed, and answers SYSTEM_ERROR (trap 6).
impl From<HeaderError> for Refusal {
    fn from(error: HeaderError) -> Self {
        Self::new(ResponseCode::SYSTEM_ERROR, error.to_string())
    }
}

/// A body that does not parse ends in an exception there, too.
impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Self {
        Self::new(ResponseCode::SYSTEM_ERROR, error.to_string())
    }
}

/// A file that cannot be read.
impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        tracing::error!(%error, "a file of the store cannot be read");
        Self::new(ResponseCode::SYSTEM_ERROR, error.to_string())
    }
}

/// A state file of which neither copy can be read.
impl From<StateFileError> for Refusal {
    fn from(error: StateFileError) -> Self {
        Self::new(ResponseCode::SYSTEM_ERROR, error.to_string())
    }
}

/// A table that cannot be written down.
impl From<SaveError> for Refusal {
    fn from(error: SaveError) -> Self {
        Self::new(ResponseCode::SYSTEM_ERROR, error.to_string())
    }
}

/// Why a request is not carried out, or not yet.
pub(crate) enum NotDone {
    Refused(Refusal),
    /// Something has to be on disk, or gone from it, first. The request can be tried again then: what was done so far may be
    /// done twice.
    Waits(Saving),
}

impl<T: Into<Refusal>> From<T> for NotDone {
    fn from(refused: T) -> Self {
        Self::Refused(refused.into())
    }
}

/// Tries until there is nothing more to wait for.
///
/// # Errors
/// It is refused, or what it waited for cannot be written down.
pub(crate) async fn when_possible<T, F: Future<Output = Result<T, NotDone>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, Refusal> {
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(NotDone::Refused(refusal)) => return Err(refusal),
            Err(NotDone::Waits(saving)) => saving.done().await?,
        }
    }
}

/// What the reference appends to remarks about things that an operator has to set up first.
pub(crate) const SEE_FAQ: &str = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";

/// The remark that the reference forgets in successful answers to some requests (trap 7).
pub(crate) const NOT_SET: &str = "not set any response code";
