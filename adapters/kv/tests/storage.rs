//! The storage engine alone, exhaustively: every crash state at every disk operation of a small workload recovers to
//! a legal state; and so does every crash of the start that follows.

mod common;

use common::{Exhaustive, small_blocks, workload};
use misrule_world::DiskPreset;

/// The disk presets under which a disk keeps its promises.
fn honest() -> impl Iterator<Item = (DiskPreset, &'static str)> {
    DiskPreset::ALL.into_iter().filter(|(preset, _)| *preset != DiskPreset::LyingDisk)
}

const WORKLOADS: [(&str, u8); 3] = [("append", 0), ("snapshot", 0), ("append", 0)];

#[test]
fn every_crash_recovers_to_a_legal_state() {
    for (name, node) in WORKLOADS {
        let workload = workload(name);
        for (_, disk) in honest() {
            let mut all = Exhaustive::new(&workload, node);
            all.config.contract = small_blocks(all.config.contract, disk);
            assert_eq!(all.run(), None, "{name} under {disk}");
            assert!(all.counts.points > 20, "{name} under {disk}: {:?}", all.counts);
        }
    }
}
