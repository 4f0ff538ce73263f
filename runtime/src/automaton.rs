//! One compiled rule: a complete deterministic automaton as a flat slice of words.
//!
//! ```text
//! word  0 magic   1 format   2 states   3 initial state   4 diagram nodes   5 letter classes (0: diagram form)
//!       6 first pending state   7 first holding state   8 first satisfied state   9 classifier root
//!      10 diagram nodes, three words each: proposition, reference if false, reference if true
//!       . dense form: states * classes entries, row by row       diagram form: one reference per state
//! ```
//! A reference with the top bit set is a terminal and holds a value in its other bits; without it, it is the index of
//! an earlier node, so every walk ends. The value is a class (dense form) or an entry (diagram form). An entry is
//! `2 * target + breach`. States are ordered by verdict: `0 .. first pending` are violated, and so on.

use core::ops::ControlFlow;

use crate::{Letter, LoadError, Verdict};

const MAGIC: u32 = u32::from_le_bytes(*b"tlwA");
const FORMAT: u32 = 1;
const HEADER: usize = 10;
const TERMINAL: u32 = 1 << 31;

/// Where an event leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The state after the event.
    pub state: u32,
    /// Whether the event is one that breaks the rule.
    pub breach: bool,
}

/// A rule's automaton over borrowed or owned words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton<W> {
    words: W,
    state_len: u32,
    class_len: u32,
    /// Index of the first word after the nodes.
    body: usize,
}

impl<W: AsRef<[u32]>> Automaton<W> {
    /// Checks the words and takes them.
    ///
    /// # Complexity
    /// O(words). Never panics.
    ///
    /// # Errors
    /// When any reference, state or length is out of its range: stepping needs no checks afterwards.
    pub fn from_words(words: W) -> Result<Automaton<W>, LoadError> {
        let w = words.as_ref();
        let word = |at: usize| w.get(at).copied().ok_or(LoadError { what: "it ends too early", at });
        let bad = |what, at| Err(LoadError { what, at });
        if word(0)? != MAGIC {
            return bad("the first word is not the magic number", 0);
        }
        if word(1)? != FORMAT {
            return bad("unknown format version", 1);
        }
        let (state_len, initial, node_len, class_len) = (word(2)?, word(3)?, word(4)?, word(5)?);
        if state_len == 0 || state_len > TERMINAL >> 1 || initial >= state_len {
            return bad("no such initial state", 3);
        }
        let bounds = [word(6)?, word(7)?, word(8)?, state_len];
        if bounds.windows(2).any(|b| matches!(b, [x, y] if x > y)) {
            return bad("verdict ranges out of order", 6);
        }
        let (nodes, rest) = (u64::from(node_len) * 3, u64::from(state_len) * u64::from(class_len.max(1)));
        if w.len() as u64 != HEADER as u64 + nodes + rest {
            return bad("wrong length", w.len());
        }
        // Both fit: they are parts of a length.
        let (body, rest) = (HEADER + node_len as usize * 3, rest as usize);
        let value_limit = if class_len == 0 { state_len * 2 } else { class_len };
        let reference_ok =
            |r: u32, before: u32| if r & TERMINAL != 0 { r & !TERMINAL < value_limit } else { r < before };
        for node in 0..node_len {
            let at = HEADER + node as usize * 3;
            if !reference_ok(word(at + 1)?, node) || !reference_ok(word(at + 2)?, node) {
                return bad("a diagram node refers to nothing", at);
            }
        }
        if class_len == 0 {
            for at in body..body + rest {
                if !reference_ok(word(at)?, node_len) {
                    return bad("a state's diagram is not there", at);
                }
            }
        } else {
            if !reference_ok(word(9)?, node_len) {
                return bad("the classifier is not there", 9);
            }
            for at in body..body + rest {
                if word(at)? >= state_len * 2 {
                    return bad("an entry leads to no state", at);
                }
            }
        }
        Ok(Automaton { words, state_len, class_len, body })
    }

    /// Number of states, all reachable, the initial one included.
    #[must_use]
    pub fn state_len(&self) -> u32 {
        self.state_len
    }

    /// Number of letter classes the table distinguishes; 0 when the automaton is kept as diagrams.
    #[must_use]
    pub fn class_len(&self) -> u32 {
        self.class_len
    }

    /// The state before any event.
    #[must_use]
    pub fn initial(&self) -> u32 {
        self.word(3)
    }

    /// All words, as [`Automaton::from_words`] takes them.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.words.as_ref()
    }

    /// The verdict in `state`; `Violated` for a state that does not exist.
    #[must_use]
    #[inline]
    pub fn verdict(&self, state: u32) -> Verdict {
        if state < self.word(6) {
            Verdict::Violated
        } else if state < self.word(7) {
            Verdict::Pending
        } else if state < self.word(8) {
            Verdict::Holding
        } else if state < self.state_len {
            Verdict::Satisfied
        } else {
            Verdict::Violated
        }
    }

    /// The state after one more event.
    ///
    /// # Complexity
    /// One test per proposition of the rule at the most. Never panics; a state that does not exist stays where it is.
    #[must_use]
    #[inline]
    pub fn step(&self, state: u32, letter: Letter<'_>) -> Step {
        if state >= self.state_len {
            return Step { state, breach: false };
        }
        let entry = if self.class_len == 0 {
            self.walk(self.word(self.body + state as usize), letter)
        } else {
            let class = self.walk(self.word(9), letter);
            self.word(self.body + state as usize * self.class_len as usize + class as usize)
        };
        Step { state: entry >> 1, breach: entry & 1 != 0 }
    }

    /// The class of a letter; 0 when the automaton is kept as diagrams.
    #[must_use]
    pub fn class(&self, letter: Letter<'_>) -> u32 {
        if self.class_len == 0 { 0 } else { self.walk(self.word(9), letter) }
    }

    /// The step under a class of letters, for an automaton that has classes; where there is no such state or class, none.
    #[must_use]
    pub fn step_class(&self, state: u32, class: u32) -> Step {
        if state >= self.state_len || class >= self.class_len {
            return Step { state, breach: false };
        }
        let entry = self.word(self.body + state as usize * self.class_len as usize + class as usize);
        Step { state: entry >> 1, breach: entry & 1 != 0 }
    }

    /// The diagram nodes, each a proposition, a reference if false and one if true, children first; and the roots: that of
    /// the classifier (terminals are classes), or without classes one per state (terminals are `2 * target + breach`).
    #[must_use]
    pub fn diagrams(&self) -> (&[[u32; 3]], &[u32]) {
        let words = self.words.as_ref();
        let nodes = words.get(HEADER..self.body).unwrap_or(&[]).as_chunks().0;
        let roots = if self.class_len == 0 { words.get(self.body..) } else { words.get(9..10) };
        (nodes, roots.unwrap_or(&[]))
    }

    /// First pending, first holding, first satisfied state: what is before is violated, and so on.
    #[must_use]
    pub fn bounds(&self) -> [u32; 3] {
        [self.word(6), self.word(7), self.word(8)]
    }

    /// Calls `edge(cube, entry)` for each path of the diagram that gives the successors of `state`, until it breaks off,
    /// which the return value then says; `cube` lists the propositions the path tests with the value each must have. For
    /// reports and drawings.
    pub fn edges(
        &self,
        state: u32,
        edge: &mut dyn FnMut(&[(u32, bool)], Step) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if state >= self.state_len {
            return ControlFlow::Continue(());
        }
        let root = if self.class_len == 0 { self.word(self.body + state as usize) } else { self.word(9) };
        let mut cube = [(0u32, false); MAX_PATH];
        self.edges_below(state, root, &mut cube, 0, edge)
    }

    fn edges_below(
        &self,
        state: u32,
        reference: u32,
        cube: &mut [(u32, bool); MAX_PATH],
        depth: usize,
        edge: &mut dyn FnMut(&[(u32, bool)], Step) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if reference & TERMINAL != 0 {
            let value = reference & !TERMINAL;
            let entry = if self.class_len == 0 {
                value
            } else {
                self.word(self.body + state as usize * self.class_len as usize + value as usize)
            };
            return edge(
                cube.get(..depth).unwrap_or(&[]),
                Step { state: entry >> 1, breach: entry & 1 != 0 },
            );
        }
        let at = HEADER + reference as usize * 3;
        for (value, child) in [(false, self.word(at + 1)), (true, self.word(at + 2))] {
            let Some(slot) = cube.get_mut(depth) else { return ControlFlow::Break(()) };
            *slot = (self.word(at), value);
            self.edges_below(state, child, cube, depth + 1, edge)?;
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn walk(&self, mut reference: u32, letter: Letter<'_>) -> u32 {
        while reference & TERMINAL == 0 {
            let at = HEADER + reference as usize * 3;
            reference = self.word(at + 1 + usize::from(letter.contains(self.word(at))));
        }
        reference & !TERMINAL
    }

    #[inline]
    fn word(&self, at: usize) -> u32 {
        // Every index was checked by `from_words`; a terminal keeps a walk finite whatever happens.
        self.words.as_ref().get(at).copied().unwrap_or(TERMINAL)
    }
}

/// Longest path of a diagram that [`Automaton::edges`] follows: it breaks off at a longer one.
const MAX_PATH: usize = 4096;

/// How an automaton is written; see the module's head for the layout.
///
/// ```
/// use tracelaw_runtime::{Automaton, Layout, Letter, Verdict};
///
/// // `F p`: pending until proposition 0 is true, satisfied from then on.
/// let layout = Layout {
///     state_len: 2,
///     initial: 0,
///     bounds: [0, 1, 1],
///     class_len: 2,
///     classifier: 0,
///     nodes: &[[0, Layout::terminal(0), Layout::terminal(1)]],
///     body: &[0, 2, 2, 2],
/// };
/// let mut words = Vec::new();
/// layout.write(&mut |word| words.push(word));
/// let automaton = Automaton::from_words(words)?;
/// let after = automaton.step(automaton.initial(), Letter(&[1])).state;
/// assert_eq!(automaton.verdict(after), Verdict::Satisfied);
/// # Ok::<(), tracelaw_runtime::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Number of states.
    pub state_len: u32,
    /// The state before any event.
    pub initial: u32,
    /// First pending, first holding, first satisfied state.
    pub bounds: [u32; 3],
    /// Letter classes, 0 for the diagram form.
    pub class_len: u32,
    /// Root of the classifier, 0 for the diagram form.
    pub classifier: u32,
    /// Diagram nodes: proposition, reference if false, reference if true.
    pub nodes: &'a [[u32; 3]],
    /// Entries row by row, or one reference per state.
    pub body: &'a [u32],
}

impl Layout<'_> {
    /// A reference to a terminal that holds `value`.
    #[must_use]
    pub const fn terminal(value: u32) -> u32 {
        TERMINAL | value
    }

    /// Number of words [`Layout::write`] appends.
    #[must_use]
    pub const fn word_len(&self) -> usize {
        HEADER + self.nodes.len() * 3 + self.body.len()
    }

    /// Hands every word to `push`, in order.
    #[allow(clippy::cast_possible_truncation)]
    pub fn write(&self, push: &mut dyn FnMut(u32)) {
        let [pending, holding, satisfied] = self.bounds;
        let head = [
            MAGIC,
            FORMAT,
            self.state_len,
            self.initial,
            self.nodes.len() as u32,
            self.class_len,
            pending,
            holding,
            satisfied,
            self.classifier,
        ];
        head.into_iter().for_each(&mut *push);
        self.nodes.iter().flatten().copied().for_each(&mut *push);
        self.body.iter().copied().for_each(push);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::{Automaton, Layout};
    use crate::Letter;

    fn words(class_len: u32) -> Vec<u32> {
        let nodes = [[1, Layout::terminal(0), Layout::terminal(1)], [0, 0, Layout::terminal(1)]];
        let body: &[u32] = if class_len == 0 { &[1, Layout::terminal(2)] } else { &[0, 2, 2, 2] };
        let layout = Layout {
            state_len: 2,
            initial: 0,
            bounds: [0, 1, 1],
            class_len,
            classifier: 1,
            nodes: &nodes,
            body,
        };
        let mut words = Vec::new();
        layout.write(&mut |w| words.push(w));
        assert_eq!(words.len(), layout.word_len());
        words
    }

    /// Steps through every state and letter: whatever loads must stay within its states.
    fn walk(automaton: &Automaton<&[u32]>) {
        for state in 0..automaton.state_len().min(64) + 1 {
            for letter in 0..4 {
                let step = automaton.step(state, Letter(&[letter]));
                assert!(step.state < automaton.state_len() || state >= automaton.state_len());
                let _ = automaton.verdict(step.state);
            }
        }
    }

    #[test]
    fn what_is_damaged_is_refused_or_harmless() {
        for class_len in [0, 2] {
            let words = words(class_len);
            walk(&Automaton::from_words(words.as_slice()).unwrap());
            for len in 0..words.len() {
                assert!(Automaton::from_words(&words[..len]).is_err(), "{len} words");
            }
            for at in 0..words.len() {
                for bit in 0..32 {
                    let mut flipped = words.clone();
                    flipped[at] ^= 1 << bit;
                    if let Ok(automaton) = Automaton::from_words(flipped.as_slice()) {
                        walk(&automaton);
                    }
                }
            }
        }
    }
}
