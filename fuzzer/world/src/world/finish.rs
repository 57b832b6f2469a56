//! The end of a step: the judge looks at it, and it is recorded.

use super::World;
use super::failures::panic_failure;
use crate::choice::Choice;
use crate::judge::{Judge, Seen};
use crate::log;
use crate::panics::{Unwound, guard};
use crate::probe::{self, Section};
use crate::report::Report;
use crate::search::Search;
use crate::system::System;
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Has the judge search its model between two steps. Where that panics nothing is found.
    pub(super) fn search(&self, search: &mut Search<'_>) {
        let seen = Seen {
            system: &self.system,
            watch: self.watch,
            choice: Choice::Restart { node: 0 },
            node: None,
            input: None,
            sends: &[],
            clients: &[],
            operations: &[],
            views: &self.views,
            up: self.menu.up,
            died: false,
            touched: self.menu.all_nodes(),
            links: &self.cx.links,
        };
        let _ = guard(|| self.judge.plan(&seen, &self.menu, search));
    }

    /// Lets the judge look at the step and finishes the record of it.
    #[inline]
    pub(super) fn finish(&mut self, node: Option<NodeId>, first: bool, report: &mut Report) {
        let watched = self.watch.model || self.watch.keys;
        let operations = match node {
            Some(node) if self.watch.model => self.disks[usize::from(node)].as_ref(),
            _ => None,
        };
        let seen = Seen {
            system: &self.system,
            watch: self.watch,
            choice: report.choice,
            node,
            input: if watched { self.input.as_ref() } else { None },
            sends: &self.sends,
            clients: &self.clients.events,
            operations: operations.map_or(&[], |disk| disk.operations()),
            views: &self.views,
            up: self.menu.up,
            died: self.died,
            touched: self.touched,
            links: &self.cx.links,
        };
        let judge = &mut self.judge;
        if report.failure.is_none() {
            let timed = self.timed;
            let result = guard(|| {
                probe::section(timed, Section::Judge, || {
                    if first { judge.reset(&seen, report) } else { judge.after(&seen, report) }
                });
            });
            if let Err(unwound) = result {
                judge_failed(*unwound, report);
            }
        }
        if self.watch.trace {
            self.record(node, first, report);
        }
    }

    #[inline(never)]
    pub(super) fn record(&mut self, node: Option<NodeId>, first: bool, report: &mut Report) {
        self.recorder.step.node = node;
        for at in 0..self.vocabulary.nodes {
            if (first || node == Some(at)) && self.menu.is_up(at) {
                self.recorder.view(at, &self.views[usize::from(at)]);
            }
        }
        let judge = &self.judge;
        self.recorder.model(|visit| judge.model_fields(visit));
        self.recorder.step.clients.clone_from(&self.clients.events);
        self.recorder.step.log = log::take();
        report.trace = Some(self.recorder.take());
    }
}

#[cold]
fn judge_failed(unwound: Unwound, report: &mut Report) {
    if let Unwound::Panicked(place) = unwound {
        let mut failure = panic_failure(place);
        failure.oracle = "judge";
        report.failure = Some(failure);
    }
}
