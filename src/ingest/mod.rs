//! Logs of every format to [`Event`]s.

mod event;

pub use event::{Batch, Event, Kind, Place, Status};
