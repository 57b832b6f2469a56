//! A node that panics again when it is dropped takes nothing with it.

use misrule_world::{
    Argument, BootError, Choice, Context, Contract, Fields, Input, Judge, Operation, Report, Run, Seen,
    System, Vocabulary, Watch, World,
};
use std::fmt::Display;

/// A node whose every request panics, and which panics when it is dropped after one.
struct Fragile(Vocabulary);

struct Node {
    broken: bool,
}

impl Drop for Node {
    fn drop(&mut self) {
        assert!(!self.broken, "dropped after a panic");
    }
}

#[derive(Clone, Default)]
struct View;

impl Fields for View {
    fn fields(&self, _visit: &mut dyn FnMut(&str, &dyn Display)) {}
}

impl System for Fragile {
    type Node = Node;
    type Message = ();
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, _cx: &mut Context<()>) -> Result<Node, BootError> {
        Ok(Node { broken: false })
    }

    fn handle(&self, node: &mut Node, _input: Input<()>, _cx: &mut Context<()>) {
        node.broken = true;
        panic!("a request");
    }

    fn view(&self, _node: &Node, _out: &mut View) {}

    fn kind(&self, _message: &()) -> u8 {
        0
    }
}

struct Nothing;

impl Judge<Fragile> for Nothing {
    fn reset(&mut self, _seen: &Seen<'_, Fragile>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Fragile>, _report: &mut Report) {}
}

#[test]
fn a_world_outlives_nodes_that_panic_twice() {
    let operations = vec![Operation { name: "ask", argument: Argument::None, weight: 1 }];
    let vocabulary = Vocabulary { nodes: 1, operations, ..Vocabulary::default() };
    let mut world = World::new(Fragile(vocabulary), Nothing, Contract::default());
    let mut report = Report::default();
    for _ in 0..2 {
        world.reset(1, Watch::default(), &mut report);
        assert!(report.failure.is_none());
        world.step(
            Choice::Request { node: 0, operation: 0, argument: 0, session: misrule_world::NO_SESSION },
            &mut report,
        );
        assert_eq!(report.failure.take().map(|failure| failure.oracle), Some("panic"));
    }
    drop(world);
}
