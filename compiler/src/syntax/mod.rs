//! Text to tree and back.

mod ast;
pub(crate) mod lexer;
pub(crate) mod parser;
mod print;
#[cfg(test)]
mod tests;

pub use parser::parse;

pub use ast::{Ast, Binary, Bounds, Expr, Unary};

/// Which reading of the next operator a text uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// `X` strong, `WX` weak: this project's own.
    #[default]
    Tracelaw,
    /// `X[!]` strong, `X` weak.
    Spot,
}

/// How large a formula may be, so that a hostile text ends in a message and not in a stack overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text. Default 1 MiB.
    pub max_bytes: usize,
    /// Operators and brackets open at once. Default 1,000.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_bytes: 1 << 20, max_depth: 1_000 }
    }
}
