//! Snapshots: the state of an execution between two steps, copied, and taken up again.

use super::World;
use crate::clients::Clients;
use crate::clock::Clock;
use crate::disk::Disk;
use crate::judge::Judge;
use crate::links::Links;
use crate::menu::Menu;
use crate::report::Watch;
use crate::run::Snapshot;
use crate::system::{Draws, System};
use std::any::Any;

/// What an execution has come to. What is counted over all executions is no part of it.
struct Saved<S: System> {
    watch: Watch,
    nodes: Vec<Option<S::Node>>,
    disks: Vec<Option<Box<Disk>>>,
    views: Vec<S::View>,
    links: Links<S::Message>,
    draws: Draws,
    clients: Clients,
    menu: Menu,
    clock: Option<Box<Clock>>,
    cut_counted: Vec<bool>,
    clog_counted: Vec<bool>,
    judge: Box<dyn Any>,
}

impl<S: System, J: Judge<S>> World<S, J> {
    /// A snapshot, where the system and its judge offer one and no recovery runs.
    pub(super) fn save_state(&self) -> Option<Snapshot> {
        if self.recovery.is_some() || self.watch.trace {
            return None;
        }
        let fork = |node: &Option<S::Node>| match node {
            Some(running) => self.system.fork(running).map(Some),
            None => Some(None),
        };
        Some(Snapshot::new(Saved::<S> {
            judge: self.judge.save()?,
            nodes: self.nodes.iter().map(fork).collect::<Option<_>>()?,
            watch: self.watch,
            disks: self.disks.clone(),
            views: self.views.clone(),
            links: self.cx.links.clone(),
            draws: self.cx.draws.clone(),
            clients: self.clients.clone(),
            menu: self.menu.clone(),
            clock: self.clock.clone(),
            cut_counted: self.cut_counted.clone(),
            clog_counted: self.clog_counted.clone(),
        }))
    }

    /// Takes a snapshot up again, copying into what is there. Returns whether that was possible; nothing has changed
    /// where it was not.
    pub(super) fn take_up(&mut self, snapshot: &Snapshot, watch: Watch) -> bool {
        let Some(saved) = snapshot.get::<Saved<S>>() else { return false };
        let lacks = watch.model && !saved.watch.model || watch.keys && !saved.watch.keys;
        if watch.trace || lacks {
            return false;
        }
        let forked = saved.nodes.iter().map(|node| match node {
            Some(running) => self.system.fork(running).map(Some),
            None => Some(None),
        });
        let Some(nodes) = forked.collect::<Option<Vec<_>>>() else { return false };
        self.end_execution(watch);
        for (slot, node) in self.nodes.iter_mut().zip(nodes) {
            *slot = node;
        }
        self.disks.clone_from(&saved.disks);
        self.views.clone_from(&saved.views);
        self.cx.links.clone_from(&saved.links);
        self.cx.draws.clone_from(&saved.draws);
        self.clients.copy_from(&saved.clients);
        self.menu.clone_from(&saved.menu);
        self.clock.clone_from(&saved.clock);
        self.cut_counted.clone_from(&saved.cut_counted);
        self.clog_counted.clone_from(&saved.clog_counted);
        self.judge.load(&*saved.judge);
        true
    }
}
