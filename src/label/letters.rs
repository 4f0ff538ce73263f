//! Which letters there can be.

use tracelaw_runtime::Letter;

/// Why `letter` cannot be, given sets of propositions of which at most one holds at an event, and whether exactly one of the
/// whole vocabulary does.
///
/// # Complexity
/// O(vocabulary / 64 + propositions in `exclusive`). Allocates only for the message.
#[must_use]
pub fn contradiction(
    vocabulary: &[String],
    exclusive: &[Vec<u32>],
    one_of_all: bool,
    letter: &[u64],
) -> Option<String> {
    let letter = Letter(letter);
    let together = |held: &mut dyn Iterator<Item = u32>, promise| {
        let names = held.map(|p| format!("`{}`", vocabulary.get(p as usize).map_or("", String::as_str)));
        Some(format!("{} hold together, where {promise}", names.collect::<Vec<_>>().join(" and ")))
    };
    if one_of_all {
        match letter.0.iter().map(|word| word.count_ones()).sum() {
            0u32 => {
                let message = "none of the propositions holds, where `one_per_event` promises exactly one; \
                               `exclusive` promises at most one of a set";
                return Some(message.to_owned());
            }
            1 => {}
            _ => {
                let mut held = (0..).take(vocabulary.len()).filter(|p| letter.contains(*p));
                return together(&mut held, "`one_per_event` promises exactly one");
            }
        }
    }
    for set in exclusive {
        let mut held = set.iter().copied().filter(|p| letter.contains(*p));
        let first = held.next();
        // A name given twice in a set does not exclude itself.
        if held.any(|p| Some(p) != first) {
            let mut held = set.iter().copied().filter(|p| letter.contains(*p));
            return together(&mut held, "`exclusive` promises at most one");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::contradiction;

    #[test]
    fn at_most_one_of_a_set_and_exactly_one_of_all() {
        let names: Vec<String> = (0..70).map(|i| format!("p{i}")).collect();
        let why =
            |exclusive: &[Vec<u32>], one, letter: [u64; 2]| contradiction(&names, exclusive, one, &letter);
        assert_eq!(why(&[vec![0, 65]], false, [0b11, 0]), None);
        assert!(
            why(&[vec![1, 65]], false, [0b10, 0b10])
                .is_some_and(|m| m.contains("`p1` and `p65` hold together"))
        );
        assert_eq!(why(&[vec![1, 1]], false, [0b10, 0]), None);
        assert_eq!(why(&[], true, [0, 1]), None);
        assert!(why(&[], true, [0, 0]).is_some_and(|m| m.contains("none of the propositions holds")));
        assert!(why(&[], true, [1, 1]).is_some_and(|m| m.contains("`p0` and `p64`")));
    }
}
