//! Tells the commit that is built, where there is git and this file belongs to the repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Without git, or inside another project's repository, the commit is not ours to tell.
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = if ours { git(&["rev-parse", "--short=12", "HEAD"]) } else { None };
    // The log of HEAD changes with every commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rustc-env=MISRULE_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
