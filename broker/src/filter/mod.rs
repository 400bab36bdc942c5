//! Filters by the properties of messages: what groups want, and the requests about it (codes 46 and 301).

mod bit_map;
mod message;
mod requests;
mod servers;
mod table;

pub(crate) use message::Message;
pub(crate) use requests::{check, is_served, register_server};
pub(crate) use servers::FilterServers;
pub(crate) use table::{Filters, GroupFilter};

/// Whether an expression type is that of tags; it is the default.
pub(crate) fn is_tag_type(kind: &str) -> bool {
    kind.is_empty() || kind == "TAG"
}

/// The expression type of the language that is served beside tags.
pub(crate) const SQL92: &str = "SQL92";
