//! Broker configuration: code 26.

use crate::header;

header! {
    /// Header of the response to GET_BROKER_CONFIG (26).
    pub struct GetBrokerConfigResponseHeader<'a> {
        /// Version of the configuration: a [`super::data_version::DataVersion`] in JSON.
        pub version: &'a str = "version",
    }
}
