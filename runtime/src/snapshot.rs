//! States that outlive the process.
//!
//! ```text
//! byte 0 magic "tlwS"   4 format   8 fingerprint of the rules   16 the state   last 8 bytes: XXH64 of all before
//! ```

use crate::{
    LoadError, MonitorState, RuleSet,
    wire::{Bytes, xxh64},
};

const MAGIC: [u8; 4] = *b"tlwS";
const FORMAT: u32 = 1;
const HEAD: usize = 16;

/// Bytes of a snapshot that are not the state's.
const FRAME: usize = HEAD + 8;

impl RuleSet<'_> {
    /// Bytes of a snapshot.
    #[must_use]
    pub fn snapshot_len(&self) -> usize {
        self.state_len() + FRAME
    }

    /// Writes a state so that it can be kept outside the process. Within it, a copy of the state is a snapshot.
    ///
    /// # Complexity
    /// O(bytes of the state).
    ///
    /// # Errors
    /// When `out` is not [`RuleSet::snapshot_len`] bytes long or the state is not one of these rules.
    pub fn save<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, out: &mut [u8]) -> Result<(), LoadError> {
        let short =
            LoadError { what: "a snapshot takes as many bytes as `snapshot_len` says", at: out.len() };
        let state = state.0.as_ref().get(..self.state_len()).ok_or(short)?;
        let (body, sum) = out.split_last_chunk_mut::<8>().ok_or(short)?;
        let (magic, rest) = body.split_first_chunk_mut::<4>().ok_or(short)?;
        let (format, rest) = rest.split_first_chunk_mut::<4>().ok_or(short)?;
        let (fingerprint, place) = rest.split_first_chunk_mut::<8>().ok_or(short)?;
        if place.len() != state.len() {
            return Err(short);
        }
        *magic = MAGIC;
        *format = FORMAT.to_le_bytes();
        *fingerprint = self.fingerprint().to_le_bytes();
        place.copy_from_slice(state);
        *sum = xxh64(body, 0).to_le_bytes();
        Ok(())
    }

    /// Reads a snapshot back into `buffer`.
    ///
    /// # Complexity
    /// O(bytes of the state). Never panics.
    ///
    /// # Errors
    /// When it is no snapshot of this version, when it was taken under other rules, or when it is damaged.
    pub fn restore<B: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        snapshot: &[u8],
        buffer: B,
    ) -> Result<MonitorState<B>, LoadError> {
        let bad = |what, at| Err(LoadError { what, at });
        let bytes = Bytes(snapshot);
        if snapshot.first_chunk() != Some(&MAGIC) {
            return bad("the first bytes are not those of a snapshot", 0);
        }
        if bytes.u32(4) != Some(FORMAT) {
            return bad("another snapshot version", 4);
        }
        if bytes.u64(8) != Some(self.fingerprint()) {
            return bad("the snapshot was taken under other rules", 8);
        }
        if snapshot.len() != self.snapshot_len() {
            return bad("the snapshot has another length", snapshot.len());
        }
        let body = snapshot.len() - 8;
        if Some(xxh64(snapshot.get(..body).unwrap_or(&[]), 0)) != bytes.u64(body) {
            return bad("the checksum does not match: the snapshot is damaged", body);
        }
        let kept = bytes.part(HEAD, self.state_len()).unwrap_or(&[]);
        if !self.accepts_state(kept) {
            return bad("the snapshot is in a state that these rules do not have", HEAD);
        }
        let mut state = MonitorState::new(self, buffer)?;
        if let Some(place) = state.0.as_mut().get_mut(..kept.len()) {
            place.copy_from_slice(kept);
        }
        Ok(state)
    }
}
