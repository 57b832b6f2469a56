//! Crashes, crash points and disk outcomes in a world, seen from outside.

use misrule_world::{
    Argument, BootError, Choice, ChoiceKind, Context, Contract, DiskError, DiskOutcome, Effect, FaultCount,
    Fields, Input, Judge, Keep, Operation, Report, Rng, Run, Seen, System, TraceHash, Vocabulary, Watch,
    World,
};
use std::fmt::Display;

/// Two nodes; a request makes one append to its file, tell the other, sync, and tell the other again.
struct Teller(Vocabulary);

/// Positions of the operations.
const PUT: u8 = 0;
const INSIST: u8 = 1;
const GROW: u8 = 2;

impl Teller {
    fn new() -> Self {
        let operation = |name, argument| Operation { name, argument, weight: 1 };
        Self(Vocabulary {
            nodes: 2,
            kinds: vec!["Told"],
            operations: vec![
                operation("put", Argument::Fresh),
                operation("insist", Argument::None),
                operation("grow", Argument::None),
            ],
            ..Vocabulary::default()
        })
    }
}

struct Node {
    starts: u64,
    puts: u64,
}

#[derive(Clone, Default)]
struct View {
    starts: u64,
    puts: u64,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("starts", &self.starts);
        visit("puts", &self.puts);
    }
}

impl System for Teller {
    type Node = Node;
    type Message = &'static str;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    /// Counts its starts in a file.
    fn boot(&self, cx: &mut Context<&'static str>) -> Result<Node, BootError> {
        let count = || {
            let starts = cx.disk().open_or_create("starts")?;
            starts.append(b"s")?;
            starts.sync_all()?;
            cx.disk().sync_dir()?;
            starts.len()
        };
        let starts = count().map_err(|error: DiskError| BootError(error.to_string()))?;
        Ok(Node { starts, puts: 0 })
    }

    fn handle(&self, node: &mut Node, input: Input<&'static str>, cx: &mut Context<&'static str>) {
        let Input::Request { operation, .. } = input else { return };
        let (disk, peer) = (cx.disk(), 1 - cx.me());
        match operation {
            PUT => {
                node.puts += 1;
                let file = disk.open_or_create("puts").expect("a dead process may say anything");
                file.append(b"first").expect("a dead process may say anything");
                cx.send(peer, "written");
                if file.sync_all().is_ok() {
                    cx.send(peer, "synced");
                }
                cx.send(peer, "returned");
            }
            INSIST => while disk.append(b"x").is_err() {},
            _ => {
                let file = disk.open_or_create("large").expect("the file is there");
                while file.append(&vec![0; 1 << 20]).is_ok() {}
            }
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        (out.starts, out.puts) = (node.starts, node.puts);
    }

    fn kind(&self, _message: &&'static str) -> u8 {
        0
    }
}

struct Unjudged;

impl Judge<Teller> for Unjudged {
    fn reset(&mut self, _seen: &Seen<'_, Teller>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Teller>, _report: &mut Report) {}
}

struct Fixture {
    run: World<Teller, Unjudged>,
    report: Report,
    watch: Watch,
}

impl Fixture {
    fn new(contract: &str) -> Self {
        let contract = Contract::default().overridden(contract).expect("a contract");
        let watch = Watch { model: true, trace: true, ..Watch::default() };
        let mut fixture =
            Self { run: World::new(Teller::new(), Unjudged, contract), report: Report::default(), watch };
        fixture.run.reset(0, fixture.watch, &mut fixture.report);
        fixture
    }

    /// Executes a choice; returns the effect lines.
    fn step(&mut self, choice: Choice) -> Vec<String> {
        self.run.step(choice, &mut self.report);
        assert_eq!(self.report.effect, Effect::Applied, "{choice:?}");
        self.report.trace.take().map(|step| step.effects).unwrap_or_default()
    }

    fn put(&mut self) -> Vec<String> {
        self.step(request(PUT))
    }

    fn count(&self, kind: ChoiceKind) -> FaultCount {
        self.run.about().faults[kind as usize]
    }

    fn is_up(&self) -> bool {
        self.run.menu().is_up(0)
    }
}

fn request(operation: u8) -> Choice {
    Choice::Request { node: 0, operation, argument: 0, session: misrule_world::NO_SESSION }
}

fn crash_at(at: u16, keep: Keep) -> Choice {
    Choice::CrashAt { node: 0, at, keep }
}

const RESTART: Choice = Choice::Restart { node: 0 };

fn sent(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.strip_prefix("sent 1->2 ")).collect()
}

#[test]
fn what_was_done_before_the_point_stands() {
    // A put creates its file, writes and syncs.
    // The first message is sent behind the write, where the second point lies.
    let told: [&[&str]; 5] =
        [&[], &[], &[], &["\"written\""], &["\"written\"", "\"synced\"", "\"returned\""]];
    for (at, expected) in (0..).zip(told) {
        let mut fixture = Fixture::new("posix-min");
        fixture.step(crash_at(at, Keep::NONE));
        let lines = fixture.put();
        assert_eq!(sent(&lines), expected, "{at}: {lines:?}");
        assert_eq!(fixture.is_up(), at == 4);
        assert_eq!(fixture.report.failure, None, "what a dead node says is nothing");
        assert_eq!(fixture.run.menu().deliverable.iter().sum::<u16>() as usize, expected.len());
        let applied = u64::from(at < 4);
        assert_eq!(fixture.count(ChoiceKind::Crash), FaultCount { drawn: 1, applied });
    }
}

#[test]
fn the_crash_tells_what_it_kept() {
    let mut fixture = Fixture::new("posix-min");
    fixture.step(crash_at(2, "[1]".parse().expect("a set")));
    let lines = fixture.put();
    assert_eq!(
        lines,
        [
            "disk create puts",
            "disk write puts 0+5",
            "disk kept 1 of 2 units not synced",
            "disk lost 0 create puts",
            "disk kept 1 write puts 0+5",
        ]
    );
}

#[test]
fn starts_crash_too() {
    let mut fixture = Fixture::new("posix-min");
    fixture.step(Choice::Crash { node: 0, keep: Keep::NONE });
    for at in 0..3 {
        fixture.step(crash_at(at, Keep::NONE));
        fixture.step(RESTART);
        assert!(!fixture.is_up() && fixture.report.failure.is_none(), "{at}");
    }
    fixture.step(RESTART);
    assert!(fixture.is_up());
    // Only the start that died behind its sync counts.
    fixture.run.step(Choice::Crash { node: 0, keep: Keep::NONE }, &mut fixture.report);
    fixture.run.step(RESTART, &mut fixture.report);
    let changes = fixture.report.trace.take().map(|step| step.changes).unwrap_or_default();
    assert!(changes.iter().any(|change| change.before == "3" && change.after == "4"), "{changes:?}");
    assert_eq!(fixture.count(ChoiceKind::Crash), FaultCount { drawn: 5, applied: 5 });
}

#[test]
fn a_node_that_does_not_notice_is_unwound() {
    let mut fixture = Fixture::new("posix-min");
    fixture.step(crash_at(0, Keep::NONE));
    fixture.step(request(INSIST));
    assert!(!fixture.is_up() && fixture.report.failure.is_none());
}

#[test]
fn writing_without_bound_is_a_finding() {
    let mut fixture = Fixture::new("immediate");
    fixture.step(request(GROW));
    let failure = fixture.report.failure.take().expect("a failure");
    assert_eq!((failure.oracle, failure.property.as_str()), ("step-budget", "disk-bytes-per-node"));
}

#[test]
fn outcomes_are_counted_when_they_are_met() {
    let mut fixture = Fixture::new("fsync-keeps,media=write-error");
    let outcome = |outcome, at| Choice::Disk { node: 0, outcome, at };
    fixture.step(outcome(DiskOutcome::SyncFails, 1));
    let lines = fixture.put();
    assert!(lines.contains(&"disk fault sync-fails".to_owned()), "{lines:?}");
    assert_eq!(sent(&lines), ["\"written\"", "\"returned\""]);
    assert_eq!(fixture.count(ChoiceKind::Disk), FaultCount { drawn: 1, applied: 1 });
    fixture.step(outcome(DiskOutcome::WriteError, 9));
    assert_eq!(sent(&fixture.put()).len(), 3, "what is not met is forgotten");
    fixture.put();
    assert_eq!(fixture.count(ChoiceKind::Disk), FaultCount { drawn: 2, applied: 1 });
    assert_eq!(fixture.run.menu().media_faults, 0);
    fixture.step(outcome(DiskOutcome::WriteError, 1));
    fixture.put();
    assert_eq!((fixture.run.menu().media_faults, fixture.report.failure.is_some()), (1, true));
}

#[test]
fn a_crash_that_names_what_is_not_there_does_not_apply() {
    let mut fixture = Fixture::new("posix-min");
    let crash = Choice::Crash { node: 0, keep: Keep::only(1) };
    fixture.run.step(crash, &mut fixture.report);
    assert_eq!(fixture.report.effect, Effect::Skipped("the crash keeps a unit that is not there"));
    let fitted = fixture.run.menu().fitted(crash);
    assert_eq!(fitted, Choice::Crash { node: 0, keep: Keep::NONE });
    fixture.step(fitted);
}

#[test]
fn crash_states_are_seen_before_and_after() {
    let mut fixture = Fixture::new("posix-min");
    assert_eq!(fixture.run.crash_states(0, 100).states.len(), 1);
    fixture.step(crash_at(2, Keep::NONE));
    fixture.put();
    let states = fixture.run.crash_states(0, 100);
    // The name, and below it the content: none, empty, written.
    assert_eq!((states.units, states.sets, states.states.len(), states.complete), (2, 4, 3, true));
    assert!(fixture.run.crash_states(7, 100).states.is_empty());
}

/// A choice, not always one that applies.
fn random(rng: &mut Rng) -> Choice {
    let node = rng.below(2) as u8;
    let keep = Keep::bits(rng.next() as u32 & 0xff);
    match rng.below(8) {
        0 => Choice::Crash { node, keep: keep.within(4) },
        1 => Choice::CrashAt { node, at: rng.below(6) as u16, keep },
        2 => Choice::Disk { node, outcome: DiskOutcome::SyncFails, at: 1 },
        3 | 4 => Choice::Restart { node },
        _ => Choice::Request {
            node,
            operation: PUT,
            argument: rng.below(100),
            session: misrule_world::NO_SESSION,
        },
    }
}

#[test]
fn what_was_executed_replays() {
    let vocabulary = Teller::new().0;
    let mut fixture = Fixture::new("no-powersafe-overwrite,sync-fail=drops,block=2");
    let mut rng = Rng::new(8);
    for round in 0..200 {
        fixture.run.reset(0, fixture.watch, &mut fixture.report);
        let (mut executed, mut hash) = (Vec::new(), TraceHash::default());
        for _ in 0..60 {
            fixture.run.step(random(&mut rng), &mut fixture.report);
            if fixture.report.effect == Effect::Applied {
                executed.push(fixture.report.choice);
                hash.update(
                    &vocabulary,
                    fixture.report.choice,
                    &fixture.report.trace.take().unwrap_or_default(),
                );
            }
            if fixture.report.failure.is_some() {
                break;
            }
        }
        let mut again = TraceHash::default();
        fixture.run.reset(0, fixture.watch, &mut fixture.report);
        for choice in &executed {
            fixture.run.step(*choice, &mut fixture.report);
            assert_eq!((fixture.report.effect, fixture.report.choice), (Effect::Applied, *choice));
            again.update(&vocabulary, *choice, &fixture.report.trace.take().unwrap_or_default());
        }
        assert_eq!(hash.digest(), again.digest(), "round {round}");
    }
}
