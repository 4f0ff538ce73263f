//! Case files, policies and logs that tests, fuzzing and benches share, with their loaders and generators.
#![forbid(unsafe_code)]
