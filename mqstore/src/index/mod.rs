//! Index files, read only.

mod file;
mod files;
mod items;

pub(crate) use file::{IndexFile, Shape};
pub(crate) use files::IndexFiles;
pub(crate) use items::{AT_ONCE, Found, Items};
