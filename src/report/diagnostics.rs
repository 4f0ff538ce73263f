//! Draws a [`Report`](tracelaw_compiler::diag::Report) over the text it is about.
