//! Which chunks of a file are new: a diff of chunk ids, by content and not by place, so that what only moved is kept.

use std::collections::HashMap;

/// How a new list of ids differs from an old one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// `(old index, new index)` of equal ids, by new index. Equal ids mean equal embedding input: vectors are copied.
    pub kept: Vec<(u32, u32)>,
    /// New indexes whose ids were not there before, ascending.
    pub added: Vec<u32>,
    /// Old indexes whose ids are gone, ascending.
    pub removed: Vec<u32>,
}

/// Match `new` with `old`. Each old id is used once; among equal ones the first goes with the first.
pub fn diff(old: &[u128], new: &[u128]) -> Diff {
    let mut diff = Diff::default();
    // An edit leaves most of a file as it was: what agrees at both ends needs no table.
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (head..old.len() - tail, head..new.len() - tail);

    let mut places: HashMap<u128, Vec<u32>> = HashMap::with_capacity(old_middle.len());
    for index in old_middle.rev() {
        places.entry(old[index]).or_default().push(index as u32);
    }
    diff.kept.extend((0..head as u32).map(|index| (index, index)));
    for index in new_middle {
        match places.get_mut(&new[index]).and_then(Vec::pop) {
            Some(place) => diff.kept.push((place, index as u32)),
            None => diff.added.push(index as u32),
        }
    }
    diff.kept.extend((0..tail).rev().map(|back| ((old.len() - 1 - back) as u32, (new.len() - 1 - back) as u32)));
    diff.removed = places.into_values().flatten().collect();
    diff.removed.sort_unstable();
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by its definition: walk over the new ids and cross off the first equal old one.
    fn counts(old: &[u128], new: &[u128]) -> (usize, Vec<u128>, Vec<u128>) {
        let mut left = old.to_vec();
        let mut added = Vec::new();
        for id in new {
            match left.iter().position(|known| known == id) {
                Some(place) => drop(left.remove(place)),
                None => added.push(*id),
            }
        }
        left.sort_unstable();
        added.sort_unstable();
        (old.len() - left.len(), added, left)
    }

    #[test]
    fn moved_chunks_are_kept() {
        let diff = diff(&[1, 2, 3, 4], &[1, 3, 2, 5, 4]);
        assert_eq!(diff, Diff { kept: vec![(0, 0), (2, 1), (1, 2), (3, 4)], added: vec![3], removed: vec![] });
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_version(old in prop::collection::vec(0_u128..12, 0..40), new in prop::collection::vec(0_u128..12, 0..40)) {
            let found = diff(&old, &new);
            let (kept, added, removed) = counts(&old, &new);
            let sorted = |list: &[u32], of: &[u128]| { let mut ids: Vec<u128> = list.iter().map(|i| of[*i as usize]).collect(); ids.sort_unstable(); ids };
            prop_assert_eq!(found.kept.len(), kept);
            prop_assert_eq!(sorted(&found.added, &new), added);
            prop_assert_eq!(sorted(&found.removed, &old), removed);
            prop_assert!(found.kept.iter().all(|(a, b)| old[*a as usize] == new[*b as usize]));
            prop_assert!(found.kept.is_sorted_by_key(|(_, b)| *b) && found.added.is_sorted() && found.removed.is_sorted());
            let mut every: Vec<u32> = found.kept.iter().map(|(_, b)| *b).chain(found.added.iter().copied()).collect();
            every.sort_unstable();
            prop_assert_eq!(every, (0..new.len() as u32).collect::<Vec<_>>());
        }
    }
}
