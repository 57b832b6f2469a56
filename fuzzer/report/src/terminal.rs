//! Text for terminals. Escape sequences are written only with [`Style::Colour`]; control characters of the
//! target never reach the terminal.

use crate::values::{Field, Finding, Step};
use std::fmt::Write;

/// Whether to write escape sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    #[default]
    Plain,
    /// With colours.
    Colour,
}

/// How much of a trace to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Long traces lose their middle, long values their end, both with a notice.
    Short,
    /// Everything, with what each step did.
    Full,
}

const RED: &str = "1;31";
const CYAN: &str = "36";
const DIM: &str = "2";

/// Lines are broken between fields beyond this width.
const WIDTH: usize = 118;
/// Choices are padded to at most this width.
const CHOICE_WIDTH_MAX: usize = 44;
/// Longer values are cut with [`Detail::Short`].
const VALUE_CHARS_MAX: usize = 48;
/// Longer traces lose their middle with [`Detail::Short`]: so many steps are kept at either end.
const HEAD: usize = 12;
const TAIL: usize = 28;

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// `text` on one line, control characters replaced by escapes.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A finding: what is violated, the steps, how it was made small, whose fault it is, what to do next.
pub fn finding(finding: &Finding, style: Style) -> String {
    let mut out = String::new();
    let known = if finding.known { " (known)" } else { "" };
    let last = finding.steps.last().map_or(0, |step| step.number);
    let word = style.paint(RED, "violation");
    let _ = write!(out, "{word}  {}: {}{known}", clean(&finding.property), clean(&finding.message));
    let _ = writeln!(
        out,
        "\n           finding {}, step {} of {last}\n",
        clean(&finding.name),
        finding.violates.unwrap_or(last)
    );
    out.push_str(&steps(&finding.steps, finding.violates, Detail::Short, style));
    let minimal = if finding.minimal { "" } else { ", not minimal: the budget ran out" };
    let _ = writeln!(
        out,
        "\nminimized  from {} to {} in {} executions{minimal}; replayed {} of {} times",
        grouped(finding.steps_found as u64),
        finding.size(),
        grouped(finding.executions_minimise),
        finding.replayed.0,
        finding.replayed.1
    );
    let _ = writeln!(out, "class      {}: {}", finding.class, clean(&finding.evidence));
    for (word, command) in &finding.commands {
        let _ = writeln!(out, "{word:<10} {}", clean(command));
    }
    out
}

/// A trace as a table: number, node, choice, and what the step changed.
pub fn steps(steps: &[Step], violates: Option<usize>, detail: Detail, style: Style) -> String {
    let mut out = String::new();
    let widest = steps.iter().map(|step| step.shown_choice().chars().count()).max().unwrap_or(0);
    let largest = steps.last().map_or(0, |step| step.number);
    let table = Table {
        width: widest.min(CHOICE_WIDTH_MAX),
        number_width: largest.to_string().len().max(2),
        violates,
        detail,
        style,
    };
    let cut = detail == Detail::Short && steps.len() > HEAD + TAIL + 1;
    for (at, step) in steps.iter().enumerate() {
        if cut && at == HEAD {
            let left_out = steps.len() - HEAD - TAIL;
            let _ = writeln!(out, "       ... {left_out} steps left out, `show --full` has them ...");
        }
        if !cut || at < HEAD || at >= steps.len() - TAIL {
            table.row(step, &mut out);
        }
    }
    out
}

/// The right-hand side of a row, broken between items.
struct Line<'a> {
    out: &'a mut String,
    indent: usize,
    column: usize,
}

impl Line<'_> {
    /// Goes to the next line.
    fn next(&mut self) {
        self.column = self.indent + 2;
        let _ = write!(self.out, "\n{:width$}", "", width = self.column);
    }

    /// Appends `shown`, which is `text` perhaps with colours, behind `gap` spaces or on the next line.
    fn item(&mut self, gap: usize, text: &str, shown: &str) {
        let (length, start) = (text.chars().count(), self.indent + 2);
        if self.column + gap + length > WIDTH && self.column > start {
            self.next();
        }
        if self.column != start {
            let _ = write!(self.out, "{:gap$}", "");
            self.column += gap;
        }
        self.out.push_str(shown);
        self.column += length;
    }
}

struct Table {
    width: usize,
    number_width: usize,
    violates: Option<usize>,
    detail: Detail,
    style: Style,
}

impl Table {
    fn row(&self, step: &Step, out: &mut String) {
        let bad = self.violates == Some(step.number);
        let mark = if bad { self.style.paint(RED, ">") } else { " ".to_owned() };
        let number = format!("{:>width$}", step.number, width = self.number_width);
        let node = step.node.map_or_else(|| "-".to_owned(), |node| format!("n{}", u32::from(node) + 1));
        let left = format!(" {mark} {}  {node:<3} ", self.style.paint(DIM, &number));
        let choice = format!("{:<width$}", step.shown_choice(), width = self.width);
        out.push_str(&left);
        out.push_str(&choice);
        let margin = self.number_width + 9;
        let mut line = Line { out, indent: margin + self.width, column: margin + choice.chars().count() };
        // The start sets every field; only the steps after it tell of changes.
        if step.number > 0 || self.detail == Detail::Full {
            let changes = self.fields(&step.changes, "");
            let model = self.fields(&step.model, "model.");
            let length = |items: &[String]| items.iter().map(|item| item.chars().count() + 1).sum::<usize>();
            let broken = line.column + length(&changes) + length(&model) + 2 > WIDTH;
            for (at, text) in changes.iter().enumerate() {
                line.item(if at == 0 { 2 } else { 1 }, text, text);
            }
            for (at, text) in model.iter().enumerate() {
                if at == 0 && broken && !changes.is_empty() {
                    line.next();
                }
                line.item(if at == 0 { 2 } else { 1 }, text, &self.style.paint(CYAN, text));
            }
        }
        if bad {
            line.item(2, "<- violates", &self.style.paint(RED, "<- violates"));
        }
        let end = out.trim_end_matches(' ').len();
        out.truncate(end);
        out.push('\n');
        if self.detail == Detail::Full {
            for effect in &step.effects {
                let _ = writeln!(out, "{:margin$}{}", "", self.style.paint(DIM, &clean(effect)));
            }
        }
    }

    /// The fields with `prefix`, separated by commas.
    fn fields(&self, fields: &[Field], prefix: &str) -> Vec<String> {
        let last = fields.len().saturating_sub(1);
        let comma = |at| if at < last { "," } else { "" };
        fields
            .iter()
            .enumerate()
            .map(|(at, field)| format!("{prefix}{}{}", self.field(field), comma(at)))
            .collect()
    }

    fn field(&self, field: &Field) -> String {
        let value = |text: &str| match clean(text) {
            text if text.is_empty() => "-".to_owned(),
            text if self.detail == Detail::Short && text.chars().count() > VALUE_CHARS_MAX => {
                // What changed is mostly at the end of a log, so that is what stays.
                let skip = text.chars().count() - VALUE_CHARS_MAX;
                format!("…{}", text.chars().skip(skip).collect::<String>())
            }
            text => text,
        };
        format!("{} {} -> {}", clean(&field.name), value(&field.before), value(&field.after))
    }
}

/// A number with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Detail, Style, clean, finding, grouped, steps};
    use crate::values::{Field, Finding, Step};

    fn step(number: usize) -> Step {
        Step {
            number,
            node: Some(0),
            choice: "timer 1 tick".to_owned(),
            changes: vec![Field::new("n1.count", number.to_string(), (number + 1).to_string())],
            ..Step::default()
        }
    }

    #[test]
    fn finding_reads_as_documented() {
        let mut last = step(2);
        last.model = vec![Field::new("count", "2", "3")];
        let shown = finding(
            &Finding {
                name: "0001-count-bounded".into(),
                property: "count-bounded".into(),
                message: "3 is too much".into(),
                class: "implementation".into(),
                evidence: "no other rule".into(),
                steps: vec![step(0), step(1), last],
                violates: Some(2),
                steps_found: 1234,
                executions_minimise: 56,
                minimal: true,
                replayed: (3, 3),
                commands: vec![("replay".into(), "misrule replay a.schedule".into())],
                ..Finding::default()
            },
            Style::Plain,
        );
        let expected = "\
violation  count-bounded: 3 is too much
           finding 0001-count-bounded, step 2 of 2

    0  n1  timer 1 tick
    1  n1  timer 1 tick  n1.count 1 -> 2
 >  2  n1  timer 1 tick  n1.count 2 -> 3  model.count 2 -> 3  <- violates

minimized  from 1,234 to 2 steps in 56 executions; replayed 3 of 3 times
class      implementation: no other rule
replay     misrule replay a.schedule
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn long_traces_lose_their_middle_with_a_notice() {
        let trace: Vec<Step> = (0..100).map(step).collect();
        let short = steps(&trace, None, Detail::Short, Style::Plain);
        assert!(short.contains("... 60 steps left out"), "{short}");
        assert_eq!(short.lines().count(), 41);
        assert_eq!(steps(&trace, None, Detail::Full, Style::Plain).lines().count(), 100);
    }

    #[test]
    fn wide_rows_are_broken_and_long_values_cut() {
        let mut wide = step(1);
        wide.changes =
            (0..8).map(|at| Field::new(format!("n1.field{at}"), "a".repeat(100), "b".repeat(9))).collect();
        let text = steps(&[wide], None, Detail::Short, Style::Plain);
        assert!(text.lines().count() > 4 && text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert!(text.contains('…'));
    }

    #[test]
    fn nothing_of_the_target_controls_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        let text = steps(&[step(1)], Some(1), Detail::Short, Style::Colour);
        assert!(text.contains("\u{1b}[1;31m>"));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
