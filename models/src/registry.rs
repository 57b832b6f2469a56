//! The models by name, for the command line: `model list`, `model check`, `model graph`. Nothing here has a
//! type parameter of a model, numbers and text come out.

use crate::raft::{self, Raft};
use crate::sequence_paxos::{Bounds, Network, Rules, SequencePaxos};
use crate::two_phase_commit::{RESOURCE_MANAGERS_MAX, Switches, TwoPhaseCommit};
use crate::{
    Bound, Canonical, Checked, Exploration, Limits, Model, ModelError, explore, state_graph, to_dot,
};

/// The models of this crate, in the order of `model list`.
pub fn models() -> Vec<Box<dyn Entry>> {
    vec![
        two_phase_commit(),
        two_phase_commit_faults(),
        sequence_paxos(),
        sequence_paxos_crate(),
        raft(),
        raft_lagging(),
    ]
}

/// The model called `name`.
///
/// # Errors
/// [`ModelError::UnknownModel`].
pub fn find(name: &str) -> Result<Box<dyn Entry>, ModelError> {
    let mut known = Vec::new();
    for entry in models() {
        if entry.about().name == name {
            return Ok(entry);
        }
        known.push(entry.about().name);
    }
    Err(ModelError::UnknownModel { name: name.to_owned(), known: known.join(", ") })
}

/// A model under a name.
pub trait Entry {
    /// What `model list` shows.
    fn about(&self) -> &About;

    /// Explores the model.
    ///
    /// # Errors
    /// [`ModelError::SizeOutOfRange`], [`ModelError::NoSymmetry`], and those of [`explore`].
    fn check(&self, size: u8, symmetry: Symmetry, limits: Limits) -> Result<CheckReport, ModelError>;

    /// The state graph as DOT.
    ///
    /// # Errors
    /// [`ModelError::SizeOutOfRange`], and those of [`state_graph`].
    fn graph(&self, size: u8, states_max: u32) -> Result<String, ModelError>;
}

/// A model's name and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Kebab-case name.
    pub name: &'static str,
    /// What it models, on one line.
    pub description: &'static str,
    /// The sizes it has.
    pub sizes: Sizes,
    /// Whether it can be checked with [`Symmetry::Reduce`].
    pub symmetry: bool,
}

/// The sizes a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// What a size counts, such as `resource managers`.
    pub meaning: &'static str,
    /// The smallest.
    pub min: u8,
    /// The largest. Large sizes may have more states than the limits admit.
    pub max: u8,
    /// The size taken when none is asked for.
    pub default: u8,
}

/// Whether symmetric states count once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// Every state counts.
    Keep,
    /// States that differ only by the naming of like nodes count once.
    Reduce,
}

/// What [`Entry::check`] found. Counts are as the `graph` module's documentation defines them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// The model's name.
    pub model: &'static str,
    /// The size checked.
    pub size: u8,
    /// Whether symmetric states counted once.
    pub symmetry: Symmetry,
    /// The counts and the properties, actions as text.
    pub found: Exploration<String>,
}

impl CheckReport {
    /// The limit that left states out, by name.
    pub fn bound(&self) -> Option<&'static str> {
        self.found.bound.map(Bound::name)
    }
}

/// A model as the registry keeps it.
pub struct Registered<M: Model> {
    about: About,
    make: fn(u8) -> Option<M>,
    canonical: Option<Canonical<M>>,
}

impl<M: Model> Registered<M> {
    /// A model named `name`. `make` gives the model of a size, or `None` where there is none; `canonical` the
    /// representative of symmetric states.
    pub fn entry(
        name: &'static str,
        description: &'static str,
        sizes: Sizes,
        make: fn(u8) -> Option<M>,
        canonical: Option<Canonical<M>>,
    ) -> Box<dyn Entry> {
        let about = About { name, description, sizes, symmetry: canonical.is_some() };
        Box::new(Self { about, make, canonical })
    }

    fn make(&self, size: u8) -> Result<M, ModelError> {
        let Sizes { meaning, min, max, .. } = self.about.sizes;
        let model = if (min..=max).contains(&size) { (self.make)(size) } else { None };
        model.ok_or(ModelError::SizeOutOfRange { model: self.about.name, size, min, max, meaning })
    }
}

impl<M: Model> Entry for Registered<M> {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, size: u8, symmetry: Symmetry, limits: Limits) -> Result<CheckReport, ModelError> {
        let model = self.make(size)?;
        let canonical = match (symmetry, self.canonical) {
            (Symmetry::Keep, _) => None,
            (Symmetry::Reduce, None) => return Err(ModelError::NoSymmetry { model: self.about.name }),
            (Symmetry::Reduce, canonical) => canonical,
        };
        let found = text(explore(&model, limits, canonical)?);
        Ok(CheckReport { model: self.about.name, size, symmetry, found })
    }

    fn graph(&self, size: u8, states_max: u32) -> Result<String, ModelError> {
        Ok(to_dot(&state_graph(&self.make(size)?, states_max)?))
    }
}

/// The same with actions as text.
fn text<A: std::fmt::Debug>(found: Exploration<A>) -> Exploration<String> {
    let action = |action: &A| format!("{action:?}");
    let checked = |Checked { name, kind, verdict, path }: Checked<A>| Checked {
        name,
        kind,
        verdict,
        path: path.iter().map(action).collect(),
    };
    Exploration {
        initial: found.initial,
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        bound: found.bound,
        properties: found.properties.into_iter().map(checked).collect(),
    }
}

const RESOURCE_MANAGERS: Sizes =
    Sizes { meaning: "resource managers", min: 1, max: RESOURCE_MANAGERS_MAX, default: 3 };

fn two_phase_commit() -> Box<dyn Entry> {
    Registered::entry(
        "two-phase-commit",
        "Gray and Lamport's two-phase commit, as published",
        RESOURCE_MANAGERS,
        |size| TwoPhaseCommit::new(size, Switches::default()),
        Some(TwoPhaseCommit::canonical),
    )
}

fn two_phase_commit_faults() -> Box<dyn Entry> {
    Registered::entry(
        "two-phase-commit-faults",
        "two-phase commit whose nodes crash and restart and whose coordinator gives up waiting",
        RESOURCE_MANAGERS,
        |size| TwoPhaseCommit::new(size, Switches { crash: true, timeout: true }),
        Some(TwoPhaseCommit::canonical),
    )
}

const NODES: Sizes = Sizes { meaning: "nodes", min: 2, max: 3, default: 2 };

/// Bounds within which a size is explored in seconds. With two nodes there is a fault to recover from, but no log
/// that conflicts; with three it is the other way round.
fn sequence_paxos_bounds(nodes: u8) -> Option<Bounds> {
    match nodes {
        2 => Some(Bounds { ballot_max: 1, entries_max: 2, faults_max: 1 }),
        3 => Some(Bounds { ballot_max: 1, entries_max: 1, faults_max: 0 }),
        _ => None,
    }
}

fn sequence_paxos() -> Box<dyn Entry> {
    Registered::entry(
        "sequence-paxos",
        "Ng, Haridi and Carbone's Sequence Paxos, as published, over links that keep order",
        NODES,
        |nodes| {
            let bounds = sequence_paxos_bounds(nodes)?;
            Some(SequencePaxos::bounded(nodes, Rules::paper(), Network::Fifo, bounds))
        },
        None,
    )
}

fn sequence_paxos_crate() -> Box<dyn Entry> {
    Registered::entry(
        "sequence-paxos-crate",
        "Sequence Paxos with the further rules of the crate omnipaxos 0.2.4",
        Sizes { max: 2, ..NODES },
        |nodes| {
            let bounds = sequence_paxos_bounds(nodes)?;
            Some(SequencePaxos::bounded(nodes, Rules::crate_0_2(), Network::Fifo, bounds))
        },
        None,
    )
}

fn raft() -> Box<dyn Entry> {
    Registered::entry(
        "raft",
        "Ongaro and Ousterhout's Raft, as published, whose disks keep up with memory",
        NODES,
        |nodes| Raft::new(nodes, raft::Rules::paper(), raft_bounds(nodes, 2)?),
        None,
    )
}

fn raft_lagging() -> Box<dyn Entry> {
    Registered::entry(
        "raft-lagging",
        "Raft whose disks lag behind memory, so that a crash may lose what no answer has told of",
        NODES,
        |nodes| Raft::new(nodes, raft::Rules::lagging(), raft_bounds(nodes, 1)?),
        None,
    )
}

/// Any message may arrive again, so that states are many: with two nodes there is a crash, with three there is none.
fn raft_bounds(nodes: u8, term_max: u32) -> Option<raft::Bounds> {
    let none = raft::Bounds::default();
    match nodes {
        2 => Some(raft::Bounds { term_max, entries_max: 1, faults_max: 1, ..none }),
        3 => Some(raft::Bounds { term_max: 1, entries_max: u32::from(term_max > 1), ..none }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Verdict};

    /// What the bounds of the default size leave out, by model.
    const NOT_SEEN: [(&str, &str); 4] = [
        ("sequence-paxos", "conflicting-suffix-truncated"),
        ("sequence-paxos-crate", "conflicting-suffix-truncated"),
        ("raft", "conflicting-suffix-truncated"),
        ("raft-lagging", "conflicting-suffix-truncated"),
    ];

    #[test]
    fn every_model_holds_at_its_smallest_size_and_default() {
        for entry in models() {
            let About { name, description, sizes, symmetry } = *entry.about();
            assert!(!description.is_empty() && (sizes.min..=sizes.max).contains(&sizes.default));
            let report = entry.check(sizes.default, Symmetry::Keep, Limits::default()).unwrap();
            assert_eq!((report.model, report.size, report.bound()), (name, sizes.default, None));
            for property in &report.found.properties {
                let good = match property.kind {
                    Kind::Always => Verdict::Holds,
                    Kind::Sometimes if NOT_SEEN.contains(&(name, property.name)) => Verdict::NotSeen,
                    Kind::Sometimes => Verdict::Seen,
                };
                assert_eq!(property.verdict, good, "{name}: {}", property.name);
            }
            if symmetry {
                let reduced = entry.check(sizes.default, Symmetry::Reduce, Limits::default()).unwrap();
                assert!(reduced.found.states < report.found.states);
            }
            assert!(entry.graph(sizes.min, 100_000).unwrap().starts_with("digraph"));
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = models().iter().map(|entry| entry.about().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), models().len());
    }

    #[test]
    fn paths_are_text() {
        let report = find("two-phase-commit").unwrap().check(1, Symmetry::Keep, Limits::default()).unwrap();
        let commits = report.found.properties.iter().find(|property| property.name == "commits").unwrap();
        assert_eq!(commits.path, ["RmPrepare(n2)", "TmRcvPrepared(n2)", "TmCommit", "RmRcvCommit(n2)"]);
    }

    #[test]
    fn errors_are_values_that_say_what_there_is() {
        let text = |error: ModelError| error.to_string();
        assert!(
            text(find("paxos").err().unwrap()).contains("no model is called `paxos`; there are: two-phase")
        );
        let entry = find("two-phase-commit").unwrap();
        let limits = Limits::default();
        for size in [0, 16, 255] {
            let error = entry.check(size, Symmetry::Keep, limits).unwrap_err();
            assert!(text(error).contains("sizes 1 to 15 (resource managers), not"));
            assert!(entry.graph(size, 10).is_err());
        }
        assert_eq!(entry.graph(3, 287), Err(ModelError::TooManyStates { limit: 287 }));
        assert!(entry.graph(3, 288).is_ok());
        let asymmetric = Registered::entry(
            "asymmetric",
            "a model without symmetry",
            RESOURCE_MANAGERS,
            |size| TwoPhaseCommit::new(size, Switches::default()),
            None,
        );
        let error = asymmetric.check(1, Symmetry::Reduce, limits).unwrap_err();
        assert_eq!(error, ModelError::NoSymmetry { model: "asymmetric" });
    }
}
