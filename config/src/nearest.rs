//! The known key that an unknown one was probably meant to be.

/// The candidate with the smallest edit distance to `key`, regardless of case; `None` when nothing is close (more than
/// two edits and more than a quarter of the key).
pub(crate) fn nearest<'a>(key: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = key.to_lowercase();
    let allowed = (lower.len() / 4).max(2);
    let close = candidates.into_iter().filter(|candidate| candidate.len().abs_diff(lower.len()) <= allowed);
    let measured = close.map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate));
    measured.filter(|(edits, _)| *edits <= allowed).min().map(|(_, candidate)| candidate)
}

/// Levenshtein's distance: insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn finds_typing_errors_and_nothing_far_away() {
        let keys = ["listenPort", "brokerName", "autoCreateTopicEnable", "brokerIP1", "brokerIP2"];
        assert_eq!(nearest("listenport", keys), Some("listenPort"));
        assert_eq!(nearest("brokerNmae", keys), Some("brokerName"));
        assert_eq!(nearest("autoCreateTopicEnabled", keys), Some("autoCreateTopicEnable"));
        assert_eq!(nearest("brokerIp1", keys), Some("brokerIP1"));
        assert_eq!(nearest("somethingElse", keys), None);
        assert_eq!(nearest("", keys), None);
    }
}
