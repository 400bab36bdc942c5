//! Values, and how the reference compares them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::evaluate::EvaluationError;
use crate::number::{double, int, long};

/// A value that is there. The reference's numbers are of three types, and a text is read as the type of its partner.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Bool(bool),
    Text(Cow<'a, str>),
    Int(i32),
    Long(i64),
    Double(f64),
}

impl Value<'_> {
    /// Whether two values are the same one.
    pub(crate) fn equals(&self, other: &Self) -> Result<bool, EvaluationError> {
        Ok(match (self, other) {
            (Value::Text(left), Value::Text(right)) => left == right,
            _ => self.compare(other)? == Ordering::Equal,
        })
    }

    /// The order of two values; two texts have that of the numbers in them. Values that have no order count as less.
    pub(crate) fn compare(&self, other: &Self) -> Result<Ordering, EvaluationError> {
        use Value::{Bool, Double, Int, Long, Text};
        Ok(match (self, other) {
            (Text(left), Text(right)) => number(double, left)?.total_cmp(&number(double, right)?),
            (Bool(left), Bool(right)) => left.cmp(right),
            (Text(left), Bool(right)) => left.eq_ignore_ascii_case("true").cmp(right),
            // The reference casts the wrong one of the two.
            (Bool(_), Text(_)) => return Err(EvaluationError::BooleanBesideText),
            (Bool(_), _) | (_, Bool(_)) => Ordering::Less,

            (Int(left), Int(right)) => left.cmp(right),
            (Int(left), Long(right)) => i64::from(*left).cmp(right),
            (Int(left), Double(right)) => f64::from(*left).total_cmp(right),
            (Int(left), Text(right)) => left.cmp(&number(int, right)?),
            (Long(left), Int(right)) => left.cmp(&i64::from(*right)),
            (Long(left), Long(right)) => left.cmp(right),
            (Long(left), Double(right)) => (*left as f64).total_cmp(right),
            (Long(left), Text(right)) => left.cmp(&number(long, right)?),
            (Double(left), Int(right)) => left.total_cmp(&f64::from(*right)),
            (Double(left), Long(right)) => left.total_cmp(&(*right as f64)),
            (Double(left), Double(right)) => left.total_cmp(right),
            (Double(left), Text(right)) => left.total_cmp(&number(double, right)?),
            (Text(left), Int(right)) => number(int, left)?.cmp(right),
            (Text(left), Long(right)) => number(long, left)?.cmp(right),
            (Text(left), Double(right)) => number(double, left)?.total_cmp(right),
        })
    }

    /// The number of opposite sign; nothing for what is no number.
    pub(crate) fn negated(self) -> Option<Self> {
        match self {
            Value::Int(value) => Some(Value::Int(value.wrapping_neg())),
            Value::Long(value) => Some(Value::Long(value.wrapping_neg())),
            Value::Double(value) => Some(Value::Double(-value)),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }
}

fn number<T>(read: fn(&str) -> Option<T>, text: &str) -> Result<T, EvaluationError> {
    read(text).ok_or(EvaluationError::NotANumber)
}
