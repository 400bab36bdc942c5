//! Requests about topics.

mod administration;
mod list;
mod route;

pub use administration::{delete, register};
pub use list::{list_all, list_of_cluster, list_system, list_unit, list_unit_sub, list_unit_sub_only};
pub use route::{no_route, route};
