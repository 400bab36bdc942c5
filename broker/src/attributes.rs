//! Attributes of topics and groups: named values that 5.x tools add (`+name=value`) and take away (`-name`).

use std::collections::{BTreeMap, HashSet};

/// What an attribute may be.
pub(crate) struct Attribute {
    name: &'static str,
    /// Whether it may change after the topic or group was created.
    changeable: bool,
    values: Values,
}

enum Values {
    OneOf(&'static [&'static str]),
    /// From, to; both included.
    Range(i64, i64),
    Boolean,
    Text,
}

/// Attributes of topics.
pub(crate) const TOPIC: &[Attribute] = &[
    Attribute { name: "queue.type", changeable: false, values: Values::OneOf(&["BatchCQ", "SimpleCQ"]) },
    Attribute { name: "cleanup.policy", changeable: false, values: Values::OneOf(&["COMPACTION", "DELETE"]) },
    Attribute { name: "message.type", changeable: true, values: Values::OneOf(MESSAGE_TYPES) },
    // Only tiered storage gives it a meaning; without, the reference refuses it.
    Attribute { name: "lite.topic.expiration", changeable: true, values: Values::Range(-1, 30 * 24 * 60) },
];

/// Attributes of groups.
pub(crate) const GROUP: &[Attribute] = &[
    Attribute { name: "priority.factor", changeable: true, values: Values::Range(0, 100) },
    Attribute { name: "lite.bind.topic", changeable: true, values: Values::Text },
    Attribute { name: "lite.sub.model", changeable: true, values: Values::OneOf(&["Exclusive", "Shared"]) },
    Attribute { name: "lite.sub.reset.offset.exclusive", changeable: true, values: Values::Boolean },
    Attribute { name: "lite.sub.reset.offset.unsubscribe", changeable: true, values: Values::Boolean },
    Attribute { name: "lite.sub.client.quota", changeable: true, values: Values::Range(-1, i64::MAX) },
    Attribute { name: "lite.sub.client.max.event.cnt", changeable: true, values: Values::Range(10, i64::MAX) },
    Attribute { name: "lite.sub.wildcard", changeable: true, values: Values::Text },
];

const MESSAGE_TYPES: &[&str] = &["DELAY", "FIFO", "LITE", "MIXED", "NORMAL", "PRIORITY", "TRANSACTION", "UNSPECIFIED"];

/// Applies `changes` to the attributes of a topic or group; `current` is `None` for one that is being created.
///
/// # Errors
/// The remark that says which change is not allowed; nothing is applied then.
pub(crate) fn alter(
    known: &[Attribute],
    current: Option<&BTreeMap<String, String>>,
    changes: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut attributes = current.cloned().unwrap_or_default();
    let mut seen = HashSet::new();
    for (change, value) in changes {
        let mut letters = change.chars();
        let sign = letters.next();
        let name = letters.as_str();
        if name.is_empty() || name.contains(['+', '-']) {
            return Err("kv string format wrong.".to_owned());
        }
        if !seen.insert(name) {
            return Err(format!("alter duplication key. key: {name}"));
        }
        let add = match (sign, current) {
            (Some('+'), _) => true,
            (_, None) => return Err(format!("only add attribute is supported while creating topic. key: {name}")),
            (Some('-'), Some(current)) if current.contains_key(name) => false,
            (Some('-'), Some(_)) => return Err(format!("attempt to delete a nonexistent key: {name}")),
            _ => return Err(format!("wrong format key: {name}")),
        };
        let attribute =
            known.iter().find(|known| known.name == name).ok_or_else(|| format!("unsupported key: {name}"))?;
        if current.is_some() && !attribute.changeable {
            return Err(format!("attempt to update an unchangeable attribute. key: {name}"));
        }
        if add {
            attribute.values.check(value)?;
            attributes.insert(name.to_owned(), value.clone());
        } else {
            attributes.remove(name);
        }
    }
    Ok(attributes)
}

impl Values {
    fn check(&self, value: &str) -> Result<(), String> {
        match self {
            Self::OneOf(values) if !values.contains(&value) => {
                Err(format!("value is not in set: [{}]", values.join(", ")))
            }
            Self::Range(from, to) => match value.parse::<i64>() {
                Ok(number) if (*from..=*to).contains(&number) => Ok(()),
                Ok(_) => Err(format!("value is not in range({from}, {to})")),
                Err(_) => Err(format!("For input string: \"{value}\"")),
            },
            Self::Boolean if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") => {
                Err("boolean attribute format is wrong.".to_owned())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_new_topic_takes_additions_only() {
        let all = map(&[("+queue.type", "BatchCQ"), ("+message.type", "FIFO")]);
        assert_eq!(alter(TOPIC, None, &all), Ok(map(&[("queue.type", "BatchCQ"), ("message.type", "FIFO")])));
        assert!(alter(TOPIC, None, &map(&[("-queue.type", "")])).unwrap_err().starts_with("only add attribute"));
        assert!(alter(TOPIC, None, &map(&[("+queue.type", "Other")])).unwrap_err().starts_with("value is not in set"));
        assert_eq!(alter(TOPIC, None, &map(&[("+reserve.time", "1")])).unwrap_err(), "unsupported key: reserve.time");
    }

    #[test]
    fn a_change_is_checked_against_what_is_there() {
        let current = map(&[("message.type", "FIFO"), ("queue.type", "BatchCQ")]);
        let alter = |changes: &[(&str, &str)]| alter(TOPIC, Some(&current), &map(changes));
        assert_eq!(alter(&[("-message.type", "")]), Ok(map(&[("queue.type", "BatchCQ")])));
        assert_eq!(alter(&[("+message.type", "DELAY")]).unwrap()["message.type"], "DELAY");
        assert!(alter(&[("+queue.type", "SimpleCQ")]).unwrap_err().contains("unchangeable"));
        assert!(alter(&[("-cleanup.policy", "")]).unwrap_err().contains("nonexistent"));
        assert!(alter(&[("message.type", "FIFO")]).unwrap_err().starts_with("wrong format key"));
        assert!(alter(&[("+message.type", "FIFO"), ("-message.type", "")]).unwrap_err().contains("duplication"));
    }

    #[test]
    fn numbers_have_their_range() {
        assert!(alter(GROUP, None, &map(&[("+priority.factor", "100")])).is_ok());
        for bad in ["101", "-1", "x", ""] {
            assert!(alter(GROUP, None, &map(&[("+priority.factor", bad)])).is_err(), "{bad}");
        }
    }
}
