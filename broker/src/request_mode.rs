//! Whether groups pull or pop, as their administrators or clients asked for: kept and passed on (402).

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::protocol::assignment::MessageRequestModeSerializeWrapper;
use apogee_remoting::{Command, ResponseCode, json};
use parking_lot::Mutex;

use crate::Broker;

/// The modes by topic and group, as the file and the wire have them.
pub(crate) struct RequestModes {
    modes: Mutex<MessageRequestModeSerializeWrapper>,
    file: StateFile,
}

impl RequestModes {
    /// The modes that the file holds.
    pub(crate) fn new(file: StateFile, saved: MessageRequestModeSerializeWrapper) -> Self {
        Self { modes: Mutex::new(saved), file }
    }

    /// Takes another broker's modes in place of these. Waits for the disk.
    ///
    /// # Errors
    /// They are not on disk, and these stay.
    pub(crate) fn take_over(&self, theirs: MessageRequestModeSerializeWrapper) -> Result<(), StateFileError> {
        let mut modes = self.modes.lock();
        if *modes != theirs {
            self.file.write(json::to_vec_pretty(&theirs))?;
            *modes = theirs;
        }
        Ok(())
    }
}

/// All modes (402).
pub(crate) fn get_all(broker: &Broker) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&*broker.request_modes.modes.lock()))
}
