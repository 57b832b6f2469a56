//! A twin of the target that is not deterministic: now and then a tick of the clock counts twice, by a hash that the
//! standard library seeds at random.

use crate::message::Wire;
use crate::system::Raft;
use crate::view::View;
use crate::{Node, raft};
use misrule_engine::check;
use misrule_world::{
    BootError, Context, FaultProfile, Input, Judge, Report, Seen, System, Target, Vocabulary, target,
};
use std::hash::{BuildHasher, RandomState};

struct Twin {
    raft: Raft,
    is_random: bool,
}

impl System for Twin {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        self.raft.vocabulary()
    }

    fn boot(&self, cx: &mut Context<Wire>) -> Result<Node, BootError> {
        self.raft.boot(cx)
    }

    fn handle(&self, node: &mut Node, input: Input<Wire>, cx: &mut Context<Wire>) {
        let is_twice = RandomState::new().hash_one(0).is_multiple_of(8);
        if matches!(input, Input::Timer(_)) && self.is_random && is_twice {
            node.tick();
        }
        self.raft.handle(node, input, cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        self.raft.view(node, out);
    }

    fn kind(&self, message: &Wire) -> u8 {
        self.raft.kind(message)
    }
}

struct Blind;

impl Judge<Twin> for Blind {
    fn reset(&mut self, _: &Seen<'_, Twin>, _: &mut Report) {}
    fn after(&mut self, _: &Seen<'_, Twin>, _: &mut Report) {}
}

fn twin(is_random: bool) -> Target {
    target("twin", move |setup| Ok((Twin { raft: Raft::new(setup)?, is_random }, Blind)))
}

#[test]
fn a_twin_that_is_not_deterministic_is_caught() {
    let setup = raft().setup(&[], "", &[]).unwrap();
    for is_random in [false, true] {
        let twin = twin(is_random);
        let (mut one, mut other) = (twin.open(&setup).unwrap(), twin.open(&setup).unwrap());
        let found = check(one.as_mut(), other.as_mut(), 1, 20, 500, FaultProfile::Default);
        assert_eq!(found.is_err(), is_random, "{found:?}");
    }
}
