//! The binary `misrule`: registers the targets of this repository, and does nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut targets = misrule_canary::targets();
    targets.push(misrule_kv::kv());
    targets.push(misrule_omnipaxos::omnipaxos());
    targets.push(misrule_raft::raft());
    #[cfg(feature = "openraft")]
    targets.push(misrule_openraft::openraft());
    targets.push(misrule_redb::redb());
    targets.push(misrule_small_raft::small_raft());
    targets.push(misrule_two_phase_commit::two_phase_commit());
    misrule::main(targets)
}
