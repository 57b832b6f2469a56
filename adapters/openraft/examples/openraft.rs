//! The binary of misrule with the target `openraft` alone: tests replay schedules on it, also where the binary of the
//! repository is built without.

fn main() -> std::process::ExitCode {
    misrule::main(vec![misrule_openraft::openraft()])
}
