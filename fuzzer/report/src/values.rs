//! What reports are made of.

/// A finding as reports show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Short name: number, property and fingerprint.
    pub name: String,
    /// The oracle that failed.
    pub oracle: String,
    /// The property that does not hold.
    pub property: String,
    /// What was seen, for people.
    pub message: String,
    /// The fingerprint, 16 hex digits.
    pub fingerprint: String,
    /// Whose fault it is, in a word.
    pub class: String,
    /// Why that class.
    pub evidence: String,
    /// Whether the regression corpus records it.
    pub known: bool,
    /// Target and version.
    pub target: String,
    /// Version and commit of misrule.
    pub build: String,
    /// Contract of the run.
    pub contract: String,
    /// Settings, defaults included.
    pub settings: Vec<(String, String)>,
    /// The schedule's seed of draws.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: u8,
    /// How many steps the execution took that found it.
    pub steps_found: usize,
    /// Executions that minimising took.
    pub executions_minimise: u64,
    /// Whether no single choice can be left out.
    pub minimal: bool,
    /// How many replays showed it again, and of how many.
    pub replayed: (u32, u32),
    /// The steps of the minimised schedule, the start first.
    pub steps: Vec<Step>,
    /// The number of the step that violates.
    pub violates: Option<usize>,
    /// Commands to paste, each with what it does.
    pub commands: Vec<(String, String)>,
}

/// One step of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Its number; 0 is the start.
    pub number: usize,
    /// The node that it was about, counted from 0.
    pub node: Option<u8>,
    /// The choice as a line of a schedule.
    pub choice: String,
    /// Input, sends, disk operations and draws, a line each.
    pub effects: Vec<String>,
    /// Fields of the implementation that changed.
    pub changes: Vec<Field>,
    /// Fields of the model that changed.
    pub model: Vec<Field>,
    /// Lines that the target logged.
    pub log: Vec<String>,
    /// Links onto which it put messages, in order: sender, receiver, and the position there, counted from 1.
    pub pushed: Vec<(u8, u8, u16)>,
    /// The message that the choice was about.
    pub taken: Option<Taken>,
    /// Whether it is a step of a recovery: computed, no line of the schedule.
    pub recovery: bool,
}

impl Step {
    /// The choice as tables show it: a step of a recovery is marked with `~`.
    pub fn shown_choice(&self) -> String {
        if self.recovery { format!("~ {}", self.choice) } else { self.choice.clone() }
    }
}

impl Finding {
    /// How small the schedule is: its steps, and those of the recovery that ends it.
    pub(crate) fn size(&self) -> String {
        let last = |recovery| {
            self.steps.iter().rfind(|step| step.recovery == recovery).map_or(0, |step| step.number)
        };
        match (last(false), last(true)) {
            (steps, 0) => format!("{steps} steps"),
            (steps, end) => format!("{steps} steps, then {} of recovery,", end - steps),
        }
    }
}

/// A message that a choice was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Sender.
    pub from: u8,
    /// Receiver.
    pub to: u8,
    /// Position on the link, counted from 1.
    pub position: u16,
    /// What became of it.
    pub fate: crate::Fate,
}

/// A field that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The field, with its node.
    pub name: String,
    /// Before; empty when it was not there.
    pub before: String,
    /// After.
    pub after: String,
}

impl Field {
    /// A field that changed from `before` to `after`.
    pub fn new(name: impl Into<String>, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { name: name.into(), before: before.into(), after: after.into() }
    }
}
