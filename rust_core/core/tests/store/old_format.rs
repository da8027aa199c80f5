//! Indexes as the format before this one had them: database format 4, segments of version 3.

use std::fs;
use std::path::Path;

use carrel_core::formats::database::DATABASE_FILE;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const TABLE_AT: usize = 80;
const ENTRY: usize = 24;
const OLD_TABLE_AT: usize = 72;
/// The old sections are the first ones of today, in the order of their tags.
const OLD_SECTIONS: usize = 13;

/// Write a closed index anew as the older Carrel would have left it.
pub fn make_older(index: &Path) {
    for entry in fs::read_dir(index).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "seg") {
            fs::write(&path, as_version_3(&fs::read(&path).unwrap())).unwrap();
        }
    }
    let database = rusqlite::Connection::open(index.join(DATABASE_FILE)).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database.execute("DELETE FROM meta WHERE key = 'format_from'", []).unwrap();
    database.pragma_update(None, "user_version", 4).unwrap();
}

/// The segment with a fixed table, of thirteen offsets and lengths, and nothing that version 3 didn't know.
fn as_version_3(file: &[u8]) -> Vec<u8> {
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let mut sections = [&[][..]; OLD_SECTIONS];
    for entry in 0..u32_at(72) as usize {
        let at = TABLE_AT + entry * ENTRY;
        let (start, length) = (u64_at(at + 8), u64_at(at + 16));
        if let Some(section) = sections.get_mut(u32_at(at) as usize) {
            *section = &file[start..start + length];
        }
    }
    let mut old = file[..OLD_TABLE_AT].to_vec();
    let mut at = OLD_TABLE_AT + OLD_SECTIONS * 16;
    for section in sections {
        at = at.next_multiple_of(64);
        old.extend_from_slice(&(at as u64).to_le_bytes());
        old.extend_from_slice(&(section.len() as u64).to_le_bytes());
        at += section.len();
    }
    for section in sections {
        old.resize(old.len().next_multiple_of(64), 0);
        old.extend_from_slice(section);
    }
    old[8..12].copy_from_slice(&3_u32.to_le_bytes());
    let length = old.len() as u64;
    old[16..24].copy_from_slice(&length.to_le_bytes());
    let sum = xxh3_64_with_seed(&old[32..], u32_at(12).into());
    old[24..32].copy_from_slice(&sum.to_le_bytes());
    old
}
