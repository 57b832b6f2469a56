//! Every way to be wrong on the command line or in a file has its exit code and says where and what.

use super::{Sandbox, other};
use crate::toy::toy;

#[test]
fn unknown_names_exit_with_64_and_a_suggestion() {
    let sandbox = Sandbox::new();
    for (line, says) in [
        ("fuzz tooy", "unknown target `tooy` (did you mean `toy`?)"),
        ("list tooy", "unknown target `tooy` (did you mean `toy`?)"),
        ("check tooy", "unknown target `tooy` (did you mean `toy`?)"),
        ("fuzz toy --guidance fronteir", "unknown guidance `fronteir` (did you mean `frontier`?)"),
        ("fuzz toy --guidance modelfuz", "unknown guidance `modelfuz` (did you mean `modelfuzz`?)"),
        ("fuzz toy --lens happens-befor", "unknown lens `happens-befor` (did you mean `happens-before`?)"),
        ("fuzz toy --lens piars@impl", "unknown lens `piars@impl` (did you mean `pairs@impl`?)"),
        ("fuzz toy --contract fifoo", "unknown contract word `fifoo` (did you mean `fifo`?)"),
        ("fuzz toy --set buond=3", "unknown setting `buond` (did you mean `bound`?)"),
        ("fuzz toy --set bound=1000", "setting `bound` does not take `1000`; it takes 1..100"),
        ("fuzz toy --set bug=panic", "(did you mean `panics`?)"),
        ("fuzz toy --set bug", "is not KEY=VALUE"),
        ("fuzz toy --faults heavvy", "unknown fault profile `heavvy` (did you mean `heavy`?)"),
        ("check toy --faults dorp=3", "column 1: expected a fault, found `dorp` (did you mean `drop`?)"),
        ("fuzz toy --conformance never", "invalid value 'never'"),
        ("fuzz toy --steps 1.5M", "is not a count"),
        ("fuzz toy --time soon", "is not a time"),
        ("fuzz toy --seed x", "is not a seed"),
        ("fuzz toy --steps-max 0", "out of range"),
        ("fuzz toy --lens none", "needs a lens"),
        ("fuz toy", "unrecognized subcommand"),
        ("replay", "required"),
        ("model check two-phase-comit", "unknown model `two-phase-comit` (did you mean `two-phase-commit`?)"),
        ("model check two-phase-commit --size 99", "has sizes 1 to 15"),
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, 64, "{line}: {ran:?}");
        assert!(ran.err.contains(says), "{line}: {}", ran.err);
        assert!(ran.out.is_empty(), "{line}: {}", ran.out);
    }
    assert!(!sandbox.0.join("runs").exists(), "nothing is made before the command line is understood");
}

#[test]
fn errors_with_json_are_one_object() {
    let ran = Sandbox::new().run("fuzz tooy --json");
    assert_eq!((ran.code, ran.json()["code"].as_u64()), (64, Some(64)));
    assert!(ran.json()["error"].as_str().unwrap().contains("did you mean"));
}

#[test]
fn target_may_be_left_out_only_where_there_is_one() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("fuzz --executions 1 --set safe=on --quiet").code, 0);
    let ran = sandbox.run_with(&[toy(), other("broken")], "fuzz");
    assert_eq!(ran.code, 64);
    assert!(ran.err.contains("There are: toy, broken"), "{}", ran.err);
    let ran = sandbox.run_with(&[toy(), other("broken")], "fuzz broken");
    assert_eq!(ran.code, 64);
    assert!(ran.err.contains("cannot be opened"), "{}", ran.err);
}

const GOOD: &str = "misrule schedule 1\ntarget toy 1.0.0\ncontract fifo\nseed 1\n\ndeliver 1->2 #1 Low\n";

#[test]
fn bad_schedules_exit_with_65_and_a_position() {
    let sandbox = Sandbox::new();
    for (text, says) in [
        ("", "x.schedule:1:1: "),
        ("hello\n", "x.schedule:1:1: not a misrule schedule"),
        (&GOOD.replace("schedule 1", "schedule 9"), "x.schedule:1:18: format 9 is newer"),
        (&GOOD.replace("toy", "tooy"), "x.schedule:2:8: unknown target `tooy` (did you mean `toy`?)"),
        (&GOOD.replace("fifo", "fiffo"), "x.schedule:3:10: "),
        (&GOOD.replace("contract", "set buond=1\ncontract"), "x.schedule:3:5: unknown setting `buond`"),
        (&GOOD.replace("contract", "set bound=0\ncontract"), "x.schedule:3:5: setting `bound` does not take"),
        (
            &GOOD.replace("Low", "Lwo"),
            "x.schedule:6:17: expected a message kind, found `Lwo` (did you mean `Low`?)",
        ),
        (&GOOD.replace("deliver", "dleiver"), "x.schedule:6:1: "),
        (&GOOD.replace("1->2", "1->9"), "x.schedule:6:"),
        (&GOOD[..30], "x.schedule:2:"),
    ] {
        sandbox.write("x.schedule", text);
        for command in ["replay", "show", "minimize"] {
            let ran = sandbox.run(&format!("{command} x.schedule"));
            assert_eq!(ran.code, 65, "{text}: {ran:?}");
            assert!(ran.err.contains(says), "{text}: {}", ran.err);
        }
    }
    std::fs::write(sandbox.0.join("x.schedule"), b"misrule \xff").unwrap();
    assert!(sandbox.run("replay x.schedule").err.contains("x.schedule:1:9: "));
    let ran = sandbox.run("replay missing.schedule");
    assert_eq!(ran.code, 65);
    assert!(ran.err.contains("missing.schedule"), "{}", ran.err);
    sandbox.write("x.schedule", GOOD);
    assert_eq!(sandbox.run("replay x.schedule").code, 0);
    assert_eq!(sandbox.run("show x.schedule --why 99").code, 64);
}

#[test]
fn profiles_come_from_files_and_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("one.profile", "# calm\ndrop = 0\nduplicate = 400\n");
    sandbox.write("two.profile", "[a]\ncrash = 0\n[b]\ncut = 7\n");
    let run = |faults: &str| {
        let out = format!("out-{}", faults.replace(':', "-"));
        sandbox.run(&format!(
            "fuzz toy --set safe=on --seed 1 --executions 3 --quiet --out {out} --faults {faults}"
        ))
    };
    for (faults, shown) in [
        ("one.profile", "faults      drop=0,duplicate=400 (one.profile)\n"),
        ("two.profile:b", "faults      cut=7 (two.profile:b)\n"),
        ("swarm", "faults      swarm\n"),
        ("drop=0,swizzle=90", "faults      drop=0,swizzle=90\n"),
    ] {
        let ran = run(faults);
        assert!(ran.code == 0 && ran.out.contains(shown), "{faults}: {ran:?}");
        let manifest = sandbox.read(&format!("out-{}/manifest.json", faults.replace(':', "-")));
        let profile = shown.split_whitespace().nth(1).unwrap();
        assert!(manifest.contains(&format!("\"faults\": \"{profile}\"")), "{manifest}");
    }
    let ran = sandbox.run("fuzz toy --set safe=on --executions 3 --faults one.profile --json");
    assert_eq!(ran.json()["fault_profile"], "drop=0,duplicate=400");
    sandbox.write("bad.profile", "drop = 0\nduplicate 400\n");
    for (faults, code, says) in [
        ("bad.profile", 65, "bad.profile:2:1: expected a fault like `drop=40`, found `duplicate 400`"),
        ("none.profile", 65, "none.profile: a file of fault profiles that cannot be read"),
        ("two.profile", 64, "which profile of two.profile? There are: a, b"),
        ("two.profile:aa", 64, "unknown fault profile `aa` (did you mean `a`?)"),
    ] {
        let ran = run(faults);
        assert!(ran.code == code && ran.err.contains(says), "{faults}: {ran:?}");
    }
}

#[test]
fn a_bad_corpus_ends_fuzzing_before_it_begins() {
    let sandbox = Sandbox::new();
    sandbox.write("corpus/toy/b.schedule", &GOOD.replace("deliver", "dleiver"));
    sandbox.write("corpus/toy/a.schedule", GOOD);
    sandbox.write("corpus/toy/README", "not a schedule");
    let ran = sandbox.run("fuzz toy");
    assert_eq!(ran.code, 65);
    assert!(ran.err.contains("corpus/toy/b.schedule:6:1: "), "{}", ran.err);
    assert!(!sandbox.0.join("runs").exists());
    sandbox.write("corpus/other/a.schedule", GOOD);
    let ran = sandbox.run_with(&[toy(), crate::toy::named("other")], "fuzz other");
    assert_eq!(ran.code, 65);
    assert!(ran.err.contains("corpus/other/a.schedule:2:8: a schedule of target `toy`"), "{}", ran.err);
}

#[test]
fn an_output_folder_must_be_new_and_writable() {
    let sandbox = Sandbox::new();
    sandbox.write("out/x", "");
    let ran = sandbox.run("fuzz toy --out out");
    assert_eq!(ran.code, 64);
    assert!(ran.err.contains("output folder out: it exists"), "{}", ran.err);
    let ran = sandbox.run("fuzz toy --out out/x/y");
    assert_eq!(ran.code, 64);
    assert!(ran.err.contains("output folder out/x/y: "), "{}", ran.err);
    assert!(ran.out.is_empty());
}

#[test]
fn help_and_version_are_no_errors() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("--version");
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains(env!("MISRULE_COMMIT")) && ran.out.contains("libafl 0.16.1"), "{}", ran.out);
    let ran = sandbox.run("--help");
    assert!(ran.code == 0 && ran.out.contains("130  interrupted"), "{}", ran.out);
    for command in ["list", "fuzz", "replay", "minimize", "show", "check", "model", "bench", "history"] {
        let ran = sandbox.run(&format!("{command} --help"));
        assert!(ran.code == 0 && ran.out.contains("Examples:"), "{command}: {}", ran.out);
        assert!(!ran.out.contains("--fresh"));
    }
}
