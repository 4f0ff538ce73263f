//! What people read: diagnostics with their place in the text.

pub mod diagnostics;
