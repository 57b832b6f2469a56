//! Acknowledged writes, to be found again.

use crate::clients::{Answer, Call, ClientEvent};
use crate::report::{Failure, Report};
use misrule_history::survival::check_survival;

/// How often a retried write may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Once: the target recognises a call that it has seen before.
    Never,
    /// Once for each time that it was asked.
    AsOftenAsAsked,
}

/// Remembers which writes of clients were acknowledged, and checks that they survive: for targets whose writes are told
/// apart by their argument and never overwritten, such as logs.
pub struct Writes {
    operations: Vec<u8>,
    repeats: Repeats,
    acknowledged: Vec<u32>,
    unknown: Vec<u32>,
    /// Writes that wait: the call, its argument, and how often it was asked.
    open: Vec<(Call, u32, u32)>,
    /// Buffer: unknown writes and those that wait.
    maybe: Vec<u32>,
}

impl Writes {
    /// `operations` are the positions of those that write, in the vocabulary's operations.
    pub fn new(operations: &[u8], repeats: Repeats) -> Self {
        Self {
            operations: operations.to_vec(),
            repeats,
            acknowledged: Vec::new(),
            unknown: Vec::new(),
            open: Vec::new(),
            maybe: Vec::new(),
        }
    }

    /// A new execution.
    pub fn reset(&mut self) {
        self.acknowledged.clear();
        self.unknown.clear();
        self.open.clear();
    }

    /// The arguments of acknowledged writes, in the order in which they were acknowledged.
    pub fn acknowledged(&self) -> &[u32] {
        &self.acknowledged
    }

    /// Takes note of what clients did and saw in a step.
    pub fn after(&mut self, clients: &[ClientEvent]) {
        for event in clients {
            match *event {
                ClientEvent::Asked { call, operation, argument, .. } => {
                    if self.operations.contains(&operation) {
                        self.open.push((call, argument, 1));
                    }
                }
                ClientEvent::Retried { call, .. } => {
                    if let Some((_, _, asked)) = self.open.iter_mut().find(|(open, ..)| *open == call) {
                        *asked += 1;
                    }
                }
                ClientEvent::Answered { call, answer } => self.ended(call, Some(answer)),
                ClientEvent::Abandoned { call } => self.ended(call, None),
            }
        }
    }

    /// Checks the target's contents, in any order: every acknowledged write is there, nothing is there that nobody
    /// wrote, and nothing more often than it may be. Puts a failure into the report if there is none yet.
    pub fn check(&mut self, contents: &[u32], report: &mut Report) {
        self.maybe.clone_from(&self.unknown);
        for (_, argument, asked) in &self.open {
            let copies = if self.repeats == Repeats::Never { 1 } else { *asked };
            self.maybe.extend((0..copies).map(|_| *argument));
        }
        let survival = check_survival(&self.acknowledged, contents, &self.maybe);
        for (wrong, property, what) in [
            (&survival.lost, "acknowledged-writes-survive", "acknowledged and lost"),
            (&survival.invented, "writes-were-asked-for", "there, and nobody asked for it"),
            (&survival.repeated, "writes-are-not-repeated", "there too often"),
        ] {
            if let Some(argument) = wrong.first() {
                let text = format!("{argument} is {what} ({} in all)", wrong.len());
                report.failure.get_or_insert(Failure::new("history", property, text));
            }
        }
    }

    fn ended(&mut self, call: Call, answer: Option<Answer>) {
        let Some(at) = self.open.iter().position(|(open, ..)| *open == call) else { return };
        let (_, argument, asked) = self.open.remove(at);
        let again = if self.repeats == Repeats::Never { 0 } else { asked - 1 };
        match answer {
            // Nothing was written, however often it was asked.
            Some(Answer::Failed | Answer::Bool(false)) => return,
            Some(_) => self.acknowledged.push(argument),
            None => self.unknown.push(argument),
        }
        self.unknown.extend((0..again).map(|_| argument));
    }
}
