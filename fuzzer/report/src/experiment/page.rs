//! One page for an experiment, that stands alone: no network, no script, data escaped, light and dark, prints. Bugs
//! come first, coverage after: what guides is never the measure of success.

use super::{Chart, Experiment, MISSING, Table, Verdict, VerdictKind, chart};
use crate::html::{escape, prose};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// The page of an experiment.
pub fn experiment_page(experiment: &Experiment) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escape(&experiment.question)
    );
    for notice in &experiment.notices {
        let _ = writeln!(out, "<p class=\"notice\">{}</p>", prose(notice));
    }
    verdicts(&experiment.verdicts, &mut out);
    charts(
        "How long it takes",
        "Each curve is the share of campaigns that have not found the bug yet: lower is sooner. Bands hold 95 % at each \
         point; charts of more than four curves have none, and the tables have the intervals. A mark is where \
         campaigns ended with their budget.",
        &experiment.survival,
        &mut out,
    );
    for table in &experiment.tables {
        draw_table(table, &mut out);
    }
    charts(
        "Coverage",
        "Cells over time tell what a lens has seen, not what was found. Each curve is the median of the campaigns that \
         still ran then, with their quartiles where a chart has no more than four curves.",
        &experiment.coverage,
        &mut out,
    );
    pairs("Environment", &experiment.environment, false, &mut out);
    pairs("Commands", &experiment.commands, true, &mut out);
    out.push_str("</body>\n</html>\n");
    out
}

fn verdicts(verdicts: &[Verdict], out: &mut String) {
    if verdicts.is_empty() {
        return;
    }
    out.push_str("<h2>What was found out</h2>\n<ul class=\"verdicts\">\n");
    for verdict in verdicts {
        let (class, mark) = match verdict.kind {
            VerdictKind::Sooner => ("sooner", "&#9650;"),
            VerdictKind::Later => ("later", "&#9660;"),
            VerdictKind::Unknown => ("unknown", "?"),
            VerdictKind::Missing => ("unknown", "&#8211;"),
        };
        let _ = writeln!(
            out,
            "<li><span class=\"verdict {class}\">{mark} {}</span> <b>{}</b> {}</li>",
            verdict.kind.words(),
            escape(&verdict.about),
            prose(&verdict.text)
        );
    }
    out.push_str("</ul>\n");
}

fn charts(title: &str, caption: &str, charts: &[Chart], out: &mut String) {
    if charts.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{title}</h2>\n<p class=\"hint\">{caption}</p>\n<div class=\"charts\">");
    for one in charts {
        chart::draw(one, out);
    }
    out.push_str("</div>\n");
}

fn draw_table(table: &Table, out: &mut String) {
    let _ = writeln!(out, "<h2>{}</h2>", escape(&table.title));
    if !table.caption.is_empty() {
        let _ = writeln!(out, "<p class=\"hint\">{}</p>", prose(&table.caption));
    }
    let class = |at: usize| if at < table.words { "" } else { " class=\"n\"" };
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for (at, column) in table.columns.iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(at), escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        let faint = if row.iter().any(|cell| cell == MISSING) { " class=\"missing\"" } else { "" };
        let _ = write!(out, "<tr{faint}>");
        for (at, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(at), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn pairs(title: &str, pairs: &[(String, String)], code: bool, out: &mut String) {
    if pairs.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{title}</h2>\n<dl>");
    for (name, value) in pairs {
        let (name, value) = (escape(name), escape(value));
        let value = if code { format!("<code>{value}</code>") } else { value };
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests {
    use super::experiment_page;
    use crate::experiment::{
        Chart, Curve, CurvePoint, Experiment, MISSING, Table, Verdict, VerdictKind, Vertical,
    };

    const HOSTILE: &str = "</style><img src=x onerror=alert(1)>\"'&";

    fn text() -> String {
        HOSTILE.to_owned()
    }

    fn whole() -> Experiment {
        let point = CurvePoint { x: 1.0, y: 0.5, low: 0.2, high: 0.8 };
        let curve = Curve { name: text(), look: 0, points: vec![point], marks: vec![2.0] };
        let chart = |vertical| Chart {
            title: text(),
            caption: text(),
            horizontal: text(),
            horizontal_end: 2.0,
            vertical,
            curves: vec![curve.clone()],
        };
        Experiment {
            question: text(),
            notices: vec![text()],
            verdicts: vec![Verdict { kind: VerdictKind::Unknown, about: text(), text: text() }],
            survival: vec![chart(Vertical::Share)],
            tables: vec![Table {
                title: text(),
                caption: text(),
                columns: vec![text(), text()],
                rows: vec![vec![text(), "1".into()], vec![text(), MISSING.into()]],
                words: 1,
            }],
            coverage: vec![chart(Vertical::Count)],
            environment: vec![(text(), text())],
            commands: vec![(text(), text())],
        }
    }

    #[test]
    fn all_data_is_escaped_and_nothing_is_fetched() {
        let page = experiment_page(&whole());
        assert!(!page.contains("<img") && page.matches("</style>").count() == 1, "{page}");
        for forbidden in ["http:", "https:", "<script", "<link", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn bugs_come_first_and_coverage_after() {
        let page = experiment_page(&whole());
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
        let order = [
            "What was found out",
            "How long it takes",
            "<table>",
            ">Coverage<",
            ">Environment<",
            ">Commands<",
        ];
        assert!(order.map(place).is_sorted(), "{page}");
        assert_eq!(page.matches("<tr class=\"missing\">").count(), 1);
    }

    #[test]
    fn nothing_is_a_page_too() {
        let page = experiment_page(&Experiment::default());
        assert!(page.contains("</html>") && !page.contains("<h2>"), "{page}");
    }
}
