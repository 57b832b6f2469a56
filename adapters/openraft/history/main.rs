//! The binary `misrule` with the target over the release of openraft that this package names.

fn main() -> std::process::ExitCode {
    misrule::main(vec![misrule_openraft::openraft().version(env!("CARGO_PKG_VERSION"))])
}
