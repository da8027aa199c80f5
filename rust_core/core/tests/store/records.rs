//! Vectors without files: what was put survives a kill and a merge, and is found by exact cosines.

use carrel_core::base::error::Error;
use carrel_core::base::types::{FileProperties, Scalar};
use carrel_core::query::filter::{Filter, FilterOptions};
use carrel_core::workspace::store::{Store, VectorRecord};

use crate::support::{Workspace, killed, token};

const FOLDER: &str = "CARREL_TEST_RECORDS";
const DIM: usize = 32;
/// Records of one commit of the process that is killed.
const TOGETHER: u128 = 5;

fn open(workspace: &Workspace, model: &str) -> Store {
    let mut config = workspace.config();
    (config.embedder_id, config.dim) = (model.to_owned(), DIM);
    Store::open(config).unwrap()
}

/// A direction of its own for each number.
fn direction(number: u128) -> Vec<f32> {
    let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random as u32) as f32 / u32::MAX as f32 - 0.5
    };
    let vector: Vec<f32> = (0..DIM).map(|_| next()).collect();
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.into_iter().map(|v| v / length).collect()
}

fn record(id: u128) -> VectorRecord {
    let even = Scalar::Text(id.is_multiple_of(2).to_string());
    let properties = FileProperties { version: None, metadata: [("even".to_owned(), even)].into() };
    VectorRecord { id, vector: direction(id), properties }
}

fn put(store: &Store, ids: impl IntoIterator<Item = u128>) {
    store.put_records(&ids.into_iter().map(record).collect::<Vec<_>>(), &[]).unwrap();
}

fn ids(store: &Store) -> Vec<u128> {
    let mut ids = store.snapshot().unwrap().record_ids();
    ids.sort_unstable();
    ids
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_nearest_are_those_of_plain_floats_in_their_order() {
    let workspace = Workspace::new(&[]);
    let store = open(&workspace, "model");
    for first in (0..3_000).step_by(150) {
        put(&store, first..first + 150);
    }
    store.compact(&token()).unwrap();
    let snapshot = store.snapshot().unwrap();
    for number in 5_000..5_020 {
        let asked = direction(number);
        let mut expected: Vec<(u128, f32)> = (0..3_000).map(|id| (id, dot(&asked, &direction(id)))).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = snapshot.nearest(&asked, 10, -1.0, None, &token()).unwrap();
        assert_eq!(
            found.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            expected[..10].iter().map(|(id, _)| *id).collect::<Vec<_>>()
        );
        assert!(found.iter().zip(&expected).all(|(a, b)| (a.1 - b.1).abs() < 1e-4), "{found:?}");
    }
    let given = snapshot.record_vectors(&[7, 99_999]);
    assert!(given[0].as_ref().unwrap().iter().zip(direction(7)).all(|(a, b)| (a - b).abs() < 1e-4));
    assert_eq!(given[1], None);
    let metadata = [("even".to_owned(), vec!["true".to_owned()])].into();
    let filter = Filter::new(FilterOptions { metadata, ..FilterOptions::default() }).unwrap();
    let even = snapshot.nearest(&direction(7), 2_000, -1.0, Some(&filter), &token()).unwrap();
    assert_eq!((even.len(), even.iter().any(|(id, _)| id % 2 == 1)), (1_500, false));
}

#[test]
fn records_are_replaced_deleted_merged_and_kept() {
    let workspace = Workspace::new(&[]);
    let store = open(&workspace, "model");
    for id in 0..60 {
        put(&store, [id]);
    }
    assert!(workspace.segment_files().len() < 30, "small ones were merged");
    let moved = VectorRecord { vector: direction(1_000), ..record(7) };
    store.put_records(&[record(7), moved, record(61)], &[3, 4, 61, 500]).unwrap();
    let wrong = VectorRecord { vector: vec![1.0], ..record(8) };
    assert!(matches!(store.put_records(&[record(70), wrong], &[]), Err(Error::Invalid { field: "vector", .. })));
    let check = |store: &Store| {
        assert_eq!(ids(store), (0..60).filter(|id| ![3, 4].contains(id)).collect::<Vec<_>>());
        let found = store.snapshot().unwrap().nearest(&direction(1_000), 1, 0.9, None, &token()).unwrap();
        assert_eq!(found[0].0, 7);
    };
    check(&store);
    let follower = open(&workspace, "model");
    check(&follower);
    assert!(matches!(follower.put_records(&[record(1)], &[]), Err(Error::NotWriter)));
    store.close();
    check(&open(&workspace, "model"));
}

#[test]
fn vectors_of_another_model_are_neither_found_nor_listed() {
    let workspace = Workspace::new(&[]);
    let store = open(&workspace, "old");
    put(&store, 0..5);
    store.close();
    let store = open(&workspace, "new");
    assert_eq!((ids(&store), store.snapshot().unwrap().record_vectors(&[1])), (vec![], vec![None]));
    put(&store, [1, 2]);
    assert_eq!(ids(&store), [1, 2]);
}

/// Not a test of its own: the process that is killed. It puts five records in each commit and reports the last.
#[test]
#[ignore = "run by killed_at_any_moment_a_commit_is_there_whole_or_not_at_all"]
fn the_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut config = Workspace::new(&[]).config();
    (config.root, config.directory) = (folder.clone().into(), folder.into());
    (config.embedder_id, config.dim) = ("model".to_owned(), DIM);
    let store = Store::open(config).unwrap();
    let first = ids(&store).len() as u128;
    for commit in 0.. {
        let next = first + commit * TOGETHER;
        put(&store, next..next + TOGETHER);
        println!("committed {}", next + TOGETHER);
        if commit % 9 == 8 {
            store.compact(&token()).unwrap();
        }
    }
}

#[test]
fn killed_at_any_moment_a_commit_is_there_whole_or_not_at_all() {
    let workspace = Workspace::new(&[]);
    for round in 0..8_u64 {
        let committed = killed("records::the_process_that_is_killed", FOLDER, &workspace.index, round);

        let store = open(&workspace, "model");
        assert!(store.is_writer() && store.problems().is_empty(), "round {round}: {:?}", store.problems());
        let kept = ids(&store);
        assert_eq!(kept, (0..kept.len() as u128).collect::<Vec<_>>());
        assert!(kept.len() as u64 >= committed && (kept.len() as u128).is_multiple_of(TOGETHER), "{} {committed}", kept.len());
        let vectors = store.snapshot().unwrap().record_vectors(&kept);
        assert!(kept.iter().zip(vectors).all(|(&id, found)| dot(&found.unwrap(), &direction(id)) > 0.9999));
        store.close();
    }
}
