//! Consumer groups: their table and the requests about them.

mod requests;
mod table;

pub(crate) use requests::{delete, get, get_all, update, update_list};
pub(crate) use table::GroupTable;
