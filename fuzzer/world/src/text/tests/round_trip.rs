//! What is written reads back.

use super::{HEADER, SAMPLE, vocabulary};
use crate::choice::{Choice, ChoiceKind, Slot};
use crate::clients::{NO_SESSION, SESSIONS_MAX};
use crate::disk::DiskOutcome;
use crate::keep::Keep;
use crate::profile::FaultProfile;
use crate::recovery::whole_core;
use crate::rng::Rng;
use crate::schedule::{Comment, CommentPlace, Expectation, Header, Schedule, ScheduleFile, Tail};
use crate::text::{choice_line, parse, print};
use crate::vocabulary::{Argument, DrawName, Keyed, KeyedValues, Operation, Vocabulary};

#[test]
fn canonical_text_is_written_as_it_was_read() {
    let vocabulary = vocabulary();
    let file = parse(SAMPLE, &vocabulary).unwrap();
    assert_eq!(print(&file, &vocabulary), SAMPLE);
    assert_eq!((file.lines[0], file.lines.len()), (11, file.schedule.choices.len()));
    assert_eq!(file.schedule.choices[2], Choice::Deliver(Slot { from: 0, to: 1, at: 0, kind: 4 }));
    let unguarded = Slot { from: 0, to: 1, at: 2, kind: Slot::ANY_KIND };
    assert_eq!(file.schedule.choices[3], Choice::Deliver(unguarded));
    assert_eq!(
        file.schedule.choices[9],
        Choice::Request { node: 2, operation: 3, argument: 0, session: NO_SESSION }
    );
}

#[test]
fn the_example_of_the_documentation_is_canonical() {
    let page = include_str!("../../../../../docs/formats.md").replace("\r\n", "\n");
    let (_, rest) = page.split_once("```schedule\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let file = parse(example, &vocabulary()).unwrap_or_else(|error| panic!("docs/formats.md: {error}"));
    assert_eq!(print(&file, &vocabulary()), example);
}

#[test]
fn a_recovery_comes_last_also_behind_a_tail() {
    let vocabulary = vocabulary();
    let tail = "tail seed=7 steps=300 faults=none\n";
    for (body, printed) in [
        ("recover 1,3\n", "recover 1,3\n"),
        ("recover 3,1 # both\n", "recover 1,3 # both\n"),
        ("restart 1\nrecover 2\n# end\n", "restart 1\nrecover 2\n# end\n"),
        (
            &format!("restart 1\n{tail}# between\nrecover 1,2,3\n"),
            &format!("restart 1\n{tail}# between\nrecover 1,2,3\n"),
        ),
    ] {
        let file = parse(&format!("{HEADER}\n{body}"), &vocabulary).unwrap();
        assert_eq!(print(&file, &vocabulary), format!("{HEADER}\n{printed}"));
        assert!(matches!(file.schedule.choices.last(), Some(Choice::Recover { .. })));
        assert_eq!(file.lines.len(), file.schedule.choices.len());
    }
    for (body, error) in [
        ("recover", "9: expected nodes from 1 to 3 like `1,2`, found the end of the line"),
        ("recover 1,4", "12: expected a node from 1 to 3, found `4`"),
        ("recover 2,1,2", "14: expected each node once, found `2`"),
        ("recover 1,", "12: expected a node from 1 to 3, found nothing"),
        ("recover 1 2", "12: expected the end of the line, found `2`"),
    ] {
        let found = parse(&format!("{HEADER}\n {body}\n"), &vocabulary).unwrap_err();
        assert_eq!(found.to_string(), format!("line 10, column {error}"), "{body}");
    }
    for after in ["restart 1", tail, "recover 1"] {
        let found = parse(&format!("{HEADER}\nrecover 1\n{after}\n"), &vocabulary).unwrap_err();
        assert_eq!(
            (found.line, found.expected.as_str()),
            (11, "the end of the file, since a recovery comes last")
        );
    }
}

#[test]
fn other_line_ends_blanks_and_a_byte_order_mark_change_nothing() {
    let vocabulary = vocabulary();
    let expected = parse(SAMPLE, &vocabulary).unwrap();
    let loose = SAMPLE.replace('\n', " \t\r\n").replace("cut ", "\t cut   ");
    assert_eq!(parse(&format!("\u{feff}{loose}"), &vocabulary).unwrap(), expected);
    assert_eq!(parse(SAMPLE.trim_end(), &vocabulary).unwrap(), expected);
}

#[test]
fn comments_of_the_header_move_below_it() {
    let vocabulary = vocabulary();
    let text = HEADER.replace("seed", "# why\n\nseed").replace("trace", "# hash\ntrace");
    let printed = print(&parse(&format!("{text}# below\n\ncut 1->2\n"), &vocabulary).unwrap(), &vocabulary);
    assert_eq!(printed, format!("{HEADER}\n# why\n# hash\n# below\n\ncut 1->2\n"));
}

#[test]
fn a_comment_never_becomes_a_choice() {
    let vocabulary = vocabulary();
    let mut file = parse(&format!("{HEADER}cut 1->2\n"), &vocabulary).unwrap();
    for (after, place) in
        [(0, CommentPlace::SameLine), (1, CommentPlace::SameLine), (7, CommentPlace::OwnLine)]
    {
        let text = "2 lines\ncrash 1\r\n#3".to_owned();
        file.comments.push(Comment { after, place, text });
    }
    let printed = print(&file, &vocabulary);
    let again = parse(&printed, &vocabulary).unwrap();
    assert_eq!(again.schedule, file.schedule);
    assert_eq!(print(&again, &vocabulary), printed);
}

#[test]
fn numbers_without_a_word_are_shown_and_do_not_panic() {
    let none = Vocabulary { nodes: 1, ..Vocabulary::default() };
    let request = Choice::Request { node: 255, operation: 9, argument: 4, session: 254 };
    assert_eq!(choice_line(&none, request), "request 256 ?9 4 session=255");
    assert_eq!(choice_line(&none, Choice::Draw { node: 0, name: 3, value: 1 }), "draw 1 ?3 1");
    let peer = Choice::Request { node: 0, operation: 3, argument: u32::MAX, session: NO_SESSION };
    assert_eq!(choice_line(&vocabulary(), peer), "request 1 transfer 4294967296");
}

const VALUES: [KeyedValues; 3] = [KeyedValues::None, KeyedValues::Fresh, KeyedValues::FromTo];

const WORDS: [&str; 12] =
    ["a", "Accept", "accept", "keep=1", "->", "tail", "é→", "x#1", "1", "drop", "Prepare-2", "long-name_9"];

fn words(rng: &mut Rng) -> Vec<&'static str> {
    let from = rng.below(WORDS.len() as u32) as usize;
    (0..=rng.below(10) as usize).map(|at| WORDS[(from + at) % WORDS.len()]).collect()
}

fn random_vocabulary(rng: &mut Rng) -> Vocabulary {
    let operations = words(rng)
        .into_iter()
        .map(|name| {
            let argument = match rng.below(5) {
                0 => Argument::None,
                1 => Argument::Fresh,
                2 => Argument::Below(1 + rng.next() as u32 % u32::MAX),
                3 => Argument::Peer,
                _ => {
                    Argument::Keyed { keys: 1 + rng.below(255) as u8, values: VALUES[rng.below(3) as usize] }
                }
            };
            Operation { name, argument, weight: 1 }
        })
        .collect();
    let draws = words(rng).into_iter().map(|name| DrawName { name, below: 1 + rng.below(9) }).collect();
    let nodes = 2 + rng.below(63) as u8;
    let sessions = 1 + rng.below(u32::from(SESSIONS_MAX)) as u8;
    Vocabulary {
        nodes,
        kinds: words(rng),
        timers: words(rng),
        locals: words(rng),
        operations,
        draws,
        sessions,
        ..Vocabulary::default()
    }
}

fn random_slot(rng: &mut Rng, vocabulary: &Vocabulary) -> Slot {
    let (from, to) = (rng.below(vocabulary.nodes.into()) as u8, rng.below(vocabulary.nodes.into()) as u8);
    let kind = rng.below(vocabulary.kinds.len() as u32) as u8;
    let at = 1 + rng.below(u32::from(u16::MAX)) as u16;
    match rng.below(3) {
        0 => Slot { from, to, at: Slot::FIRST_OF_KIND, kind },
        1 => Slot { from, to, at, kind: Slot::ANY_KIND },
        _ => Slot { from, to, at, kind },
    }
}

fn session(rng: &mut Rng, vocabulary: &Vocabulary) -> u8 {
    rng.below(vocabulary.sessions.into()) as u8
}

fn session_or_none(rng: &mut Rng, vocabulary: &Vocabulary) -> u8 {
    if rng.chance(1, 2) { NO_SESSION } else { session(rng, vocabulary) }
}

fn random_choice(rng: &mut Rng, vocabulary: &Vocabulary) -> Choice {
    let slot = random_slot(rng, vocabulary);
    let (from, to, node) = (slot.from, slot.to, slot.from);
    let mut pick = |count: usize| rng.below(count as u32) as u8;
    match ChoiceKind::ALL[usize::from(pick(ChoiceKind::Recover as usize))].0 {
        ChoiceKind::Deliver => Choice::Deliver(slot),
        ChoiceKind::Drop => Choice::Drop(slot),
        ChoiceKind::Duplicate => Choice::Duplicate(slot),
        ChoiceKind::Timer => Choice::Timer { node, timer: pick(vocabulary.timers.len()) },
        ChoiceKind::Local => Choice::Local { node, step: pick(vocabulary.locals.len()) },
        ChoiceKind::Request => {
            let operation = pick(vocabulary.operations.len());
            let argument = match vocabulary.operations[usize::from(operation)].argument {
                Argument::None => 0,
                Argument::Fresh => rng.next() as u32,
                Argument::Below(bound) => rng.below(bound),
                Argument::Peer => u32::from((node + 1) % vocabulary.nodes),
                Argument::Keyed { keys, values } => {
                    let (key, mut value) = (rng.below(keys.into()) as u8, || 1 + rng.below(4095) as u16);
                    let (from, value) = match values {
                        KeyedValues::None => (0, 0),
                        KeyedValues::Fresh => (0, value()),
                        KeyedValues::FromTo => (value() - 1, value()),
                    };
                    Keyed { key, from, value }.argument()
                }
            };
            Choice::Request { node, operation, argument, session: session_or_none(rng, vocabulary) }
        }
        ChoiceKind::Crash => {
            let keep = match rng.below(4) {
                0 => Keep::prefix(rng.below(3) as u16 * 32_767),
                1 => Keep::bits(rng.next() as u32),
                2 => Keep::all_but(rng.next() as u16),
                _ => {
                    [Keep::ALL, Keep::TORN_LAST, Keep::only(99), Keep::all_but_last(5)][rng.below(4) as usize]
                }
            };
            match rng.below(3) {
                0 => Choice::CrashAt { node, at: rng.next() as u16, keep },
                _ => Choice::Crash { node, keep },
            }
        }
        ChoiceKind::Restart => Choice::Restart { node },
        ChoiceKind::Cut => Choice::Cut { from, to },
        ChoiceKind::Heal => Choice::Heal { from, to },
        ChoiceKind::Clog => Choice::Clog { from, to },
        ChoiceKind::Unclog => Choice::Unclog { from, to },
        ChoiceKind::Draw => {
            let name = pick(vocabulary.draws.len());
            Choice::Draw { node, name, value: rng.below(vocabulary.draws[usize::from(name)].below) }
        }
        ChoiceKind::Retry => Choice::Retry { node, session: session(rng, vocabulary) },
        ChoiceKind::Abandon => Choice::Abandon { session: session(rng, vocabulary) },
        ChoiceKind::Disk => {
            let (outcome, _) = DiskOutcome::ALL[rng.below(DiskOutcome::ALL.len() as u32) as usize];
            Choice::Disk { node, outcome, at: 1 + rng.below(3) as u16 }
        }
        ChoiceKind::Recover => random_recovery(rng, vocabulary),
    }
}

/// A recovery of a core that is not empty.
fn random_recovery(rng: &mut Rng, vocabulary: &Vocabulary) -> Choice {
    let core = whole_core(vocabulary.nodes) & (rng.next() as u32 | 1);
    Choice::Recover { core }
}

fn random_comments(rng: &mut Rng, lines: usize) -> Vec<Comment> {
    let mut comments = Vec::new();
    for after in 0..=lines {
        if after > 0 && rng.chance(1, 5) {
            let text = ["#", "# behind", "#behind # twice", "# é 1->2"][rng.below(4) as usize].to_owned();
            comments.push(Comment { after, place: CommentPlace::SameLine, text });
        }
        while rng.chance(1, 5) {
            let text = ["", "#", "# above", "#1", "### timer 1 tick"][rng.below(5) as usize].to_owned();
            comments.push(Comment { after, place: CommentPlace::OwnLine, text });
        }
    }
    comments
}

fn random_profile(rng: &mut Rng) -> FaultProfile {
    match FaultProfile::ALL.get(rng.below(7) as usize) {
        Some((profile, _)) => *profile,
        None => FaultProfile::of(FaultProfile::Swarm.weights(rng)),
    }
}

/// A random schedule over `vocabulary`.
fn random_file(rng: &mut Rng, vocabulary: &Vocabulary) -> ScheduleFile {
    let mut hash = || format!("{:016x}", rng.next());
    let (fingerprint, trace) = (hash(), hash());
    let header = Header {
        target: WORDS[rng.below(12) as usize].to_owned(),
        version: WORDS[rng.below(12) as usize].to_owned(),
        settings: (0..rng.below(4)).map(|at| (format!("s{at}"), format!("{at}=v"))).collect(),
        contract: ["fifo", "reorder+loss+dup,ordered,capacity=4096", "+dup"][rng.below(3) as usize]
            .to_owned(),
        seed: rng.next(),
        expect: match rng.below(3) {
            0 => Expectation::None,
            1 => Expectation::Pass,
            _ => Expectation::Fail { property: "agree".to_owned(), fingerprint },
        },
        trace_hash: if rng.chance(1, 2) { Some(trace) } else { None },
    };
    let mut choices: Vec<_> = (0..rng.below(30)).map(|_| random_choice(rng, vocabulary)).collect();
    choices.extend(rng.chance(1, 3).then(|| random_recovery(rng, vocabulary)));
    let tail = rng.chance(1, 2).then(|| Tail {
        seed: rng.next(),
        steps: rng.next() as u32,
        faults: random_profile(rng),
    });
    let comments = random_comments(rng, choices.len() + usize::from(tail.is_some()));
    ScheduleFile { header, schedule: Schedule { choices, tail }, comments, lines: Vec::new() }
}

#[test]
fn random_schedules_read_back() {
    let mut rng = Rng::new(1);
    for round in 0..5_000 {
        let vocabulary = random_vocabulary(&mut rng);
        let file = random_file(&mut rng, &vocabulary);
        let text = print(&file, &vocabulary);
        let mut again =
            parse(&text, &vocabulary).unwrap_or_else(|error| panic!("round {round}: {error}\n{text}"));
        assert_eq!(print(&again, &vocabulary), text, "round {round}");
        let lines: Vec<&str> = text.lines().collect();
        for (choice, line) in again.schedule.choices.iter().zip(&again.lines) {
            assert!(lines[line - 1].starts_with(&choice_line(&vocabulary, *choice)), "round {round}");
        }
        again.lines.clear();
        assert_eq!(again, file, "round {round}\n{text}");
    }
}
