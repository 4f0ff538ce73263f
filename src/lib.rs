//! tracelaw.
#![forbid(unsafe_code)]
pub mod ingest;
