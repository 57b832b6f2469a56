//! Tests of the disk alone, without a world.

use super::{Disk, DiskError, DiskHandle, DiskOutcome, enter};
use crate::contract::Contract;
use crate::keep::Keep;

const DISK: DiskHandle = DiskHandle::CURRENT;

/// A disk in a slot, to be entered.
struct Node(Option<Box<Disk>>);

impl Node {
    fn new(contract: &str) -> Self {
        Self(Some(Box::new(Disk::new(Contract::default().overridden(contract).unwrap().disk))))
    }

    fn disk(&mut self) -> &mut Disk {
        self.0.as_mut().unwrap()
    }

    fn call<R>(&mut self, call: impl FnOnce() -> R) -> R {
        self.disk().faults().begin();
        let result = enter(&mut self.0, call);
        let _ = self.disk().faults().end();
        result
    }

    /// Crashes and starts; returns the one form of what was kept.
    fn crash(&mut self, keep: &str) -> String {
        let kept = self.disk().crash(keep.parse().unwrap()).to_string();
        self.disk().recover();
        kept
    }

    fn records(&mut self) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        self.call(|| DISK.read(|record| records.push(record.to_vec())).unwrap());
        records
    }

    fn content(&mut self, name: &str) -> Option<Vec<u8>> {
        self.call(|| {
            let file = DISK.open(name).ok()?;
            let mut bytes = vec![0; file.len().unwrap() as usize];
            assert_eq!(file.read_at(0, &mut bytes), Ok(bytes.len()));
            Some(bytes)
        })
    }

    /// How many sets of units the contract permits, and how many different images they leave.
    fn states(&mut self) -> (usize, usize, usize) {
        let states = self.disk().crash_states(1 << 20);
        assert!(states.complete);
        (states.units, states.sets, states.states.len())
    }
}

fn log_after(contract: &str, keep: &str) -> Vec<Vec<u8>> {
    let mut node = Node::new(contract);
    node.call(|| {
        DISK.append(b"a").unwrap();
        DISK.sync().unwrap();
        DISK.append(b"bb").unwrap();
        DISK.append(b"ccc").unwrap();
    });
    node.crash(keep);
    node.records()
}

#[test]
fn the_log_keeps_what_the_contract_says() {
    assert_eq!(log_after("immediate", "none").len(), 3);
    assert_eq!(log_after("explicit-sync", "2"), [b"a".to_vec()]);
    assert_eq!(log_after("ordered", "none").len(), 1);
    assert_eq!(log_after("ordered", "1"), [b"a".to_vec(), b"bb".to_vec()]);
    assert_eq!(log_after("ordered", "9").len(), 3);
    assert_eq!(log_after("posix-min", "[1]").len(), 1, "a log ends at the first record that is not there");
    assert_eq!(log_after("posix-min", "all-but-1").len(), 2);
}

#[test]
fn use_outside_a_step_names_the_thread() {
    let Err(DiskError::OutsideStep(thread)) = DISK.sync() else { panic!("must fail") };
    assert!(!thread.is_empty());
    assert!(matches!(DISK.create("a"), Err(DiskError::OutsideStep(_))));
}

#[test]
fn files_show_what_was_completed() {
    let mut node = Node::new("explicit-sync");
    node.call(|| {
        let file = DISK.create("wal").unwrap();
        assert_eq!(DISK.create("wal"), Err(DiskError::Exists));
        assert_eq!((file.append(b"abc"), file.append(b"de")), (Ok(0), Ok(3)));
        file.write_at(7, b"x").unwrap();
        let mut bytes = [9; 10];
        assert_eq!(file.read_at(1, &mut bytes), Ok(7));
        assert_eq!(&bytes[..7], b"bcde\0\0x");
        file.set_len(2).unwrap();
        assert_eq!((file.len(), file.is_empty()), (Ok(2), Ok(false)));
        DISK.rename("wal", "old").unwrap();
        assert_eq!(DISK.open("wal"), Err(DiskError::NotFound));
        assert_eq!(DISK.open("old"), Ok(file));
        let mut names = Vec::new();
        DISK.create("b").unwrap();
        DISK.list(|name| names.push(name.to_owned())).unwrap();
        assert_eq!(names, ["b", "old"]);
        DISK.remove("old").unwrap();
        assert_eq!(DISK.remove("old"), Err(DiskError::NotFound));
        assert_eq!(file.len(), Ok(2), "who has a file open goes on until its removal is durable");
        DISK.sync_dir().unwrap();
        assert_eq!(file.len(), Err(DiskError::NotFound));
        for name in ["", ".", "..", "a/b", "../a", "a b", "\n"] {
            assert!(matches!(DISK.create(name), Err(DiskError::BadName(_))), "{name}");
        }
    });
}

/// A file of two blocks, synced, of which both and the middle are written again.
fn two_writes(contract: &str) -> Node {
    let mut node = Node::new(contract);
    node.call(|| {
        let file = DISK.create("f").unwrap();
        file.write_at(0, &[1; 8]).unwrap();
        file.sync_all().unwrap();
        DISK.sync_dir().unwrap();
        file.write_at(0, &[2; 8]).unwrap();
        file.write_at(3, &[3; 2]).unwrap();
    });
    node
}

#[test]
fn a_crash_keeps_units_by_number() {
    let after = |contract: &str, keep: &str| {
        let mut node = two_writes(&format!("{contract},block=4"));
        let kept = node.crash(keep);
        (kept, node.content("f").unwrap())
    };
    // Blocks of the first write are 0 and 1, of the second, which spans both blocks, 2 and 3.
    assert_eq!(after("posix-min", "[1,2]"), ("[1-2]".into(), vec![1, 1, 1, 3, 2, 2, 2, 2]));
    assert_eq!(after("posix-min", "all"), ("4".into(), vec![2, 2, 2, 3, 3, 2, 2, 2]));
    assert_eq!(after("posix-min", "torn-last"), ("3".into(), vec![2, 2, 2, 3, 2, 2, 2, 2]));
    assert_eq!(after("reorder-writes", "[1]"), ("[1]".into(), vec![1, 1, 1, 3, 3, 1, 1, 1]));
    assert_eq!(after("ordered", "[1]"), ("none".into(), vec![1; 8]));
    assert_eq!(after("ordered", "1"), ("1".into(), vec![2; 8]));
    // Where blocks begin at the write, the second one is whole.
    assert_eq!(after("torn-prefix", "1"), ("1".into(), vec![2, 2, 2, 2, 1, 1, 1, 1]));
    assert_eq!(after("torn-prefix", "2"), ("2".into(), vec![2; 8]));
    assert_eq!(after("torn-prefix", "[0,2]"), ("1".into(), vec![2, 2, 2, 2, 1, 1, 1, 1]));
    assert_eq!(after("explicit-sync", "all"), ("none".into(), vec![1; 8]));
    assert_eq!(after("immediate", "none"), ("none".into(), vec![2, 2, 2, 3, 3, 2, 2, 2]));
}

#[test]
fn garbage_spoils_the_block_or_the_write() {
    let after = |words: &str, keep: &str| {
        let mut node = two_writes(&format!("no-powersafe-overwrite,block=4{words}"));
        let kept = node.crash(keep);
        (kept, node.content("f").unwrap())
    };
    // Each block has two numbers: 4 and 5 are the first block of the second write and its garbage.
    let (kept, content) = after("", "[0-3,5]");
    assert_eq!(kept, "[0-3,5]");
    assert!(content[..4].iter().all(|byte| *byte != 2 && *byte != 3), "{content:?}");
    assert_eq!(content[4..], [2; 4]);
    let (_, content) = after(",collateral=none", "[0-3,5]");
    assert_eq!((&content[..3], &content[4..]), (&[2; 3][..], &[2; 4][..]));
    assert_ne!(content[3], 2);
    assert_eq!(after("", "all"), ("8".into(), vec![2, 2, 2, 3, 3, 2, 2, 2]));
    assert_eq!(after("", "none").1, [1; 8]);
}

#[test]
fn states_are_counted_by_hand() {
    // Two writes of two blocks each.
    assert_eq!(two_writes("posix-min,block=4").states(), (4, 16, 16));
    assert_eq!(two_writes("reorder-writes,block=4").states(), (2, 4, 4));
    assert_eq!(two_writes("ordered,block=4").states(), (2, 3, 3));
    // Blocks 0 and 1, then the second write, which is one block of its own grid.
    assert_eq!(two_writes("torn-prefix,block=4").states(), (3, 4, 4));
    assert_eq!(two_writes("explicit-sync,block=4").states(), (2, 1, 1));
    assert_eq!(two_writes("immediate,block=4").states(), (0, 1, 1));
    // Each block survives, is lost, or is garbage.
    assert_eq!(two_writes("no-powersafe-overwrite,block=4").states().1, 81);
    // In one file order is total.
    assert_eq!(two_writes("reorder-writes,write-order=per-file").states(), (2, 3, 3));
}

#[test]
fn states_that_look_alike_are_merged() {
    let mut node = Node::new("reorder-writes");
    node.call(|| {
        let file = DISK.create("f").unwrap();
        DISK.sync_dir().unwrap();
        for _ in 0..3 {
            file.write_at(0, b"same").unwrap();
        }
        DISK.create("g").unwrap();
    });
    // The file is empty or not; the name is there or not.
    assert_eq!(node.states(), (4, 16, 4));
    node.call(|| DISK.rename("g", "h").unwrap());
    // No name, `g`, or `h`: the rename alone enters `h`.
    assert_eq!(node.states(), (5, 32, 6));
}

#[test]
fn states_cover_the_log_and_are_bounded() {
    let mut node = Node::new("reorder-writes");
    node.call(|| {
        DISK.append(b"a").unwrap();
        let file = DISK.create("f").unwrap();
        DISK.append(b"b").unwrap();
        file.append(b"c").unwrap();
    });
    // The log is a prefix of two records; the content shows only below a name.
    assert_eq!(node.states(), (4, 12, 9));
    for state in node.disk().crash_states(100).states {
        let mut other = Node(node.0.clone());
        assert_eq!(other.crash(&state.keep.to_string()), state.keep.to_string());
    }
    node.call(|| {
        for number in 0..40 {
            DISK.create(&format!("g{number}")).unwrap().append(&vec![7; 20_000]).unwrap();
        }
    });
    let states = node.disk().crash_states(1_000);
    assert!(!states.complete && states.units > 31 && states.states.len() > 30, "{}", states.units);
    assert!(!node.disk().crash_states(2).complete);
}

#[test]
fn names_survive_as_the_namespace_says() {
    let after = |words: &str, all: bool| {
        let mut node = Node::new(&format!("explicit-sync{words}"));
        node.call(|| {
            let other = DISK.create("other").unwrap();
            let file = DISK.create("f").unwrap();
            file.append(b"x").unwrap();
            if all { file.sync_all() } else { file.sync_data() }.unwrap();
            other.append(b"y").unwrap();
        });
        node.crash("all");
        (node.content("f").is_some(), node.content("other").is_some())
    };
    assert_eq!(after("", true), (false, false));
    assert_eq!(after(",names=with-file", true), (true, false));
    assert_eq!(after(",names=with-file", false), (false, false));
    assert_eq!(after(",names=journalled", true), (true, true));
}

#[test]
fn a_failed_sync_keeps_or_drops() {
    let after = |contract: &str, outcome| {
        let mut node = Node::new(contract);
        node.call(|| {
            DISK.create("f").unwrap();
            DISK.sync_dir().unwrap();
        });
        node.disk().faults().arm(outcome, 1).unwrap();
        let first = node.call(|| {
            let file = DISK.open("f").unwrap();
            file.append(b"x").unwrap();
            DISK.append(b"r").unwrap();
            file.sync_all()
        });
        let retry = node.call(|| DISK.open("f").unwrap().sync_all());
        assert_eq!((retry, node.content("f")), (Ok(()), Some(b"x".to_vec())));
        node.crash("none");
        (first, node.content("f").unwrap().len())
    };
    assert_eq!(after("fsync-keeps", DiskOutcome::SyncFails), (Err(DiskError::Other), 1));
    assert_eq!(after("fsyncgate", DiskOutcome::SyncFails), (Err(DiskError::Other), 0));
    assert_eq!(after("lying-disk", DiskOutcome::SyncLies), (Ok(()), 1));
}

#[test]
fn a_dropped_record_ends_the_log() {
    let mut node = Node::new("fsyncgate");
    node.disk().faults().arm(DiskOutcome::SyncFails, 1).unwrap();
    node.call(|| {
        DISK.append(b"a").unwrap();
        assert_eq!(DISK.sync(), Err(DiskError::Other));
        DISK.append(b"b").unwrap();
        assert_eq!(DISK.sync(), Ok(()));
    });
    assert_eq!((node.records().len(), node.disk().pending()), (2, 0));
    node.crash("all");
    assert_eq!(node.records().len(), 0);
}

#[test]
fn outcomes_befall_the_operation_they_name() {
    let mut node = Node::new("explicit-sync,block=4");
    let file = node.call(|| {
        let file = DISK.create("f").unwrap();
        file.append(b"abcdefgh").unwrap();
        file.sync_all().unwrap();
        DISK.sync_dir().unwrap();
        file
    });
    let mut with = |outcome, at, call: &dyn Fn() -> Result<Vec<u8>, DiskError>| {
        node.disk().faults().arm(outcome, at).unwrap();
        node.disk().faults().begin();
        let result = enter(&mut node.0, call);
        (result, node.disk().faults().end().map_or(0, |struck| struck.outcomes))
    };
    let read = || {
        let mut bytes = vec![0; 4];
        file.read_at(0, &mut bytes).map(|count| bytes[..count].to_vec())
    };
    let write = || file.write_at(0, b"wxyz").and_then(|()| read());
    assert_eq!(with(DiskOutcome::ReadError, 1, &read), (Err(DiskError::Other), 1));
    assert_eq!(with(DiskOutcome::ReadError, 2, &read), (Ok(b"abcd".to_vec()), 0));
    assert_eq!(with(DiskOutcome::ReadCorrupt, 1, &read), (Ok(b"abbd".to_vec()), 1));
    assert_eq!(with(DiskOutcome::MisdirectedRead, 1, &read), (Ok(b"efgh".to_vec()), 1));
    assert_eq!(with(DiskOutcome::ShortRead, 1, &read), (Ok(b"ab".to_vec()), 1));
    assert_eq!(with(DiskOutcome::StaleRead, 1, &read), (Ok(b"abcd".to_vec()), 0), "there is nothing stale");
    assert_eq!(with(DiskOutcome::WriteError, 1, &write), (Err(DiskError::Other), 1));
    assert_eq!(with(DiskOutcome::NoSpace, 1, &write), (Err(DiskError::NoSpace), 1));
    assert_eq!(with(DiskOutcome::StaleRead, 1, &write), (Ok(b"abcd".to_vec()), 1));
    assert_eq!(with(DiskOutcome::ShortWrite, 1, &write), (Err(DiskError::Short { done: 2 }), 1));
    assert_eq!(with(DiskOutcome::PhantomWrite, 1, &write), (Ok(b"wxyz".to_vec()), 1));
    assert_eq!(with(DiskOutcome::MisdirectedWrite, 1, &write), (Ok(b"wxyz".to_vec()), 1));
    node.call(|| file.sync_all().unwrap());
    node.crash("none");
    assert_eq!(node.content("f").unwrap(), b"wxyzwxyz", "one write went a block too far");
    assert_eq!(node.call(|| file.len()), Err(DiskError::NotFound), "handles end with the process");
}

#[test]
fn beyond_the_crash_point_nothing_happens() {
    let mut node = Node::new("immediate");
    let crash = |node: &mut Node, at| {
        node.disk().faults().arm_crash(at, Keep::NONE);
        node.disk().faults().begin();
        let done = enter(&mut node.0, || (0..5).filter(|_| DISK.append(b"x").is_ok()).count());
        (done, node.disk().faults().end().is_some_and(|struck| struck.crash.is_some()))
    };
    assert_eq!(crash(&mut node, 0), (0, true));
    assert_eq!(crash(&mut node, 2), (2, true));
    assert_eq!(crash(&mut node, 5), (5, true));
    assert_eq!(crash(&mut node, 6), (5, false));
    assert_eq!(node.records().len(), 12);
}

#[test]
fn a_disk_that_is_cleared_is_as_new() {
    let work = |node: &mut Node| {
        node.call(|| {
            let first = DISK.create("a").unwrap();
            let second = DISK.create("b").unwrap();
            second.append(&[5; 9]).unwrap();
            second.sync_all().unwrap();
            DISK.remove("a").unwrap();
            DISK.sync_dir().unwrap();
            (first, second, DISK.create("c").unwrap(), DISK.create("d").unwrap())
        })
    };
    let mut node = Node::new("posix-min");
    let handles = work(&mut node);
    node.crash("all");
    node.disk().clear();
    assert_eq!(work(&mut node), handles);
}

#[test]
fn pending_bytes_are_packed() {
    let mut node = Node::new("posix-min");
    node.call(|| {
        let (large, small) = (DISK.create("large").unwrap(), DISK.create("small").unwrap());
        DISK.sync_dir().unwrap();
        for round in 0..100_u8 {
            small.append(&[round]).unwrap();
            large.write_at(0, &[round; 5_000]).unwrap();
            large.sync_data().unwrap();
        }
    });
    assert_eq!(node.disk().pending(), 100);
    node.crash("all-but-1");
    let small = node.content("small").unwrap();
    assert_eq!((small[0], small[1], small[2], small.len()), (0, 0, 2, 100));
}
