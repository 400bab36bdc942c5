//! How handlers answer: what an error means on the wire is decided here.

use apogee_remoting::json::{self, JsonError};
use apogee_remoting::{Command, HeaderError, ResponseCode};
use serde::Serialize;

/// SUCCESS and nothing else.
pub fn success() -> Command {
    Command::response(ResponseCode::SUCCESS)
}

/// SUCCESS with a body in the reference's JSON dialect.
pub fn body(body: &impl Serialize) -> Command {
    success().with_body(json::to_vec(body))
}

/// SYSTEM_ERROR with a reason.
pub fn system_error(reason: impl Into<std::borrow::Cow<'static, str>>) -> Command {
    Command::error(ResponseCode::SYSTEM_ERROR, reason)
}

/// Why a request cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A header field is missing or malformed.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The body does not parse.
    #[error(transparent)]
    Body(#[from] JsonError),
}

impl From<Refused> for Command {
    fn from(refused: Refused) -> Self {
        system_error(refused.to_string())
    }
}

/// Runs a handler that may refuse the request.
pub fn or_refuse(handler: impl FnOnce() -> Result<Command, Refused>) -> Command {
    handler().unwrap_or_else(Command::from)
}

/// A text in the answer where the reference prints an absent one as `null`.
pub fn printed(text: Option<&str>) -> &str {
    text.unwrap_or("null")
}

/// Runs work that may block on a thread where it disturbs nobody.
pub async fn in_background(work: impl FnOnce() -> Command + Send + 'static) -> Command {
    match tokio::task::spawn_blocking(work).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a request was not finished");
            system_error("the request was not finished; see the server's log")
        }
    }
}
