//! The value of a checked expression at an event.
//!
//! Two things can stop an evaluation. A value that is *missing* (an argument the call does not have, a field of
//! something that is no object, null where a value is needed) makes the whole expression false, as it should: nothing is
//! known of it. A *clash* (a text where a number is needed) does so too, but is reported. As in CEL, `&&` and `||`
//! do not care about a stopped side when the other decides.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::expression::{
    Arithmetic, Comparison, Conversion, Expression, Literal, Node, Number, Quantifier, TextTest, Variable,
};
use crate::ingest::{Event, Kind, Status};

/// Why an expression has no value at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Something it speaks of is not there.
    Missing,
    /// Something it speaks of is of a type on which it does not work.
    Clash(String),
}

/// A value, borrowed from the event or the expression as far as possible.
#[derive(Clone, Debug)]
enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(&'a [Json]),
    Object(&'a Map<String, Json>),
    List(Vec<Value<'a>>),
    Batch,
}

impl Expression {
    /// Whether the expression is true at `event`, given the letter as far as its references need it.
    pub(super) fn holds(&self, event: &Event, letter: &[u64]) -> Result<bool, Stop> {
        Evaluation { event, letter, locals: Vec::new() }.boolean(&self.root)
    }

    /// The value of the expression at `event` as the key of a monitor; `None` when there is no value or it is null.
    ///
    /// Texts stand for themselves, numbers are written as short as they can be (`1.0` is `1`), so that the number `42`
    /// and the text `"42"` are one key: logs often mix them. A list or an object is one key, its compact JSON with
    /// sorted fields: `per = "[args.from, args.to]"` has a monitor for each pair.
    ///
    /// # Errors
    /// What met a value of a type it does not work on; the event has no key then.
    pub fn key<'a>(&'a self, event: &'a Event) -> Result<Option<Cow<'a, str>>, String> {
        match (Evaluation { event, letter: &[], locals: Vec::new() }).value(&self.root) {
            Err(Stop::Clash(message)) => Err(message),
            Err(Stop::Missing) | Ok(Value::Null) => Ok(None),
            Ok(Value::Text(text)) => Ok(Some(text)),
            Ok(other) => {
                let mut out = String::new();
                other.write(&mut out);
                Ok(Some(Cow::Owned(out)))
            }
        }
    }
}

struct Evaluation<'a, 'l> {
    event: &'a Event,
    letter: &'l [u64],
    locals: Vec<Value<'a>>,
}

impl<'a> Evaluation<'a, '_> {
    fn boolean(&mut self, node: &'a Node) -> Result<bool, Stop> {
        match node {
            // The common nodes without the detour over a value.
            Node::Proposition(p) => Ok(self.proposition(*p)),
            Node::Compare(comparison, sides) => {
                let (left, right) = (self.value(&sides[0])?, self.value(&sides[1])?);
                // A null is no value, unless it is asked for by its name.
                let named = sides.iter().any(|side| matches!(side, Node::Literal(Literal::Null)));
                if !named && matches!((&left, &right), (Value::Null, _) | (_, Value::Null)) {
                    return Err(Stop::Missing);
                }
                compare(*comparison, &left, &right)
            }
            Node::And(sides) => self.connective(sides, false),
            Node::Or(sides) => self.connective(sides, true),
            Node::Not(f) => Ok(!self.boolean(f)?),
            Node::OneOf(element, texts) => match self.value(element)? {
                Value::Text(text) => Ok(texts.contains(text.as_ref())),
                Value::Null => Err(Stop::Missing),
                _ => Ok(false),
            },
            Node::Matches(text, regex) => Ok(regex.is_match(&self.text(text, "matches")?)),
            Node::Test(test, sides) => {
                let name = match test {
                    TextTest::StartsWith => "startsWith",
                    TextTest::EndsWith => "endsWith",
                    TextTest::Contains => "contains",
                };
                let (text, part) = (self.text(&sides[0], name)?, self.text(&sides[1], name)?);
                Ok(match test {
                    TextTest::StartsWith => text.starts_with(part.as_ref()),
                    TextTest::EndsWith => text.ends_with(part.as_ref()),
                    TextTest::Contains => text.contains(part.as_ref()),
                })
            }
            Node::Has(operand, field) => match self.value(operand) {
                Ok(Value::Object(map)) => Ok(map.contains_key(field)),
                Ok(Value::Batch) => {
                    Ok(matches!(field.as_str(), "size" | "index") || self.event.batch.is_some())
                }
                Ok(_) | Err(Stop::Missing) => Ok(false),
                Err(stop) => Err(stop),
            },
            Node::In(sides) => {
                let element = self.value(&sides[0])?;
                if matches!(element, Value::Null) {
                    return Err(Stop::Missing);
                }
                match self.value(&sides[1])? {
                    Value::List(values) => Ok(values.iter().any(|v| equal(&element, v))),
                    Value::Array(values) => Ok(values.iter().any(|v| equal(&element, &json(v)))),
                    Value::Object(map) => {
                        Ok(matches!(&element, Value::Text(t) if map.contains_key(t.as_ref())))
                    }
                    other => Err(other.clash("in", "a list or an object")),
                }
            }
            Node::Quantified(quantifier, parts) => self.quantified(*quantifier, &parts[0], &parts[1]),
            other => match self.value(other)? {
                Value::Bool(b) => Ok(b),
                value => Err(value.clash("a condition", "true or false")),
            },
        }
    }

    /// `&&` (decided by false) and `||` (decided by true).
    fn connective(&mut self, sides: &'a [Node; 2], decides: bool) -> Result<bool, Stop> {
        let left = self.boolean(&sides[0]);
        if left == Ok(decides) {
            return left;
        }
        match (left, self.boolean(&sides[1])) {
            (_, Ok(right)) if right == decides => Ok(decides),
            (Err(clash @ Stop::Clash(_)), _) | (Ok(_), Err(clash)) => Err(clash),
            (Err(_), Err(stop)) => Err(stop),
            (Err(stop), Ok(_)) => Err(stop),
            (Ok(_), Ok(right)) => Ok(right),
        }
    }

    fn quantified(&mut self, quantifier: Quantifier, range: &'a Node, body: &'a Node) -> Result<bool, Stop> {
        let elements: Vec<Value<'a>> = match self.value(range)? {
            Value::List(values) => values,
            Value::Array(values) => values.iter().map(json).collect(),
            Value::Object(map) => map.keys().map(|k| Value::Text(Cow::Borrowed(k))).collect(),
            other => return Err(other.clash("exists and all", "a list or an object")),
        };
        let decides = quantifier == Quantifier::Exists;
        let mut stopped = None;
        for element in elements {
            self.locals.push(element);
            let held = self.boolean(body);
            self.locals.pop();
            match held {
                Ok(held) if held == decides => return Ok(decides),
                Ok(_) => {}
                Err(clash @ Stop::Clash(_)) => stopped = Some(clash),
                Err(Stop::Missing) => stopped = stopped.or(Some(Stop::Missing)),
            }
        }
        stopped.map_or(Ok(!decides), Err)
    }

    fn value(&mut self, node: &'a Node) -> Result<Value<'a>, Stop> {
        Ok(match node {
            Node::Literal(Literal::Null) => Value::Null,
            Node::Literal(Literal::Bool(b)) => Value::Bool(*b),
            Node::Literal(Literal::Number(n)) => Value::Number(*n),
            Node::Literal(Literal::Text(t)) => Value::Text(Cow::Borrowed(t)),
            Node::Variable(variable) => self.variable(*variable),
            Node::Local(at) => self.locals.get(*at).cloned().ok_or(Stop::Missing)?,
            Node::Field(operand, field) => match self.value(operand)? {
                Value::Object(map) => map.get(field).map(json).ok_or(Stop::Missing)?,
                Value::Batch => self.batch(field).ok_or(Stop::Missing)?,
                _ => return Err(Stop::Missing),
            },
            Node::Index(sides) => {
                let index = self.value(&sides[1])?;
                match (self.value(&sides[0])?, index) {
                    (Value::Object(map), Value::Text(key)) => map.get(key.as_ref()).map(json),
                    (Value::Batch, Value::Text(key)) => self.batch(&key),
                    (Value::Array(values), Value::Number(n)) => {
                        n.index().and_then(|i| values.get(i)).map(json)
                    }
                    (Value::List(values), Value::Number(n)) => n.index().and_then(|i| values.get(i)).cloned(),
                    _ => None,
                }
                .ok_or(Stop::Missing)?
            }
            Node::Negate(operand) => match self.number(operand, "-")? {
                Number::Int(i) => Value::Number(Number::Int(i.checked_neg().ok_or_else(overflow)?)),
                Number::Float(f) => Value::Number(Number::Float(-f)),
            },
            Node::Arithmetic(operator, sides) => {
                if *operator == Arithmetic::Add {
                    match (self.value(&sides[0])?, self.value(&sides[1])?) {
                        (Value::Text(left), Value::Text(right)) => {
                            Value::Text(Cow::Owned(left.into_owned() + &right))
                        }
                        (Value::Number(left), Value::Number(right)) => calculate(*operator, left, right)?,
                        (Value::Number(_), right) => return Err(right.clash("+", "a number")),
                        (Value::Text(_), right) => return Err(right.clash("+", "a text")),
                        (left, _) => return Err(left.clash("+", "a number or a text")),
                    }
                } else {
                    let name = operator.symbol();
                    calculate(*operator, self.number(&sides[0], name)?, self.number(&sides[1], name)?)?
                }
            }
            Node::If(parts) => {
                let chosen = if self.boolean(&parts[0])? { &parts[1] } else { &parts[2] };
                self.value(chosen)?
            }
            Node::Convert(conversion, operand) => self.value(operand)?.convert(*conversion)?,
            Node::List(nodes) => {
                Value::List(nodes.iter().map(|n| self.value(n)).collect::<Result<_, Stop>>()?)
            }
            Node::Proposition(_)
            | Node::Has(..)
            | Node::Not(_)
            | Node::And(_)
            | Node::Or(_)
            | Node::Compare(..)
            | Node::In(_)
            | Node::OneOf(..)
            | Node::Test(..)
            | Node::Matches(..)
            | Node::Quantified(..) => Value::Bool(self.boolean(node)?),
        })
    }

    fn proposition(&self, p: u32) -> bool {
        tracelaw_runtime::Letter(self.letter).contains(p)
    }

    fn variable(&self, variable: Variable) -> Value<'a> {
        let event = self.event;
        match variable {
            Variable::Tool => Value::Text(Cow::Borrowed(&event.tool)),
            Variable::Args => json(&event.args),
            Variable::Result => json(&event.result),
            Variable::Status => Value::Text(Cow::Borrowed(match event.status {
                Status::Ok => "ok",
                Status::Error => "error",
                Status::Denied => "denied",
                Status::Unknown => "unknown",
            })),
            Variable::Attempted => Value::Bool(event.kind == Kind::Call),
            Variable::Kind => Value::Text(Cow::Borrowed(match event.kind {
                Kind::Call => "call",
                Kind::User => "user",
                Kind::Assistant => "assistant",
                Kind::Span => "span",
            })),
            Variable::Text => Value::Text(Cow::Borrowed(&event.text)),
            Variable::Batch => Value::Batch,
            Variable::Ts => event.ts.as_deref().map_or(Value::Null, |ts| Value::Text(Cow::Borrowed(ts))),
        }
    }

    /// A field of `batch`; an event of its own is the only one of its batch.
    fn batch(&self, field: &str) -> Option<Value<'a>> {
        let number = match (field, self.event.batch) {
            ("id", Some(batch)) => batch.id,
            ("size", batch) => batch.map_or(1, |b| b.size),
            ("index", batch) => batch.map_or(0, |b| b.index),
            _ => return None,
        };
        Some(Value::Number(Number::Int(i128::from(number))))
    }

    fn text(&mut self, node: &'a Node, operation: &str) -> Result<Cow<'a, str>, Stop> {
        match self.value(node)? {
            Value::Text(text) => Ok(text),
            other => Err(other.clash(operation, "a text")),
        }
    }

    fn number(&mut self, node: &'a Node, operation: &str) -> Result<Number, Stop> {
        match self.value(node)? {
            Value::Number(number) => Ok(number),
            other => Err(other.clash(operation, "a number")),
        }
    }
}

/// A JSON value as a value of the language.
fn json(value: &Json) -> Value<'_> {
    match value {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Number(match n.as_i128() {
            Some(i) => Number::Int(i),
            None => Number::Float(n.as_f64().unwrap_or(f64::NAN)),
        }),
        Json::String(s) => Value::Text(Cow::Borrowed(s)),
        Json::Array(values) => Value::Array(values),
        Json::Object(map) => Value::Object(map),
    }
}

fn overflow() -> Stop {
    Stop::Clash("a number grew too large".to_owned())
}

fn calculate<'a>(operator: Arithmetic, left: Number, right: Number) -> Result<Value<'a>, Stop> {
    let by_zero = || Stop::Clash("a division by zero".to_owned());
    Ok(Value::Number(match (left, right) {
        (Number::Int(a), Number::Int(b)) => Number::Int(match operator {
            Arithmetic::Add => a.checked_add(b).ok_or_else(overflow)?,
            Arithmetic::Subtract => a.checked_sub(b).ok_or_else(overflow)?,
            Arithmetic::Multiply => a.checked_mul(b).ok_or_else(overflow)?,
            Arithmetic::Divide => a.checked_div(b).ok_or_else(by_zero)?,
            Arithmetic::Remainder => a.checked_rem(b).ok_or_else(by_zero)?,
        }),
        (a, b) => {
            let (a, b) = (a.as_float(), b.as_float());
            Number::Float(match operator {
                Arithmetic::Add => a + b,
                Arithmetic::Subtract => a - b,
                Arithmetic::Multiply => a * b,
                Arithmetic::Divide => a / b,
                Arithmetic::Remainder => a % b,
            })
        }
    }))
}

fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Result<bool, Stop> {
    let wanted: fn(Ordering) -> bool = match comparison {
        Comparison::Equal => return Ok(equal(left, right)),
        Comparison::Unequal => return Ok(!equal(left, right)),
        Comparison::Less => Ordering::is_lt,
        Comparison::AtMost => Ordering::is_le,
        Comparison::Greater => Ordering::is_gt,
        Comparison::AtLeast => Ordering::is_ge,
    };
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => Ok(a.compare(*b).is_some_and(wanted)),
        (Value::Text(a), Value::Text(b)) => Ok(wanted(a.cmp(b))),
        (Value::Null, _) | (_, Value::Null) => Err(Stop::Missing),
        (a, b) => Err(Stop::Clash(format!("{} and {} have no order", a.kind(), b.kind()))),
    }
}

/// Equality is defined for all values: those of different types differ.
fn equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) | (Value::Batch, Value::Batch) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a.compare(*b) == Some(Ordering::Equal),
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(*b).all(|(x, y)| equal(&json(x), &json(y)))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| equal(x, y)),
        (Value::Array(a), Value::List(b)) | (Value::List(b), Value::Array(a)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| equal(&json(x), y))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, x)| b.get(key).is_some_and(|y| equal(&json(x), &json(y))))
        }
        _ => false,
    }
}

impl Number {
    #[allow(clippy::cast_precision_loss)]
    fn as_float(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(f) => f,
        }
    }

    fn index(self) -> Option<usize> {
        match self {
            Number::Int(i) => usize::try_from(i).ok(),
            Number::Float(f) => whole(f).and_then(|i| usize::try_from(i).ok()),
        }
    }

    /// The exact order, also between integers and floats; `None` for what is not a number.
    fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
            (Number::Int(a), Number::Float(b)) => compare_mixed(a, b),
            (Number::Float(a), Number::Int(b)) => compare_mixed(b, a).map(Ordering::reverse),
        }
    }
}

fn compare_mixed(a: i128, b: f64) -> Option<Ordering> {
    match whole(b.floor()) {
        Some(floor) => Some(a.cmp(&floor).then(if b > b.floor() { Ordering::Less } else { Ordering::Equal })),
        // Infinite, or beyond all integers of 128 bits.
        None => 0.0.partial_cmp(&b),
    }
}

/// A float without a fraction, as an integer.
#[allow(clippy::cast_possible_truncation)]
fn whole(f: f64) -> Option<i128> {
    (f.fract() == 0.0 && f.abs() < 1e38).then_some(f as i128)
}

impl Arithmetic {
    const fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
        }
    }
}

impl<'a> Value<'a> {
    const fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::Array(_) | Value::List(_) => "a list",
            Value::Object(_) | Value::Batch => "an object",
        }
    }

    /// Null is a value that is not there; anything else is of the wrong type.
    fn clash(&self, operation: &str, wanted: &str) -> Stop {
        match self {
            Value::Null => Stop::Missing,
            other => Stop::Clash(format!("`{operation}` wants {wanted} and met {}", other.kind())),
        }
    }

    #[allow(clippy::cast_possible_wrap)]
    fn convert(self, conversion: Conversion) -> Result<Value<'a>, Stop> {
        let size = |n: usize| Ok(Value::Number(Number::Int(n as i128)));
        match (conversion, self) {
            (Conversion::Size, Value::Text(text)) => size(text.chars().count()),
            (Conversion::Size, Value::Array(values)) => size(values.len()),
            (Conversion::Size, Value::List(values)) => size(values.len()),
            (Conversion::Size, Value::Object(map)) => size(map.len()),
            (Conversion::Size, other) => Err(other.clash("size", "a text, a list or an object")),
            (Conversion::Int, Value::Number(Number::Int(i))) => Ok(Value::Number(Number::Int(i))),
            (Conversion::Int, Value::Number(Number::Float(f))) => {
                whole(f.trunc()).map(|i| Value::Number(Number::Int(i))).ok_or_else(overflow)
            }
            (Conversion::Int, Value::Text(text)) => match text.trim().parse() {
                Ok(i) => Ok(Value::Number(Number::Int(i))),
                Err(_) => Err(Stop::Clash("`int` met a text that is not an integer".to_owned())),
            },
            (Conversion::Int, other) => Err(other.clash("int", "a number or a text")),
            (Conversion::Double, Value::Number(number)) => {
                Ok(Value::Number(Number::Float(number.as_float())))
            }
            (Conversion::Double, Value::Text(text)) => match text.trim().parse() {
                Ok(f) => Ok(Value::Number(Number::Float(f))),
                Err(_) => Err(Stop::Clash("`double` met a text that is not a number".to_owned())),
            },
            (Conversion::Double, other) => Err(other.clash("double", "a number or a text")),
            (Conversion::Text, Value::Null) => Err(Stop::Missing),
            (Conversion::Text, Value::Text(text)) => Ok(Value::Text(text)),
            (Conversion::Text, other) => {
                let mut out = String::new();
                other.write(&mut out);
                Ok(Value::Text(Cow::Owned(out)))
            }
        }
    }

    /// Compact JSON with sorted fields and numbers as short as they can be.
    fn write(&self, out: &mut String) {
        let list = |out: &mut String, values: &mut dyn Iterator<Item = Value<'_>>| {
            out.push('[');
            for (i, value) in values.enumerate() {
                if i > 0 {
                    out.push(',');
                }
                value.write(out);
            }
            out.push(']');
        };
        // Writing to a `String` cannot fail.
        let _ = match self {
            Value::Null => out.write_str("null"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Number(Number::Int(i)) => write!(out, "{i}"),
            Value::Number(Number::Float(f)) => match whole(*f) {
                Some(i) => write!(out, "{i}"),
                None => write!(out, "{f}"),
            },
            Value::Text(text) => write!(out, "{}", Json::from(text.as_ref())),
            Value::Array(values) => {
                list(out, &mut values.iter().map(json));
                Ok(())
            }
            Value::List(values) => {
                list(out, &mut values.iter().cloned());
                Ok(())
            }
            Value::Object(map) => {
                let mut fields: Vec<_> = map.iter().collect();
                fields.sort_by_key(|(key, _)| key.as_str());
                out.push('{');
                for (i, (key, value)) in fields.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    let _ = write!(out, "{}:", Json::from(key.as_str()));
                    json(value).write(out);
                }
                out.push('}');
                Ok(())
            }
            Value::Batch => out.write_str("batch"),
        };
    }
}
