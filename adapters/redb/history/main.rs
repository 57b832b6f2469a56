//! The binary `misrule` with the target over the release of redb that this package names.

fn main() -> std::process::ExitCode {
    misrule::main(vec![misrule_redb::redb().version(env!("CARGO_PKG_VERSION"))])
}
