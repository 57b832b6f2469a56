//! Cells over time: the middle of a cell's campaigns.

use super::figures::CellFigures;
use super::row::{End, Row};
use misrule_report::experiment::{Chart, Curve, CurvePoint, Vertical};
use std::collections::BTreeMap;

/// Points of a curve, at times that grow by a constant factor.
const POINTS: i32 = 40;

/// Fewer campaigns than this have no middle.
const CAMPAIGNS_MIN: usize = 3;

/// One chart for each bug and set of lenses: counts of different lenses cannot be compared.
pub(super) fn charts(cells: &[CellFigures<'_>]) -> Vec<Chart> {
    let mut groups: BTreeMap<(usize, Vec<String>), Vec<Curve>> = BTreeMap::new();
    let mut bugs: Vec<&str> = Vec::new();
    for cell in cells {
        let bug = cell.cell.bug.name.as_str();
        if !bugs.contains(&bug) {
            bugs.push(bug);
        }
        let Some(lenses) = cell.rows.first().map(|row| row.lens.clone()).filter(|lenses| !lenses.is_empty())
        else {
            continue;
        };
        let curve = Curve { name: cell.cell.arm.name.clone(), points: points(&cell.rows), marks: Vec::new() };
        if !curve.points.is_empty() {
            groups.entry((bugs.len(), lenses)).or_default().push(curve);
        }
    }
    let end = |curves: &[Curve]| {
        curves.iter().filter_map(|curve| curve.points.last()).map(|p| p.x).fold(0.0, f64::max)
    };
    groups
        .into_iter()
        .map(|((bug, lenses), curves)| Chart {
            title: bugs[bug - 1].to_owned(),
            caption: format!("cells of {}", lenses.join(" and ")),
            horizontal: "seconds of wall time".to_owned(),
            horizontal_end: end(&curves),
            vertical: Vertical::Count,
            curves,
        })
        .collect()
}

/// Median and quartiles of the campaigns that still ran then.
fn points(rows: &[&Row]) -> Vec<CurvePoint> {
    let told: Vec<&&Row> =
        rows.iter().filter(|row| row.end != End::Lost && !row.coverage.is_empty()).collect();
    let first = told.iter().map(|row| row.coverage[0].2).fold(f64::INFINITY, f64::min);
    let last = told.iter().map(|row| row.seconds).fold(0.0, f64::max);
    if told.len() < CAMPAIGNS_MIN || first <= 0.0 || last <= first {
        return Vec::new();
    }
    let factor = last / first;
    let at = |point: i32| {
        let time = first * factor.powf(f64::from(point) / f64::from(POINTS));
        let running = told.iter().filter(|row| row.seconds >= time * (1.0 - 1e-9));
        let mut values: Vec<f64> = running.map(|row| cells_at(row, time)).collect();
        values.sort_by(f64::total_cmp);
        let quarter = |quarters: usize| values[quarters * (values.len() - 1) / 4];
        (values.len() >= CAMPAIGNS_MIN).then(|| CurvePoint {
            x: time,
            y: quarter(2),
            low: quarter(1),
            high: quarter(3),
        })
    };
    (0..=POINTS).map_while(at).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 cells")]
fn cells_at(row: &Row, time: f64) -> f64 {
    let sample = row.coverage.iter().rev().find(|(_, _, seconds, _)| *seconds <= time);
    sample.map_or(0.0, |(.., cells)| *cells as f64)
}

#[cfg(test)]
mod tests {
    use super::points;
    use crate::experiment::row::tests::row;
    use crate::experiment::row::{End, Row};

    #[test]
    fn only_campaigns_that_still_ran_count() {
        let ran = |campaign: u32, seconds: f64, cells: u64| Row {
            seconds,
            coverage: vec![(1, 1, 0.01, 1), (5, 5, 0.5, cells)],
            ..row("b", "a", campaign, End::Censored)
        };
        let rows = [ran(1, 1.0, 10), ran(2, 10.0, 20), ran(3, 10.0, 30), ran(4, 10.0, 40)];
        let points = points(&rows.iter().collect::<Vec<_>>());
        let (first, last) = (points[0], points[points.len() - 1]);
        assert!((first.y - 1.0).abs() < 1e-9 && (first.x - 0.01).abs() < 1e-9, "{first:?}");
        assert!((last.y - 30.0).abs() < 1e-9 && (last.x - 10.0).abs() < 1e-6, "{last:?}");
        assert!((last.low - 20.0).abs() < 1e-9 && (last.high - 30.0).abs() < 1e-9, "{last:?}");
        assert!(points.is_sorted_by(|a, b| a.x < b.x));
        assert!(super::points(&[&rows[0]]).is_empty(), "one campaign has no middle");
    }
}
