use super::feed::{Feed, Step};
use super::source::Source;
pub(super) fn read(feed: &mut Feed<'_>, _source: Source) -> Step {
    feed.problem(None, "this format is not read yet")
}
