//! Automata as text: dot for eyes, HOA and JSON for programs. docs/automata.md describes all three.

use std::fmt::Write;

use tracelaw_runtime::{Automaton, Verdict};

use super::{Edge, TooManyPaths, edges};
use crate::Compiled;

/// Longest line of an edge's label in a drawing.
const LABEL_WIDTH: usize = 32;

/// The automaton as a directed graph for Graphviz: shapes and colours by verdict, edges that break the rule in red.
///
/// # Errors
/// When a state's edges are too many to write.
pub fn dot(compiled: &Compiled, vocabulary: &[String], title: &str) -> Result<String, TooManyPaths> {
    let automaton = &compiled.automaton;
    let title = dot_string(title);
    let mut out = format!(
        "digraph {title} {{\n  rankdir=LR;\n  label={title};\n  labelloc=t;\n  \
         node [fontname=\"Helvetica\", style=filled];\n  edge [fontname=\"Courier\", fontsize=11];\n  \
         start [shape=point];\n  start -> {};\n",
        automaton.initial()
    );
    let mut breaches = false;
    let mut used = Vec::new();
    for state in 0..automaton.state_len() {
        let verdict = automaton.verdict(state);
        used.push(verdict);
        line(&mut out, format_args!("  {state} [{}, tooltip=\"{verdict}\"];", look(verdict)));
        for edge in edges(automaton, state)? {
            let label = dot_string(&edge.guard.lines(vocabulary, LABEL_WIDTH));
            let colour = if edge.breach { ", color=red, fontcolor=red" } else { "" };
            breaches |= edge.breach;
            line(&mut out, format_args!("  {state} -> {} [label={label}{colour}];", edge.target));
        }
    }
    used.sort_unstable();
    used.dedup();
    out.push_str(
        "  subgraph cluster_legend {\n    label=\"\";\n    peripheries=0;\n    node [fontsize=9, margin=0.02];\n",
    );
    for verdict in used {
        line(&mut out, format_args!("    legend_{verdict} [{}, label=\"{verdict}\"];", look(verdict)));
    }
    if breaches {
        out.push_str(
            "    legend_breach [shape=plaintext, style=\"\", fontcolor=red, label=\"red: the event breaks the rule\"];\n",
        );
    }
    out.push_str("  }\n}\n");
    Ok(out)
}

/// Double lines where the rule holds if the trace ends there, as in textbooks; corners where the verdict is final.
fn look(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Violated => "shape=octagon, fillcolor=\"#f4b6b0\"",
        Verdict::Pending => "shape=circle, fillcolor=\"#fbe7a1\"",
        Verdict::Holding => "shape=doublecircle, fillcolor=\"#dcebfa\"",
        Verdict::Satisfied => "shape=doubleoctagon, fillcolor=\"#bfe3b4\"",
    }
}

/// A quoted string of the dot language that shows as `text`.
fn dot_string(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // Else it would be read as the start of `&lt;` and the like.
            '&' if rest.peek().is_some_and(|c| c.is_ascii_alphanumeric() || *c == '#') => {
                out.push_str("&amp;")
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The automaton in the Hanoi Omega-Automata format, version 1: deterministic, complete, states that end an accepted
/// trace in acceptance set 0. The propositions are those that the automaton tests.
///
/// The automaton should be one without marks of breaches ([`crate::Options::after_violation`] `None`): the format has no
/// place for them.
///
/// # Errors
/// When a state's edges are too many to write.
pub fn hoa(compiled: &Compiled, vocabulary: &[String], title: &str) -> Result<String, TooManyPaths> {
    let automaton = &compiled.automaton;
    let (all, props) = all_edges(automaton)?;
    let mut out = format!(
        "HOA: v1\nname: {}\ntool: \"tracelaw\" \"{}\"\nStates: {}\nStart: {}\nAP: {}",
        quoted(title),
        env!("CARGO_PKG_VERSION"),
        automaton.state_len(),
        automaton.initial(),
        props.len()
    );
    for &prop in &props {
        out.push(' ');
        out.push_str(&quoted(&name(vocabulary, prop)));
    }
    out.push_str(
        "\nacc-name: Buchi\nAcceptance: 1 Inf(0)\n\
         properties: trans-labels explicit-labels state-acc deterministic complete\n\
         /* read over finite traces: accepted if the state after the last event is in set 0 */\n--BODY--\n",
    );
    for (state, edges) in (0..).zip(&all) {
        let verdict = automaton.verdict(state);
        let accepting = if verdict.accepts() { " {0}" } else { "" };
        line(&mut out, format_args!("State: {state} \"{verdict}\"{accepting}"));
        for edge in edges {
            let guard = edge.guard.hoa(|prop| props.binary_search(&prop).unwrap_or_default());
            line(&mut out, format_args!("[{guard}] {}", edge.target));
        }
    }
    out.push_str("--END--\n");
    Ok(out)
}

/// The automaton as one JSON object on one line.
///
/// # Errors
/// When a state's edges are too many to write.
pub fn json(compiled: &Compiled, vocabulary: &[String], title: &str) -> Result<String, TooManyPaths> {
    let automaton = &compiled.automaton;
    let (all, props) = all_edges(automaton)?;
    let props: Vec<String> = props.iter().map(|&p| json_string(&name(vocabulary, p))).collect();
    let verdict = |state| format!("{{\"verdict\":\"{}\"}}", automaton.verdict(state));
    let states: Vec<String> = (0..automaton.state_len()).map(verdict).collect();
    let mut written = Vec::new();
    for (from, edges) in all.iter().enumerate() {
        for Edge { target, breach, guard } in edges {
            let guard = json_string(&guard.formula(vocabulary).to_string());
            written
                .push(format!("{{\"from\":{from},\"to\":{target},\"guard\":{guard},\"breach\":{breach}}}"));
        }
    }
    let stats = &compiled.stats;
    Ok(format!(
        "{{\"name\":{},\"propositions\":[{}],\"initial\":{},\"states\":[{}],\"edges\":[{}],\
         \"never_violated\":{},\"never_satisfied\":{},\
         \"stats\":{{\"states\":{},\"plain_states\":{},\"classes\":{},\"words\":{},\"nodes\":{}}}}}",
        json_string(title),
        props.join(","),
        automaton.initial(),
        states.join(","),
        written.join(","),
        compiled.never_violated,
        compiled.never_satisfied,
        stats.states,
        stats.plain_states,
        stats.classes,
        stats.words,
        stats.nodes
    ))
}

/// The edges of each state, and the propositions in them, sorted.
fn all_edges(automaton: &Automaton<Vec<u32>>) -> Result<(Vec<Vec<Edge>>, Vec<u32>), TooManyPaths> {
    let all =
        (0..automaton.state_len()).map(|state| edges(automaton, state)).collect::<Result<Vec<_>, _>>()?;
    let mut props: Vec<u32> = all.iter().flatten().flat_map(|edge| edge.guard.propositions()).collect();
    props.sort_unstable();
    props.dedup();
    Ok((all, props))
}

fn name(vocabulary: &[String], prop: u32) -> String {
    vocabulary.get(prop as usize).cloned().unwrap_or_else(|| format!("#{prop}"))
}

/// A string of the HOA format, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn json_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => push(&mut out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    push(out, text);
    out.push('\n');
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
