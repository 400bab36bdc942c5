//! The configuration while the server runs: codes 318, 319.

mod runtime;

use std::sync::Arc;

use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode};

use apogee_config::UpdateError;

pub use self::runtime::RuntimeSettings;
use crate::name_server::NameServer;
use crate::respond;

/// GET_NAMESRV_CONFIG: all keys, sorted, as the lines of a `.properties` file.
pub fn get(server: &NameServer) -> Command {
    respond::success().with_body(server.settings.text())
}

/// UPDATE_NAMESRV_CONFIG: applied as a whole or not at all, and answered when the file is written.
pub fn update(server: &NameServer, request: &Command) -> Reply {
    let body = request.body.bytes();
    if body.is_empty() {
        return respond::success().into();
    }
    let (settings, routes) = (Arc::clone(&server.settings), Arc::clone(&server.routes));
    Reply::later(respond::in_background(move || match settings.update(&body) {
        Ok(()) => {
            routes.forget_all(settings.current().support_acting_master);
            respond::success()
        }
        Err(error) => {
            tracing::warn!(%error, "configuration was not changed");
            Command::error(code(&error), remark(&error))
        }
    }))
}

fn code(error: &UpdateError) -> ResponseCode {
    match error {
        UpdateError::BlackListed { .. } => ResponseCode::NO_PERMISSION,
        UpdateError::Setting(_) => ResponseCode::INVALID_PARAMETER,
        UpdateError::Syntax(_) | UpdateError::Persist(_) => ResponseCode::SYSTEM_ERROR,
    }
}

/// The key that was refused is in the server's log; the reference's words are what tools look for.
fn remark(error: &UpdateError) -> std::borrow::Cow<'static, str> {
    match error {
        UpdateError::BlackListed { .. } => "Can not update config in black list.".into(),
        other => other.to_string().into(),
    }
}
