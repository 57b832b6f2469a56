//! Bugs against contracts: among the crash states of the workloads is the bad one of a planted bug exactly where the
//! contract permits it. What the table in `bugs.rs` says.

mod common;

use common::{Exhaustive, small_blocks, workload};
use misrule_kv::Bug;
use misrule_world::DiskPreset;
use std::fmt::Write as _;
use std::path::Path;

/// The bugs of the storage engine, and that there is none.
const BUGS: [(Bug, &str); 9] = [
    (Bug::None, "none"),
    (Bug::AckBeforeSync, "ack-before-sync"),
    (Bug::NoDirSync, "no-dir-sync"),
    (Bug::RenameBeforeData, "rename-before-data"),
    (Bug::VoteNotDurable, "vote-not-durable"),
    (Bug::TornTail, "torn-tail"),
    (Bug::PrefixOrder, "prefix-order"),
    (Bug::AtomicMultiBlock, "atomic-multi-block"),
    (Bug::SyncErrorIgnored, "sync-error-ignored"),
];

/// Whether a disk of the preset may leave what the bug trips over. A disk that lies breaks everything.
fn permits(bug: Bug, preset: DiskPreset) -> bool {
    use DiskPreset as P;
    let tears_anywhere =
        matches!(preset, P::PosixMin | P::NoPowersafeOverwrite | P::FsyncKeeps | P::Fsyncgate);
    let permitted = match bug {
        Bug::AckBeforeSync | Bug::NoDirSync | Bug::RenameBeforeData | Bug::VoteNotDurable => {
            preset != P::Immediate
        }
        Bug::TornTail => preset == P::TornPrefix || tears_anywhere,
        Bug::PrefixOrder => preset == P::ReorderWrites || tears_anywhere,
        Bug::AtomicMultiBlock => tears_anywhere,
        Bug::SyncErrorIgnored => matches!(preset, P::FsyncKeeps | P::Fsyncgate),
        Bug::None | Bug::NoReelection | Bug::StaleRead | Bug::ValidatedBeforeCommit => false,
    };
    permitted || preset == P::LyingDisk
}

#[test]
fn bugs_show_where_the_contract_permits_it() {
    let mut matrix = "| bug |".to_owned();
    for (_, word) in DiskPreset::ALL {
        let _ = write!(matrix, " `{word}` |");
    }
    let _ = write!(matrix, "\n|{}", " --- |".repeat(1 + DiskPreset::ALL.len()));
    let workloads = ["append", "snapshot"].map(workload);
    let mut wrong = Vec::new();
    for (bug, name) in BUGS {
        let _ = write!(matrix, "\n| {name} |");
        for (preset, word) in DiskPreset::ALL {
            let shown = workloads.iter().find_map(|workload| {
                let mut all = Exhaustive::new(workload, 0);
                all.config.contract = small_blocks(all.config.contract, word);
                all.config.bug = bug;
                all.sync_outcomes = true;
                all.run()
            });
            let _ = write!(matrix, " {} |", if shown.is_some() { "lost" } else { "-" });
            if shown.is_some() != permits(bug, preset) {
                wrong.push(format!("{name} under {word}: {shown:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{matrix}\n{wrong:#?}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kv.md");
    let page = std::fs::read_to_string(page).expect("the page about the target");
    assert!(page.contains(&matrix), "docs/kv.md has another matrix than\n{matrix}");
}
