//! The index database: which file of which segment is the live place of each path.
//!
//! `SQLite` is the truth of the index, segments hold its bulk. A commit is one transaction, so after a kill at any moment a
//! segment either belongs to the index with all its files or is an orphan that the next writer deletes. A rollback journal, not a
//! write-ahead log: the log's index is a file that every process maps, and whoever cuts that short ends them all (SIGBUS). A
//! segment whose bytes did not reach the disk in a power cut fails its checksum and its files are indexed again.

mod opening;
mod rows;

use std::cell::Cell;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

pub use opening::{DATABASE_FILE, DatabaseFile, FORMAT_VERSION, is_damage, set_aside};
pub use rows::{Change, FileRow, Rows, UnusableRow};

use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, Stamp};
use crate::base::types::{SkipReason, Skipped};

const NEXT_SEGMENT: &str = "next_segment";
/// Meta key: the first segment id whose vectors are of the model in use.
pub const OWN_VECTORS_FROM: &str = "own_vectors_from";
/// Meta key: the first segment id that was made in the present format; what is older is made again.
pub const FORMAT_FROM: &str = "format_from";

/// A connection to the index database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    file: DatabaseFile,
    writes: bool,
    /// The segment id that is free, as far as this process knows. Commits make it durable.
    next_segment: Cell<u64>,
}

impl Database {
    /// The file that is open.
    pub fn file(&self) -> &DatabaseFile {
        &self.file
    }

    /// The generation on disk. Cheap: one row.
    pub fn generation(&self) -> Result<u64> {
        Ok(self.meta("generation")?.and_then(|v| v.parse().ok()).unwrap_or(0))
    }

    /// A value by key.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        let find = || {
            let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
            statement.query_row([key], |row| row.get(0)).optional()
        };
        find().map_err(|e| self.fail(e))
    }

    /// Set a value.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<()> {
        let set = self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value]);
        set.map(drop).map_err(|e| self.fail(e))
    }

    /// An id for a segment file that no committed segment ever had. Whoever writes the file checks that none has its name.
    pub fn next_segment(&self) -> Result<u64> {
        let stored = self.meta(NEXT_SEGMENT)?.and_then(|v| v.parse().ok()).unwrap_or(1);
        let next = self.next_segment.get().max(stored);
        self.next_segment.set(next + 1);
        Ok(next)
    }

    /// Everything, as of one moment.
    pub fn load(&self) -> Result<Rows> {
        let load = || {
            // One read transaction: the rows belong to one generation even while the writer goes on.
            let t = self.connection.unchecked_transaction()?;
            let generation: Option<String> =
                t.query_row("SELECT value FROM meta WHERE key = 'generation'", [], |row| row.get(0)).optional()?;
            let stamp = |row: &rusqlite::Row<'_>, at: usize| -> rusqlite::Result<Stamp> {
                let change = LastChange { id: row.get::<_, i64>(at + 2)? as u64, changed_ns: row.get(at + 3)? };
                Ok(Stamp {
                    size: row.get::<_, i64>(at)? as u64,
                    mtime_ns: row.get(at + 1)?,
                    change,
                    checked_ns: row.get(at + 4)?,
                })
            };
            let reason = |row: &rusqlite::Row<'_>| -> rusqlite::Result<SkipReason> {
                Ok(SkipReason::from_code(row.get_ref(1)?.as_str()?).unwrap_or(SkipReason::Unreadable))
            };
            Ok(Rows {
                generation: generation.and_then(|v| v.parse().ok()).unwrap_or(0),
                segments: all(&t, "SELECT id FROM segments ORDER BY id", |row| Ok(row.get::<_, i64>(0)? as u64))?,
                files: all(
                    &t,
                    "SELECT path, segment, file, size, mtime_ns, file_id, changed_ns, checked_ns FROM files",
                    |row| {
                        Ok(FileRow {
                            path: row.get(0)?,
                            segment: row.get::<_, i64>(1)? as u64,
                            file: row.get(2)?,
                            stamp: stamp(row, 3)?,
                        })
                    },
                )?,
                unusable: all(&t, "SELECT path, reason, size, mtime_ns, file_id, changed_ns, checked_ns FROM unusable", |row| {
                    Ok(UnusableRow { path: row.get(0)?, reason: reason(row)?, stamp: stamp(row, 2)? })
                })?,
                failed: all(&t, "SELECT path, reason FROM failed", |row| Ok((row.get(0)?, row.get(1)?)))?,
                skipped: all(&t, "SELECT path, reason FROM skipped", |row| {
                    Ok(Skipped { path: row.get(0)?, reason: reason(row)? })
                })?,
            })
        };
        load().map_err(|e: rusqlite::Error| self.fail(e))
    }

    /// Make `change` durable as one transaction.
    pub fn commit(&mut self, change: &Change<'_>) -> Result<()> {
        self.check_present()?;
        let next = self.next_segment.get();
        self.transaction(|t| {
            let mut forget = Vec::new();
            for table in ["files", "unusable", "failed"] {
                forget.push(t.prepare_cached(&format!("DELETE FROM {table} WHERE path = ?1"))?);
            }
            for path in &change.remove {
                forget.iter_mut().try_for_each(|delete| delete.execute([path]).map(drop))?;
            }
            let mut add = t.prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
            for row in &change.files {
                forget[1..].iter_mut().try_for_each(|delete| delete.execute([&row.path]).map(drop))?;
                let stamp = row.stamp;
                add.execute(params![
                    row.path,
                    row.segment as i64,
                    row.file,
                    stamp.size as i64,
                    stamp.mtime_ns,
                    stamp.change.id as i64,
                    stamp.change.changed_ns,
                    stamp.checked_ns
                ])?;
            }
            let mut add = t.prepare_cached("INSERT OR REPLACE INTO unusable VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for row in &change.unusable {
                forget.iter_mut().try_for_each(|delete| delete.execute([&row.path]).map(drop))?;
                let stamp = row.stamp;
                add.execute(params![
                    row.path,
                    row.reason.code(),
                    stamp.size as i64,
                    stamp.mtime_ns,
                    stamp.change.id as i64,
                    stamp.change.changed_ns,
                    stamp.checked_ns
                ])?;
            }
            for (path, reason) in &change.failed {
                t.execute("INSERT OR REPLACE INTO failed VALUES (?1, ?2)", [path, reason])?;
            }
            for id in &change.drop_segments {
                t.execute("DELETE FROM segments WHERE id = ?1", [*id as i64])?;
            }
            for id in &change.add_segments {
                t.execute("INSERT INTO segments VALUES (?1)", [*id as i64])?;
            }
            t.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?1)", [change.generation.to_string()])?;
            if next > 0 {
                t.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [NEXT_SEGMENT, &next.to_string()])?;
            }
            Ok(())
        })
    }

    /// Remember what a scan left out.
    pub fn set_skipped(&mut self, skipped: &[Skipped]) -> Result<()> {
        self.transaction(|t| {
            t.execute("DELETE FROM skipped", [])?;
            let mut add = t.prepare("INSERT OR REPLACE INTO skipped VALUES (?1, ?2)")?;
            skipped.iter().try_for_each(|s| add.execute([s.path.as_str(), s.reason.code()]).map(drop))
        })
    }

    /// Forget the files of segments that can't be read, so that the next scan finds them missing.
    pub fn drop_segments(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.transaction(|t| {
            for id in ids {
                t.execute("DELETE FROM files WHERE segment = ?1", [*id as i64])?;
                t.execute("DELETE FROM segments WHERE id = ?1", [*id as i64])?;
            }
            Ok(())
        })
    }

    /// Mark every file to be cut again although its content is the same.
    pub fn mark_stale(&mut self) -> Result<()> {
        self.transaction(|t| t.execute("UPDATE files SET checked_ns = 0", []).map(drop))
    }

    /// Have files that were no use looked at again: by other rules they may be.
    pub fn look_again(&mut self) -> Result<()> {
        self.transaction(|t| t.execute("UPDATE unusable SET checked_ns = 0", []).map(drop))
    }

    /// Forget everything but the settings of the index and the numbering, which other processes rely on.
    pub fn clear(&mut self, generation: u64) -> Result<()> {
        self.check_present()?;
        self.transaction(|t| {
            t.execute_batch(
                "DELETE FROM files; DELETE FROM segments; DELETE FROM unusable; DELETE FROM failed; DELETE FROM skipped",
            )?;
            t.execute(
                "DELETE FROM meta WHERE key NOT IN ('next_segment', 'embedder', 'cut', 'secrets', 'own_vectors_from', 'format_from')",
                [],
            )?;
            t.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?1)", [generation.to_string()]).map(drop)
        })?;
        self.connection.execute_batch("VACUUM").map_err(|e| self.fail(e))
    }

    fn ask<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.fail(e))
    }

    /// A writer that meets damage moves the database out of the way: the next opening makes a new one.
    fn fail(&self, source: rusqlite::Error) -> Error {
        if self.writes && (is_damage(&source) || opening::clear_journals(&self.path)) && self.file.is_present() {
            let _ = set_aside(self.path.parent().unwrap_or(&self.path));
        }
        Error::Database { path: self.path.clone(), source }
    }

    fn transaction(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        transact(&mut self.connection, work).map_err(|source| self.fail(source))
    }
}

fn transact(connection: &mut Connection, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    work(&transaction)?;
    transaction.commit()
}

fn all<T>(
    t: &Transaction<'_>,
    sql: &str,
    map: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    t.prepare(sql)?.query_map([], map)?.collect()
}
