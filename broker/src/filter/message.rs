//! The properties of a stored message as an expression asks for them.

use std::borrow::Cow;

use apogee_filter::PropertySource;
use apogee_remoting::message::properties::Properties;

/// A message by its properties. They are searched as they are stored: no map is made of them.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a>(pub(crate) Properties<'a>);

impl PropertySource for Message<'_> {
    fn property(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(String::from_utf8_lossy)
    }
}
