//! Facets: parts of `pairs`, which a user combines on the command line to a lens of his own granularity.

use super::pairs::{Replica, Replicas};
use crate::{Key, KeyWriter, Lens};

/// The facets with one sentence each. A lens is some of them, joined by `+`: `role+commit`.
pub const FACETS: [(&str, &str); 7] = [
    ("up", "whether each of the two nodes runs"),
    ("role", "role and phase of each"),
    ("term", "which of them has the higher term or ballot"),
    ("log-term", "which has the higher term at the end of its log"),
    ("length", "which has the longer log"),
    ("commit", "which has decided more"),
    (
        "logs",
        "whether the logs are equal, one is the beginning of the other, they differ, or differ in what is decided",
    ),
];

/// A lens of some facets: for each pair of nodes one key, the same for (a, b) and (b, a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facets {
    /// Bit set of positions in [`FACETS`].
    set: u8,
}

impl Facets {
    /// The lens of a name such as `role+commit`; `None` where a part is no facet, or stands there twice.
    pub fn named(name: &str) -> Option<Self> {
        let mut set = 0;
        for part in name.split('+') {
            let at = FACETS.iter().position(|(facet, _)| *facet == part)?;
            if set & (1 << at) != 0 {
                return None;
            }
            set |= 1 << at;
        }
        Some(Self { set })
    }

    /// As [`named`](Self::named), of a name with its view behind: `role+commit@impl`.
    pub fn at(name: &str, view: &str) -> Option<Self> {
        Self::named(name.strip_suffix(view)?.strip_suffix('@')?)
    }

    fn code(self, a: &Replica, b: &Replica, logs: u64) -> u64 {
        let has = |at: u8| self.set & (1 << at) != 0;
        let mut key = KeyWriter::default();
        if has(0) {
            key.put(u64::from(a.up), 1).put(u64::from(b.up), 1);
        }
        if has(1) {
            key.put(u64::from(a.role), 3).put(u64::from(b.role), 3);
        }
        let numbers =
            [(&a.term, &b.term), (&a.log_term, &b.log_term), (&a.length, &b.length), (&a.commit, &b.commit)];
        for (at, (a, b)) in (2..).zip(numbers) {
            if has(at) {
                key.relation(a, b);
            }
        }
        if has(6) {
            key.put(logs, 2);
        }
        key.code()
    }
}

impl<V: Replicas + ?Sized> Lens<V> for Facets {
    fn keys(&self, view: &V, touched: u64, out: &mut Vec<Key>) {
        super::pairs::each_pair(view, touched, out, |a, b, logs| self.code(a, b, logs));
    }
}

#[cfg(test)]
mod tests {
    use super::{FACETS, Facets};
    use crate::presets::{LogRelation, Pairs, Replica, Replicas};
    use crate::{Key, Lens, NodeId};

    struct Cluster(Vec<Replica>);

    impl Replicas for Cluster {
        fn count(&self) -> NodeId {
            self.0.len() as NodeId
        }
        fn replica(&self, node: NodeId) -> Replica {
            self.0[usize::from(node)]
        }
        fn logs(&self, _: NodeId, _: NodeId) -> LogRelation {
            LogRelation::Conflict
        }
    }

    fn keys(lens: &dyn Lens<Cluster>, cluster: &Cluster) -> Vec<u64> {
        let mut out = Vec::<Key>::new();
        lens.keys(cluster, u64::MAX, &mut out);
        out.iter().map(|key| key.code).collect()
    }

    #[test]
    fn a_facet_tells_apart_what_it_names_and_nothing_else() {
        let base = Replica { up: true, role: 1, term: 5, log_term: 5, length: 5, commit: 5 };
        let changed = [
            Replica { up: false, ..base },
            Replica { role: 2, ..base },
            Replica { term: 6, ..base },
            Replica { log_term: 6, ..base },
            Replica { length: 6, ..base },
            Replica { commit: 6, ..base },
        ];
        let cluster = |other| Cluster(vec![base, other]);
        for (at, (name, _)) in FACETS.iter().enumerate() {
            let lens = Facets::named(name).unwrap();
            for (what, replica) in changed.iter().enumerate() {
                let differs = keys(&lens, &cluster(*replica)) != keys(&lens, &cluster(base));
                assert_eq!(differs, at == what, "{name}, change {what}");
            }
        }
        let logs = Facets::named("logs").unwrap();
        assert_eq!(keys(&logs, &cluster(base)), [LogRelation::Conflict as u64]);
    }

    #[test]
    fn all_facets_together_are_as_fine_as_pairs_and_the_order_of_a_pair_does_not_count() {
        let all = FACETS.map(|(name, _)| name).join("+");
        let all = Facets::named(&all).unwrap();
        let mut clusters = Vec::new();
        for number in 0..200_u64 {
            let bit = |at: u64| number >> at & 1;
            let a = Replica {
                up: bit(0) == 0,
                role: bit(1) as u8,
                term: bit(2),
                log_term: 1,
                length: bit(3),
                commit: bit(4),
            };
            let b = Replica {
                up: true,
                role: bit(5) as u8,
                term: 1,
                log_term: bit(6),
                length: 1,
                commit: bit(7),
            };
            clusters.push(Cluster(vec![a, b]));
            assert_eq!(keys(&all, &Cluster(vec![a, b])), keys(&all, &Cluster(vec![b, a])));
        }
        for one in &clusters {
            for other in &clusters {
                let same = |lens: &dyn Lens<Cluster>| keys(lens, one) == keys(lens, other);
                assert_eq!(same(&all), same(&Pairs));
            }
        }
    }

    #[test]
    fn names_are_facets_each_once() {
        assert_eq!(Facets::at("role+commit@impl", "impl"), Facets::named("commit+role"));
        for wrong in ["", "role+", "role+role", "rolle", "role,commit", "role@impl"] {
            assert_eq!(Facets::named(wrong), None, "{wrong}");
        }
        assert_eq!(Facets::at("role@impl", "model"), None);
    }
}
