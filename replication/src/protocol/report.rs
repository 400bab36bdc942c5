//! Where a slave's log ends.

/// Bytes of a report.
const REPORT: usize = 8;

/// A report as it goes over the connection; the offset is a physical one.
pub fn encode_report(offset: i64) -> [u8; REPORT] {
    offset.to_be_bytes()
}

/// Reads reports from a stream that is cut anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportReader {
    started: [u8; REPORT],
    length: usize,
}

impl ReportReader {
    /// Takes bytes, and gives the offsets of the reports that are whole with them.
    pub fn read<'a>(&'a mut self, bytes: &'a [u8]) -> impl Iterator<Item = i64> + 'a {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let (taken, behind) = rest.split_at(rest.len().min(REPORT - self.length));
            self.started[self.length..self.length + taken.len()].copy_from_slice(taken);
            self.length += taken.len();
            rest = behind;
            (self.length == REPORT).then(|| {
                self.length = 0;
                i64::from_be_bytes(self.started)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cuts_do_not_matter(offsets in proptest::collection::vec(any::<i64>(), 0..40), cut in 1..20usize) {
            let stream: Vec<u8> = offsets.iter().flat_map(|offset| encode_report(*offset)).collect();
            let mut reader = ReportReader::default();
            let mut read = Vec::new();
            for chunk in stream.chunks(cut) {
                read.extend(reader.read(chunk));
            }
            prop_assert_eq!(read, offsets);
        }
    }
}
