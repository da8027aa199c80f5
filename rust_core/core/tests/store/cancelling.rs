//! A cancelled run stops, and keeps what it finished.

use std::time::{Duration, Instant};

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::error::Error;
use carrel_core::index::embed::HashedEmbedder;

use crate::support::{Workspace, carry_out, index, python, search, token};

fn cancelled() -> CancelToken {
    let token = CancelToken::new();
    token.cancel();
    token
}

fn is_cancelled<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Cancelled))
}

#[test]
fn every_stage_can_be_cancelled_and_goes_on_afterwards() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"])), ("b.py", &python(&["two"]))]);
    let store = workspace.open();
    assert!(is_cancelled(&store.scan(&cancelled())));
    assert!(is_cancelled(&store.force(&cancelled())));
    assert!(is_cancelled(&store.check(&["a.py".to_owned()], &cancelled())));
    assert!(is_cancelled(&store.cut_buffer("a.py", "x = 1\n", &cancelled())));
    let plan = store.scan(&token()).unwrap();
    assert!(is_cancelled(&store.cut(&plan, &cancelled(), 1)));
    assert_eq!(plan.pending(), 2, "nothing is lost from the plan");
    let batch = store.cut(&plan, &token(), 1).unwrap().unwrap();
    assert!(is_cancelled(&batch.embed(&HashedEmbedder, &cancelled())));
    batch.embed(&HashedEmbedder, &token()).unwrap();
    assert!(is_cancelled(&store.commit(&batch, &cancelled())));
    assert!(search(&store, "result_one").is_empty() && workspace.segment_files().is_empty());
    store.commit(&batch, &token()).unwrap();
    assert_eq!(search(&store, "result_one").len(), 1);
    assert_eq!(carry_out(&store, &plan, 1).added, 1);
    let snapshot = store.snapshot().unwrap();
    assert!(is_cancelled(&snapshot.lexical("result", 5, None, &cancelled())));
    let docs: Vec<_> = snapshot.file_chunks("a.py").iter().map(|c| c.doc).collect();
    assert!(is_cancelled(&snapshot.read_current(&docs, &cancelled())));
}

#[test]
fn a_run_stops_soon_after_cancelling() {
    let workspace = Workspace::new(&[]);
    let names: Vec<String> = (0..400).map(|i| format!("function_number_{i}")).collect();
    let text = python(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for i in 0..150 {
        workspace.write(&format!("f{i}.py"), &text);
    }
    let store = workspace.open();
    for delay in [5, 60, 200, 500] {
        let token = CancelToken::new();
        let (sent, other) = (std::sync::Mutex::new(None), token.clone());
        let finished = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(delay));
                *sent.lock().unwrap() = Some(Instant::now());
                other.cancel();
            });
            let result = store.force(&token).and_then(|plan| {
                while let Some(batch) = store.cut(&plan, &token, 8_000_000)? {
                    batch.embed(&HashedEmbedder, &token)?;
                    store.commit(&batch, &token)?;
                }
                Ok(())
            });
            (result.is_err(), Instant::now())
        });
        if let (true, Some(sent)) = (finished.0, *sent.lock().unwrap()) {
            let took = finished.1.saturating_duration_since(sent);
            assert!(took < Duration::from_secs(1), "{took:?} after {delay} ms");
        }
    }
    index(&store);
    assert_eq!(store.snapshot().unwrap().files(), 150);
}
