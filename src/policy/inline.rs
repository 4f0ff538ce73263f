//! Named formulas put in where they are used.

use std::collections::HashMap;

use tracelaw_compiler::diag::{Diagnostic, Span};
use tracelaw_compiler::syntax::{Ast, Expr, Limits};

/// Operators and propositions that the formulas of a policy may have together once names are replaced: `a` made of two
/// `b`, `b` of two `c` and so on doubles with every line.
const MAX_NODES: usize = 4 << 20;

/// The named formulas of a policy, themselves free of names.
#[derive(Debug)]
pub(super) struct Inliner {
    formulas: HashMap<String, Measured>,
    nodes_left: usize,
    max_depth: usize,
}

#[derive(Debug)]
struct Measured {
    ast: Ast,
    nodes: usize,
    depth: usize,
}

impl Inliner {
    pub(super) fn new() -> Inliner {
        Inliner { formulas: HashMap::new(), nodes_left: MAX_NODES, max_depth: Limits::default().max_depth }
    }

    /// Makes `name` stand for `ast`; those that it uses must have been defined before.
    pub(super) fn define(&mut self, name: &str, ast: Ast) -> Result<(), Diagnostic> {
        let (nodes, depth) = self.admit(&ast)?;
        let ast = self.replace(ast);
        self.formulas.insert(name.to_owned(), Measured { ast, nodes, depth });
        Ok(())
    }

    /// `ast` with all names replaced.
    pub(super) fn inline(&mut self, ast: Ast) -> Result<Ast, Diagnostic> {
        self.admit(&ast)?;
        Ok(self.replace(ast))
    }

    /// Nodes and depth of `ast` after replacement, if that is within the limits: known before anything grows.
    fn admit(&mut self, ast: &Ast) -> Result<(usize, usize), Diagnostic> {
        let (nodes, depth) = self.measure(ast);
        let limit = |message: String| {
            Err(Diagnostic::error("limit", ast.span, message)
                .with_help("use named formulas fewer times in one another"))
        };
        if depth > self.max_depth {
            return limit(format!(
                "with its named formulas written out this is {depth} deep, more than {}",
                self.max_depth
            ));
        }
        match self.nodes_left.checked_sub(nodes) {
            Some(left) => {
                self.nodes_left = left;
                Ok((nodes, depth))
            }
            None => limit(format!(
                "with all named formulas written out the policy has more than {MAX_NODES} operators"
            )),
        }
    }

    fn measure(&self, ast: &Ast) -> (usize, usize) {
        let below = |parts: &mut dyn Iterator<Item = &Ast>| {
            parts.map(|part| self.measure(part)).fold((1usize, 1usize), |(nodes, depth), (n, d)| {
                (nodes.saturating_add(n), depth.max(d.saturating_add(1)))
            })
        };
        match &ast.expr {
            Expr::Constant(_) => (1, 1),
            Expr::Proposition(name) => self.formulas.get(name).map_or((1, 1), |m| (m.nodes, m.depth)),
            Expr::Unary(_, f) => below(&mut std::iter::once(&**f)),
            Expr::And(fs) | Expr::Or(fs) => below(&mut fs.iter()),
            Expr::Binary(_, f, g) => below(&mut [&**f, &**g].into_iter()),
        }
    }

    fn replace(&self, ast: Ast) -> Ast {
        let Ast { span, expr } = ast;
        let expr = match expr {
            Expr::Constant(value) => Expr::Constant(value),
            Expr::Proposition(name) => match self.formulas.get(&name) {
                Some(formula) => return formula.ast.clone(),
                None => Expr::Proposition(name),
            },
            Expr::Unary(op, f) => Expr::Unary(op, Box::new(self.replace(*f))),
            Expr::And(fs) => Expr::And(fs.into_iter().map(|f| self.replace(f)).collect()),
            Expr::Or(fs) => Expr::Or(fs.into_iter().map(|f| self.replace(f)).collect()),
            Expr::Binary(op, f, g) => {
                Expr::Binary(op, Box::new(self.replace(*f)), Box::new(self.replace(*g)))
            }
        };
        Ast::new(span, expr)
    }
}

/// Moves all spans of a tree.
pub(super) fn map_spans(ast: &mut Ast, place: &dyn Fn(Span) -> Span) {
    ast.span = place(ast.span);
    match &mut ast.expr {
        Expr::Constant(_) | Expr::Proposition(_) => {}
        Expr::Unary(_, f) => map_spans(f, place),
        Expr::And(fs) | Expr::Or(fs) => fs.iter_mut().for_each(|f| map_spans(f, place)),
        Expr::Binary(_, f, g) => {
            map_spans(f, place);
            map_spans(g, place);
        }
    }
}

/// Calls `each` with every proposition of a tree and its place, from left to right.
pub(super) fn for_each_name<'a>(ast: &'a Ast, each: &mut dyn FnMut(&'a str, Span)) {
    match &ast.expr {
        Expr::Constant(_) => {}
        Expr::Proposition(name) => each(name, ast.span),
        Expr::Unary(_, f) => for_each_name(f, each),
        Expr::And(fs) | Expr::Or(fs) => fs.iter().for_each(|f| for_each_name(f, each)),
        Expr::Binary(_, f, g) => {
            for_each_name(f, each);
            for_each_name(g, each);
        }
    }
}
