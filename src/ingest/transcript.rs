//! One session being put together: requests get their results, batches their sizes.
//!
//! A call is one event at the place of its request, but its outcome comes later in the file. So the events of a
//! session are held here until nothing more can come, and then handed on in their order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::event::{Batch, Event, Kind, Status};
use super::feed::{Feed, Options, Step};
use super::json;

/// Index of an event of a [`Transcript`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventIndex(usize);

/// A result for a call.
pub(super) struct Outcome {
    pub(super) result: Value,
    pub(super) status: Status,
}

/// The events of one session so far.
pub(super) struct Transcript {
    session: String,
    events: Vec<Event>,
    /// Calls that wait for their result, by id; several under one id in the order of their requests.
    open: HashMap<String, VecDeque<EventIndex>>,
    /// Group of each call: the calls issued together.
    groups: Vec<(EventIndex, u32)>,
    next_group: u32,
    /// Group of the calls that follow each other without anything between them.
    run: Option<u32>,
}

impl Transcript {
    pub(super) fn new(session: impl Into<String>) -> Self {
        Transcript {
            session: session.into(),
            events: Vec::new(),
            open: HashMap::new(),
            groups: Vec::new(),
            next_group: 0,
            run: None,
        }
    }

    /// A number for calls that are issued together.
    pub(super) fn new_group(&mut self) -> u32 {
        self.next_group += 1;
        self.next_group - 1
    }

    /// The group of a run of calls with nothing between them, in logs where no message holds them together.
    pub(super) fn run_group(&mut self) -> u32 {
        match self.run {
            Some(group) => group,
            None => {
                let group = self.new_group();
                self.run = Some(group);
                group
            }
        }
    }

    /// Something came between: the next call starts a new run.
    pub(super) fn end_run(&mut self) {
        self.run = None;
    }

    /// A message, unless there is nothing in it but white space.
    pub(super) fn message(
        &mut self,
        feed: &Feed<'_>,
        kind: Kind,
        text: String,
        ts: Option<String>,
        line: Option<u32>,
    ) {
        if !text.trim().is_empty() {
            self.push(feed, Event { kind, text, ts, ..Event::default() }, line);
        }
    }

    /// Any event that waits for nothing.
    pub(super) fn push(&mut self, feed: &Feed<'_>, mut event: Event, line: Option<u32>) -> EventIndex {
        event.session.clone_from(&self.session);
        event.place = feed.place(line);
        self.events.push(event);
        EventIndex(self.events.len() - 1)
    }

    /// A call, which may wait for its result under `id`.
    ///
    /// `event` carries tool, arguments, text and time; its status stays unknown until the result comes.
    pub(super) fn call(
        &mut self,
        feed: &Feed<'_>,
        id: Option<&str>,
        group: u32,
        event: Event,
        line: Option<u32>,
    ) -> EventIndex {
        let index = self.push(feed, event, line);
        self.groups.push((index, group));
        if let Some(id) = id {
            self.open.entry(id.to_owned()).or_default().push_back(index);
        }
        index
    }

    /// How many calls wait under this id.
    pub(super) fn open_calls(&self, id: &str) -> usize {
        self.open.get(id).map_or(0, VecDeque::len)
    }

    /// Takes the call that has waited longest under `id`.
    pub(super) fn take_open(&mut self, id: &str) -> Option<EventIndex> {
        let waiting = self.open.get_mut(id)?;
        let index = waiting.pop_front();
        if waiting.is_empty() {
            self.open.remove(id);
        }
        index
    }

    /// Gives a call its outcome.
    pub(super) fn settle(&mut self, index: EventIndex, outcome: Outcome) {
        if let Some(event) = self.events.get_mut(index.0) {
            event.result = outcome.result;
            event.status = outcome.status;
        }
    }

    /// Gives its outcome to the call that has waited longest under `id`. A result without a call is reported;
    /// where the log tells its tool, the call that must have been is put in its place.
    pub(super) fn result(
        &mut self,
        feed: &mut Feed<'_>,
        id: &str,
        tool: Option<&str>,
        outcome: Outcome,
        line: Option<u32>,
    ) -> Step {
        if self.open_calls(id) > 1 {
            let message = format!("{} open calls share the id `{id}`", self.open_calls(id));
            feed.problem_help(line, message, "results are given to them in the order of the calls")?;
        }
        match self.take_open(id) {
            Some(index) => self.settle(index, outcome),
            None => {
                feed.problem_help(
                    line,
                    format!("result without a call: nothing was called under the id `{id}`"),
                    "the start of the log may be missing, or a result is there twice",
                )?;
                if let Some(tool) = tool {
                    self.orphan(feed, tool, Value::Null, outcome, line);
                }
            }
        }
        Ok(())
    }

    /// A call of which only the result is in the log.
    pub(super) fn orphan(
        &mut self,
        feed: &Feed<'_>,
        tool: &str,
        args: Value,
        outcome: Outcome,
        line: Option<u32>,
    ) {
        let Outcome { result, status } = outcome;
        let group = self.new_group();
        let event = Event { tool: tool.to_owned(), args, result, status, ..Event::default() };
        self.call(feed, None, group, event, line);
    }

    /// Hands everything on.
    pub(super) fn finish(mut self, feed: &mut Feed<'_>) {
        let mut sizes = HashMap::<u32, u32>::new();
        for (_, group) in &self.groups {
            *sizes.entry(*group).or_default() += 1;
        }
        // Batches are numbered in the order of their first calls.
        let mut batches = HashMap::<u32, (u32, u32)>::new();
        for (EventIndex(index), group) in self.groups {
            let next = u32::try_from(batches.len()).unwrap_or(u32::MAX);
            let (id, used) = batches.entry(group).or_insert((next, 0));
            let size = sizes.get(&group).copied().unwrap_or(1);
            if let Some(event) = self.events.get_mut(index) {
                event.batch = Some(Batch { id: *id, size, index: *used });
            }
            *used += 1;
        }
        for event in self.events {
            feed.event(event);
        }
    }
}

/// How a call ended, from its result and what the format says about errors (`None` where it says nothing).
///
/// Taking an act for a denied one would hide it from every rule, so text alone counts only near its start.
pub(super) fn judge(options: &Options, failed: Option<bool>, result: &Value) -> Status {
    let text = json::text(result);
    match failed {
        Some(false) => Status::Ok,
        Some(true) if denied(options, &text, 400) => Status::Denied,
        Some(true) => Status::Error,
        None if denied(options, &text, 100) => Status::Denied,
        None if text.starts_with("Error") => Status::Error,
        None => Status::Ok,
    }
}

/// Is one of the denial phrases within the first `reach` characters?
pub(super) fn denied(options: &Options, text: &str, reach: usize) -> bool {
    let start: String = text.trim_start().chars().take(reach).collect();
    let start = start.to_lowercase();
    options.denials.iter().any(|phrase| match phrase.strip_prefix('^') {
        Some(phrase) => start.starts_with(&phrase.to_lowercase()),
        None => start.contains(&phrase.to_lowercase()),
    })
}
