//! Definitions that use one another: an order in which each comes after those it uses, and the circles.

/// Circles reported at the most: more of them help nobody.
const MAX_CIRCLES: usize = 20;

/// Numbers `0 .. uses.len()`, each after those it uses, with the circles found on the way. `uses[i]` are the numbers
/// that `i` uses. Deterministic; no recursion, however long the chains are.
pub(super) fn order(uses: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; uses.len()];
    let (mut sorted, mut circles) = (Vec::with_capacity(uses.len()), Vec::new());
    for start in 0..uses.len() {
        // Each item with how many of its uses have been looked at.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if marks.get(start) == Some(&Mark::New) {
            path.push((start, 0));
        }
        while let Some((item, looked)) = path.last_mut() {
            let item = *item;
            let next = uses.get(item).and_then(|u| u.get(*looked)).copied();
            *looked += 1;
            let Some(next) = next else {
                set(&mut marks, item, Mark::Done);
                sorted.push(item);
                path.pop();
                continue;
            };
            set(&mut marks, item, Mark::Open);
            match marks.get(next) {
                Some(Mark::New) => path.push((next, 0)),
                Some(Mark::Open) if circles.len() == MAX_CIRCLES => {}
                Some(Mark::Open) => {
                    circles.push(path.iter().map(|(i, _)| *i).skip_while(|i| *i != next).collect());
                }
                Some(Mark::Done) | None => {}
            }
        }
    }
    fn set(marks: &mut [Mark], at: usize, mark: Mark) {
        if let Some(slot) = marks.get_mut(at) {
            *slot = mark;
        }
    }
    (sorted, circles)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn uses_come_first_and_circles_are_found() {
        let (sorted, circles) = order(&[vec![2, 1], vec![2], vec![]]);
        assert_eq!((sorted, circles), (vec![2, 1, 0], vec![]));
        let (_, circles) = order(&[vec![1], vec![2], vec![1], vec![3]]);
        assert_eq!(circles, [vec![1, 2], vec![3]]);
    }

    #[test]
    fn a_long_chain_is_no_problem() {
        let uses: Vec<Vec<usize>> =
            (0..100_000).map(|i| if i < 99_999 { vec![i + 1] } else { vec![] }).collect();
        let (sorted, circles) = order(&uses);
        assert_eq!((sorted.first(), sorted.len(), circles.len()), (Some(&99_999), 100_000, 0));
    }
}
