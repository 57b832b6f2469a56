//! One page for a finding, that stands alone: no network, no framework, data escaped, light and dark, prints.

use crate::lanes::{Arrow, Fate, arrows};
use crate::values::{Field, Finding, Step};
use std::fmt::Write;

/// More steps than this are not drawn; the page says so.
pub const STEPS_MAX: usize = 1000;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Pixels between two lanes, between two steps, and around the diagram.
const LANE: usize = 90;
const ROW: usize = 26;
const MARGIN: usize = 40;

/// `text` with what HTML would interpret replaced; control characters become visible escapes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Text in which names stand between backticks.
pub(crate) fn prose(text: &str) -> String {
    let escaped = escape(text);
    let mut out = String::with_capacity(escaped.len());
    for (at, part) in escaped.split('`').enumerate() {
        if at > 0 {
            out.push_str(if at % 2 == 1 { "<code>" } else { "</code>" });
        }
        out.push_str(part);
    }
    if escaped.matches('`').count() % 2 == 1 {
        out.push_str("</code>");
    }
    out
}

/// The page of a finding.
pub fn html_page(finding: &Finding) -> String {
    let shown = finding.steps.len().min(STEPS_MAX);
    // The violation is at the end, so that is what is kept.
    let left_out = finding.steps.len() - shown;
    let steps = &finding.steps[left_out..];
    let mut out = String::new();
    let title = format!("{}: {}", finding.property, finding.target);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    );
    head(finding, &mut out);
    if left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"notice\">Only the last {shown} of {} steps are drawn here; <code>show --full</code> and \
             trace.jsonl have all of them.</p>",
            finding.steps.len()
        );
    }
    out.push_str("<main>\n");
    table(steps, finding.violates, &mut out);
    diagram(finding, left_out, &mut out);
    let _ = write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn head(finding: &Finding, out: &mut String) {
    let known = if finding.known { " (known)" } else { "" };
    let _ = writeln!(
        out,
        "<header>\n<h1><span class=\"verdict\">violation</span> {}{known}</h1>\n<p>{}</p>\n<dl>",
        escape(&finding.property),
        prose(&finding.message)
    );
    let settings: Vec<String> = finding.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let small = format!(
        "from {} to {} in {} executions{}",
        finding.steps_found,
        finding.size(),
        finding.executions_minimise,
        if finding.minimal { "" } else { ", not minimal: the budget ran out" }
    );
    for (name, value) in [
        ("finding", finding.name.as_str()),
        ("oracle", &finding.oracle),
        ("class", &format!("{}: {}", finding.class, finding.evidence)),
        ("fingerprint", &finding.fingerprint),
        ("target", &finding.target),
        ("contract", &finding.contract),
        ("settings", &settings.join(" ")),
        ("seed of draws", &finding.seed.to_string()),
        ("minimised", &small),
        ("replayed", &format!("{} of {} times", finding.replayed.0, finding.replayed.1)),
        ("misrule", &finding.build),
    ] {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", prose(value));
    }
    for (word, command) in &finding.commands {
        let _ = writeln!(out, "<dt>{}</dt><dd><code>{}</code></dd>", escape(word), escape(command));
    }
    out.push_str(
        "</dl>\n<p class=\"hint\">Keys: down and up go from step to step, v to the violation. Cells hold what \
         a step changed.</p>\n</header>\n",
    );
}

fn table(steps: &[Step], violates: Option<usize>, out: &mut String) {
    out.push_str(
        "<table>\n<thead><tr><th>step</th><th>node</th><th>choice</th><th>implementation</th><th>model</th></tr>\
         </thead>\n<tbody>\n",
    );
    for step in steps {
        let bad = violates == Some(step.number);
        let class = if bad { " class=\"bad\"" } else { "" };
        let node = step.node.map_or_else(String::new, |node| format!("n{}", u32::from(node) + 1));
        let _ = write!(
            out,
            "<tr id=\"s{0}\"{class}><td>{0}</td><td>{node}</td><td>{1}{2}",
            step.number,
            escape(&step.shown_choice()),
            if bad { " <b>&#9664; violates</b>" } else { "" }
        );
        if !step.effects.is_empty() || !step.log.is_empty() {
            out.push_str("<details><summary>what it did</summary><pre>");
            for line in &step.effects {
                let _ = writeln!(out, "{}", escape(line));
            }
            for line in &step.log {
                let _ = writeln!(out, "log: {}", escape(line));
            }
            out.push_str("</pre></details>");
        }
        out.push_str("</td>");
        cell(&step.changes, out);
        cell(&step.model, out);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
}

fn cell(fields: &[Field], out: &mut String) {
    if fields.is_empty() {
        out.push_str("<td></td>");
        return;
    }
    out.push_str("<td class=\"changed\">");
    for field in fields {
        let (name, after) = (escape(&field.name), escape(&field.after));
        if field.before.is_empty() {
            let _ = write!(out, "<div>{name} <ins>{after}</ins></div>");
        } else {
            let _ = write!(
                out,
                "<div>{name} <del>{}</del> &#8594; <ins>{after}</ins></div>",
                escape(&field.before)
            );
        }
    }
    out.push_str("</td>");
}

/// Lanes, messages and steps; what lies before the steps drawn is cut off.
fn diagram(finding: &Finding, left_out: usize, out: &mut String) {
    let (nodes, violates) = (usize::from(finding.nodes), finding.violates);
    let steps = &finding.steps[left_out..];
    let (width, height) = (2 * MARGIN + LANE * nodes.max(1), 2 * MARGIN + ROW * steps.len());
    let bottom = height - MARGIN / 2;
    let _ = writeln!(
        out,
        "<svg role=\"img\" aria-label=\"messages between nodes, time goes down\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>"
    );
    for node in 0..nodes {
        let x = lane(node);
        let _ = writeln!(
            out,
            "<text class=\"lane\" x=\"{x}\" y=\"20\">n{}</text><line class=\"lane\" x1=\"{x}\" y1=\"28\" x2=\"{x}\" \
             y2=\"{bottom}\"/>",
            node + 1
        );
    }
    // Positions on links count all messages, so the whole trace is followed.
    for arrow in arrows(&finding.steps) {
        let taken = arrow.taken.map(|at| at.checked_sub(left_out));
        if taken == Some(None) || (taken.is_none() && arrow.sent < left_out) {
            continue;
        }
        let sent = arrow.sent.saturating_sub(left_out);
        draw(&Arrow { sent, taken: taken.flatten(), ..arrow }, steps, out);
    }
    for (at, step) in steps.iter().enumerate() {
        let _ = writeln!(out, "<text x=\"4\" y=\"{}\">{}</text>", row(at) + 4, step.number);
        let Some(node) = step.node.map(usize::from).filter(|node| *node < nodes) else { continue };
        let word = step.choice.split(' ').next().unwrap_or_default();
        let class = match word {
            _ if violates == Some(step.number) => "bad",
            "crash" | "restart" => "fault",
            _ => "event",
        };
        let _ = writeln!(
            out,
            "<circle class=\"{class}\" id=\"d{}\" cx=\"{}\" cy=\"{}\" r=\"5\"><title>{}: {}</title></circle>",
            step.number,
            lane(node),
            row(at),
            step.number,
            escape(&step.choice)
        );
        if matches!(word, "crash" | "restart") || class == "bad" {
            let text = if class == "bad" { "violates" } else { word };
            let (x, y) = (lane(node) + 9, row(at) + 4);
            let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
        }
    }
    out.push_str("</svg>\n");
}

/// A message: an arrow to where it was delivered, a line to a cross where it was lost, a stub while it waits.
fn draw(arrow: &Arrow, steps: &[Step], out: &mut String) {
    let (x1, y1) = (lane(usize::from(arrow.from)), row(arrow.sent));
    let end = lane(usize::from(arrow.to));
    let label = arrow.taken.and_then(|at| steps.get(at)).map_or("waits", |step| step.choice.as_str());
    let title = escape(label);
    match (arrow.fate, arrow.taken) {
        (Fate::Delivered, Some(at)) => {
            let y2 = row(at);
            let _ = writeln!(
                out,
                "<line class=\"sent\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{end}\" y2=\"{y2}\" marker-end=\"url(#tip)\">\
                 <title>{title}</title></line>"
            );
        }
        (Fate::Dropped, Some(at)) => {
            let (x2, y2) = (x1.midpoint(end), row(at));
            let _ = writeln!(
                out,
                "<path class=\"lost\" d=\"M{x1} {y1} {x2} {y2} M{0} {2} {1} {3} M{0} {3} {1} {2}\">\
                 <title>{title}</title></path>",
                x2.saturating_sub(5),
                x2 + 5,
                y2.saturating_sub(5),
                y2 + 5
            );
        }
        _ => {
            let x2 = if end >= x1 { x1 + LANE / 5 } else { x1.saturating_sub(LANE / 5) };
            let y2 = y1 + ROW / 3;
            let _ = writeln!(
                out,
                "<line class=\"waits\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"><title>waits at the end\
                 </title></line>"
            );
        }
    }
}

fn lane(node: usize) -> usize {
    MARGIN + LANE / 2 + LANE * node
}

fn row(step: usize) -> usize {
    MARGIN + ROW / 2 + ROW * step
}

#[cfg(test)]
mod tests {
    use super::{STEPS_MAX, escape, html_page, prose};
    use crate::values::{Field, Finding, Step, Taken};
    use crate::{Fate, arrows};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&\u{1b}\n";

    fn finding(steps: Vec<Step>) -> Finding {
        let violates = steps.last().map(|step| step.number);
        Finding { property: "safe".into(), nodes: 2, steps, violates, ..Finding::default() }
    }

    #[test]
    fn names_between_backticks_are_code() {
        assert_eq!(prose("`a<` or `b`"), "<code>a&lt;</code> or <code>b</code>");
        assert_eq!(prose("an odd `one"), "an odd <code>one</code>");
    }

    #[test]
    fn escape_leaves_nothing_to_interpret() {
        assert_eq!(escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(escape("é\u{1b}\n"), "é\\u{1b}\\n");
        assert!(!escape(HOSTILE).contains(['<', '>', '"', '\'', '\u{1b}']));
    }

    #[test]
    fn all_data_is_escaped() {
        let text = || HOSTILE.to_owned();
        let step = Step {
            number: 1,
            node: Some(0),
            choice: text(),
            effects: vec![text()],
            changes: vec![Field::new(text(), text(), text())],
            model: vec![Field::new(text(), "", text())],
            log: vec![text()],
            ..Step::default()
        };
        let page = html_page(&Finding {
            name: text(),
            oracle: text(),
            property: text(),
            message: text(),
            fingerprint: text(),
            class: text(),
            evidence: text(),
            target: text(),
            build: text(),
            contract: text(),
            settings: vec![(text(), text())],
            commands: vec![(text(), text())],
            ..finding(vec![step])
        });
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains("http:") && !page.contains("https:"), "no network");
    }

    #[test]
    fn messages_are_arrows_crosses_and_stubs() {
        let taken = |position, fate| Some(Taken { from: 0, to: 1, position, fate });
        let steps = vec![
            Step { pushed: vec![(0, 1, 1), (0, 1, 2), (0, 1, 3)], choice: "start".into(), ..Step::default() },
            Step { number: 1, node: Some(1), taken: taken(1, Fate::Delivered), ..Step::default() },
            Step { number: 2, taken: taken(1, Fate::Dropped), ..Step::default() },
        ];
        assert_eq!(arrows(&steps).len(), 3);
        let page = html_page(&finding(steps));
        for class in ["class=\"sent\"", "class=\"lost\"", "class=\"waits\""] {
            assert_eq!(page.matches(class).count(), 1, "{class}");
        }
        assert!(page.contains("id=\"s2\" class=\"bad\""));
    }

    #[test]
    fn long_traces_are_cut_with_a_notice() {
        let steps = (0..STEPS_MAX + 5).map(|number| Step { number, ..Step::default() }).collect();
        let page = html_page(&finding(steps));
        assert!(page.contains("Only the last 1000 of 1005 steps"));
        assert_eq!(page.matches("<tr id=").count(), STEPS_MAX);
        assert!(page.contains("id=\"s1004\" class=\"bad\""));
        assert!(html_page(&Finding::default()).contains("</html>"));
    }
}
