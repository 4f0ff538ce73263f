//! Why a formula was not compiled.

use std::{fmt, time::Duration};

/// A limit was reached. The formula is well-formed; it needs more than was allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    States {
        limit: usize,
    },
    Nodes {
        limit: usize,
    },
    Time {
        limit: Duration,
        nodes: usize,
    },
    Bound {
        bound: u64,
        limit: usize,
    },
    Unknown {
        name: String,
    },
    Stack {
        bytes: usize,
    },
    /// The tables outgrow what their offsets can say.
    Size {
        bytes: usize,
    },
    Internal {
        cause: String,
    },
}

impl BuildError {
    pub(crate) const fn new(kind: Kind) -> BuildError {
        BuildError { kind }
    }

    pub(crate) fn into_kind(self) -> Kind {
        self.kind
    }

    pub(crate) const fn bound(bound: u64, limit: usize) -> BuildError {
        BuildError::new(Kind::Bound { bound, limit })
    }

    pub(crate) const fn too_large(bytes: usize) -> BuildError {
        BuildError::new(Kind::Size { bytes })
    }

    pub(crate) const fn stack(bytes: usize) -> BuildError {
        BuildError::new(Kind::Stack { bytes })
    }

    /// The compiler is wrong, not the formula.
    pub(crate) fn internal(cause: impl fmt::Display) -> BuildError {
        BuildError::new(Kind::Internal { cause: cause.to_string() })
    }

    /// Whether the automaton, or one on the way to it, needs more states than allowed.
    #[must_use]
    pub const fn is_state_limit(&self) -> bool {
        matches!(self.kind, Kind::States { .. } | Kind::Bound { .. })
    }

    /// Whether the diagrams need more nodes (memory) than allowed.
    #[must_use]
    pub const fn is_node_limit(&self) -> bool {
        matches!(self.kind, Kind::Nodes { .. })
    }

    /// Whether the time was up.
    #[must_use]
    pub const fn is_time_limit(&self) -> bool {
        matches!(self.kind, Kind::Time { .. })
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::States { limit } => write!(
                f,
                "the automaton needs more than {limit} states; split the rule into several, or raise the state limit"
            ),
            Kind::Nodes { limit } => write!(
                f,
                "the decision diagrams need more than {limit} nodes; split the rule into several, or raise the node limit"
            ),
            Kind::Time { limit, nodes } => write!(
                f,
                "not compiled within {:.3} s ({nodes} diagram nodes built so far); split the rule, or raise the time limit",
                limit.as_secs_f64()
            ),
            Kind::Bound { bound, limit } => write!(
                f,
                "bounds that count {bound} positions need about as many states, more than the limit of {limit}; use smaller bounds, or raise the state limit"
            ),
            Kind::Stack { bytes } => {
                write!(
                    f,
                    "no thread with a stack of {bytes} bytes; use smaller bounds, fewer propositions or less nesting"
                )
            }
            Kind::Size { bytes } => write!(
                f,
                "the tables of the rules take {bytes} bytes, more than 4 GiB; split the policy into several"
            ),
            Kind::Internal { cause } => {
                write!(f, "a fault of the compiler: {cause}; please report the rule")
            }
            Kind::Unknown { name } => write!(f, "unknown proposition `{name}`; declare it in the vocabulary"),
        }
    }
}

impl std::error::Error for BuildError {}
