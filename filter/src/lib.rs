//! The reference's SQL-92 message filters: the expression language, and the bloom filter by which a consume queue
//! remembers for whom a message passed.
//!
//! An expression is compiled once and evaluated often, without allocation. It accepts and rejects what the reference
//! (`rocketmq-filter` 5.5.0) does and gives the same result for any properties, oddities included; `docs/filter.md` lists
//! those that surprise. One difference is on purpose: an expression nested deeper than [`MAX_NESTING`] is refused, where the
//! reference goes on until its stack ends.
#![forbid(unsafe_code)]

pub mod bloom;
mod evaluate;
mod expression;
mod lexer;
mod murmur3;
mod number;
mod parser;
mod value;

pub use evaluate::{EvaluationError, PropertySource};
pub use expression::Expression;
pub use parser::{MAX_NESTING, ParseError, Problem};
