//! Which messages of a queue a subscription lets through, as far as consume-queue units tell.

use std::sync::Arc;

use apogee_remoting::message::java_hash::java_hash;
use apogee_remoting::message::properties::Properties;
use apogee_store::MessageFilter;
use apogee_store::queue::ExtensionUnit;

/// A tag subscription, reduced to hash codes. Codes collide, so a client filters once more by the
/// tags themselves; what does not pass here it need not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TagFilter {
    /// Everything.
    All,
    /// Messages whose tag has one of these hash codes.
    Codes(Arc<[i32]>),
}

impl TagFilter {
    pub(crate) fn codes(codes: impl IntoIterator<Item = i32>) -> Self {
        Self::Codes(codes.into_iter().collect())
    }

    /// Reads a tag expression: `*`, or tags with `||` between them. `None` when it holds no tag at all.
    pub(crate) fn parse(expression: Option<&str>) -> Option<Self> {
        let expression = expression.unwrap_or_default();
        if expression.is_empty() || expression == "*" {
            return Some(Self::All);
        }
        if expression.split("||").all(str::is_empty) {
            return None;
        }
        let tags = expression.split("||").map(str::trim).filter(|tag| !tag.is_empty());
        Some(Self::codes(tags.map(|tag| java_hash(tag.as_bytes()))))
    }

    /// Whether a unit with this tags code passes. A unit holds the hash as a long; as the reference,
    /// only its lower half is compared.
    pub(crate) fn matches(&self, tags_code: i64) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.contains(&(tags_code as i32)),
        }
    }
}

impl MessageFilter for TagFilter {
    fn matches_queue(&self, tags_code: i64, _: Option<&ExtensionUnit>) -> bool {
        self.matches(tags_code)
    }

    fn matches_record(&self, _: Properties<'_>) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_lists_tags() {
        assert_eq!(TagFilter::parse(None), Some(TagFilter::All));
        assert_eq!(TagFilter::parse(Some("*")), Some(TagFilter::All));
        assert_eq!(TagFilter::parse(Some("||")), None);
        let filter = TagFilter::parse(Some(" TagA || TagB|| ")).unwrap();
        assert_eq!(filter, TagFilter::codes([2_598_919, 2_598_920]));
        assert!(filter.matches(2_598_919) && !filter.matches(0));
    }

    #[test]
    fn tags_of_equal_hash_pass_together() {
        assert!(TagFilter::parse(Some("Aa")).unwrap().matches(i64::from(java_hash(b"BB"))));
    }
}
