//! Which letters there can be.

/// Why `letter` cannot be, given sets of propositions of which at most one holds at an event, and whether exactly one of the
/// whole vocabulary does.
#[must_use]
pub fn contradiction(
    vocabulary: &[String],
    exclusive: &[Vec<u32>],
    one_of_all: bool,
    letter: &[u64],
) -> Option<String> {
    let holds = |prop: u32| letter.get((prop >> 6) as usize).is_some_and(|word| word >> (prop & 63) & 1 != 0);
    let name = |prop: u32| format!("`{}`", vocabulary.get(prop as usize).map_or("", String::as_str));
    for set in exclusive {
        let mut true_ones = set.iter().copied().filter(|p| holds(*p));
        let Some(first) = true_ones.next() else { continue };
        // A name given twice in a set does not exclude itself.
        if let Some(second) = true_ones.find(|p| *p != first) {
            return Some(format!(
                "{} and {} hold at once, and are said to exclude each other",
                name(first),
                name(second)
            ));
        }
    }
    if !one_of_all {
        return None;
    }
    let count: u32 = letter.iter().map(|word| word.count_ones()).sum();
    match count {
        0 => Some(
            "no proposition holds, and exactly one is said to hold at each event \
             (if there may be none, use `exclusive` instead)"
                .to_owned(),
        ),
        1 => None,
        _ => {
            let mut true_ones = (0..).take(vocabulary.len()).filter(|p| holds(*p)).map(name);
            let (first, second) =
                (true_ones.next().unwrap_or_default(), true_ones.next().unwrap_or_default());
            Some(format!("{first} and {second} hold at once, and exactly one is said to hold at each event"))
        }
    }
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
        assert!(why(&[vec![1, 65]], false, [0b10, 0b10]).is_some_and(|m| m.contains("`p1` and `p65`")));
        assert_eq!(why(&[vec![1, 1]], false, [0b10, 0]), None);
        assert_eq!(why(&[], true, [0, 1]), None);
        assert!(why(&[], true, [0, 0]).is_some_and(|m| m.contains("no proposition holds")));
        assert!(why(&[], true, [1, 1]).is_some_and(|m| m.contains("`p0` and `p64`")));
    }
}
