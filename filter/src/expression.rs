//! A compiled expression: a tree whose two kinds of nodes are what the language tells apart, conditions and operands.

use std::str::FromStr;

use crate::evaluate::{EvaluationError, PropertySource};
use crate::parser::{self, ParseError};

/// An expression, compiled. It is small and can be shared between threads.
#[derive(Clone, Debug)]
pub struct Expression(Condition);

impl Expression {
    /// Compiles an expression.
    ///
    /// As in the reference the expression ends where it can: what follows it is not looked at further than one token, so
    /// `a = 1 b` is `a = 1`.
    ///
    /// # Errors
    /// The text is none that the language knows.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parser::parse(text).map(Self)
    }

    /// What the expression says of a message: true, false, or nothing (`None`) where it lacks a property to say.
    ///
    /// # Errors
    /// Properties do not have the form that the expression compares them in; the reference throws there.
    pub fn evaluate<P: PropertySource + ?Sized>(&self, properties: &P) -> Result<Option<bool>, EvaluationError> {
        self.0.evaluate(properties)
    }

    /// Whether a message passes: neither nothing said nor an error lets it.
    pub fn matches<P: PropertySource + ?Sized>(&self, properties: &P) -> bool {
        self.evaluate(properties) == Ok(Some(true))
    }
}

impl FromStr for Expression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// What is true, false, or neither.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// `TRUE`, `FALSE` or `NULL`.
    Constant(Option<bool>),
    /// A property alone. It is text, whatever it says, so it is never true.
    Bare(Box<str>),
    Not(Box<Condition>),
    /// Two conditions at least, with AND or OR between them.
    Chain(Connective, Vec<Condition>),
    Equal(Operand, Operand),
    IsNull(Operand),
    Order(Order, Operand, Operand),
    Between(Box<Between>),
    /// Property, and the texts it may have, in their order.
    In(Box<str>, Box<[Box<str>]>, Sense),
    Text(TextTest, Operand, Box<str>, Sense),
}

/// What can be compared.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Property(Box<str>),
    Text(Box<str>),
    Int(i32),
    Long(i64),
    Double(f64),
    Negated(Box<Operand>),
    Condition(Box<Condition>),
}

#[derive(Clone, Debug)]
pub(crate) struct Between {
    pub(crate) value: Operand,
    pub(crate) low: Operand,
    pub(crate) high: Operand,
    pub(crate) sense: Sense,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connective {
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How one text is looked for in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

/// Whether a NOT stands before the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    Plain,
    Not,
}

impl Sense {
    pub(crate) fn of(self, answer: bool) -> bool {
        answer != (self == Self::Not)
    }
}
