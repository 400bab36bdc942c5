//! Whether groups pull or pop, as their administrators asked for: set (401), kept and passed on (402).

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::protocol::assignment::{
    MessageRequestMode, MessageRequestModeSerializeWrapper, SetMessageRequestModeRequestBody,
};
use apogee_remoting::{Command, ResponseCode, json};
use parking_lot::Mutex;

use crate::Broker;
use crate::answer::{Answer, Refusal};
use crate::names::RETRY_PREFIX;

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

/// Sets the mode of a group for a topic (401). Pop is not served yet, and refused. Waits for the disk.
pub(crate) fn set(broker: &Broker, request: &Command) -> Answer {
    let wanted: SetMessageRequestModeRequestBody = json::from_slice(&request.body.bytes())?;
    let refuse = |code, remark: String| Err(Refusal::new(code, remark));
    if wanted.topic.is_empty() || wanted.consumer_group.is_empty() {
        return refuse(ResponseCode::SYSTEM_ERROR, "a mode needs a topic and a consumerGroup".to_owned());
    }
    if wanted.topic.starts_with(RETRY_PREFIX) {
        return refuse(ResponseCode::NO_PERMISSION, "retry topic is not allowed to set mode".to_owned());
    }
    if !broker.topics.contains(&wanted.topic) {
        return refuse(ResponseCode::TOPIC_NOT_EXIST, format!("topic[{}] not exist", wanted.topic));
    }
    if broker.groups.find_or_create(&wanted.consumer_group, &broker.settings().broker).is_none() {
        return refuse(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist".to_owned());
    }
    if wanted.mode != MessageRequestMode::Pull {
        return refuse(ResponseCode::SYSTEM_ERROR, "this broker does not serve pop".to_owned());
    }
    let mut modes = broker.request_modes.modes.lock();
    let mut changed = modes.clone();
    let of_topic = changed.message_request_mode_map.entry(wanted.topic.clone()).or_default();
    of_topic.insert(wanted.consumer_group.clone(), wanted);
    broker
        .request_modes
        .file
        .write(json::to_vec_pretty(&changed))
        .map_err(|error| Refusal::new(ResponseCode::SYSTEM_ERROR, error.to_string()))?;
    *modes = changed;
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// All modes (402).
pub(crate) fn get_all(broker: &Broker) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&*broker.request_modes.modes.lock()))
}
