//! Who says which filters a message passes.

use crate::read::record::RecordFields;

/// Knows the filters of consumer groups. Asked by the dispatcher for each record that goes to a queue with an extension
/// (enableConsumeQueueExt): what it says is stored there and given to [`MessageFilter::matches_queue`] when the message
/// is read.
///
/// [`MessageFilter::matches_queue`]: crate::read::MessageFilter::matches_queue
pub trait BitMaps: Send + Sync {
    /// The bits of the filters that the message passes, of `bitMapLengthConsumeQueueExt` bits; bit `i` is bit `i % 8`,
    /// from the low end, of byte `i / 8`. `None`, where nothing is known, is stored as a unit without a bit map. After
    /// a restart it may be asked for records again.
    fn bit_map(&self, record: &RecordFields<'_>) -> Option<Vec<u8>>;
}
