//! Consumer groups: their table and the requests about them.

mod requests;
mod table;
mod topics;

pub(crate) use requests::{delete, forbid, get, get_all, update, update_list};
pub(crate) use table::GroupTable;
pub(crate) use topics::{consumers_of, subscription, topics_of};
