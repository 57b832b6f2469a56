//! Sessions in the engine: what is drawn, mutated, found and minimised, and that it allocates nothing.

mod common;

use allocation_counter::measure;
use common::{run, setup};
use misrule_engine::{Drawer, MUTATORS, Material, Options};
use misrule_history::specifications::Cell;
use misrule_world::histories::Linearizable;
use misrule_world::text::choice_line;
use misrule_world::{
    Answer, Argument, BootError, Choice, ChoiceKind, Context, Effect, FaultProfile, Fields, Input, Judge,
    Keyed, KeyedValues, NO_SESSION, Operation, Report, Rng, Run, Seen, Setting, System, Target, Vocabulary,
    Watch, target,
};
use std::fmt::Display;

const GET: u8 = 0;
const PUT: u8 = 1;

/// A store on one node, which does each call once; the other passes calls on to it. With the bug, a comparison that held is answered with true
/// and then forgotten, unless nothing was there.
struct Store {
    vocabulary: Vocabulary,
    forgets: bool,
}

struct Node {
    held: [u16; 2],
    /// For each session its last call and the answer.
    last: [(u32, Answer); 64],
}

#[derive(Clone, Default)]
struct Held([u16; 2]);

impl Fields for Held {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("first", &self.0[0]);
        visit("second", &self.0[1]);
    }
}

type Pass = (u8, u32, Option<misrule_world::Call>);

impl System for Store {
    type Node = Node;
    type Message = Pass;
    type View = Held;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, _cx: &mut Context<Pass>) -> Result<Node, BootError> {
        Ok(Node { held: [0; 2], last: [(0, Answer::Nothing); 64] })
    }

    fn handle(&self, node: &mut Node, input: Input<Pass>, cx: &mut Context<Pass>) {
        let (operation, argument, call) = match input {
            Input::Request { operation, argument, call } if cx.me() == 1 => {
                return cx.send(0, (operation, argument, call));
            }
            Input::Request { operation, argument, call } => (operation, argument, call),
            Input::Message { message, .. } => message,
            Input::Timer(_) | Input::Local(_) => return,
        };
        let Keyed { key, from, value } = Keyed::of(argument);
        let Some(call) = call else { return };
        let last = &mut node.last[usize::from(call.session())];
        if call.number() <= last.0 {
            if call.number() == last.0 {
                cx.answer(call, last.1);
            }
            return;
        }
        let held = &mut node.held[usize::from(key)];
        let answer = match operation {
            GET if *held == 0 => Answer::Nothing,
            GET => Answer::Number(u32::from(*held)),
            PUT => {
                *held = value;
                Answer::Nothing
            }
            _ if *held != from => Answer::Bool(false),
            _ => {
                if !self.forgets || from == 0 {
                    *held = value;
                }
                Answer::Bool(true)
            }
        };
        *last = (call.number(), answer);
        cx.answer(call, answer);
    }

    fn view(&self, node: &Node, out: &mut Held) {
        out.0 = node.held;
    }

    fn kind(&self, _message: &Pass) -> u8 {
        0
    }
}

struct Watched(Linearizable<Cell>);

impl Judge<Store> for Watched {
    fn reset(&mut self, _seen: &Seen<'_, Store>, _report: &mut Report) {
        self.0.reset();
    }

    fn after(&mut self, seen: &Seen<'_, Store>, report: &mut Report) {
        self.0.after(seen.clients, report);
    }
}

fn store() -> Target {
    target("store", |setup| {
        let operation =
            |name, values| Operation { name, argument: Argument::Keyed { keys: 2, values }, weight: 1 };
        let vocabulary = Vocabulary {
            nodes: 2,
            kinds: vec!["Pass"],
            operations: vec![
                operation("get", KeyedValues::None),
                operation("put", KeyedValues::Fresh),
                operation("cas", KeyedValues::FromTo),
            ],
            sessions: setup.settings.integer("sessions") as u8,
            ..Vocabulary::default()
        };
        let oracle = Linearizable::new(&vocabulary, Cell::key_value());
        Ok((Store { vocabulary, forgets: setup.settings.word("bug") == "forgets" }, Watched(oracle)))
    })
    .setting(Setting::integer("sessions", 0, 64, 4, "sessions of clients"))
    .bugs(&[("forgets", "a comparison that held is forgotten")])
    .contract("reorder")
}

fn open(settings: &[(&str, &str)]) -> Box<dyn Run> {
    let target = store();
    target.open(&setup(&target, settings, &[])).expect("a setup")
}

/// A walk of drawn choices, each of which applies.
fn walk(run: &mut dyn Run, seed: u64, steps: usize) -> Vec<Choice> {
    let (mut rng, mut report) = (Rng::new(seed), Report::default());
    let mut drawer = Drawer::new(FaultProfile::None);
    run.reset(1, Watch::default(), &mut report);
    drawer.reset(run.menu(), &mut rng);
    let mut choices = Vec::with_capacity(steps);
    while choices.len() < steps {
        let choice = drawer.pick(run.menu(), &mut rng).expect("something can happen");
        run.step(choice, &mut report);
        assert_eq!((report.effect, &report.failure), (Effect::Applied, &None), "{choice:?}");
        choices.push(report.choice);
    }
    choices
}

#[test]
fn what_clients_do_is_drawn_where_it_can_happen() {
    let mut run = open(&[]);
    let choices = walk(&mut *run, 1, 20_000);
    let count = |kind| choices.iter().filter(|choice| choice.kind() == kind).count();
    for kind in [ChoiceKind::Request, ChoiceKind::Retry, ChoiceKind::Abandon, ChoiceKind::Deliver] {
        assert!(count(kind) > 15, "{kind:?}: {}", count(kind));
    }
    let (mut sessions, mut keys, mut held, mut compared) = ([0; 4], [0; 2], 0, 0);
    let mut last_put = [0; 2];
    for choice in choices {
        let Choice::Request { operation, argument, session, .. } = choice else { continue };
        let Keyed { key, from, value } = Keyed::of(argument);
        sessions[usize::from(session)] += 1;
        keys[usize::from(key)] += 1;
        if operation > PUT {
            compared += 1;
            held += u32::from(from == last_put[usize::from(key)]);
        }
        if operation >= PUT {
            last_put[usize::from(key)] = value;
        }
    }
    assert!(sessions.iter().chain(&keys).all(|count| *count > 500), "{sessions:?} {keys:?}");
    assert!(held * 10 > compared * 7, "{held} of {compared} compare with what was last asked for");
    let calls = run.about().calls;
    assert!(calls.answered > 1_000 && calls.ignored > 10, "{calls:?}");
    // What is still open was neither answered nor given up.
    let open = u64::from(run.menu().sessions_waiting.count_ones());
    assert_eq!(calls.asked, calls.answered + calls.abandoned + open);
}

#[test]
fn without_sessions_requests_are_nobodys() {
    let mut run = open(&[("sessions", "0")]);
    for choice in walk(&mut *run, 1, 2_000) {
        match choice {
            Choice::Request { session, .. } => assert_eq!(session, NO_SESSION),
            other => assert_eq!(other.kind(), ChoiceKind::Deliver),
        }
    }
}

#[test]
fn mutants_ask_again_and_give_up() {
    let mut run = open(&[]);
    let choices = walk(&mut *run, 1, 100);
    let (_, mutate) = MUTATORS.iter().find(|(name, _)| *name == "insert-fault").expect("a mutator");
    for (sessions, expected) in [(4, true), (0, false)] {
        let mut inserted = [0, 0];
        for seed in 0..400 {
            let contract = run.menu().contract;
            let material = Material { nodes: 2, sessions, contract, cells: &[], other: (&[], &[]) };
            let mut mutant = choices.clone();
            if mutate(&mut mutant, &material, &mut Rng::new(seed)) {
                let count = |of: &[Choice], kind| of.iter().filter(|choice| choice.kind() == kind).count();
                for (at, kind) in [ChoiceKind::Retry, ChoiceKind::Abandon].into_iter().enumerate() {
                    inserted[at] += count(&mutant, kind) - count(&choices, kind);
                }
            }
        }
        assert_eq!(inserted.map(|count| count > 10), [expected; 2], "{inserted:?}");
    }
}

#[test]
fn what_is_found_is_minimised_to_one_session_one_key_and_small_values() {
    let target = store();
    let setup = setup(&target, &[("bug", "forgets")], &[]);
    let vocabulary = target.open(&setup).expect("a setup").about().vocabulary.clone();
    for seed in 1..=3 {
        let options = Options {
            seed,
            guidance: "random".to_owned(),
            faults: FaultProfile::None,
            stop_after_executions: Some(1_000),
            steps_max: 300,
            ..Options::default()
        };
        let outcome = run(&target, &setup, &options);
        let finding = outcome.findings.first().expect("the bug is found");
        assert_eq!(finding.failure.property, "linearizable");
        let lines: Vec<String> = finding
            .minimised
            .iter()
            .map(|choice| choice_line(&vocabulary, *choice))
            // Node 2 only passes on.
            .filter_map(|line| line.strip_prefix("request ").map(|line| line[2..].to_owned()))
            .collect();
        // Something is put there, in either way.
        let first = ["put k0=1 session=1", "cas k0=0->1 session=1"];
        assert!(first.contains(&lines[0].as_str()), "seed {seed}: {lines:?}");
        assert_eq!((lines.len(), lines[1].as_str()), (3, "cas k0=1->2 session=1"), "seed {seed}");
        // Then it is asked whether that is there.
        let last = ["get k0 session=1", "cas k0=2->3 session=1"];
        assert!(last.contains(&lines[2].as_str()), "seed {seed}: {lines:?}");
        assert!(finding.minimal);
    }
}

#[test]
fn without_the_bug_nothing_is_found() {
    let target = store();
    let options = Options {
        faults: FaultProfile::None,
        guidance: "random".to_owned(),
        stop_after_executions: Some(500),
        steps_max: 300,
        ..Options::default()
    };
    let outcome = run(&target, &setup(&target, &[], &[]), &options);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings[0].failure);
    assert!(outcome.summary.calls.answered > 1_000, "{:?}", outcome.summary.calls);
}

#[test]
fn sessions_and_their_oracle_allocate_nothing_once_buffers_have_grown() {
    let mut run = open(&[]);
    let choices = walk(&mut *run, 7, 5_000);
    let mut report = Report::default();
    let mut again = || {
        run.reset(1, Watch::default(), &mut report);
        for choice in &choices {
            run.step(*choice, &mut report);
        }
        assert_eq!(report.failure, None);
    };
    again();
    let info = measure(again);
    assert_eq!(info.count_total, 0, "{info:?}");
}
