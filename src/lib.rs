//! tracelaw.
#![forbid(unsafe_code)]
pub mod ingest;
pub mod label;
pub mod policy;
pub mod report;
