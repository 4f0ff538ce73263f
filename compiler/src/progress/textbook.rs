//! Progression as the TRAC paper and its published code do it.

use tracelaw_runtime::Letter;

use super::ProgressError;
use crate::syntax::{Ast, Binary, Bounds, Expr, Unary};

/// Nodes that a formula may have once its bounds are written out.
const MAX_NODES: usize = 1 << 22;

/// A formula and what is left of it: a binary tree without sharing, of which only constants are folded, and those one
/// level deep; `F f`, `G f` and `f U g` are copied at every step.
///
/// It has `!`, `&`, `|`, `X`, `F`, `G` and `U`. The other future operators are rewritten to these first:
/// `f -> g` to `!f | g`, `f <-> g` and `xor` to two of those, `f W g` to `(f U g) | G f`, `f R g` to `!(!f U !g)`,
/// `f M g` to `g U (f & g)`, `WX f` to `!X !f`, bounds to nested nexts. Operators that look back it has none.
///
/// # Complexity
/// Of a step: O(nodes of what is left), which can grow without bound, as it does for the method it is.
#[derive(Clone, Debug)]
pub struct Textbook {
    initial: Vec<Node>,
    left: Vec<Node>,
    spare: Vec<Node>,
    tasks: Vec<Task>,
}

/// Trees are kept in postfix order, so that neither stepping nor dropping one recurses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    op: Op,
    /// Nodes of its tree.
    size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    False,
    True,
    Atom(u32),
    Not,
    And,
    Or,
    Next,
    Finally,
    Globally,
    Until,
}

/// What remains to be done while stepping.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// Progress the tree whose root is at that place.
    Visit(u32),
    /// Its operands have been progressed.
    Finish(u32),
    /// The right operand of an until has been.
    Right(u32),
    /// And then the left one.
    Left(u32),
}

impl Textbook {
    /// Takes a formula over a vocabulary.
    ///
    /// # Errors
    /// When it looks back, names a proposition that is not in the vocabulary, or has bounds too large to write out.
    pub fn new(formula: &Ast, vocabulary: &[String]) -> Result<Textbook, ProgressError> {
        let mut tree = Vec::new();
        write(&mut tree, formula, vocabulary)?;
        Ok(Textbook { left: tree.clone(), initial: tree, spare: Vec::new(), tasks: Vec::new() })
    }

    /// Reads one event.
    pub fn step(&mut self, letter: Letter<'_>) {
        self.spare.clear();
        progress(&self.left, &mut self.spare, &mut self.tasks, letter);
        std::mem::swap(&mut self.left, &mut self.spare);
    }

    /// What is known by now: whether the formula is satisfied or violated, if it is decided.
    #[must_use]
    pub fn decided(&self) -> Option<bool> {
        constant(&self.left)
    }

    /// Begins afresh, as after a violation: the next event is the first.
    pub fn restart(&mut self) {
        self.left.clone_from(&self.initial);
    }

    /// Nodes of what is left.
    #[must_use]
    pub fn size(&self) -> usize {
        self.left.len()
    }

    /// What is left, with the vocabulary's names.
    #[must_use]
    pub fn residual(&self, vocabulary: &[String]) -> String {
        let mut stack: Vec<String> = Vec::new();
        for node in &self.left {
            let mut pop = || stack.pop().unwrap_or_default();
            let text = match node.op {
                Op::False => "false".to_owned(),
                Op::True => "true".to_owned(),
                Op::Atom(prop) => vocabulary.get(prop as usize).cloned().unwrap_or_default(),
                Op::Not => format!("!{}", pop()),
                Op::Next => format!("X {}", pop()),
                Op::Finally => format!("F {}", pop()),
                Op::Globally => format!("G {}", pop()),
                Op::And | Op::Or | Op::Until => {
                    let (right, left) = (pop(), pop());
                    let op = match node.op {
                        Op::And => "&",
                        Op::Or => "|",
                        _ => "U",
                    };
                    format!("({left} {op} {right})")
                }
            };
            stack.push(text);
        }
        stack.pop().unwrap_or_default()
    }
}

/// The value of a tree that is a constant.
fn constant(tree: &[Node]) -> Option<bool> {
    match tree.last()?.op {
        Op::True => Some(true),
        Op::False => Some(false),
        _ => None,
    }
}

fn leaf(out: &mut Vec<Node>, op: Op) {
    out.push(Node { op, size: 1 });
}

/// Puts an operator on top of the last tree.
fn unary(out: &mut Vec<Node>, op: Op) {
    let size = last_size(out) as u32 + 1;
    out.push(Node { op, size });
}

/// Puts an operator on top of the last two trees.
fn binary(out: &mut Vec<Node>, op: Op) {
    let right = last_size(out);
    let left = out[..out.len() - right].last().map_or(0, |n| n.size as usize);
    out.push(Node { op, size: (left + right + 1) as u32 });
}

fn last_size(out: &[Node]) -> usize {
    out.last().map_or(0, |node| node.size as usize)
}

/// The tree whose root is at `root`.
fn tree(nodes: &[Node], root: u32) -> &[Node] {
    let end = root as usize + 1;
    &nodes[end - nodes[root as usize].size as usize..end]
}

/// Appends what is left of `nodes`, a whole tree, after `letter`.
fn progress(nodes: &[Node], out: &mut Vec<Node>, tasks: &mut Vec<Task>, letter: Letter<'_>) {
    tasks.push(Task::Visit(nodes.len() as u32 - 1));
    while let Some(task) = tasks.pop() {
        match task {
            Task::Visit(at) => {
                let right = at.wrapping_sub(1);
                let left = || right - nodes[right as usize].size;
                match nodes[at as usize].op {
                    op @ (Op::False | Op::True) => leaf(out, op),
                    Op::Atom(prop) => leaf(out, if letter.contains(prop) { Op::True } else { Op::False }),
                    Op::Next => out.extend_from_slice(tree(nodes, right)),
                    Op::Not | Op::Finally | Op::Globally => {
                        tasks.extend([Task::Finish(at), Task::Visit(right)]);
                    }
                    Op::And | Op::Or => {
                        tasks.extend([Task::Finish(at), Task::Visit(right), Task::Visit(left())]);
                    }
                    Op::Until => tasks.extend([Task::Right(at), Task::Visit(right)]),
                }
            }
            Task::Finish(at) => finish(nodes, at, out),
            Task::Right(at) => {
                if constant(out) != Some(true) {
                    let right = at - 1;
                    tasks.extend([Task::Left(at), Task::Visit(right - nodes[right as usize].size)]);
                }
            }
            // What the right operand left, then what the left one did.
            Task::Left(at) => match constant(out) {
                Some(false) => {
                    out.pop();
                }
                Some(true) => {
                    out.pop();
                    out.extend_from_slice(tree(nodes, at));
                    binary(out, Op::Or);
                }
                None => {
                    out.extend_from_slice(tree(nodes, at));
                    binary(out, Op::And);
                    binary(out, Op::Or);
                }
            },
        }
    }
}

/// Joins what is left of the operands of the node at `at`.
fn finish(nodes: &[Node], at: u32, out: &mut Vec<Node>) {
    let own = tree(nodes, at);
    match nodes[at as usize].op {
        Op::Not => match constant(out) {
            Some(value) => {
                out.pop();
                leaf(out, if value { Op::False } else { Op::True });
            }
            None => unary(out, Op::Not),
        },
        Op::Finally => match constant(out) {
            Some(true) => {}
            Some(false) => {
                out.pop();
                out.extend_from_slice(own);
            }
            None => {
                out.extend_from_slice(own);
                binary(out, Op::Or);
            }
        },
        Op::Globally => match constant(out) {
            Some(false) => {}
            Some(true) => {
                out.pop();
                out.extend_from_slice(own);
            }
            None => {
                out.extend_from_slice(own);
                binary(out, Op::And);
            }
        },
        op => {
            // A conjunction is decided by a false operand and forgets true ones; a disjunction the other way round.
            let deciding = op == Op::Or;
            let right = last_size(out);
            let middle = out.len() - right;
            let left = last_size(&out[..middle]);
            match (constant(&out[..middle]), constant(out)) {
                (Some(l), _) if l == deciding => out.truncate(middle),
                (_, Some(r)) if r == deciding => {
                    out.truncate(middle - left);
                    leaf(out, if deciding { Op::True } else { Op::False });
                }
                (Some(_), _) => {
                    out.drain(middle - left..middle);
                }
                (None, Some(_)) => out.truncate(middle),
                (None, None) => binary(out, op),
            }
        }
    }
}

/// Appends the tree of a formula.
fn write(out: &mut Vec<Node>, ast: &Ast, vocabulary: &[String]) -> Result<(), ProgressError> {
    let both = |out: &mut Vec<Node>, f: &Ast, g: &Ast, op| {
        write(out, f, vocabulary)?;
        write(out, g, vocabulary)?;
        binary(out, op);
        Ok(())
    };
    match &ast.expr {
        Expr::Constant(value) => leaf(out, if *value { Op::True } else { Op::False }),
        Expr::Proposition(name) => {
            let prop = vocabulary.iter().position(|n| n == name);
            let prop = prop.ok_or_else(|| ProgressError::Unknown { name: name.clone() })?;
            leaf(out, Op::Atom(prop as u32));
        }
        Expr::And(fs) | Expr::Or(fs) => {
            let op = if matches!(ast.expr, Expr::And(_)) { Op::And } else { Op::Or };
            for (i, f) in fs.iter().enumerate() {
                write(out, f, vocabulary)?;
                if i > 0 {
                    binary(out, op);
                }
            }
        }
        Expr::Unary(op, f) => {
            write(out, f, vocabulary)?;
            match *op {
                Unary::Not => unary(out, Op::Not),
                Unary::Next(steps) => nexts(out, steps)?,
                Unary::WeakNext(steps) => weak_nexts(out, steps)?,
                Unary::Finally(Bounds { first, last }) => {
                    match last {
                        None => unary(out, Op::Finally),
                        Some(last) => within(out, last.saturating_sub(first), Op::Or, None)?,
                    }
                    nexts(out, first)?;
                }
                Unary::Globally(Bounds { first, last }) => {
                    match last {
                        None => unary(out, Op::Globally),
                        Some(last) => within(out, last.saturating_sub(first), Op::And, None)?,
                    }
                    weak_nexts(out, first)?;
                }
                // F(f & !X true)
                Unary::AtEnd => {
                    leaf(out, Op::True);
                    unary(out, Op::Next);
                    unary(out, Op::Not);
                    binary(out, Op::And);
                    unary(out, Op::Finally);
                }
                Unary::Yesterday => return Err(ProgressError::Past { operator: "Y" }),
                Unary::WeakYesterday => return Err(ProgressError::Past { operator: "Z" }),
                Unary::Once => return Err(ProgressError::Past { operator: "O" }),
                Unary::Historically => return Err(ProgressError::Past { operator: "H" }),
            }
        }
        Expr::Binary(op, f, g) => match *op {
            Binary::Implies => {
                write(out, f, vocabulary)?;
                unary(out, Op::Not);
                write(out, g, vocabulary)?;
                binary(out, Op::Or);
            }
            Binary::Iff | Binary::Xor => {
                for (a, b) in [(f, g), (g, f)] {
                    write(out, a, vocabulary)?;
                    unary(out, Op::Not);
                    write(out, b, vocabulary)?;
                    binary(out, Op::Or);
                }
                binary(out, Op::And);
                if *op == Binary::Xor {
                    unary(out, Op::Not);
                }
            }
            Binary::Until(Bounds { first, last }) => {
                let start = out.len();
                write(out, f, vocabulary)?;
                let lhs = out.split_off(start);
                write(out, g, vocabulary)?;
                match last {
                    None => {
                        let rhs = out.split_off(start);
                        out.extend_from_slice(&lhs);
                        out.extend(rhs);
                        binary(out, Op::Until);
                    }
                    Some(last) => within(out, last.saturating_sub(first), Op::Or, Some(&lhs))?,
                }
                for _ in 0..first {
                    unary(out, Op::Next);
                    out.extend_from_slice(&lhs);
                    binary(out, Op::And);
                    check(out)?;
                }
            }
            Binary::WeakUntil => {
                both(out, f, g, Op::Until)?;
                write(out, f, vocabulary)?;
                unary(out, Op::Globally);
                binary(out, Op::Or);
            }
            Binary::Release => {
                write(out, f, vocabulary)?;
                unary(out, Op::Not);
                write(out, g, vocabulary)?;
                unary(out, Op::Not);
                binary(out, Op::Until);
                unary(out, Op::Not);
            }
            Binary::StrongRelease => {
                write(out, g, vocabulary)?;
                both(out, f, g, Op::And)?;
                binary(out, Op::Until);
            }
            Binary::Since => return Err(ProgressError::Past { operator: "S" }),
            Binary::Trigger => return Err(ProgressError::Past { operator: "T" }),
        },
    }
    check(out)
}

fn check(out: &[Node]) -> Result<(), ProgressError> {
    if out.len() > MAX_NODES { Err(ProgressError::Size { limit: MAX_NODES }) } else { Ok(()) }
}

fn nexts(out: &mut Vec<Node>, steps: u32) -> Result<(), ProgressError> {
    for _ in 0..steps {
        unary(out, Op::Next);
        check(out)?;
    }
    Ok(())
}

/// `WX f` is `!X !f`; of several in a row, the negations between cancel.
fn weak_nexts(out: &mut Vec<Node>, steps: u32) -> Result<(), ProgressError> {
    if steps > 0 {
        unary(out, Op::Not);
        nexts(out, steps)?;
        unary(out, Op::Not);
    }
    Ok(())
}

/// From the last tree `f`, `f | X (f | X (...))` with so many nexts, or with [`Op::And`] weak ones and conjunctions; `lhs`
/// has to hold at every position that is passed.
fn within(out: &mut Vec<Node>, steps: u32, op: Op, lhs: Option<&[Node]>) -> Result<(), ProgressError> {
    let start = out.len() - last_size(out);
    let f = out[start..].to_vec();
    for _ in 0..steps {
        if op == Op::Or {
            unary(out, Op::Next);
        } else {
            weak_nexts(out, 1)?;
        }
        if let Some(lhs) = lhs {
            out.extend_from_slice(lhs);
            binary(out, Op::And);
        }
        out.extend_from_slice(&f);
        binary(out, op);
        check(out)?;
    }
    Ok(())
}
