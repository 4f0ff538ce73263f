//! What people and programs read: diagnostics with their place in the text, and what an audit found.

pub mod diagnostics;
mod outcome;
mod quote;

pub use outcome::{Human, place_name, write_json};
pub use quote::{clean, quote};
