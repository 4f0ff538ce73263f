//! Text to tree and back.

pub(crate) mod advice;
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
    /// Operators and brackets open at once. Default 1,000; more than [`Limits::DEEPEST`] counts as that.
    pub max_depth: usize,
}

impl Limits {
    /// Trees are walked by recursion, so no limit may allow them to grow deeper than this.
    pub const DEEPEST: usize = 2_000;

    pub(crate) fn depth(&self) -> usize {
        self.max_depth.min(Limits::DEEPEST)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_bytes: 1 << 20, max_depth: 1_000 }
    }
}
