//! What deserves a name; the mass of cases is in `tests/reference.rs`.

use std::collections::BTreeMap;
use std::thread;

use super::{MAX_NESTING, Problem};
use crate::{EvaluationError, Expression};

fn answer(text: &str, properties: &[(&str, &str)]) -> Result<Option<bool>, EvaluationError> {
    let properties: BTreeMap<_, _> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Expression::parse(text).unwrap().evaluate(&properties)
}

fn problem(text: &str) -> Problem {
    Expression::parse(text).unwrap_err().problem
}

#[test]
fn an_expression_ends_where_it_can() {
    assert_eq!(answer("a = 1 b @#", &[("a", "1")]), Ok(Some(true)));
    assert_eq!(answer("a IS NULL > 5", &[]), Ok(Some(true)));
    assert_eq!(problem("a = 1 @"), Problem::NoToken('@'));
    assert_eq!(problem("a > 1 NOT"), Problem::Unexpected);
    assert_eq!(problem(""), Problem::Unexpected);
}

#[test]
fn properties_are_text() {
    assert_eq!(answer("a", &[("a", "true")]), Ok(Some(false)));
    assert_eq!(answer("a = TRUE", &[("a", "true")]), Ok(Some(true)));
    assert_eq!(answer("a = 5", &[("a", "5.0")]), Err(EvaluationError::NotANumber));
    assert_eq!(answer("a = 5.", &[("a", "5")]), Ok(Some(true)));
    assert_eq!(answer("a = b", &[]), Ok(Some(true)));
}

#[test]
fn some_numbers_and_comparisons_are_refused() {
    assert_eq!(problem("a > 0.0"), Problem::NumberOutOfRange);
    assert_eq!(problem("a = -9223372036854775808"), Problem::NumberOutOfRange);
    assert_eq!(problem("a > 'x'"), Problem::NoOrder);
    assert_eq!(problem("a = NULL"), Problem::EqualToNull);
    assert_eq!(problem("TRUE = 1"), Problem::BooleanBesideConstant);
    assert_eq!(problem("a BETWEEN 2 AND 1"), Problem::EmptyRange);
    assert_eq!(problem("NOT a IN ('x')"), Problem::InWithoutProperty);
    assert_eq!(problem("5"), Problem::NotACondition);
}

#[test]
fn nesting_has_a_bound_and_length_has_none() {
    // A small thread, so that one level too many would be seen.
    let work = || {
        for (open, close) in
            [("(", ")"), ("NOT ", ""), ("NOT (", ")"), ("a = (", ")"), ("a OR (", ")"), ("a <> -(", ")")]
        {
            let nested = |depth| format!("{}a IS NULL{}", open.repeat(depth), close.repeat(depth));
            assert!(answer(&nested(MAX_NESTING / 3), &[]).is_ok(), "{open}");
            assert_eq!(problem(&nested(100_000)), Problem::TooDeep, "{open}");
        }
        assert_eq!(problem(&format!("a{}", " IS NULL".repeat(100_000))), Problem::TooDeep);
        assert_eq!(problem(&format!("a{}", " = a".repeat(100_000))), Problem::TooDeep);
        let long = format!("a = '0'{}", " OR a = '1'".repeat(100_000));
        assert_eq!(answer(&long, &[("a", "1")]), Ok(Some(true)));
    };
    thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}
