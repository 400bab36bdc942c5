//! What an expression says of a message. Nothing is allocated; how deep the calls go, the parser has bounded.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::expression::{Between, Condition, Connective, Operand, Order, Sense, TextTest};
use crate::value::Value;

/// Where the properties of a message come from.
pub trait PropertySource {
    /// The value of a property; `None` when the message has none of this name.
    fn property(&self, name: &str) -> Option<Cow<'_, str>>;
}

impl PropertySource for BTreeMap<String, String> {
    fn property(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name).map(|value| Cow::Borrowed(value.as_str()))
    }
}

/// Why an expression says nothing of a message; the reference throws in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A text is compared with a number, or by its size, and holds no number of that type.
    #[error("a property that is compared as a number holds none")]
    NotANumber,
    /// A condition is compared with a text to its right.
    #[error("a condition is compared with a text")]
    BooleanBesideText,
}

impl Condition {
    pub(crate) fn evaluate<P: PropertySource + ?Sized>(&self, properties: &P) -> Result<Option<bool>, EvaluationError> {
        Ok(match self {
            Self::Constant(answer) => *answer,
            Self::Bare(name) => properties.property(name).map(|_| false),
            Self::Not(condition) => condition.evaluate(properties)?.map(|answer| !answer),
            Self::Chain(connective, conditions) => connective.evaluate(conditions, properties)?,
            Self::Equal(left, right) => match (left.evaluate(properties)?, right.evaluate(properties)?) {
                (Some(left), Some(right)) => Some(left.equals(&right)?),
                (None, None) => Some(true),
                (None, Some(_)) => None,
                (Some(_), None) => Some(false),
            },
            Self::IsNull(operand) => Some(operand.evaluate(properties)?.is_none()),
            Self::Order(order, left, right) => match left.evaluate(properties)? {
                Some(left) => compare(*order, &left, right, properties)?,
                None => None,
            },
            Self::Between(between) => between.evaluate(properties)?,
            Self::In(name, texts, sense) => properties
                .property(name)
                .map(|value| sense.of(texts.binary_search_by(|text| (**text).cmp(&value)).is_ok())),
            // Nothing holds or lacks an empty text, nor anything that is no text.
            Self::Text(_, _, searched, _) if searched.is_empty() => Some(false),
            Self::Text(how, operand, searched, sense) => Some(match operand.evaluate(properties)? {
                Some(Value::Text(text)) => sense.of(how.finds(&text, searched)),
                _ => false,
            }),
        })
    }
}

impl Operand {
    fn evaluate<'a, P: PropertySource + ?Sized>(
        &'a self,
        properties: &'a P,
    ) -> Result<Option<Value<'a>>, EvaluationError> {
        Ok(match self {
            Self::Property(name) => properties.property(name).map(Value::Text),
            Self::Text(text) => Some(Value::Text(Cow::Borrowed(text))),
            Self::Int(value) => Some(Value::Int(*value)),
            Self::Long(value) => Some(Value::Long(*value)),
            Self::Double(value) => Some(Value::Double(*value)),
            Self::Negated(operand) => operand.evaluate(properties)?.and_then(Value::negated),
            Self::Condition(condition) => condition.evaluate(properties)?.map(Value::Bool),
        })
    }
}

impl Connective {
    /// The first false condition decides an AND, the first true one an OR. Without one it is the other, or nothing when
    /// a condition said nothing.
    fn evaluate<P: PropertySource + ?Sized>(
        self,
        conditions: &[Condition],
        properties: &P,
    ) -> Result<Option<bool>, EvaluationError> {
        let decides = self == Self::Or;
        let mut answer = Some(!decides);
        for condition in conditions {
            match condition.evaluate(properties)? {
                Some(said) if said == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => answer = None,
            }
        }
        Ok(answer)
    }
}

impl Between {
    /// As `value >= low AND value <= high`, or `value < low OR value > high`.
    fn evaluate<P: PropertySource + ?Sized>(&self, properties: &P) -> Result<Option<bool>, EvaluationError> {
        let Some(value) = self.value.evaluate(properties)? else {
            return Ok(None);
        };
        let (below, above, decides) = match self.sense {
            Sense::Plain => (Order::GreaterOrEqual, Order::LessOrEqual, false),
            Sense::Not => (Order::Less, Order::Greater, true),
        };
        let first = compare(below, &value, &self.low, properties)?;
        if first == Some(decides) {
            return Ok(first);
        }
        let second = compare(above, &value, &self.high, properties)?;
        Ok(if second == Some(decides) { second } else { first.and(second) })
    }
}

impl TextTest {
    fn finds(self, text: &str, searched: &str) -> bool {
        match self {
            Self::Contains => text.contains(searched),
            Self::StartsWith => text.starts_with(searched),
            Self::EndsWith => text.ends_with(searched),
        }
    }
}

fn compare<P: PropertySource + ?Sized>(
    order: Order,
    left: &Value<'_>,
    right: &Operand,
    properties: &P,
) -> Result<Option<bool>, EvaluationError> {
    let Some(right) = right.evaluate(properties)? else {
        return Ok(None);
    };
    let ordering = left.compare(&right)?;
    Ok(Some(match order {
        Order::Less => ordering == Ordering::Less,
        Order::LessOrEqual => ordering != Ordering::Greater,
        Order::Greater => ordering == Ordering::Greater,
        Order::GreaterOrEqual => ordering != Ordering::Less,
    }))
}
