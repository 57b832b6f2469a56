//! The graph in Graphviz's DOT language.

use super::StateGraph;
use crate::{Fields, Model};
use petgraph::visit::EdgeRef;
use std::fmt::Write;

/// `graph` as DOT: a node for each state with its fields, an edge for each transition with its action, initial
/// states drawn bold. The same graph gives the same text.
pub fn to_dot<M: Model>(graph: &StateGraph<M>) -> String {
    let mut out = String::from("digraph states {\n  node [shape=box, fontname=monospace];\n");
    for node in graph.graph.node_indices() {
        let _ = write!(out, "  {} [label=\"", node.index());
        graph.graph[node].fields(&mut |name, value| {
            escape(&mut out, &format!("{name} = {value}"));
            out.push_str("\\l");
        });
        let style = if node.index() < graph.initial as usize { ", style=bold" } else { "" };
        let _ = writeln!(out, "\"{style}];");
    }
    for edge in graph.graph.edge_references() {
        let _ = write!(out, "  {} -> {} [label=\"", edge.source().index(), edge.target().index());
        escape(&mut out, &format!("{:?}", edge.weight()));
        out.push_str("\"];\n");
    }
    out.push_str("}\n");
    out
}

/// Appends `text` as the inside of a DOT string.
fn escape(out: &mut String, text: &str) {
    for symbol in text.chars() {
        match symbol {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}
