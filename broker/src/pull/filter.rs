//! Which messages of a queue a subscription lets through.

use std::sync::Arc;

use apogee_filter::Expression;
use apogee_remoting::message::java_hash::java_hash;
use apogee_remoting::message::properties::{Properties, key};
use apogee_store::queue::ExtensionUnit;
use apogee_store::{Arrival, MessageFilter};

use crate::filter::{Filters, GroupFilter, Message};
use crate::names::RETRY_PREFIX;

/// What a pull lets through.
#[derive(Clone)]
pub(crate) enum PullFilter {
    /// By tag.
    Tags(TagFilter),
    /// By properties.
    Properties(PropertyFilter),
}

impl PullFilter {
    /// Everything.
    pub(crate) const ALL: Self = Self::Tags(TagFilter::All);

    /// Whether a message passes that arrived just now.
    pub(super) fn passes(&self, arrival: &Arrival<'_>) -> bool {
        self.matches_queue(arrival.tags_code, None) && (!self.needs_record() || self.matches_record(arrival.properties))
    }
}

impl MessageFilter for PullFilter {
    fn matches_queue(&self, tags_code: i64, extension: Option<&ExtensionUnit>) -> bool {
        match self {
            Self::Tags(tags) => tags.matches(tags_code),
            Self::Properties(filter) => match (&filter.registered, extension) {
                (Some(registered), Some(extension)) => registered.may_pass(extension),
                _ => true,
            },
        }
    }

    fn needs_record(&self) -> bool {
        matches!(self, Self::Properties(_))
    }

    fn matches_record(&self, properties: Properties<'_>) -> bool {
        match self {
            Self::Tags(_) => true,
            Self::Properties(filter) => filter.matches(properties),
        }
    }
}

/// An expression over properties.
#[derive(Clone)]
pub(crate) struct PropertyFilter {
    expression: Arc<Expression>,
    /// Where the expression is registered, it is among those that queues remember bits of.
    registered: Option<Arc<GroupFilter>>,
    /// In a retry topic with `filterSupportRetry`: the group, and what it wants of the topics that messages come from.
    origin: Option<(Arc<str>, Arc<Filters>)>,
}

impl PropertyFilter {
    /// One that a pull brings along.
    pub(super) fn brought(expression: Arc<Expression>) -> Self {
        Self { expression, registered: None, origin: None }
    }

    /// One that heartbeats registered.
    pub(super) fn registered(filter: Arc<GroupFilter>) -> Self {
        Self { expression: Arc::clone(&filter.expression), registered: Some(filter), origin: None }
    }

    /// The same for a retry topic, where each message is asked what the group wants of its first topic.
    pub(super) fn by_origin(mut self, topic: &str, filters: &Arc<Filters>) -> Self {
        self.origin = topic.strip_prefix(RETRY_PREFIX).map(|group| (Arc::from(group), Arc::clone(filters)));
        self
    }

    fn matches(&self, properties: Properties<'_>) -> bool {
        let Some((group, filters)) = &self.origin else {
            return self.expression.matches(&Message(properties));
        };
        let origin = properties.get_str(key::RETRY_TOPIC).and_then(|topic| filters.get(topic, group));
        origin.is_none_or(|filter| filter.expression.matches(&Message(properties)))
    }
}

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
