//! Which propositions can hold for which tools.

use ahash::AHashMap;

use super::expression::{Comparison, Literal, Node, Variable};
use super::{Entry, map};

/// Tool names kept in the sets of all propositions together. Beyond it (a policy made to have huge sets) propositions
/// count as possible for every tool, which is slower but never wrong.
const MAX_NAMES: usize = 1 << 20;

/// The entries to evaluate for an event, found by the name of its tool.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// By tool, entries that can hold for it, ascending.
    by_tool: AHashMap<String, Vec<u32>>,
    /// Entries that can hold for any tool, ascending.
    others: Vec<u32>,
}

/// The tools for which an expression can hold. For any other tool its value is false: not missing, not a clash.
#[derive(Clone, Debug)]
enum Tools {
    Any,
    /// Sorted numbers of tool names, and whether it does hold for each of them.
    Only(Vec<u32>, bool),
}

impl Index {
    /// Indexes `entries` and marks those that need no evaluation.
    pub(super) fn new(len: usize, entries: &mut [Entry]) -> Index {
        let mut builder =
            Builder { numbers: map(), names: Vec::new(), tools: vec![Tools::Any; len], budget: MAX_NAMES };
        let mut index = Index { by_tool: map(), others: Vec::new() };
        let mut by_number: Vec<Vec<u32>> = Vec::new();
        for (at, entry) in (0u32..).zip(entries) {
            let tools = builder.tools_of(&entry.expression.root);
            match &tools {
                Tools::Any => index.others.push(at),
                Tools::Only(numbers, certain) => {
                    entry.certain = *certain;
                    by_number.resize_with(builder.names.len(), Vec::new);
                    for &number in numbers {
                        if let Some(list) = by_number.get_mut(number as usize) {
                            list.push(at);
                        }
                    }
                }
            }
            if let Some(slot) = builder.tools.get_mut(entry.proposition as usize) {
                *slot = tools;
            }
        }
        index.by_tool.extend(builder.names.into_iter().zip(by_number));
        index
    }

    /// The entries that can hold for `tool`, ascending: that is, each after those it refers to.
    pub(super) fn candidates(&self, tool: &str) -> impl Iterator<Item = u32> {
        let mut named = self.by_tool.get(tool).map_or(&[][..], Vec::as_slice).iter().copied().peekable();
        let mut others = self.others.iter().copied().peekable();
        std::iter::from_fn(move || match (named.peek(), others.peek()) {
            (Some(a), Some(b)) if a > b => others.next(),
            (Some(_), _) => named.next(),
            (None, _) => others.next(),
        })
    }
}

struct Builder {
    numbers: AHashMap<String, u32>,
    names: Vec<String>,
    /// By proposition.
    tools: Vec<Tools>,
    budget: usize,
}

impl Builder {
    fn tools_of(&mut self, node: &Node) -> Tools {
        let tools = match node {
            Node::Literal(Literal::Bool(false)) => Tools::Only(Vec::new(), true),
            Node::Compare(Comparison::Equal, sides) => match &**sides {
                [Node::Variable(Variable::Tool), Node::Literal(Literal::Text(name))]
                | [Node::Literal(Literal::Text(name)), Node::Variable(Variable::Tool)] => {
                    Tools::Only(vec![self.number(name)], true)
                }
                _ => Tools::Any,
            },
            Node::OneOf(element, names) if matches!(**element, Node::Variable(Variable::Tool)) => {
                let mut numbers: Vec<u32> = names.iter().map(|n| self.number(n)).collect();
                numbers.sort_unstable();
                Tools::Only(numbers, true)
            }
            Node::And(sides) => match (self.tools_of(&sides[0]), self.tools_of(&sides[1])) {
                (Tools::Only(a, ca), Tools::Only(b, cb)) => {
                    let both = a.into_iter().filter(|n| b.binary_search(n).is_ok()).collect();
                    Tools::Only(both, ca && cb)
                }
                (Tools::Only(a, _), Tools::Any) | (Tools::Any, Tools::Only(a, _)) => Tools::Only(a, false),
                (Tools::Any, Tools::Any) => Tools::Any,
            },
            Node::Or(sides) => match (self.tools_of(&sides[0]), self.tools_of(&sides[1])) {
                (Tools::Only(mut a, ca), Tools::Only(b, cb)) => {
                    a.extend(b);
                    a.sort_unstable();
                    a.dedup();
                    Tools::Only(a, ca && cb)
                }
                _ => Tools::Any,
            },
            Node::Proposition(p) => match self.tools.get(*p as usize) {
                Some(tools @ Tools::Only(numbers, _)) if numbers.len() <= self.budget => tools.clone(),
                _ => Tools::Any,
            },
            _ => Tools::Any,
        };
        let size = if let Tools::Only(numbers, _) = &tools { numbers.len() } else { 0 };
        match self.budget.checked_sub(size) {
            Some(left) => {
                self.budget = left;
                tools
            }
            None => Tools::Any,
        }
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}
