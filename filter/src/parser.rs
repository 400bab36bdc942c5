//! From text to a tree. Operators bind in four steps (OR, AND, equality, comparison); the sign and NOT bind tightest.

use thiserror::Error;

use crate::expression::{Between, Condition, Connective, Operand, Order, Sense, TextTest};
use crate::lexer::{Lexer, Token};
use crate::value::Value;

/// How deep parentheses, signs, NOT and chains of comparisons may nest, each in the other. Far more than anybody writes, and
/// little enough for the stack of any thread.
pub const MAX_NESTING: usize = 200;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem} (before byte {position} of the expression)")]
pub struct ParseError {
    /// What is wrong.
    pub problem: Problem,
    /// How far the text was read, in bytes.
    pub position: usize,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Nothing of the language starts here.
    #[error("nothing can begin with {0:?} here")]
    NoToken(char),
    /// The expression does not go on with this.
    #[error("the expression cannot go on like this")]
    Unexpected,
    /// AND, OR, NOT or the whole need a condition.
    #[error("this is a value and no condition")]
    NotACondition,
    /// `<`, `<=`, `>`, `>=` and BETWEEN take numbers and properties.
    #[error("only numbers and properties have an order")]
    NoOrder,
    /// `=` and `<>` with NULL.
    #[error("NULL is equal to nothing; IS NULL asks for it")]
    EqualToNull,
    /// TRUE or FALSE on the left, another constant on the right.
    #[error("TRUE and FALSE cannot be compared with this")]
    BooleanBesideConstant,
    /// IN behind something that is no property.
    #[error("only a property can be IN a list")]
    InWithoutProperty,
    /// BETWEEN with its bounds the wrong way round.
    #[error("the first bound of BETWEEN is above the second")]
    EmptyRange,
    /// A number that no type of the reference holds; 0.0 is one of them.
    #[error("the number is too large or too small")]
    NumberOutOfRange,
    /// More than [`MAX_NESTING`].
    #[error("the expression is nested deeper than {MAX_NESTING}")]
    TooDeep,
}

pub(crate) fn parse(text: &str) -> Result<Condition, ParseError> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser { lexer, token, nesting: 0 };
    let whole = parser.binary(Binding::Or)?.operand;
    // What follows is left alone, as in the reference.
    parser.condition(whole)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    nesting: usize,
}

/// An operand and the height of its tree.
struct Tree {
    operand: Operand,
    height: usize,
}

/// How tight an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Equality,
    Comparison,
    Tightest,
}

impl<'a> Parser<'a> {
    /// Operators that bind at least as tight as `loosest`, with what stands between them.
    fn binary(&mut self, loosest: Binding) -> Result<Tree, ParseError> {
        let mut left = self.unary()?;
        // Behind an operator only those come that bind no tighter: `a IS NULL > 1` ends before the `>`.
        let mut tightest = Binding::Tightest;
        while let Some(binding) = self.binding().filter(|binding| (loosest..=tightest).contains(binding)) {
            tightest = binding;
            left = match binding {
                Binding::Or => self.chain(Connective::Or, left)?,
                Binding::And => self.chain(Connective::And, left)?,
                Binding::Equality => self.equality(left)?,
                Binding::Comparison | Binding::Tightest => self.comparison(left)?,
            };
        }
        Ok(left)
    }

    /// The binding of the next token, where it is an operator.
    fn binding(&self) -> Option<Binding> {
        Some(match self.token {
            Token::Or => Binding::Or,
            Token::And => Binding::And,
            Token::Equal | Token::NotEqual | Token::Is => Binding::Equality,
            Token::Greater | Token::GreaterOrEqual | Token::Less | Token::LessOrEqual => Binding::Comparison,
            Token::Contains | Token::StartsWith | Token::EndsWith | Token::Between | Token::In | Token::Not => {
                Binding::Comparison
            }
            _ => return None,
        })
    }

    /// AND or OR. A chain of either is one node, however long it is.
    fn chain(&mut self, connective: Connective, left: Tree) -> Result<Tree, ParseError> {
        self.advance()?;
        let right = self.nested(|parser| parser.binary(connective.side()))?;
        let mut height = left.height.max(right.height);
        let mut conditions = match self.condition(left.operand)? {
            Condition::Chain(same, conditions) if same == connective => {
                height = right.height.max(left.height - 1);
                conditions
            }
            first => vec![first],
        };
        conditions.push(self.condition(right.operand)?);
        self.tree(height, Condition::Chain(connective, conditions))
    }

    fn equality(&mut self, left: Tree) -> Result<Tree, ParseError> {
        let operator = self.advance()?;
        if operator == Token::Is {
            let sense = self.sense()?;
            self.expect(Token::Null)?;
            return self.tree(left.height, negated(Condition::IsNull(left.operand), sense));
        }
        let right = self.nested(|parser| parser.binary(Binding::Comparison))?;
        for side in [&left, &right] {
            if matches!(constant(&side.operand), Some(Condition::Constant(None))) {
                return Err(self.error(Problem::EqualToNull));
            }
        }
        if constant(&left.operand).is_some() && is_literal(&right.operand) {
            return Err(self.error(Problem::BooleanBesideConstant));
        }
        let sense = if operator == Token::NotEqual { Sense::Not } else { Sense::Plain };
        let height = left.height.max(right.height);
        self.tree(height, negated(Condition::Equal(left.operand, right.operand), sense))
    }

    fn comparison(&mut self, left: Tree) -> Result<Tree, ParseError> {
        if let Some(order) = order(self.token) {
            return self.order(order, left);
        }
        let sense = self.sense()?;
        match self.advance()? {
            Token::Contains => self.text(TextTest::Contains, left, sense),
            Token::StartsWith => self.text(TextTest::StartsWith, left, sense),
            Token::EndsWith => self.text(TextTest::EndsWith, left, sense),
            Token::Between => self.between(left, sense),
            Token::In => self.list(left, sense),
            _ => Err(self.error(Problem::Unexpected)),
        }
    }

    fn order(&mut self, order: Order, left: Tree) -> Result<Tree, ParseError> {
        self.advance()?;
        let right = self.nested(Self::unary)?;
        self.has_order(&left)?;
        self.has_order(&right)?;
        self.tree(left.height.max(right.height), Condition::Order(order, left.operand, right.operand))
    }

    fn text(&mut self, test: TextTest, left: Tree, sense: Sense) -> Result<Tree, ParseError> {
        let searched = self.quoted()?;
        self.tree(left.height, Condition::Text(test, left.operand, searched, sense))
    }

    fn between(&mut self, value: Tree, sense: Sense) -> Result<Tree, ParseError> {
        let low = self.nested(Self::unary)?;
        self.expect(Token::And)?;
        let high = self.nested(Self::unary)?;
        for side in [&value, &low, &high] {
            self.has_order(side)?;
        }
        // NOT BETWEEN is not checked, nor are bounds with a sign, which are no constants.
        if sense == Sense::Plain && is_above(&low.operand, &high.operand) {
            return Err(self.error(Problem::EmptyRange));
        }
        let height = value.height.max(low.height).max(high.height);
        let between = Between { value: value.operand, low: low.operand, high: high.operand, sense };
        self.tree(height, Condition::Between(Box::new(between)))
    }

    fn list(&mut self, left: Tree, sense: Sense) -> Result<Tree, ParseError> {
        self.expect(Token::Open)?;
        let mut texts = vec![self.quoted()?];
        while self.token == Token::Comma {
            self.advance()?;
            texts.push(self.quoted()?);
        }
        self.expect(Token::Close)?;
        let Operand::Property(name) = left.operand else {
            return Err(self.error(Problem::InWithoutProperty));
        };
        texts.sort_unstable();
        self.tree(left.height, Condition::In(name, texts.into_boxed_slice(), sense))
    }

    fn unary(&mut self) -> Result<Tree, ParseError> {
        match self.token {
            Token::Plus => {
                self.advance()?;
                self.nested(Self::unary)
            }
            Token::Minus => {
                self.advance()?;
                let operand = self.nested(Self::unary)?;
                self.taller(operand.height, Operand::Negated(Box::new(operand.operand)))
            }
            Token::Not => {
                self.advance()?;
                let operand = self.nested(Self::unary)?;
                let condition = self.condition(operand.operand)?;
                self.tree(operand.height, Condition::Not(Box::new(condition)))
            }
            Token::Open => {
                self.advance()?;
                let inner = self.nested(|parser| parser.binary(Binding::Or))?;
                self.expect(Token::Close)?;
                Ok(inner)
            }
            _ => self.single(),
        }
    }

    /// A property or a literal.
    fn single(&mut self) -> Result<Tree, ParseError> {
        let operand = match self.token {
            Token::Name(name) => Operand::Property(name.into()),
            Token::Text(text) => Operand::Text(text.replace("''", "'").into()),
            Token::Integer(digits) => self.integer(digits)?,
            Token::Decimal(text) => self.decimal(text)?,
            Token::True => Operand::Condition(Box::new(Condition::Constant(Some(true)))),
            Token::False => Operand::Condition(Box::new(Condition::Constant(Some(false)))),
            Token::Null => Operand::Condition(Box::new(Condition::Constant(None))),
            _ => return Err(self.error(Problem::Unexpected)),
        };
        self.advance()?;
        Ok(Tree { operand, height: 1 })
    }

    fn integer(&self, digits: &str) -> Result<Operand, ParseError> {
        let long: i64 = digits.parse().map_err(|_| self.error(Problem::NumberOutOfRange))?;
        Ok(i32::try_from(long).map_or(Operand::Long(long), Operand::Int))
    }

    fn decimal(&self, text: &str) -> Result<Operand, ParseError> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(Operand::Double(value)),
            _ => Err(self.error(Problem::NumberOutOfRange)),
        }
    }

    /// Takes a text in quotes.
    fn quoted(&mut self) -> Result<Box<str>, ParseError> {
        let Token::Text(text) = self.token else {
            return Err(self.error(Problem::Unexpected));
        };
        self.advance()?;
        Ok(text.replace("''", "'").into())
    }

    /// Takes a NOT where there is one.
    fn sense(&mut self) -> Result<Sense, ParseError> {
        if self.token != Token::Not {
            return Ok(Sense::Plain);
        }
        self.advance()?;
        Ok(Sense::Not)
    }

    fn expect(&mut self, token: Token<'_>) -> Result<(), ParseError> {
        if self.token != token {
            return Err(self.error(Problem::Unexpected));
        }
        self.advance().map(drop)
    }

    /// Takes the next token.
    fn advance(&mut self) -> Result<Token<'a>, ParseError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Tree, ParseError>) -> Result<Tree, ParseError> {
        if self.nesting == MAX_NESTING {
            return Err(self.error(Problem::TooDeep));
        }
        self.nesting += 1;
        let tree = parse(self);
        self.nesting -= 1;
        tree
    }

    /// A condition over trees of at most `height`.
    fn tree(&self, height: usize, condition: Condition) -> Result<Tree, ParseError> {
        self.taller(height, Operand::Condition(Box::new(condition)))
    }

    fn taller(&self, height: usize, operand: Operand) -> Result<Tree, ParseError> {
        if height > MAX_NESTING {
            return Err(self.error(Problem::TooDeep));
        }
        Ok(Tree { operand, height: height + 1 })
    }

    /// An operand as a condition, where it is one. A property always is.
    fn condition(&self, operand: Operand) -> Result<Condition, ParseError> {
        match operand {
            Operand::Condition(condition) => Ok(*condition),
            Operand::Property(name) => Ok(Condition::Bare(name)),
            _ => Err(self.error(Problem::NotACondition)),
        }
    }

    fn has_order(&self, tree: &Tree) -> Result<(), ParseError> {
        match tree.operand {
            Operand::Text(_) | Operand::Condition(_) => Err(self.error(Problem::NoOrder)),
            _ => Ok(()),
        }
    }

    fn error(&self, problem: Problem) -> ParseError {
        ParseError { problem, position: self.lexer.position() }
    }
}

impl Connective {
    /// How tight what stands on its right side binds at least.
    fn side(self) -> Binding {
        match self {
            Self::Or => Binding::And,
            Self::And => Binding::Equality,
        }
    }
}

fn order(token: Token<'_>) -> Option<Order> {
    Some(match token {
        Token::Less => Order::Less,
        Token::LessOrEqual => Order::LessOrEqual,
        Token::Greater => Order::Greater,
        Token::GreaterOrEqual => Order::GreaterOrEqual,
        _ => return None,
    })
}

fn negated(condition: Condition, sense: Sense) -> Condition {
    match sense {
        Sense::Plain => condition,
        Sense::Not => Condition::Not(Box::new(condition)),
    }
}

/// TRUE, FALSE or NULL.
fn constant(operand: &Operand) -> Option<&Condition> {
    match operand {
        Operand::Condition(condition) if matches!(**condition, Condition::Constant(_)) => Some(condition),
        _ => None,
    }
}

/// A text or a number; one with a sign is none.
fn is_literal(operand: &Operand) -> bool {
    matches!(operand, Operand::Text(_) | Operand::Int(_) | Operand::Long(_) | Operand::Double(_))
}

/// Whether one number is above another; no is the answer where either is no number.
fn is_above(left: &Operand, right: &Operand) -> bool {
    let number = |operand: &Operand| match *operand {
        Operand::Int(value) => Some(Value::Int(value)),
        Operand::Long(value) => Some(Value::Long(value)),
        Operand::Double(value) => Some(Value::Double(value)),
        _ => None,
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.compare(&right).is_ok_and(std::cmp::Ordering::is_gt),
        _ => false,
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
