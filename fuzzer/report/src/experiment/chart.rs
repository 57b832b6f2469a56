//! Charts as SVG.

use super::{Chart, Curve, CurvePoint, Vertical};
use crate::html::escape;
use std::fmt::Write;

/// Size of a chart and of what is around the axes.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// Colours, and as many kinds of dashes.
const COLOURS: usize = 8;

/// More curves than this on one chart have no bands: bands over bands cannot be told apart.
const BANDS_MAX: usize = 4;

/// The widest part of the axis of time: five powers of ten.
const DECADES_MAX: f64 = 5.0;

/// Where a chart's values are on the picture.
struct Scale {
    /// Logarithms of both ends.
    from: f64,
    to: f64,
    top: f64,
}

impl Scale {
    fn of(chart: &Chart) -> Self {
        let end = if chart.horizontal_end > 0.0 { chart.horizontal_end } else { 1.0 };
        let to = end.log10();
        let first = chart.curves.iter().filter_map(|curve| curve.points.first()).map(|point| point.x);
        let first = first.filter(|x| *x > 0.0).fold(end / 10.0, f64::min);
        // A little room in front of the first point, and not too many powers of ten.
        let from = (first.log10() - 0.1).max(to - DECADES_MAX);
        let values = chart.curves.iter().flat_map(|curve| &curve.points).map(|point| point.high);
        let top = match chart.vertical {
            Vertical::Share => 1.0,
            Vertical::Count => round_up(values.fold(1.0, f64::max)),
        };
        Self { from, to, top }
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value.max(1e-300).log10() - self.from) / (self.to - self.from);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - (value / self.top).clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM)
    }
}

/// The next number of one digit, as 1, 2, 4, 6 or 8 with zeros: it divides well.
fn round_up(value: f64) -> f64 {
    let power = 10.0_f64.powf(value.log10().floor());
    let digits = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    digits.iter().map(|digit| digit * power).find(|round| *round >= value * (1.0 - 1e-9)).unwrap_or(value)
}

/// The chart with its title and a legend.
pub(super) fn draw(chart: &Chart, out: &mut String) {
    let scale = Scale::of(chart);
    let _ = write!(
        out,
        "<figure>\n<figcaption>{}</figcaption>\n<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\n",
        escape(&chart.title),
        escape(&chart.title)
    );
    axes(chart, &scale, out);
    if chart.curves.len() <= BANDS_MAX {
        for curve in &chart.curves {
            band(chart, curve, &scale, out);
        }
    }
    for curve in &chart.curves {
        line(chart, curve, &scale, out);
    }
    out.push_str("</svg>\n<ul class=\"legend\">\n");
    for curve in &chart.curves {
        let _ = writeln!(
            out,
            "<li><svg viewBox=\"0 0 34 10\" aria-hidden=\"true\"><path class=\"curve {}\" d=\"M1 5H33\"/></svg> {}</li>",
            look(curve),
            escape(&curve.name)
        );
    }
    out.push_str("</ul>\n");
    if !chart.caption.is_empty() {
        let _ = writeln!(out, "<p class=\"hint\">{}</p>", escape(&chart.caption));
    }
    out.push_str("</figure>\n");
}

/// The classes of a curve: its colour and its dashes. 64 curves differ in one of the two.
fn look(curve: &Curve) -> String {
    format!("c{} d{}", curve.look % COLOURS, (curve.look + curve.look / COLOURS) % COLOURS)
}

fn axes(chart: &Chart, scale: &Scale, out: &mut String) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for part in 0..=4 {
        let value = scale.top * f64::from(part) / 4.0;
        let y = scale.y(value);
        let label = match chart.vertical {
            Vertical::Share => format!("{:.0} %", value * 100.0),
            Vertical::Count => number(value),
        };
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for value in ticks(scale) {
        let x = scale.x(value);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 15.0,
            number(value)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 6.0,
        escape(&chart.horizontal)
    );
}

/// Powers of ten, with 2 and 5 of them where that leaves few.
fn ticks(scale: &Scale) -> Vec<f64> {
    let mut ticks = Vec::new();
    let wide = scale.to - scale.from > 2.5;
    let digits: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let mut power = scale.from.floor();
    while power <= scale.to {
        for digit in digits {
            let value = digit * 10.0_f64.powf(power);
            if (scale.from..=scale.to + 1e-9).contains(&value.log10()) {
                ticks.push(value);
            }
        }
        power += 1.0;
    }
    ticks
}

/// A number as short as it can be read.
fn number(value: f64) -> String {
    if value >= 1e6 {
        format!("{}M", value / 1e6)
    } else if value >= 10_000.0 {
        format!("{}k", value / 1e3)
    } else {
        // Rounds what powers of ten leave behind.
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

/// The corners of a curve: of steps where it is a share, which begins at 1.
fn corners(chart: &Chart, curve: &Curve, scale: &Scale, of: impl Fn(&CurvePoint) -> f64) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    let mut last = match chart.vertical {
        Vertical::Share => {
            corners.push((LEFT, scale.y(1.0)));
            Some(scale.y(1.0))
        }
        Vertical::Count => None,
    };
    for point in &curve.points {
        let (x, y) = (scale.x(point.x), scale.y(of(point)));
        if let Some(last) = &mut last {
            corners.push((x, std::mem::replace(last, y)));
        }
        corners.push((x, y));
    }
    // Where nothing is left the curve has ended.
    let ended = curve.points.last().is_some_and(|point| point.y <= 0.0);
    if let Some(last) = last.filter(|_| !ended) {
        corners.push((WIDTH - RIGHT, last));
    }
    corners
}

fn band(chart: &Chart, curve: &Curve, scale: &Scale, out: &mut String) {
    if curve.points.is_empty() {
        return;
    }
    let mut around = corners(chart, curve, scale, |point| point.high);
    around.extend(corners(chart, curve, scale, |point| point.low).into_iter().rev());
    let _ = writeln!(out, "<path class=\"band c{}\" d=\"{}z\"/>", curve.look % COLOURS, path(&around));
}

fn line(chart: &Chart, curve: &Curve, scale: &Scale, out: &mut String) {
    let corners = corners(chart, curve, scale, |point| point.y);
    if corners.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<path class=\"curve {}\" d=\"{}\"><title>{}</title></path>",
        look(curve),
        path(&corners),
        escape(&curve.name)
    );
    let height = |x: f64| {
        let before = curve.points.iter().rev().find(|point| point.x <= x);
        scale.y(before.map_or(scale.top, |point| point.y))
    };
    for mark in &curve.marks {
        let (x, y) = (scale.x(*mark), height(*mark));
        let colour = curve.look % COLOURS;
        let _ = writeln!(out, "<path class=\"mark c{colour}\" d=\"M{x:.1} {:.1}V{:.1}\"/>", y - 5.0, y + 5.0);
    }
}

fn path(corners: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (at, (x, y)) in corners.iter().enumerate() {
        let _ = write!(out, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Scale, draw, look, number, round_up, ticks};
    use crate::experiment::{Chart, Curve, CurvePoint, Vertical};

    #[test]
    fn axes_have_few_round_numbers() {
        let scale = |from: f64, to: f64| Scale { from: from.log10(), to: to.log10(), top: 1.0 };
        assert_eq!(
            ticks(&scale(0.9, 25.0)).iter().map(|t| number(*t)).collect::<Vec<_>>(),
            ["1", "2", "5", "10", "20"]
        );
        let wide = ticks(&scale(0.0008, 120.0));
        assert_eq!(
            wide.iter().map(|t| number(*t)).collect::<Vec<_>>(),
            ["0.001", "0.01", "0.1", "1", "10", "100"]
        );
        for (value, expected) in [(1.0, 1.0), (3.0, 4.0), (17.0, 20.0), (950.0, 1000.0), (4001.0, 6000.0)] {
            assert!((round_up(value) - expected).abs() < 1e-6, "{value}");
        }
        assert_eq!((number(20_000.0), number(4e6), number(0.5)), ("20k".into(), "4M".into(), "0.5".into()));
    }

    #[test]
    fn steps_begin_at_the_top_and_go_to_the_end() {
        let point = |x: f64, y: f64| CurvePoint { x, y, low: y - 0.1, high: y + 0.1 };
        let curve = Curve {
            name: "a<b".into(),
            look: 9,
            points: vec![point(1.0, 0.5), point(2.0, 0.25)],
            marks: vec![10.0],
        };
        let none = Curve { name: "none".into(), ..Curve::default() };
        let chart = Chart { horizontal_end: 10.0, curves: vec![curve, none], ..Chart::default() };
        let mut out = String::new();
        draw(&chart, &mut out);
        let drawn: Vec<&str> =
            out.lines().filter(|line| line.contains("class=\"curve") && line.contains("<title>")).collect();
        // Start, two steps of two corners each, end.
        assert!(drawn[0].contains("d=\"M52.0 10.0L") && drawn[0].matches('L').count() == 5, "{}", drawn[0]);
        assert!(drawn[1].contains("d=\"M52.0 10.0L448.0 10.0\""), "{}", drawn[1]);
        assert_eq!((out.matches("class=\"band").count(), out.matches("class=\"mark").count()), (1, 1));
        assert!(!out.contains("a<b") && !out.contains("NaN"), "{out}");
    }

    #[test]
    fn many_curves_differ_and_have_no_bands() {
        let point = CurvePoint { x: 1.0, y: 0.5, low: 0.4, high: 0.6 };
        let curve = |look| Curve { look, points: vec![point], ..Curve::default() };
        let drawn = |count: usize| {
            let chart =
                Chart { horizontal_end: 10.0, curves: (0..count).map(curve).collect(), ..Chart::default() };
            let mut out = String::new();
            draw(&chart, &mut out);
            out
        };
        let looks: std::collections::BTreeSet<String> = (0..64).map(|at| look(&curve(at))).collect();
        assert_eq!(looks.len(), 64);
        for look in &looks {
            // Solid is the one kind of dashes without a rule.
            for class in look.split(' ').filter(|class| *class != "d1") {
                assert!(include_str!("page.css").contains(&format!(".curve.{class}")), "{class}");
            }
        }
        assert_eq!(drawn(4).matches("class=\"band").count(), 4);
        assert_eq!(drawn(5).matches("class=\"band").count(), 0);
    }

    #[test]
    fn a_curve_ends_where_nothing_is_left() {
        let points = vec![CurvePoint { x: 1.0, y: 0.0, low: 0.0, high: 0.9 }];
        let curve = Curve { points, ..Curve::default() };
        let chart = Chart { horizontal_end: 10.0, curves: vec![curve], ..Chart::default() };
        let mut out = String::new();
        draw(&chart, &mut out);
        let drawn =
            out.lines().find(|line| line.contains("class=\"curve") && line.contains("<title>")).unwrap();
        assert_eq!(drawn.matches('L').count(), 2, "{drawn}");
    }

    #[test]
    fn hardly_anything_is_still_a_chart() {
        let empty = Chart { vertical: Vertical::Count, curves: vec![Curve::default()], ..Chart::default() };
        let at_zero = Curve { points: vec![CurvePoint::default()], ..Curve::default() };
        for chart in [empty, Chart { curves: vec![at_zero], ..Chart::default() }] {
            let mut out = String::new();
            draw(&chart, &mut out);
            assert!(out.ends_with("</figure>\n") && !out.contains("NaN") && !out.contains("inf"), "{out}");
        }
    }
}
