//! The binary `misrule` with the target over the release of raft that this package names.

fn main() -> std::process::ExitCode {
    misrule::main(vec![misrule_raft::raft().version(env!("CARGO_PKG_VERSION"))])
}
