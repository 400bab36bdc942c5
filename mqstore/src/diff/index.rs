//! Comparing index files: their items in order, wherever one file ends and the next begins.

use super::{Common, Side};
use crate::error::Error;
use crate::index::{IndexFiles, Items};
use crate::output::Output;

/// Says where the first difference is. An index that is not there is none.
pub(super) fn differ(a: &Side, b: &Side, common: Common, output: &mut Output) -> Result<bool, Error> {
    let (in_a, in_b) = (a.layout.index()?, b.layout.index()?);
    let mut items = [items_of(&in_a)?, items_of(&in_b)?];
    loop {
        let [found_a, found_b] = [next(&mut items[0], common)?, next(&mut items[1], common)?];
        if found_a != found_b {
            output.line(format_args!("index: first difference: {} in A, {} in B", show(found_a), show(found_b)))?;
            if let Some((_, to)) = found_a.or(found_b) {
                output.line(format_args!("  {}", a.record_with(to)?))?;
            }
            return Ok(true);
        }
        if found_a.is_none() {
            return Ok(false);
        }
    }
}

/// `None` without items.
fn items_of(files: &IndexFiles) -> Result<Option<Items<'_>>, Error> {
    if files.has_items() { Ok(Some(Items::new(files, files.require_shape()?))) } else { Ok(None) }
}

/// Hash and physical offset of the next item that leads into the common part.
fn next(items: &mut Option<Items<'_>>, common: Common) -> Result<Option<(i32, i64)>, Error> {
    let Some(items) = items else { return Ok(None) };
    while let Some(found) = items.next()? {
        if (common.from..common.to).contains(&found.item.physical_offset) {
            return Ok(Some((found.item.hash, found.item.physical_offset)));
        }
    }
    Ok(None)
}

fn show(found: Option<(i32, i64)>) -> String {
    found.map_or("no item".to_owned(), |(hash, to)| format!("hash {hash} leads to {to}"))
}
