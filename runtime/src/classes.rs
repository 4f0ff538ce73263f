//! From letters to classes: letters that no rule of a group tells apart are one class.

use crate::{
    Letter,
    layout::{DIAGRAM, DIRECT, GATHER, GATHERED},
    wire::{Budget, Bytes},
};

const TERMINAL: u32 = 1 << 31;

/// Finds the class of a letter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classifier<'a> {
    kind: Kind<'a>,
    pub(crate) class_len: u32,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    /// Exactly one proposition is true at an event: its class stands at its place; after the last come the classes of
    /// "none" and of "several".
    Direct(Bytes<'a>),
    /// Runs of neighbouring bits of the letter, put side by side, are the place of the class.
    Gather { runs: &'a [u8], table: Bytes<'a> },
    /// A diagram whose terminals are classes.
    Diagram { nodes: Bytes<'a>, root: u32 },
}

impl<'a> Classifier<'a> {
    /// A classifier that knows one class only.
    pub(crate) const fn none() -> Classifier<'a> {
        Classifier { kind: Kind::Diagram { nodes: Bytes(&[]), root: TERMINAL }, class_len: 1 }
    }

    /// Reads a record, whose words [`crate::layout::CLASSIFIER`] names.
    pub(crate) fn read(section: Bytes<'a>, at: usize) -> Option<Classifier<'a>> {
        let word = |i: usize| section.u32(at + i * 4);
        let part = |i: usize| section.part(word(i)? as usize, word(i + 1)? as usize);
        let (table, aux) = (Bytes(part(4)?), part(6)?);
        let kind = match word(0)? {
            DIRECT => Kind::Direct(table),
            GATHER => Kind::Gather { runs: aux, table },
            DIAGRAM => Kind::Diagram { nodes: Bytes(aux), root: word(2)? },
            _ => return None,
        };
        Some(Classifier { kind, class_len: word(1)? })
    }

    /// Whether every class it can find exists.
    ///
    /// # Complexity
    /// O(table, runs, nodes).
    pub(crate) fn check(&self, prop_len: u32, budget: &mut Budget) -> Result<(), &'static str> {
        match self.kind {
            Kind::Direct(table) => budget.take(&[table.0])?,
            Kind::Gather { runs, table } => budget.take(&[runs, table.0])?,
            Kind::Diagram { nodes, .. } => budget.take(&[nodes.0])?,
        }
        if self.class_len == 0 || self.class_len > 1 << 16 {
            return Err("no letter classes");
        }
        let classes_ok = |table: Bytes<'_>, len: usize| {
            let (classes, rest) = table.0.as_chunks::<2>();
            let exists = |class: &[u8; 2]| u32::from(u16::from_le_bytes(*class)) < self.class_len;
            rest.is_empty() && classes.len() == len && classes.iter().all(exists)
        };
        match self.kind {
            Kind::Direct(table) if classes_ok(table, prop_len as usize + 2) => Ok(()),
            Kind::Gather { runs, table } => {
                let mut bits = 0;
                let (runs, rest) = runs.as_chunks::<RUN>();
                for run in runs.iter().map(Run::read) {
                    let fits = run.width >= 1 && run.width <= GATHERED as u32 && run.shift <= 64 - run.width;
                    if !fits || run.to != bits || bits > GATHERED as u32 {
                        return Err("a run of bits is out of place");
                    }
                    bits += run.width;
                }
                let sound = rest.is_empty() && bits <= GATHERED as u32 && classes_ok(table, 1 << bits);
                sound.then_some(()).ok_or("a table of classes has the wrong size")
            }
            Kind::Diagram { nodes, root } => (check_diagram(nodes.0, self.class_len)
                && refers(root, nodes.0.len() / 12, self.class_len))
            .then_some(())
            .ok_or("a diagram node refers to nothing"),
            Kind::Direct(_) => Err("a table of classes has the wrong size"),
        }
    }

    /// The class of a letter.
    ///
    /// # Complexity
    /// A few operations per word of the letter, per run of bits or per node of a path.
    #[inline]
    pub(crate) fn class(&self, letter: Letter<'_>) -> u32 {
        match self.kind {
            Kind::Direct(table) => {
                let (mut found, mut count) = (0, 0);
                for (i, &word) in letter.0.iter().enumerate() {
                    if word != 0 {
                        found = i * 64 + word.trailing_zeros() as usize;
                        count += word.count_ones();
                    }
                }
                let classes = table.0.len() / 2;
                let place = match count {
                    0 => classes.wrapping_sub(2),
                    1 if found < classes.wrapping_sub(2) => found,
                    _ => classes.wrapping_sub(1),
                };
                u32::from(table.u16(place * 2).unwrap_or(0))
            }
            Kind::Gather { runs, table } => {
                let mut place = 0;
                for run in runs.as_chunks::<RUN>().0 {
                    let run = Run::read(run);
                    let word = letter.0.get(run.word as usize).copied().unwrap_or(0);
                    // Widths and places were checked: the shifts stay within their words.
                    let bits = word.wrapping_shr(run.shift) & 1u64.wrapping_shl(run.width).wrapping_sub(1);
                    place |= bits.wrapping_shl(run.to) as usize;
                }
                u32::from(table.u16(place * 2).unwrap_or(0))
            }
            Kind::Diagram { nodes, root } => walk(nodes, root, letter),
        }
    }
}

/// Bytes of a run.
const RUN: usize = 16;

/// Neighbouring bits of one word of the letter.
#[derive(Clone, Copy)]
struct Run {
    word: u32,
    shift: u32,
    width: u32,
    to: u32,
}

impl Run {
    #[inline]
    fn read(bytes: &[u8; RUN]) -> Run {
        let word = |i: usize| Bytes(bytes).u32(i * 4).unwrap_or(0);
        Run { word: word(0), shift: word(1), width: word(2), to: word(3) }
    }
}

/// The value of the terminal that `letter` leads to.
#[inline]
pub(crate) fn walk(nodes: Bytes<'_>, mut reference: u32, letter: Letter<'_>) -> u32 {
    while reference & TERMINAL == 0 {
        let node = nodes.part(reference as usize * 12, 12).map_or(Bytes(&[]), Bytes);
        let value = node.u32(0).is_some_and(|prop| letter.contains(prop));
        // Every reference was checked; a terminal keeps a walk finite whatever happens.
        reference = node.u32(4 + usize::from(value) * 4).unwrap_or(TERMINAL);
    }
    reference & !TERMINAL
}

/// Whether a reference leads to one of the `nodes` or to a value below `values`.
pub(crate) fn refers(reference: u32, nodes: usize, values: u32) -> bool {
    if reference & TERMINAL != 0 { reference & !TERMINAL < values } else { (reference as usize) < nodes }
}

/// Whether every reference of the nodes leads to an earlier node or to a value below `values`.
pub(crate) fn check_diagram(nodes: &[u8], values: u32) -> bool {
    let (all, rest) = nodes.as_chunks::<12>();
    let sound = |(i, node): (usize, &[u8; 12])| {
        let word = |at| Bytes(node).u32(at).unwrap_or(0);
        refers(word(4), i, values) && refers(word(8), i, values)
    };
    rest.is_empty() && all.iter().enumerate().all(sound)
}
