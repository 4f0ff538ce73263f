//! Streamed tool calls: the fragments of a chat completion put together again.

/// A fragment of a streamed tool call: one element of `choices[].delta.tool_calls`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallDelta {
    /// Which call of the message it belongs to. Some providers leave it out, or send 0 for every call.
    pub index: Option<u64>,
    /// Id of the call: on its first fragment, by some providers on all.
    pub id: Option<String>,
    /// Name of the tool: on the first fragment, seldom in pieces.
    pub name: Option<String>,
    /// Next piece of the arguments, a JSON text.
    pub arguments: Option<String>,
}

/// Puts calls together from their fragments, in the order in which the calls began.
///
/// A fragment belongs to the call with its id; a new id starts a new call even where the index is in use (some
/// providers send index 0 for every call). Without an id it belongs to the latest call with its index, and
/// without an index to the latest call. Fragments of one call merge wherever they stand, also within one chunk.
/// Each call comes back as one fragment that holds all of it.
///
/// # Example
/// ```
/// use tracelaw::ingest::{ToolCallDelta, merge_tool_call_deltas};
///
/// let piece = |index, id: Option<&str>, arguments: &str| ToolCallDelta {
///     index: Some(index),
///     id: id.map(str::to_owned),
///     name: id.map(|_| "get".to_owned()),
///     arguments: Some(arguments.to_owned()),
/// };
/// let calls = merge_tool_call_deltas([
///     piece(0, Some("c1"), "{\"city\":"),
///     piece(1, Some("c2"), "{}"),
///     piece(0, None, "\"X\"}"),
/// ]);
/// assert_eq!(calls.len(), 2);
/// assert_eq!(calls[0].arguments.as_deref(), Some("{\"city\":\"X\"}"));
/// ```
pub fn merge_tool_call_deltas(deltas: impl IntoIterator<Item = ToolCallDelta>) -> Vec<ToolCallDelta> {
    let mut calls: Vec<ToolCallDelta> = Vec::new();
    for delta in deltas {
        let id = delta.id.filter(|id| !id.is_empty());
        let known = match (&id, delta.index) {
            (Some(id), index) => calls.iter_mut().rev().find(|call| match &call.id {
                Some(known) => known == id,
                // The id comes late: after a fragment with the same index that had none.
                None => index.is_some() && call.index == index,
            }),
            (None, Some(index)) => calls.iter_mut().rev().find(|call| call.index == Some(index)),
            (None, None) => calls.last_mut(),
        };
        match known {
            Some(call) => {
                if call.id.is_none() {
                    call.id = id;
                }
                append_name(&mut call.name, delta.name);
                if let Some(piece) = delta.arguments {
                    call.arguments.get_or_insert_default().push_str(&piece);
                }
            }
            None => {
                let ToolCallDelta { index, name, arguments, .. } = delta;
                calls.push(ToolCallDelta {
                    index,
                    id,
                    name: name.filter(|name| !name.is_empty()),
                    arguments,
                });
            }
        }
    }
    calls
}

/// A name comes whole, once or with every fragment, or in pieces.
fn append_name(name: &mut Option<String>, piece: Option<String>) {
    let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return };
    match name {
        None => *name = Some(piece),
        Some(known) if *known == piece => {}
        Some(known) => known.push_str(&piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (index, id, arguments); -1 for no index, an empty id for none.
    type Piece<'a> = (i64, &'a str, &'a str);

    fn merged(pieces: &[Piece<'_>]) -> Vec<(String, String, String)> {
        let deltas = pieces.iter().map(|&(index, id, arguments)| ToolCallDelta {
            index: u64::try_from(index).ok(),
            id: Some(id.to_owned()).filter(|id| !id.is_empty()),
            name: Some(format!("tool_{id}")).filter(|_| !id.is_empty()),
            arguments: Some(arguments.to_owned()),
        });
        merge_tool_call_deltas(deltas)
            .into_iter()
            .map(|call| {
                (
                    call.id.unwrap_or_default(),
                    call.name.unwrap_or_default(),
                    call.arguments.unwrap_or_default(),
                )
            })
            .collect()
    }

    fn check(pieces: &[Piece<'_>], expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(id, args)| (id.to_string(), format!("tool_{id}"), args.to_string()))
            .collect();
        assert_eq!(merged(pieces), expected, "{pieces:?}");
    }

    #[test]
    fn interleaved_fragments_correlate_by_index() {
        check(
            &[(0, "c1", "{\"ci"), (1, "c2", "{\"city\":"), (0, "", "ty\":\"X\"}"), (1, "", "\"Y\"}")],
            &[("c1", "{\"city\":\"X\"}"), ("c2", "{\"city\":\"Y\"}")],
        );
        check(
            &[(2, "a", "1"), (0, "b", "2"), (2, "", "3"), (0, "", "4"), (2, "", "5")],
            &[("a", "135"), ("b", "24")],
        );
    }

    #[test]
    fn a_new_id_starts_a_new_call_whatever_its_index() {
        check(&[(0, "c1", "{\"q\":1}"), (0, "c2", "{\"q\":2}")], &[("c1", "{\"q\":1}"), ("c2", "{\"q\":2}")]);
        check(&[(0, "c1", "{"), (0, "", "}"), (0, "c2", "["), (0, "", "]")], &[("c1", "{}"), ("c2", "[]")]);
        check(
            &[(-1, "c1", "{"), (-1, "", "}"), (-1, "c2", "["), (-1, "", "]")],
            &[("c1", "{}"), ("c2", "[]")],
        );
    }

    #[test]
    fn an_id_on_every_fragment_is_the_same_call() {
        check(
            &[(0, "c1", "{"), (0, "c2", "["), (0, "c1", "}"), (0, "c2", "]")],
            &[("c1", "{}"), ("c2", "[]")],
        );
    }

    #[test]
    fn several_entries_for_one_index_within_a_chunk() {
        check(&[(0, "c1", ""), (0, "", "{\"a\""), (0, "", ":1}")], &[("c1", "{\"a\":1}")]);
    }

    #[test]
    fn names_in_pieces_or_repeated() {
        let name =
            |name: &str| ToolCallDelta { index: Some(0), name: Some(name.to_owned()), ..Default::default() };
        assert_eq!(merge_tool_call_deltas([name("get_"), name("city")])[0].name.as_deref(), Some("get_city"));
        assert_eq!(
            merge_tool_call_deltas([name("get"), name(""), name("get")])[0].name.as_deref(),
            Some("get")
        );
    }
}
