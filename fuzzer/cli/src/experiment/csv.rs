//! The figures as rows of named values: for CSV files and JSON.

use super::figures::{CellFigures, Comparison};
use super::page::Effort;
use super::row::End;
use serde_json::{Map, Value, json};

/// Named values, in order.
pub(crate) type Named = Vec<(&'static str, Value)>;

/// A number, or nothing where it is infinite or none.
fn number(value: f64) -> Value {
    json!(value.is_finite().then_some(value))
}

/// All figures of a cell.
pub(crate) fn cell(cell: &CellFigures<'_>) -> Named {
    let bug = cell.cell.bug;
    let (share, interval, mean, effort) =
        (cell.share(), cell.median_interval(), cell.mean(), Effort::of(cell));
    let some = !cell.times.is_empty();
    let if_some = |value: f64| if some { number(value) } else { Value::Null };
    let cells: Vec<String> = effort.cells.iter().map(|(lens, count)| format!("{lens} {count}")).collect();
    let found = cell.count(End::Found);
    vec![
        ("bug", json!(bug.name)),
        ("arm", json!(cell.cell.arm.name)),
        ("tier", json!(bug.tier)),
        ("budget", number(bug.budget.horizon())),
        ("unit", json!(bug.budget.unit())),
        ("campaigns_planned", json!(cell.planned)),
        ("campaigns_run", json!(cell.rows.len())),
        ("found", json!(found)),
        ("censored", json!(cell.count(End::Censored))),
        ("lost", json!(cell.count(End::Lost))),
        ("share", if_some(f64::from(found as u32) / f64::from(cell.times.len().max(1) as u32))),
        ("share_low", number(share.low)),
        ("share_high", number(share.high)),
        ("median", json!(cell.median())),
        ("median_low", number(interval.low)),
        ("median_high", number(interval.high)),
        ("mean_in_budget", if_some(mean.mean)),
        ("mean_standard_error", if_some(mean.standard_error)),
        ("steps_median", json!(effort.steps)),
        ("executions_median", json!(effort.executions)),
        ("cpu_seconds_median", json!(effort.cpu_seconds)),
        ("steps_per_second", json!(effort.steps_per_second)),
        ("steps_returning_share", json!(effort.returning)),
        ("cells_median", json!(cells.join("; "))),
        ("campaigns_with_others", json!(effort.others)),
    ]
}

/// All figures of a comparison.
pub(crate) fn comparison(comparison: &Comparison<'_>) -> Named {
    let (first, second) = (comparison.first, comparison.second);
    let verdict = comparison.verdict();
    let (effect, test) = (comparison.effect, comparison.test);
    let tested = comparison.corrected.is_some();
    let if_tested = |value: f64| if tested { number(value) } else { Value::Null };
    let interval = comparison.sooner_interval;
    vec![
        ("bug", json!(first.cell.bug.name)),
        ("arm", json!(first.cell.arm.name)),
        ("against", json!(second.cell.arm.name)),
        ("verdict", json!(verdict.kind.words())),
        ("campaigns", json!(first.times.len())),
        ("campaigns_against", json!(second.times.len())),
        ("median", json!(first.median())),
        ("median_against", json!(second.median())),
        ("times_sooner", number(comparison.sooner)),
        ("times_sooner_low", json!(interval.map(|interval| interval.low))),
        ("times_sooner_high", json!(interval.map(|interval| interval.high))),
        ("a12", number(effect.value)),
        ("a12_low", number(effect.interval.low)),
        ("a12_high", number(effect.interval.high)),
        ("log_rank_statistic", if_tested(test.statistic)),
        ("log_rank_p", if_tested(test.p)),
        ("log_rank_p_corrected", json!(comparison.corrected)),
        ("hazard_ratio", number(test.hazard_ratio)),
        ("campaigns_needed", json!(comparison.needed)),
        ("sentence", json!(verdict.text)),
    ]
}

/// As JSON objects.
pub(crate) fn objects(rows: &[Named]) -> Value {
    let pair = |(name, value): &(&'static str, Value)| ((*name).to_owned(), value.clone());
    rows.iter().map(|row| Value::Object(row.iter().map(pair).collect::<Map<_, _>>())).collect()
}

/// As a CSV file (RFC 4180) with a line of names.
pub(crate) fn csv(rows: &[Named]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut out = first.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        out += &row.iter().map(|(_, value)| field(value)).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, csv, objects};
    use serde_json::{Value, json};

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let rows: Vec<Named> = vec![vec![("a", json!("x,\"y\"")), ("b", json!(1.5)), ("c", Value::Null)]];
        assert_eq!(csv(&rows), "a,b,c\n\"x,\"\"y\"\"\",1.5,\n");
        assert_eq!(objects(&rows)[0]["b"], 1.5);
        assert_eq!(csv(&[]), "");
    }
}
