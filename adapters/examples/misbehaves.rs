//! A target whose requests each make one of the oracles that every target has fail: two nodes that count, and a
//! model of the count. `adapters/tests/oracles.rs` replays schedules on it.

use misrule::{
    Argument, BootError, Choice, Context, Event, Fields, Follower, Input, Judge, Kind, LensSet, Mapping,
    Model, NodeId, Operation, Property, Recovering, Recovers, Recovery, Refusal, Report, Seen, Step, System,
    Tally, Target, Vocabulary, target,
};
use std::fmt::Display;
use std::process::ExitCode;

/// Counts of the model beyond which its property does not hold.
const COUNT_MAX: u32 = 2;

/// What clients can ask for, in the order of the vocabulary.
const OPERATIONS: [&str; 13] = [
    "count",
    "count-twice",
    "count-back",
    "panic",
    "send-nowhere",
    "send-for-ever",
    "append-for-ever",
    "lock",
    "panic-in-judge",
    "refuse",
    "send-more",
    "append-more",
    "visit",
];

/// What clients ask for in a recovery.
const VISIT: u8 = 12;

struct Misbehaves {
    vocabulary: Vocabulary,
}

#[derive(Clone, Default)]
struct View {
    count: u32,
    asked: u8,
    visits: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("count", &self.count);
    }
}

/// A node.
#[derive(Default)]
struct Node {
    count: u32,
    /// What it was asked last.
    asked: u8,
    visits: u32,
    /// Whether it takes no more visits.
    refuses: bool,
}

impl System for Misbehaves {
    type Node = Node;
    type Message = ();
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<()>) -> Result<Node, BootError> {
        let mut count = 0;
        let mut locked = false;
        let read = cx.disk().read(|record| match record {
            b"lock" => locked = true,
            _ => count += 1,
        });
        if read.is_err() || locked {
            return Err(BootError("the disk is locked".to_owned()));
        }
        Ok(Node { count, ..Node::default() })
    }

    fn handle(&self, node: &mut Node, input: Input<()>, cx: &mut Context<()>) {
        let disk = cx.disk();
        let operation = match input {
            Input::Request { operation, .. } => operation,
            // Each message makes two.
            Input::Message { from, .. } => {
                cx.send(from, ());
                return cx.send(from, ());
            }
            Input::Local(step) => {
                cx.enable_local(step);
                return drop(disk.append(&[0; 8192]));
            }
            Input::Timer(_) => return,
        };
        let keep = |record: &[u8]| disk.append(record).and_then(|()| disk.sync()).expect("inside a step");
        node.asked = operation;
        match OPERATIONS[usize::from(operation)] {
            "count" => {
                node.count += 1;
                keep(b"count");
            }
            "count-twice" => node.count += 2,
            "count-back" => node.count = node.count.saturating_sub(1),
            "panic" => panic!("asked to"),
            "send-nowhere" => cx.send(Context::<()>::NOBODY, ()),
            "send-for-ever" => loop {
                cx.send(0, ());
            },
            "append-for-ever" => loop {
                keep(b"more");
            },
            "lock" => keep(b"lock"),
            "refuse" => node.refuses = true,
            "send-more" => cx.send(1 - cx.me(), ()),
            "append-more" => cx.enable_local(0),
            "visit" => node.visits += u32::from(!node.refuses),
            _ => {}
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        *out = View { count: node.count, asked: node.asked, visits: node.visits };
    }

    fn kind(&self, (): &()) -> u8 {
        0
    }
}

/// The model: each node counts up, one at a time.
///
/// What this model leaves out: crashes.
struct Counts;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State([u32; 2]);

impl Fields for State {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("first", &self.0[0]);
        visit("second", &self.0[1]);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Action {
    Count(NodeId),
    CountBack(NodeId),
}

impl Model for Counts {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State([0; 2]));
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        match action {
            Action::Count(node) => state.0[usize::from(*node)] += 1,
            Action::CountBack(_) => return Step::Refused(Refusal("nobody counts back")),
        }
        Step::Taken
    }

    fn enabled(&self, _: &State, out: &mut Vec<Action>) {
        out.extend([Action::Count(0), Action::Count(1)]);
    }

    fn properties(&self) -> &'static [Property<Self>] {
        &[Property {
            name: "counts-bounded",
            kind: Kind::Always,
            holds: |_, state| state.0.iter().all(|count| *count <= COUNT_MAX),
        }]
    }
}

/// Reads requests as actions.
struct Steps;

impl Mapping<Misbehaves> for Steps {
    type Model = Counts;

    fn events(&mut self, seen: &Seen<'_, Misbehaves>, out: &mut Vec<Event<Action>>) {
        let (Some(node), Some(Input::Request { operation, .. })) = (seen.node, seen.input) else { return };
        match OPERATIONS[usize::from(*operation)] {
            // Twice: the mapping sees one count too few, as the mapping of a real target might.
            "count" | "count-twice" => out.push(Event::Action(Action::Count(node))),
            "count-back" => out.push(Event::Action(Action::CountBack(node))),
            _ => {}
        }
    }

    fn project(&self, seen: &Seen<'_, Misbehaves>, state: &mut State, _only: Option<NodeId>) {
        for (count, view) in state.0.iter_mut().zip(seen.views) {
            *count = view.count;
        }
    }

    fn compare(&self, seen: &Seen<'_, Misbehaves>, state: &State, full: bool) -> Option<String> {
        let differs = || state.0.iter().zip(seen.views).find(|(count, view)| **count != view.count);
        let (count, view) = if full { differs()? } else { return None };
        Some(format!("count: {count} in the model, {} in the implementation", view.count))
    }
}

/// The judge, which panics when asked to.
struct Watched {
    follower: Follower<Misbehaves, Steps>,
    /// The visits of each node when a recovery began.
    begun: [u32; 2],
}

impl Judge<Misbehaves> for Watched {
    fn reset(&mut self, seen: &Seen<'_, Misbehaves>, report: &mut Report) {
        self.follower.reset(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Misbehaves>, report: &mut Report) {
        if let Choice::Recover { .. } = seen.choice {
            self.begun = [seen.views[0].visits, seen.views[1].visits];
        }
        let asked = seen.node.map_or(0, |node| seen.views[usize::from(node)].asked);
        match OPERATIONS[usize::from(asked)] {
            "panic-in-judge" => panic!("asked to"),
            _ => self.follower.after(seen, report),
        }
    }

    fn recovers(&self) -> Option<&dyn Recovers<Misbehaves>> {
        Some(self)
    }

    fn tally(&self) -> Tally {
        self.follower.tally()
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        self.follower.fields(visit);
    }
}

/// Every node is visited.
impl Recovers<Misbehaves> for Watched {
    fn policy(&self) -> Recovery {
        Recovery { operation: Some(VISIT), rounds_max: 50, ..Recovery::default() }
    }

    fn progressed(&self, now: &Recovering<'_, Misbehaves>) -> bool {
        now.views.iter().zip(self.begun).all(|(view, begun)| view.visits > begun)
    }

    fn waits_for(&self, _: &Recovering<'_, Misbehaves>, _: NodeId) -> String {
        "a visit".to_owned()
    }
}

fn misbehaves() -> Target {
    target("misbehaves", |_setup| {
        let operation = |name| Operation { name, argument: Argument::None, weight: 1 };
        let operations = OPERATIONS.map(operation).to_vec();
        let vocabulary = Vocabulary {
            nodes: 2,
            kinds: vec!["Nothing"],
            locals: vec!["append"],
            operations,
            ..Vocabulary::default()
        };
        let follower = Follower::new(Counts, Steps, LensSet::default());
        Ok((Misbehaves { vocabulary }, Watched { follower, begun: [0; 2] }))
    })
    .version("0.1.0")
    .description("two nodes that do what no target should, when asked to")
}

fn main() -> ExitCode {
    misrule::main(vec![misbehaves()])
}
