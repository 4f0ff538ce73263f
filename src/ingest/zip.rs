//! Just enough of ZIP to read the archives that evaluation logs come in.

use std::io::Read;

/// A file in an archive.
pub(super) struct Entry<'z> {
    pub(super) name: String,
    data: &'z [u8],
    method: u16,
}

const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// The files of an archive, in the order of its directory.
///
/// # Errors
/// What is wrong with the archive.
pub(super) fn entries(archive: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let broken = || "the ZIP archive is broken or cut off".to_owned();
    // The directory is at the end, before a comment of at most 64 KiB.
    let end = memchr::memmem::rfind(archive, END).ok_or_else(broken)?;
    let count = u16_at(archive, end + 10).ok_or_else(broken)?;
    let mut at = u32_at(archive, end + 16).ok_or_else(broken)? as usize;
    if count == u16::MAX || at == u32::MAX as usize {
        return Err("the ZIP archive is of the 64-bit kind, which is not read".to_owned());
    }
    let mut entries = Vec::new();
    for _ in 0..count {
        if !archive.get(at..).is_some_and(|rest| rest.starts_with(CENTRAL)) {
            return Err(broken());
        }
        let method = u16_at(archive, at + 10).ok_or_else(broken)?;
        let size = u32_at(archive, at + 20).ok_or_else(broken)? as usize;
        let [name, extra, comment] = [28, 30, 32].map(|offset| u16_at(archive, at + offset).map(usize::from));
        let (Some(name_len), Some(extra_len), Some(comment_len)) = (name, extra, comment) else {
            return Err(broken());
        };
        let local = u32_at(archive, at + 42).ok_or_else(broken)? as usize;
        let name = archive.get(at + 46..at + 46 + name_len).ok_or_else(broken)?;
        if !archive.get(local..).is_some_and(|rest| rest.starts_with(LOCAL)) {
            return Err(broken());
        }
        // The local header's extra field may have another length than the directory's.
        let local_name = u16_at(archive, local + 26).ok_or_else(broken)?;
        let local_extra = u16_at(archive, local + 28).ok_or_else(broken)?;
        let start = local + 30 + usize::from(local_name) + usize::from(local_extra);
        let data = archive.get(start..start.saturating_add(size)).ok_or_else(broken)?;
        entries.push(Entry { name: String::from_utf8_lossy(name).into_owned(), data, method });
        at += 46 + name_len + extra_len + comment_len;
    }
    Ok(entries)
}

impl Entry<'_> {
    /// The file's bytes, at most `limit` of them.
    ///
    /// # Errors
    /// Unknown compression, broken data, more than `limit` bytes.
    pub(super) fn read(&self, limit: usize) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let room = limit as u64 + 1;
        let read = match self.method {
            0 => self.data.take(room).read_to_end(&mut bytes),
            8 => flate2::read::DeflateDecoder::new(self.data).take(room).read_to_end(&mut bytes),
            93 => match ruzstd::decoding::StreamingDecoder::new(self.data) {
                Ok(decoder) => decoder.take(room).read_to_end(&mut bytes),
                Err(error) => return Err(format!("`{}` in the archive is broken: {error}", self.name)),
            },
            method => return Err(format!("`{}` in the archive has unknown compression {method}", self.name)),
        };
        read.map_err(|error| format!("`{}` in the archive is broken: {error}", self.name))?;
        if bytes.len() > limit {
            return Err(format!("`{}` in the archive has more than {limit} bytes", self.name));
        }
        Ok(bytes)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
