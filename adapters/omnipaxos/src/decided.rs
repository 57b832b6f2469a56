//! The oracle over decided entries: all servers decide the same log, and never less of it than before.

use crate::image::Image;
use misrule_models::NodeId;
use misrule_world::Failure;

/// The log that was decided first at each index, and what each server had decided last.
#[derive(Debug, Default)]
pub(crate) struct DecidedLogs {
    first: Vec<First>,
    /// For each node, the change of its image that was judged last.
    judged: Vec<u64>,
    /// For each node, the decided index then.
    indices: Vec<usize>,
}

/// The first decision of an index.
#[derive(Clone, Copy, Debug)]
struct First {
    node: NodeId,
    value: u32,
    /// Hash of the decided log up to and with this entry.
    hash: u64,
}

impl DecidedLogs {
    /// A new execution with empty disks.
    pub(crate) fn reset(&mut self, nodes: usize) {
        self.first.clear();
        self.judged.clear();
        self.judged.resize(nodes, 0);
        self.indices.clear();
        self.indices.resize(nodes, 0);
    }

    /// Judges what `node` keeps; constant time, but for entries decided for the first time.
    #[inline]
    pub(crate) fn check(&mut self, node: NodeId, image: &Image) -> Option<Failure> {
        let judged = &mut self.judged[usize::from(node)];
        if *judged == image.changes() {
            return None;
        }
        *judged = image.changes();
        self.judge(node, image)
    }

    fn judge(&mut self, node: NodeId, image: &Image) -> Option<Failure> {
        let at = usize::from(node);
        let (decided, before) = (image.decided(), self.indices[at]);
        self.indices[at] = decided;
        if decided > image.length() {
            return Some(hole(node, image));
        }
        let known = decided.min(self.first.len());
        if known > 0 && image.prefix_hash(known) != self.first[known - 1].hash {
            return Some(self.disagreement(node, image, known));
        }
        for index in known..decided {
            let (value, hash) = (image.values()[index], image.prefix_hash(index + 1));
            self.first.push(First { node, value, hash });
        }
        if decided < before {
            let text = format!("node {} had decided {before} entries and now only {decided}", node + 1);
            return Some(Failure::new("invariant", "decided-index-monotone", text));
        }
        None
    }

    /// Names the first entry in which the decided prefix of `node` differs; there is one below `known`.
    fn disagreement(&self, node: NodeId, image: &Image, known: usize) -> Failure {
        let same =
            (0..known).take_while(|index| image.prefix_hash(index + 1) == self.first[*index].hash).count();
        let index = same.min(known - 1);
        let First { node: other, value, .. } = self.first[index];
        let text = format!(
            "entry {} is decided as {} at node {}, and node {} has decided {value} there",
            index + 1,
            image.values()[index],
            node + 1,
            other + 1,
        );
        Failure::new("invariant", "decided-logs-agree", text)
    }
}

fn hole(node: NodeId, image: &Image) -> Failure {
    let text = format!(
        "node {} has decided {} entries, but its log has only {}",
        node + 1,
        image.decided(),
        image.length()
    );
    Failure::new("invariant", "decided-logs-agree", text)
}

#[cfg(test)]
mod tests {
    use super::DecidedLogs;
    use crate::image::{Image, Operation};

    fn image(values: &[u32], decided: usize) -> Image {
        let mut image = Image::default();
        image.apply(Operation::Write { from: 0, values });
        image.apply(Operation::Decided(decided));
        image
    }

    fn property(logs: &mut DecidedLogs, node: u8, image: &Image) -> Option<String> {
        logs.check(node, image).map(|failure| failure.property)
    }

    #[test]
    fn decided_logs_must_agree() {
        let mut logs = DecidedLogs::default();
        logs.reset(3);
        assert_eq!(property(&mut logs, 0, &image(&[1, 2, 3], 2)), None);
        assert_eq!(property(&mut logs, 1, &image(&[1, 2, 4], 3)), None);
        let failure = logs.check(2, &image(&[1, 5, 4], 2)).unwrap();
        assert_eq!(failure.property, "decided-logs-agree");
        assert_eq!(failure.message, "entry 2 is decided as 5 at node 3, and node 1 has decided 2 there");
    }

    #[test]
    fn a_decided_index_beyond_the_log_is_a_hole() {
        let mut logs = DecidedLogs::default();
        logs.reset(1);
        let failure = logs.check(0, &image(&[1], 2)).unwrap();
        assert_eq!(failure.message, "node 1 has decided 2 entries, but its log has only 1");
    }

    #[test]
    fn a_decided_index_never_goes_back() {
        let mut logs = DecidedLogs::default();
        logs.reset(1);
        let mut image = image(&[1, 2], 2);
        assert_eq!(property(&mut logs, 0, &image), None);
        image.apply(Operation::Decided(1));
        assert_eq!(property(&mut logs, 0, &image).as_deref(), Some("decided-index-monotone"));
        assert_eq!(property(&mut logs, 0, &image), None, "an image is judged once for each change");
    }
}
