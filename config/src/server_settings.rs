//! What one server is configured with: several classes filled from one file, as the reference does it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::nearest::nearest;
use crate::other_keys::is_known_elsewhere;
use crate::properties::{self, PropertiesError, Property};
use crate::settings::{SettingError, Settings};
use crate::system_properties::{FRAME_MAX_LENGTH, SystemProperty};

/// The configuration of one server. A key is set in every class that knows it; keys that none knows are kept and listed,
/// and have no effect.
pub trait ServerSettings: Clone {
    /// The classes that the server lists and an update may change. Where two have the same key, the later one is listed.
    fn parts(&self) -> Vec<&dyn Settings>;

    /// The same, to be changed.
    fn parts_mut(&mut self) -> Vec<&mut dyn Settings>;

    /// Classes that are filled from the file and not listed, beyond what the file says.
    fn unlisted(&self) -> Vec<&dyn Settings> {
        Vec::new()
    }

    /// The same, to be changed.
    fn unlisted_mut(&mut self) -> Vec<&mut dyn Settings> {
        Vec::new()
    }

    /// Keys of the file that are in no listed class.
    fn extra(&self) -> &BTreeMap<String, String>;

    /// The same, to be changed.
    fn extra_mut(&mut self) -> &mut BTreeMap<String, String>;

    /// The file that an update rewrites.
    fn file(&self) -> PathBuf;

    /// The value of `configBlackList`.
    fn black_list(&self) -> &str;

    /// Refuses values of the right type that no server can run with.
    fn check(&self) -> Result<(), SettingError>;

    /// Sets the keys whose values follow from others, once the values have passed [`ServerSettings::check`].
    fn derive(&mut self) {}

    /// Keys that the reference has as system properties.
    fn system_properties(&self) -> &'static [SystemProperty] {
        &[FRAME_MAX_LENGTH]
    }

    /// The largest frame that is taken from a peer, in bytes with its length word
    /// (`com.rocketmq.remoting.frameMaxLength`); `None` where the file names none. The reference has a system property of
    /// this name and no key.
    fn frame_max_length(&self) -> Option<usize> {
        self.extra().get(FRAME_MAX_LENGTH.name)?.parse().ok()
    }

    /// Sets a key wherever it is known; false when it is known nowhere.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, SettingError> {
        if let Some(property) = self.system_properties().iter().find(|property| property.name == key) {
            self.extra_mut().insert(key.to_owned(), property.checked(value)?);
            return Ok(true);
        }
        let mut known = false;
        for part in self.parts_mut() {
            known |= part.set(key, value)?;
        }
        let mut known_unlisted = false;
        for part in self.unlisted_mut() {
            known_unlisted |= part.set(key, value)?;
        }
        if known_unlisted && !known {
            self.extra_mut().insert(key.to_owned(), value.trim().to_owned());
        }
        Ok(known || known_unlisted)
    }

    /// Sets what a file says and checks the whole. Returns what an operator should be told.
    fn apply_file(&mut self, file: &Path) -> Result<Vec<Notice>, LoadError> {
        let properties = properties::read_file(file)?;
        let at = |line, source| LoadError::Setting { file: file.to_owned(), line, source };
        let mut notices = Vec::new();
        for Property { key, value, line } in &properties {
            match self.set(key, value) {
                Ok(true) => {}
                Ok(false) => {
                    notices.push(Notice::unknown(self, key, *line));
                    self.extra_mut().insert(key.clone(), value.clone());
                }
                // The reference ignores such keys, so its files may hold them.
                Err(SettingError::Fixed { .. }) => {
                    notices.push(Notice { key: key.clone(), line: *line, about: About::Fixed });
                }
                Err(error) => return Err(at(*line, error)),
            }
        }
        self.check().map_err(|error| {
            let key = error.key();
            match properties.iter().rfind(|property| property.key == key) {
                Some(property) => at(property.line, error),
                None => LoadError::Check(error),
            }
        })?;
        Ok(notices)
    }

    /// Every key that has a value, sorted: the answer to a request for the configuration, and the file after an update.
    fn entries(&self) -> BTreeMap<String, String> {
        let mut entries = self.extra().clone();
        for part in self.parts() {
            entries.extend(part.entries().into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
        entries
    }

    /// The entries in the form of a file.
    fn text(&self) -> String {
        properties::write(self.entries().iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// The value of one key as listed.
    fn get(&self, key: &str) -> Option<String> {
        let listed = self.parts().into_iter().rev().find_map(|part| part.get(key));
        listed.or_else(|| self.extra().get(key).cloned())
    }

    /// What `-p` (or `-m`, with `important_only`) prints: class after class, `key=value` lines in the reference's order.
    fn lines(&self, important_only: bool) -> Vec<String> {
        let classes = self.parts().into_iter().chain(self.unlisted());
        classes.flat_map(|class| class.lines(important_only)).collect()
    }
}

/// A server's configuration and what an operator should be told about its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<S> {
    /// The configuration.
    pub settings: S,
    /// Keys without effect, to be logged as warnings.
    pub notices: Vec<Notice>,
}

/// A key that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    key: String,
    line: usize,
    about: About,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    /// No class has it; perhaps another was meant.
    Unknown { nearest: Option<&'static str> },
    /// The reference knows it.
    Elsewhere,
    /// It cannot be changed.
    Fixed,
}

impl Notice {
    pub(crate) fn unknown(settings: &impl ServerSettings, key: &str, line: usize) -> Self {
        let about = if is_known_elsewhere(key) {
            About::Elsewhere
        } else {
            let classes = settings.parts().into_iter().chain(settings.unlisted());
            About::Unknown { nearest: nearest(key, classes.flat_map(Settings::keys).map(|key| key.name)) }
        };
        Self { key: key.to_owned(), line, about }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, line, about } = self;
        match about {
            About::Unknown { nearest: Some(nearest) } => {
                write!(f, "line {line}: {key} is not known and has no effect; is {nearest} meant?")
            }
            About::Unknown { nearest: None } => write!(f, "line {line}: {key} is not known and has no effect"),
            About::Elsewhere => write!(f, "line {line}: {key} has no effect here"),
            About::Fixed => write!(f, "line {line}: {key} cannot be changed"),
        }
    }
}

/// Why a server cannot run with what it was given.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is no properties file.
    #[error(transparent)]
    Properties(#[from] PropertiesError),
    /// A line of the file has a value that does not fit.
    #[error("{}: line {line}: {source}", file.display())]
    Setting {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, its value and what is expected.
        source: SettingError,
    },
    /// A default or a command line option does not fit.
    #[error(transparent)]
    Check(SettingError),
}

/// Refuses a number outside of a range.
pub(crate) fn check_range(settings: &dyn Settings, ranges: &[(&str, i64, i64)]) -> Result<(), SettingError> {
    for (key, least, most) in ranges {
        let Some(value) = settings.get(key) else { continue };
        if !value.parse::<i64>().is_ok_and(|number| (*least..=*most).contains(&number)) {
            let expected = format!("a whole number from {least} to {most}");
            return Err(SettingError::Value { key: (*key).to_owned(), value, expected });
        }
    }
    Ok(())
}

/// Refuses a list of addresses that is not `host:port;host:port`.
pub(crate) fn check_addresses(key: &str, value: &str) -> Result<(), SettingError> {
    let is_address = |address: &str| {
        let Some((host, port)) = address.trim().rsplit_once(':') else { return false };
        !host.is_empty() && port.parse::<u16>().is_ok()
    };
    if value.split(';').filter(|address| !address.trim().is_empty()).all(is_address) {
        return Ok(());
    }
    let expected = "addresses such as 127.0.0.1:9876;192.168.0.1:9876".to_owned();
    Err(SettingError::Value { key: key.to_owned(), value: value.to_owned(), expected })
}
