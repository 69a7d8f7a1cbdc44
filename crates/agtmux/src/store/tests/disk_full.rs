//! A full disk refuses, keeps, and goes on when there is room again (I15).

use std::process::Command;

use super::*;

/// A small file system of its own, unmounted when dropped.
struct Tmpfs {
    dir: TempDir,
}

impl Tmpfs {
    fn mount(kilobytes: u32) -> Option<Self> {
        let dir = state_dir();
        let size = format!("size={kilobytes}k,mode=0700");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output();
        match status {
            Ok(output) if output.status.success() => Some(Self { dir }),
            _ => {
                println!("skipped: mounting a tmpfs is not permitted here");
                None
            }
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.dir.path()).status().ok();
    }
}

fn batch(seq: u64) -> Batch {
    let text = "x".repeat(700);
    Batch {
        events: vec![signal(seq * 2, Some(&text), Some(&text)), signal(seq * 2 + 1, None, None)],
        projection: rows(),
        ..Batch::default()
    }
}

#[tokio::test]
async fn what_was_accepted_stays_and_what_was_refused_never_shows() {
    let (mut cases, mut refusals) = (0, 0);
    for kilobytes in (512..=2_048).step_by(256) {
        for synchronous in [Synchronous::Normal, Synchronous::Full] {
            let Some(tmpfs) = Tmpfs::mount(kilobytes) else {
                return;
            };
            let path = tmpfs.dir.path();
            let opened = open(path, Options { synchronous, ..Options::default() }, BOOT).unwrap();
            let filler = path.join("filler");
            std::fs::write(&filler, vec![0; kilobytes as usize * 512]).unwrap();

            let mut accepted = Vec::new();
            let mut refused = 0;
            for seq in 1..20_000 {
                match opened.writer.append(batch(seq)).await {
                    Ok(()) => accepted.extend([seq * 2, seq * 2 + 1]),
                    Err(error) => {
                        assert!(matches!(error, StoreError::Full { .. }), "{error}");
                        refused += 1;
                    }
                }
                if refused == 20 {
                    break;
                }
            }
            assert_eq!(refused, 20, "the disk never filled");
            let logged = |reader: &Reader| -> Vec<u64> {
                let events = reader.events_after(0, usize::MAX, &EventFilter::default()).unwrap();
                events.iter().map(|event| event.seq).collect()
            };
            assert_eq!(logged(&opened.reader), accepted);

            std::fs::remove_file(&filler).unwrap();
            for seq in 20_001..20_011 {
                opened.writer.append(batch(seq)).await.unwrap();
                accepted.extend([seq * 2, seq * 2 + 1]);
            }
            assert_eq!(logged(&opened.reader), accepted);
            drop(opened.reader);
            opened.writer.close().await.unwrap();
            assert_eq!(integrity(path), "ok");

            let recovered = open_default(path).recovered;
            assert_eq!(recovered.tail.iter().map(|event| event.seq).collect::<Vec<_>>(), accepted);
            cases += 1;
            refusals += refused;
        }
    }
    println!("{cases} disks filled, {refusals} appends refused");
}

#[test]
fn a_disk_without_room_for_a_database_says_so() {
    let Some(tmpfs) = Tmpfs::mount(16) else {
        return;
    };
    let error = open(tmpfs.dir.path(), Options::default(), BOOT).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
}

#[tokio::test]
async fn a_file_system_that_turns_read_only_is_survived() {
    let Some(tmpfs) = Tmpfs::mount(4_096) else {
        return;
    };
    let path = tmpfs.dir.path();
    let remount = |mode: &str| {
        Command::new("mount").args(["-o", &format!("remount,{mode}")]).arg(path).status().unwrap().success()
    };
    let opened = open_default(path);
    opened.writer.append(ticks([1])).await.unwrap();
    opened.writer.close().await.unwrap();

    assert!(remount("ro"));
    let error = open(path, Options::default(), BOOT).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(remount("rw"));
    assert_eq!(open_default(path).recovered.tail.len(), 1);
}
