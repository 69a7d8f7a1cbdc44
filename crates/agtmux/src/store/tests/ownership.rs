//! One owner per state directory, and none that outlives its time (I13).

use std::sync::Barrier;

use super::*;

#[test]
fn of_eight_that_race_one_wins() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let dir = state_dir();
    for round in 1..=50 {
        let (start, finish) = (Barrier::new(8), Barrier::new(8));
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let race = || {
                start.wait();
                let outcome = open(dir.path(), Options::default(), BOOT);
                // The winner holds on until everyone has tried.
                finish.wait();
                outcome
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(race)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut winners = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(opened) => winners.push(opened),
                Err(error) => assert!(matches!(error, StoreError::Owned { .. }), "{error}"),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        for winner in winners {
            assert_eq!(winner.recovered.epoch, round);
            runtime.block_on(winner.writer.close()).unwrap();
        }
    }
}

#[test]
fn a_second_opener_learns_who_owns_the_directory() {
    let dir = state_dir();
    let _opened = open_default(dir.path());
    let error = open(dir.path(), Options::default(), BOOT).unwrap_err();
    assert_eq!(error, StoreError::Owned { path: dir.path().to_owned(), pid: Some(std::process::id()) });
    assert!(matches!(error, StoreError::Owned { .. }));
}

#[tokio::test]
async fn an_owner_whose_lock_was_lost_is_fenced() {
    let dir = state_dir();
    let old = open_default(dir.path());
    old.writer.append(ticks([1])).await.unwrap();

    std::fs::remove_file(dir.path().join("lock")).unwrap();
    let new = open_default(dir.path());
    let error = old.writer.append(ticks([2])).await.unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert!(old.writer.reserve(u64::MAX >> 2).await.is_err());
    assert!(old.writer.retain(Timestamp(i64::MAX), engine_state(), 3).await.is_err());
    new.writer.append(ticks([4])).await.unwrap();
    assert_eq!(logged_seqs(dir.path()), [1, 4]);
}

#[tokio::test]
async fn an_owner_whose_database_was_replaced_is_fenced() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened.writer.append(ticks([1])).await.unwrap();
    let db = dir.path().join("agtmux.db");
    let copy = dir.path().join("restored");
    std::fs::copy(&db, &copy).unwrap();
    std::fs::rename(&copy, &db).unwrap();
    let error = opened.writer.append(ticks([2])).await.unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    std::fs::remove_file(&db).unwrap();
    let error = opened.writer.append(ticks([3])).await.unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let writer = opened.writer.clone();
    opened.writer.close().await.unwrap();
    assert_eq!(writer.append(ticks([1])).await, Err(StoreError::Closed));
}
