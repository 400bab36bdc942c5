//! Comparing index files: their items in order, wherever one file ends and the next begins.

use std::collections::BTreeSet;

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
            let [in_a, in_b] = [found_a.as_ref(), found_b.as_ref()];
            output.line(format_args!("index: first difference: {} in A, {} in B", show(in_a), show(in_b)))?;
            if let Some((to, _)) = in_a.or(in_b) {
                output.line(format_args!("  {}", a.record_with(*to)?))?;
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

/// The physical offset of the next record in the common part that items lead to, and their hashes. After a kill the reference
/// indexes the last record of a file again: items that are there twice count once.
fn next(items: &mut Option<Items<'_>>, common: Common) -> Result<Option<(i64, BTreeSet<i32>)>, Error> {
    let Some(items) = items else { return Ok(None) };
    while let Some(found) = items.next()? {
        let to = found.item.physical_offset;
        let mut hashes = BTreeSet::from([found.item.hash]);
        while items.peek()?.is_some_and(|next| next.item.physical_offset == to) {
            hashes.extend(items.next()?.map(|found| found.item.hash));
        }
        if (common.from..common.to).contains(&to) {
            return Ok(Some((to, hashes)));
        }
    }
    Ok(None)
}

fn show(found: Option<&(i64, BTreeSet<i32>)>) -> String {
    found.map_or("no item".to_owned(), |(to, hashes)| format!("hashes {hashes:?} lead to {to}"))
}
