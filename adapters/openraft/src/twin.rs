//! A twin of the target that is not deterministic: its library draws random numbers from where the process is, as with
//! a runtime whose generator is not seeded. `check` must see that.

use crate::message::Wire;
use crate::openraft;
use crate::system::{Node, Openraft};
use crate::view::View;
use misrule_engine::check;
use misrule_world::{
    BootError, Context, FaultProfile, Input, Judge, Report, Seen, System, Target, Vocabulary, target,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Starts of nodes in this process.
static STARTS: AtomicU64 = AtomicU64::new(0);

struct Twin {
    inner: Openraft,
    is_seeded: bool,
}

impl System for Twin {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        self.inner.vocabulary()
    }

    fn boot(&self, cx: &mut Context<Wire>) -> Result<Node, BootError> {
        let starts = STARTS.fetch_add(1, Ordering::Relaxed);
        self.inner.start(cx, if self.is_seeded { 7 } else { starts })
    }

    fn handle(&self, node: &mut Node, input: Input<Wire>, cx: &mut Context<Wire>) {
        self.inner.handle(node, input, cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        self.inner.view(node, out);
    }

    fn kind(&self, message: &Wire) -> u8 {
        self.inner.kind(message)
    }
}

struct Silent;

impl Judge<Twin> for Silent {
    fn reset(&mut self, _: &Seen<'_, Twin>, _: &mut Report) {}
    fn after(&mut self, _: &Seen<'_, Twin>, _: &mut Report) {}
}

fn twin(is_seeded: bool) -> Target {
    target("twin", move |setup| Ok((Twin { inner: Openraft::new(setup)?, is_seeded }, Silent)))
}

#[test]
fn a_runtime_without_a_seed_is_told_from_one_with() {
    let setup = openraft().setup(&[], "", &[]).unwrap();
    for is_seeded in [true, false] {
        let twin = twin(is_seeded);
        let (mut one, mut other) = (twin.open(&setup).unwrap(), twin.open(&setup).unwrap());
        let checked = check(one.as_mut(), other.as_mut(), 1, 50, 300, FaultProfile::Heavy);
        assert_eq!(checked.is_ok(), is_seeded, "{checked:?}");
    }
}
