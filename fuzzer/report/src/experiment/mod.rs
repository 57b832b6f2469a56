//! What the page of an experiment is made of.

mod chart;
mod page;

pub use page::experiment_page;

/// An experiment as its page shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// What it was to answer.
    pub question: String,
    /// What makes it worth less, a sentence each.
    pub notices: Vec<String>,
    /// One for each comparison.
    pub verdicts: Vec<Verdict>,
    /// Curves of the share that has not been found yet.
    pub survival: Vec<Chart>,
    /// Tables about bugs, then about everything else.
    pub tables: Vec<Table>,
    /// Cells over time.
    pub coverage: Vec<Chart>,
    /// Names and values: machine, builds, registration.
    pub environment: Vec<(String, String)>,
    /// Commands to paste, each with what it does.
    pub commands: Vec<(String, String)>,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// The first one is sooner.
    Sooner,
    /// The first one is later.
    Later,
    /// Not enough to tell.
    Unknown,
    /// It has not been run.
    Missing,
}

impl VerdictKind {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Sooner => "sooner",
            Self::Later => "later",
            Self::Unknown => "not enough to tell",
            Self::Missing => "missing",
        }
    }
}

/// A comparison in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it says.
    pub kind: VerdictKind,
    /// What was compared.
    pub about: String,
    /// The sentence.
    pub text: String,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Heads of columns.
    pub columns: Vec<String>,
    /// Rows, as long as the heads. A row is faint where a cell of it is [`MISSING`].
    pub rows: Vec<Vec<String>>,
    /// So many columns at the left are words; the others are numbers.
    pub words: usize,
}

/// What stands where something has not been run.
pub const MISSING: &str = "missing";

/// What a chart's vertical axis is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vertical {
    /// From 0 to 1; curves are steps.
    #[default]
    Share,
    /// From 0 up; curves go straight from point to point.
    Count,
}

/// Curves over one axis of time, which is logarithmic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub caption: String,
    /// What the horizontal axis is, with its unit.
    pub horizontal: String,
    /// Where it ends.
    pub horizontal_end: f64,
    /// What the vertical axis is.
    pub vertical: Vertical,
    /// The curves, at most eight that can be told apart.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<CurvePoint>,
    /// Where something ended without a result.
    pub marks: Vec<f64>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CurvePoint {
    /// Where, on the axis of time.
    pub x: f64,
    /// The value from there on.
    pub y: f64,
    /// Lower end of the band.
    pub low: f64,
    /// Upper end of the band.
    pub high: f64,
}
