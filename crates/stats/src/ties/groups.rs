//! Groups of things that are not told apart.

/// Groups of places such that two that are not told apart have a group in common, and two that are
/// told apart have none. `apart[i][j]`: are the i-th and the j-th told apart? Symmetric; nothing is
/// told apart from itself. Every place is in a group, and no group could have another member.
///
/// Each pair that is in no group yet gets one, beginning with the pair that spans most, and the group
/// takes in whatever fits, first what lies between the two. Where "not told apart" is a matter of
/// distance, as it mostly is, that gives the fewest groups. Groups are in the order of their first
/// members, then of their last.
pub(super) fn groups(apart: &[Vec<bool>]) -> Vec<Vec<usize>> {
    let n = apart.len();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for first in 0..n {
        for last in (first..n).rev().filter(|&last| !apart[first][last]) {
            if groups
                .iter()
                .any(|group| group.contains(&first) && group.contains(&last))
            {
                continue;
            }
            let mut group = vec![first, last];
            group.dedup();
            for candidate in (first..n).chain(0..first) {
                if group
                    .iter()
                    .all(|&member| member != candidate && !apart[member][candidate])
                {
                    group.push(candidate);
                }
            }
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups.sort_by_key(|group| (group.first().copied(), group.last().copied()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_apart(n: usize, pairs: &[(usize, usize)]) -> Vec<Vec<bool>> {
        let mut apart = vec![vec![false; n]; n];
        for &(a, b) in pairs {
            (apart[a][b], apart[b][a]) = (true, true);
        }
        apart
    }

    /// The first example in the manual of R's multcompView::multcompLetters: of a, b, c only b and c
    /// differ, which gives a "ab", b "a", c "b".
    #[test]
    fn the_manuals_example() {
        assert_eq!(groups(&told_apart(3, &[(1, 2)])), [vec![0, 1], vec![0, 2]]);
    }

    #[test]
    fn neighbours_overlap() {
        // Told apart when two or more places apart.
        let pairs = [(0, 2), (0, 3), (1, 3)];
        assert_eq!(
            groups(&told_apart(4, &pairs)),
            [vec![0, 1], vec![1, 2], vec![2, 3]]
        );
    }

    #[test]
    fn extremes() {
        assert_eq!(groups(&told_apart(3, &[])), [vec![0, 1, 2]]);
        assert_eq!(
            groups(&told_apart(3, &[(0, 1), (0, 2), (1, 2)])),
            [vec![0], vec![1], vec![2]]
        );
        assert_eq!(groups(&[]), Vec::<Vec<usize>>::new());
    }
}
