//! The binary `misrule` with the target over the release of omnipaxos that this package names.

fn main() -> std::process::ExitCode {
    misrule::main(vec![misrule_omnipaxos::omnipaxos().version(env!("CARGO_PKG_VERSION"))])
}
