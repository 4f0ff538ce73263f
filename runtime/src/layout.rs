//! The numbers that whoever writes a rule set and the readers here have to agree on; docs/format.md has the layout.

/// Words before the records.
pub const HEAD: usize = 8;
/// Words of a rule's record: group, slot, states, first pending, holding, satisfied state, offset of the distances, zero.
pub const RULE: usize = 8;
/// Words of a classifier's record: kind, classes, root, zero, offset and length of the table, of the runs or nodes.
pub const CLASSIFIER: usize = 8;
/// Words of a group's record: kind, classifier, place in the state, states or bits, shift or words, offset and number of
/// slots, offset and length of the table (coefficients, nodes), offset of the marks (roots; whether no edge breaks a rule),
/// of the parts, offset and number of the masks, offset of the allowed classes, initial state (offset of it), offset of
/// the verdicts.
pub const GROUP: usize = 16;

/// Kind of a classifier by the one proposition that is true.
pub const DIRECT: u32 = 0;
/// Kind of a classifier by neighbouring bits of the letter, put side by side.
pub const GATHER: u32 = 1;
/// Kind of a classifier by a decision diagram.
pub const DIAGRAM: u32 = 2;

/// Kind of a group that is a table of entries of two bytes.
pub const TABLE: u32 = 2;
/// Kind of a group that is a table of entries of four bytes.
pub const WIDE_TABLE: u32 = 4;
/// Kind of a group of rules side by side in the bits of words, by classes of letters.
pub const LANES: u32 = 8;
/// Kind of a group that is one automaton on its diagrams.
pub const DIAGRAMS: u32 = 16;
/// Kind of a group of rules side by side in the bits of words, by the propositions of each.
pub const OPEN_LANES: u32 = 32;

/// Rules that one block of a rule set holds: changes are put in order block by block, and a group is within one.
pub const BLOCK: usize = 1024;
/// Groups and classifiers of a set that the runtime keeps ready; those beyond are read from their records at every step.
pub const READY: usize = 6;
/// Bits that a gathering classifier collects at most.
pub const GATHERED: usize = 12;
/// Slots of a table at most: which of them an edge breaks is one word.
pub const SLOTS: usize = 64;
/// Masks of a table at most: a mark is one byte, and one more than the place of a mask.
pub const MASKS: usize = 255;
/// State bits of a rule in lanes at most.
pub const LANE_BITS: usize = 3;
/// Words of a block of lanes, where one word does not hold all rules.
pub const LANE_WORDS: usize = 4;
/// State bits and inputs of a rule in open lanes at most, together.
pub const OPEN_VARIABLES: usize = 6;
/// Outputs of a word of open lanes at most: "breach" and the new state bits.
pub const OPEN_OUTPUTS: usize = 1 + OPEN_VARIABLES;
/// Ways in which the four propositions of a quad can hold.
pub const QUAD: usize = 16;

/// Records may share tables of at most so many bytes; a longer one belongs to one record alone. So checking a rule set
/// takes time linear in its length.
pub const SHARED: usize = 1024;
/// Stands for "never" among the distances.
pub const NEVER: u32 = u32::MAX;
