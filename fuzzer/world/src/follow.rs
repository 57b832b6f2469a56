//! Joins a model to a world: a mapping turns steps into actions, and the model follows.

use crate::choice::Choice;
use crate::judge::{Seen, Tally};
use crate::menu::Menu;
use crate::probe::{self, Section};
use crate::report::{Failure, Report};
use crate::search::{Expected, Search};
use crate::system::System;
use misrule_models::{Event, Fields, Kind, LensSet, Model, NodeId, Position, Walk, Walked};
use std::fmt::{Debug, Display};

/// How steps of a system read as actions of a model.
pub trait Mapping<S: System>: 'static {
    /// The model.
    type Model: Model;

    /// A new execution: all nodes have started. A mapping that remembers views takes them here.
    fn reset(&mut self, _seen: &Seen<'_, S>) {}

    /// Appends what the step did, in order. A step that does nothing the model speaks of appends nothing or
    /// an [`Event::Ignored`]. Where the node [died](Seen::died) at a crash point, it appends what the model does
    /// when the node stops before the call (nothing, where the call is a start); what the call did to the disk is taken over when it starts again, as
    /// the deviation [`CRASH_POINT`], and then nothing counts that is appended.
    fn events(&mut self, seen: &Seen<'_, S>, out: &mut Vec<Event<<Self::Model as Model>::Action>>);

    /// Takes back the events of the last step, for the space they hold, and leaves none.
    fn recycle(&mut self, events: &mut Vec<Event<<Self::Model as Model>::Action>>) {
        events.clear();
    }

    /// Appends what the model would do by choices that can be made now, for strategies that plan; nothing where the mapping
    /// cannot tell. What the menu has is not all of it: a choice whose effect hangs on more than the step shows is left out.
    fn expects(
        &self,
        _seen: &Seen<'_, S>,
        _menu: &Menu,
        _out: &mut Vec<Expected<<Self::Model as Model>::Action>>,
    ) {
    }

    /// Sets the model's state from the implementation's views, after a declared deviation. Where it was the
    /// [`CRASH_POINT`] of one node, what the model knows of the others still holds: `only` is that node, and what
    /// the views do not show of others is better left as it is.
    fn project(&self, seen: &Seen<'_, S>, state: &mut <Self::Model as Model>::State, only: Option<NodeId>);

    /// Names the first thing in which the model's state after the events and the implementation differ. With
    /// `full` every variable that the views show is compared; otherwise only what the model must say for its
    /// verdicts to be sound, such as the messages sent in this step.
    fn compare(
        &self,
        seen: &Seen<'_, S>,
        state: &<Self::Model as Model>::State,
        full: bool,
    ) -> Option<String>;
}

/// What [`Mapping::compare`] says of a variable of a node: nothing where `theirs`, the implementation's, is the model's.
pub fn differ<T: PartialEq + Debug>(node: NodeId, variable: &str, theirs: &T, ours: &T) -> Option<String> {
    let text = || format!("{variable}: node {} has {theirs:?}, the model {ours:?}", node + 1);
    (theirs != ours).then(text)
}

/// The deviation that every follower declares: a node starts after it stopped in the middle of a call. What the call
/// had done by then, and what its disk keeps of that, no action says: the walk goes on from the node's view.
pub const CRASH_POINT: &str = "a node starts after it stopped in the middle of a call";

/// Follows a system with a model and judges it by the model: refusals, differences, properties, keys.
pub struct Follower<S: System, M: Mapping<S>> {
    mapping: M,
    walk: Walk<M::Model>,
    lenses: LensSet<<M::Model as Model>::State>,
    events: Vec<Event<<M::Model as Model>::Action>>,
    tally: Tally,
    /// Bit set of nodes that stopped at a crash point and have not started again.
    cut_short: u64,
    /// For each `sometimes` property, whether this execution has seen it.
    seen_now: Vec<bool>,
    /// Whether the parts of this execution's steps are timed.
    timed: bool,
}

/// What a follower remembers of an execution, for the snapshot of its judge.
pub struct Followed<M, State> {
    mapping: M,
    walk: Position<State>,
    cut_short: u64,
    seen_now: Vec<bool>,
}

impl<S: System, M: Mapping<S> + Clone> Follower<S, M> {
    /// A copy of what it remembers of the execution.
    pub fn save(&self) -> Followed<M, <M::Model as Model>::State> {
        Followed {
            mapping: self.mapping.clone(),
            walk: self.walk.position(),
            cut_short: self.cut_short,
            seen_now: self.seen_now.clone(),
        }
    }

    /// Goes on from what [`save`](Self::save) returned.
    pub fn load(&mut self, saved: &Followed<M, <M::Model as Model>::State>) {
        self.timed = probe::is_on();
        self.mapping.clone_from(&saved.mapping);
        self.walk.go_to(&saved.walk);
        self.cut_short = saved.cut_short;
        self.seen_now.clone_from(&saved.seen_now);
    }
}

impl<S: System, M: Mapping<S>> Follower<S, M> {
    /// A follower of `model` through `mapping` with lenses over the model's state.
    ///
    /// # Panics
    /// When the model has no initial state: an error of the model.
    pub fn new(model: M::Model, mapping: M, lenses: LensSet<<M::Model as Model>::State>) -> Self {
        let walk = Walk::new(model);
        let sometimes = walk.model().properties().iter().filter(|p| p.kind == Kind::Sometimes);
        let tally = Tally { sometimes: sometimes.map(|p| (p.name, 0)).collect(), ..Tally::default() };
        let seen_now = vec![false; tally.sometimes.len()];
        Self { mapping, walk, lenses, events: Vec::new(), tally, cut_short: 0, seen_now, timed: false }
    }

    /// A new execution. Call it from the judge's `reset`.
    pub fn reset(&mut self, seen: &Seen<'_, S>, report: &mut Report) {
        if seen.watch.model {
            self.timed = probe::is_on();
            self.walk.reset();
            self.mapping.reset(seen);
            self.cut_short = 0;
            self.seen_now.fill(false);
            self.judge(seen, true, true, report);
        }
    }

    /// Follows one step. Call it from the judge's `after`, also when another oracle has failed, so that a
    /// finding can be classified; it does nothing where the watch does not ask for the model.
    #[inline]
    pub fn after(&mut self, seen: &Seen<'_, S>, report: &mut Report) {
        if seen.watch.model {
            self.step(seen, report);
        }
    }

    fn step(&mut self, seen: &Seen<'_, S>, report: &mut Report) {
        self.tally.steps_followed += 1;
        self.mapping.recycle(&mut self.events);
        self.mapping.events(seen, &mut self.events);
        let resumes = self.resumes(seen);
        let starts = matches!(seen.choice, Choice::Restart { .. });
        if resumes || seen.died && starts {
            self.mapping.recycle(&mut self.events);
        }
        if resumes {
            self.events.push(Event::Deviation(CRASH_POINT));
        }
        let only = seen.node.filter(|_| resumes && self.walk.state().is_some());
        let timed = self.timed && !self.events.is_empty();
        if !probe::section(timed, Section::Model, || self.follow(report)) {
            return;
        }
        let lost = self.walk.lost();
        if lost {
            self.walk.resync(|state| self.mapping.project(seen, state, only));
        } else {
            self.tally.steps_walked += 1;
        }
        let moved = lost || self.events.iter().any(|event| matches!(event, Event::Action(_)));
        self.judge(seen, moved, !(resumes || seen.died), report);
    }

    /// Whether the step is the start of a node that stopped in the middle of a call.
    fn resumes(&mut self, seen: &Seen<'_, S>) -> bool {
        let bit = seen.node.map_or(0, |node| 1 << node);
        let stopped = self.cut_short & bit != 0;
        if seen.died {
            self.cut_short |= bit;
        } else if seen.up & bit != 0 {
            self.cut_short &= !bit;
        }
        stopped && !seen.died
    }

    /// Takes the events through the model; false where it refuses one.
    fn follow(&mut self, report: &mut Report) -> bool {
        for at in 0..self.events.len() {
            if let Event::Deviation(name) = self.events[at] {
                self.count_deviation(name);
            }
            if let Walked::Refused(refusal) = self.walk.follow(&self.events[at]) {
                let text = format!("the model refuses {}: {}", self.told(at), refusal.0);
                report.failure.get_or_insert(Failure::new("model", kebab(refusal.0), text));
                return false;
            }
        }
        true
    }

    fn told(&self, at: usize) -> String {
        match &self.events[at] {
            Event::Action(action) => format!("{action:?}"),
            _ => "an event".to_owned(),
        }
    }

    fn count_deviation(&mut self, name: &'static str) {
        match self.tally.deviations.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.tally.deviations.push((name, 1)),
        }
    }

    /// Judges the model's state. Where it has not moved, properties are what they were. It is compared with the
    /// implementation where the mapping has told all of the step.
    fn judge(&mut self, seen: &Seen<'_, S>, moved: bool, told: bool, report: &mut Report) {
        let mut difference = None;
        // Narrowing may settle which state it is.
        let moved = moved || self.walk.candidates().len() > 1;
        let (mapping, full) = (&self.mapping, seen.watch.conformance);
        let narrowed = self.walk.narrow(|state| {
            let found = if told { mapping.compare(seen, state, full) } else { None };
            let same = found.is_none();
            difference = found;
            same
        });
        if let (false, Some(what)) = (narrowed, difference) {
            let variable = what.split(':').next().unwrap_or_default();
            let text = format!("model and implementation differ in {what}");
            report.failure.get_or_insert(Failure::new("conformance", kebab(variable), text));
            return;
        }
        let Some(state) = self.walk.state() else { return };
        let properties = if moved { self.walk.model().properties() } else { &[] };
        probe::section(self.timed && moved, Section::Model, || {
            let mut sometimes = 0;
            for property in properties {
                match property.kind {
                    Kind::Always => {
                        if !(property.holds)(self.walk.model(), state) {
                            report.model_property = Some(property.name);
                            let text = format!("the model's property {} does not hold", property.name);
                            report.failure.get_or_insert(Failure::new("model-property", property.name, text));
                        }
                    }
                    Kind::Sometimes => {
                        if !self.seen_now[sometimes] && (property.holds)(self.walk.model(), state) {
                            self.seen_now[sometimes] = true;
                            self.tally.sometimes[sometimes].1 += 1;
                        }
                        sometimes += 1;
                    }
                }
            }
        });
        if seen.watch.keys && seen.touched != 0 {
            self.lenses.keys(state, seen.touched, &mut report.keys);
        }
    }

    /// Searches the model for a state that is wanted, from where it is; finds nothing while it is lost or ambiguous.
    pub fn plan(&self, seen: &Seen<'_, S>, menu: &Menu, search: &mut Search<'_>) {
        let Some(state) = self.walk.state().filter(|_| seen.watch.model && self.cut_short == 0) else {
            return;
        };
        let mut expected = Vec::new();
        self.mapping.expects(seen, menu, &mut expected);
        let unseen = |at: usize| self.tally.sometimes[at].1 == 0;
        search.from((self.walk.model(), state), &expected, (&self.lenses, seen.touched), &unseen);
    }

    /// The model's state, or `None` while it is lost or ambiguous.
    pub fn state(&self) -> Option<&<M::Model as Model>::State> {
        self.walk.state()
    }

    /// Shows the model's state.
    pub fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        if let Some(state) = self.walk.state() {
            state.fields(visit);
        }
    }

    /// What was counted.
    pub fn tally(&self) -> Tally {
        let transitions = self.walk.taken().collect();
        Tally { events: *self.walk.outcomes(), transitions, ..self.tally.clone() }
    }
}

/// A sentence fragment as a property name.
fn kebab(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}
