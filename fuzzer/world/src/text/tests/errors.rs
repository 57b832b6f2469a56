//! Every error, with its place and its text.

use super::{HEADER, SAMPLE, vocabulary};
use crate::text::header::parse_header_within;
use crate::text::{Limits, ParseErrorKind as Kind, TEXT_BYTES_MAX, parse, parse_body, parse_header, utf8};

/// Parses `text` and compares sort and message of its error.
fn check(text: &str, kind: Kind, message: &str) {
    let error = parse(text, &vocabulary()).expect_err(text);
    assert_eq!((error.kind, error.to_string().as_str()), (kind, message), "in {text:?}");
}

#[test]
fn first_lines() {
    let newer = |number| Kind::NewerFormat { number };
    for (text, kind, message) in [
        ("", Kind::Truncated, "line 1, column 1: expected `misrule schedule 1`, found the end of the file"),
        (
            "misrule sch",
            Kind::Truncated,
            "line 1, column 1: expected `misrule schedule 1`, found `misrule sch` at the end of the file",
        ),
        (
            "misrule schedule",
            Kind::Truncated,
            "line 1, column 17: expected a format number, found the end of the file",
        ),
        (
            "misrule schedule\n",
            Kind::Syntax,
            "line 1, column 17: expected a format number, found the end of the line",
        ),
        ("misrule schedule one\n", Kind::Syntax, "line 1, column 18: expected a format number, found `one`"),
        ("misrule schedule 0\n", Kind::Syntax, "line 1, column 18: expected format 1, found `0`"),
        (
            "misrule schedule 1 2\n",
            Kind::Syntax,
            "line 1, column 20: expected the end of the line, found `2`",
        ),
        (
            "misrule schedule 2\nnew stuff",
            newer(2),
            "line 1, column 18: format 2 is newer than this build, which reads format 1",
        ),
        (
            "misrule schedule 99999999999999999999999\n",
            newer(u64::MAX),
            "line 1, column 18: format 99999999999999999999999 is newer than this build, which reads format 1",
        ),
        (
            "{\"finding\": 1}\n",
            Kind::NotASchedule,
            "line 1, column 1: not a misrule schedule: expected `misrule schedule 1`, found `{\"finding\": 1}`",
        ),
        (
            "hello",
            Kind::NotASchedule,
            "line 1, column 1: not a misrule schedule: expected `misrule schedule 1`, found `hello`",
        ),
        (
            "# note\nmisrule schedule 1\n",
            Kind::NotASchedule,
            "line 1, column 1: not a misrule schedule: expected `misrule schedule 1`, found `# note`",
        ),
        (
            "\n",
            Kind::NotASchedule,
            "line 1, column 1: not a misrule schedule: expected `misrule schedule 1`, found nothing",
        ),
        (
            "\u{1b}[0m\n",
            Kind::NotASchedule,
            "line 1, column 1: not a misrule schedule: expected `misrule schedule 1`, found `\\u{1b}[0m`",
        ),
    ] {
        check(text, kind, message);
    }
}

/// Which line is replaced, by what, and the error.
const HEADERS: &[(&str, &str, &str)] = &[
    (
        "target",
        "taget omnipaxos 0.2.4",
        "line 2, column 1: expected `target`, found `taget` (did you mean `target`?)",
    ),
    (
        "target",
        "target omnipaxos",
        "line 2, column 17: expected the version of the target, found the end of the line",
    ),
    ("target", "target omnipaxos 0.2.4 x", "line 2, column 24: expected the end of the line, found `x`"),
    (
        "target",
        "target omnipaxos 0.2.4 # x",
        "line 2, column 24: expected the end of the line (in the header, a comment has a line of its own), found `#`",
    ),
    ("set nodes", "set", "line 3, column 4: expected a setting like `nodes=3`, found the end of the line"),
    ("set nodes", "set nodes", "line 3, column 5: expected a setting like `nodes=3`, found `nodes`"),
    ("set nodes", "set nodes=", "line 3, column 5: expected a setting like `nodes=3`, found `nodes=`"),
    ("set nodes", "set trim=on", "line 4, column 5: expected each setting once, found `trim`"),
    (
        "set nodes",
        "sett nodes=3",
        "line 3, column 1: expected `set` or `contract`, found `sett` (did you mean `set`?)",
    ),
    ("contract", "contract", "line 5, column 9: expected the contract, found the end of the line"),
    (
        "contract",
        "contract fifo,explicit-snyc",
        "line 5, column 15: expected a contract word, found `explicit-snyc` (did you mean `explicit-sync`?)",
    ),
    ("contract", "contract fifo,", "line 5, column 15: expected a contract word, found nothing"),
    (
        "contract",
        "contract fifo,capacity=5000",
        "line 5, column 15: expected a contract word, found `capacity=5000` (did you mean `capacity=1..4096`?)",
    ),
    (
        "contract",
        "contract fifo,immediate,tear=any",
        "line 5, column 10: expected a contract that does not contradict itself (completed operations are durable, so a crash has nothing to lose or to tear), found `fifo,immediate,tear=any`",
    ),
    ("seed", "timer 1 tick", "line 6, column 1: expected `seed`, found `timer`"),
    ("seed", "seed -1", "line 6, column 6: expected a seed from 0 to 18446744073709551615, found `-1`"),
    (
        "seed",
        "seed 18446744073709551616",
        "line 6, column 6: expected a seed from 0 to 18446744073709551615, found `18446744073709551616`",
    ),
    ("expect", "expect", "line 7, column 7: expected `pass` or `fail`, found the end of the line"),
    (
        "expect",
        "expect fial",
        "line 7, column 8: expected `pass` or `fail`, found `fial` (did you mean `fail`?)",
    ),
    ("expect", "expect pass 1", "line 7, column 13: expected the end of the line, found `1`"),
    (
        "expect",
        "expect fail agree",
        "line 7, column 18: expected the fingerprint of the finding, found the end of the line",
    ),
    (
        "expect",
        "expect fail agree 8D1F00AA8D1F00AA",
        "line 7, column 19: expected 16 hex digits (0-9, a-f), found `8D1F00AA8D1F00AA`",
    ),
    ("trace", "trace 3f2a", "line 8, column 7: expected 16 hex digits (0-9, a-f), found `3f2a`"),
    (
        "trace",
        "seed 0",
        "line 8, column 1: expected a choice (the header ends above this line), found `seed`",
    ),
];

#[test]
fn headers() {
    for (line, replacement, message) in HEADERS {
        let old = HEADER.lines().find(|known| known.starts_with(*line)).unwrap();
        check(&HEADER.replace(old, replacement), Kind::Syntax, message);
    }
}

#[test]
fn headers_that_end_too_early() {
    let cut = |from: &str| HEADER.split(from).next().unwrap();
    for (text, message) in [
        (cut("target"), "line 2, column 1: expected `target`, found the end of the file"),
        (cut(" 0.2.4"), "line 2, column 17: expected the version of the target, found the end of the file"),
        (cut("set"), "line 3, column 1: expected `set` or `contract`, found the end of the file"),
        (
            cut("it-sync"),
            "line 5, column 18: expected a contract word, found `explic` at the end of the file",
        ),
        (cut("\nseed"), "line 5, column 43: expected `seed`, found the end of the file"),
        (cut("eed"), "line 6, column 1: expected `seed`, found `s` at the end of the file"),
        (
            cut("00aa\ntrace"),
            "line 7, column 32: expected 16 hex digits (0-9, a-f), found `8d1f00aa8d1f` at the end of the file",
        ),
    ] {
        check(text, Kind::Truncated, message);
    }
}

/// Line 11, and the column and text of its error.
const CHOICES: &[(&str, &str)] = &[
    ("delivr 1->2 Accept", "1: expected a choice, found `delivr` (did you mean `deliver`?)"),
    ("xyzzy", "1: expected a choice, found `xyzzy`"),
    ("timer", "6: expected a node from 1 to 3, found the end of the line"),
    ("timer 0 tick", "7: expected a node from 1 to 3, found `0`"),
    ("timer 4 tick", "7: expected a node from 1 to 3, found `4`"),
    ("timer 99999999999999999999999 tick", "7: expected a node from 1 to 3, found `99999999999999999999999`"),
    ("timer 1", "8: expected a timer, found the end of the line"),
    ("timer 1 # tick", "8: expected a timer, found the end of the line"),
    ("timer 1 tik", "9: expected a timer, found `tik` (did you mean `tick`?)"),
    ("timer 1 tick tick", "14: expected the end of the line, found `tick`"),
    ("timer 1 tick #2", "14: expected the end of the line, found `#2`"),
    ("deliver", "8: expected a link like `1->2`, found the end of the line"),
    ("deliver 1 2", "9: expected a link like `1->2`, found `1`"),
    ("deliver 1->4 Accept", "12: expected a node from 1 to 3, found `4`"),
    ("deliver 9->1 Accept", "9: expected a node from 1 to 3, found `9`"),
    ("deliver ->1 Accept", "9: expected a node from 1 to 3, found nothing"),
    ("deliver 1->2", "13: expected a position like `#1` or a message kind, found the end of the line"),
    (
        "deliver 1->2 AcceptSnyc",
        "14: expected a message kind, found `AcceptSnyc` (did you mean `AcceptSync`?)",
    ),
    ("deliver 1->2 #0", "15: expected a position from 1 to 65535, found `0`"),
    ("deliver 1->2 #65536", "15: expected a position from 1 to 65535, found `65536`"),
    ("deliver 1->2 Accept #1", "21: expected the end of the line, found `#1`"),
    ("drop 1->2 #1 Acept", "14: expected a message kind, found `Acept` (did you mean `Accept`?)"),
    ("request 1 appnd 7", "11: expected an operation, found `appnd` (did you mean `append`?)"),
    ("request 1 append", "17: expected a value, found the end of the line"),
    ("request 1 append 4294967296", "18: expected a value from 0 to 4294967295, found `4294967296`"),
    ("request 1 append +7", "18: expected a value from 0 to 4294967295, found `+7`"),
    ("request 1 read 7", "16: expected `session=…`, found `7`"),
    ("request 1 read session=0", "24: expected a session from 1 to 4, found `0`"),
    ("request 1 read session=5", "24: expected a session from 1 to 4, found `5`"),
    ("request 1 read session=1 2", "26: expected the end of the line, found `2`"),
    ("request 1 get 1", "15: expected a key like `k1`, found `1`"),
    ("request 1 get k3", "16: expected a key's number from 0 to 2, found `3`"),
    ("request 1 get k1=2", "15: expected a key like `k1`, found `k1=2`"),
    ("request 1 put", "14: expected a key and a value like `k1=17`, found the end of the line"),
    ("request 1 put k1", "15: expected a key and a value like `k1=17`, found `k1`"),
    ("request 1 put k1=0", "18: expected a value from 1 to 4095, found `0`"),
    ("request 1 put k1=1->2", "18: expected a value from 1 to 4095, found `1->2`"),
    ("request 1 cas k1=2", "15: expected a key and two values like `k1=3->17`, found `k1=2`"),
    ("request 1 cas k1=1->4096", "21: expected a value from 1 to 4095, found `4096`"),
    ("retry 1", "8: expected `session=…`, found the end of the line"),
    ("retry session=1", "7: expected a node from 1 to 3, found `session=1`"),
    ("abandon 1", "9: expected `session=…`, found `1`"),
    ("abandon session=x", "17: expected a session from 1 to 4, found `x`"),
    ("request 1 weigh 5", "17: expected a value from 0 to 4, found `5`"),
    ("request 1 transfer", "19: expected a node from 1 to 3 other than 1, found the end of the line"),
    ("request 1 transfer 1", "20: expected a node from 1 to 3 other than 1, found `1`"),
    ("request 1 transfer 4", "20: expected a node from 1 to 3, found `4`"),
    ("crash 1 1", "9: expected `keep=…`, found `1`"),
    (
        "crash 1 keep=65536",
        "14: expected a number of units from 0 to 65535, `[0,2-4]` with units up to 30, `all`, `none`, `all-but-2`, `all-but-last-[0,2]` or `torn-last`, found `65536`",
    ),
    (
        "crash 1 keep=[1,31]",
        "14: expected a number of units from 0 to 65535, `[0,2-4]` with units up to 30, `all`, `none`, `all-but-2`, `all-but-last-[0,2]` or `torn-last`, found `[1,31]`",
    ),
    ("crash 1 keep=1 2", "16: expected `at=…`, found `2`"),
    ("crash 1 at=1 keep=1", "14: expected the end of the line, found `keep=1`"),
    ("crash 1 at=65536", "12: expected a number of disk operations from 0 to 65535, found `65536`"),
    ("disk 1 sync-fail", "8: expected a disk outcome, found `sync-fail` (did you mean `sync-fails`?)"),
    ("disk 1 sync-fails at=0", "22: expected a position among disk operations from 1 to 65535, found `0`"),
    ("restart 1 2", "11: expected the end of the line, found `2`"),
    ("cut 1->5", "8: expected a node from 1 to 3, found `5`"),
    ("clog 1->5", "9: expected a node from 1 to 3, found `5`"),
    ("unclog 1", "8: expected a link like `1->2`, found `1`"),
    ("unclogg 1->2", "1: expected a choice, found `unclogg` (did you mean `unclog`?)"),
    ("draw 1 backof 0", "8: expected a draw, found `backof` (did you mean `backoff`?)"),
    ("draw 1 backoff 4", "16: expected a value from 0 to 3, found `4`"),
    ("draw 1 broken 0", "15: expected nothing, since no value is below 0, found `0`"),
    ("local 1 fluch", "9: expected a local step, found `fluch` (did you mean `flush`?)"),
    ("tail", "5: expected `seed=…`, found the end of the line"),
    ("tail steps=3", "6: expected `seed=…`, found `steps=3`"),
    (
        "tail seed=1 steps=4294967296",
        "19: expected a number of steps from 0 to 4294967295, found `4294967296`",
    ),
    ("tail seed=1 steps=3 faults=drop=", "33: expected a weight from 0 to 10000, found nothing"),
    ("tail seed=1 steps=3 faults=drop=1,x=2", "35: expected a fault, found `x`"),
    ("tail seed=1 steps=3 faults=hevy", "28: expected a fault profile, found `hevy` (did you mean `heavy`?)"),
    ("ÿÿ\u{e9} timer", "1: expected a choice, found `ÿÿ\u{e9}`"),
    ("\tdraw ÿ", "7: expected a node from 1 to 3, found `ÿ`"),
];

#[test]
fn choices() {
    for (choice, message) in CHOICES {
        let message = format!("line 11, column {message}");
        for (text, kind) in [
            (format!("{HEADER}\nlocal 1 flush\n{choice}\ntimer 1 tick\n"), Kind::Syntax),
            (format!("{HEADER}\nlocal 1 flush\n{choice}\n").replace('\n', "\r\n"), Kind::Syntax),
        ] {
            check(&text, kind, &message);
        }
    }
    let long = format!("{HEADER}\n{}\n", "x".repeat(1_000_000));
    check(&long, Kind::Syntax, &format!("line 10, column 1: expected a choice, found `{}…`", "x".repeat(40)));
}

#[test]
fn ends_of_files() {
    for (end, message) in [
        ("timer 1", "line 10, column 8: expected a timer, found the end of the file"),
        (
            "timer 1 ti",
            "line 10, column 9: expected a timer, found `ti` at the end of the file (did you mean `tick`?)",
        ),
        ("cut 1-", "line 10, column 5: expected a link like `1->2`, found `1-` at the end of the file"),
        ("cut 1->", "line 10, column 8: expected a node from 1 to 3, found nothing at the end of the file"),
    ] {
        check(&format!("{HEADER}\n{end}"), Kind::Truncated, message);
    }
    let after = "line 47, column 2: expected the end of the file, since the tail comes last, found `timer`";
    check(&format!("{} timer 1 tick\n", SAMPLE.replace("# between\n", "")), Kind::Syntax, after);
    // A complete last line needs no line end.
    assert_eq!(parse(&format!("{HEADER}\ntimer 1 tick"), &vocabulary()).unwrap().lines, [10]);
}

#[test]
fn limits() {
    let small = Limits { bytes: 4_000, choices: 20, settings: 10 };
    let read = |text: &str| {
        parse_header_within(text, small).and_then(|(header, body)| parse_body(header, body, &vocabulary()))
    };
    let check = |text: &str, message: &str| {
        let error = read(text).expect_err(message);
        assert_eq!((error.kind, error.to_string().as_str()), (Kind::TooLarge, message));
    };
    let filled = |size: usize| format!("{HEADER}{}", " ".repeat(size - HEADER.len()));
    assert!(read(&filled(4_000)).is_ok());
    check(&filled(4_001), "line 1, column 1: expected at most 4000 bytes, found more");

    let lines = |line: &str, count: usize| format!("{HEADER}\n{}", line.repeat(count));
    assert_eq!(read(&lines("cut 1->2 #\n", 20)).unwrap().schedule.choices.len(), 20);
    check(&lines("cut 1->2\n", 21), "line 30, column 1: expected at most 20 choices, found more");
    let message = "line 30, column 1: expected at most 20 comments and blank lines, found more";
    check(&lines("#\n", 21), message);
    check(&lines("\n", 21), message);

    let in_header = |line: &str, count: usize| HEADER.replace("contract", &(line.repeat(count) + "contract"));
    assert_eq!(read(&in_header("#\n", 20)).unwrap().comments.len(), 20);
    check(&in_header("#\n", 21), "line 25, column 1: expected at most 20 comments, found more");
    let settings: Vec<String> = (0..9).map(|at| format!("set s{at}=1\n")).collect();
    let message = "line 13, column 1: expected at most 10 settings, found more";
    check(&in_header(&settings.concat(), 1), message);

    let large = " ".repeat(TEXT_BYTES_MAX + 1);
    let error = parse_header(&format!("{HEADER}{large}")).unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: expected at most 67108864 bytes, found more");
}

#[test]
fn bytes_that_are_no_text() {
    let message = |bytes: &[u8]| utf8(bytes).unwrap_err().to_string();
    assert_eq!(message(b"a\n\xc3\xa9b\xff"), "line 2, column 3: expected UTF-8 text, found the byte 0xff");
    let cut = utf8(b"abc\xe2\x82").unwrap_err();
    assert_eq!((cut.kind, cut.line, cut.column), (Kind::Truncated, 1, 4));
    assert_eq!(utf8("é".as_bytes()), Ok("é"));
}

#[test]
fn header_lines_are_known() {
    let text = HEADER.replace("set nodes", "# why\n\nset nodes");
    let (header, body) = parse_header(&text).unwrap();
    assert_eq!(header.settings[1], ("trim".to_owned(), "off".to_owned()));
    let lines = body.header_lines();
    assert_eq!((lines.target, lines.settings.as_slice(), lines.contract), (2, &[5, 6][..], 7));
}
