//! The index database: which file of which segment is the live place of each path.
//!
//! `SQLite` is the truth of the index, segments hold its bulk. A commit is one transaction, so after a kill at any moment a
//! segment either belongs to the index with all its files or is an orphan that the next writer deletes. `synchronous=NORMAL`
//! does not wait for the disk: a power cut may lose the last commits (they are indexed again), never the consistency; a segment
//! whose bytes did not reach the disk fails its checksum and its files are indexed again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};

use crate::error::{Error, Result};
use crate::types::{SkipReason, Skipped};

/// Version of the database and of everything that decides what is in it: raise it when the cutting or the segment layout changes,
/// and every index is built again.
pub const FORMAT_VERSION: u32 = 3;
/// Meta key: the first segment id whose vectors are of the model in use.
pub const OWN_VECTORS_FROM: &str = "own_vectors_from";
/// Name of the database file.
pub const DATABASE_FILE: &str = "index.db";

const SCHEMA: &str = "
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE segments(id INTEGER PRIMARY KEY);
    CREATE TABLE files(path TEXT PRIMARY KEY, segment INTEGER NOT NULL, file INTEGER NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, checked_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE unusable(path TEXT PRIMARY KEY, reason TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, checked_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE failed(path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE skipped(path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
";

/// What the file system said of a file when it was read, and when that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When it was read, nanoseconds since 1970; 0 means that it must be cut again whatever its hash.
    pub checked_ns: i64,
}

/// A file may change twice within one tick of a coarse clock and look untouched; one that was modified this shortly before it was
/// read is read again (git calls such an entry racy).
const RACY_NS: i64 = 2_000_000_000;

impl Stamp {
    /// Whether a file of this size and time is surely the one that was read.
    pub fn is_clean(&self, size: u64, mtime_ns: i64) -> bool {
        self.size == size
            && self.mtime_ns == mtime_ns
            && self.checked_ns != 0
            && mtime_ns.saturating_add(RACY_NS) < self.checked_ns
    }
}

/// The live place of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Relative path.
    pub path: String,
    /// Segment id.
    pub segment: u64,
    /// File ordinal in that segment.
    pub file: u32,
    /// What it looked like on disk.
    pub stamp: Stamp,
}

/// A file that was read in vain (binary, minified …): known, so that it isn't read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableRow {
    /// Relative path.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
    /// What it looked like on disk.
    pub stamp: Stamp,
}

/// Everything the database knows, at one generation.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Counts commits.
    pub generation: u64,
    /// Ids of the segments in use.
    pub segments: Vec<u64>,
    /// Live files.
    pub files: Vec<FileRow>,
    /// Files that were read in vain.
    pub unusable: Vec<UnusableRow>,
    /// Files that could not be embedded or cut, with the reason.
    pub failed: Vec<(String, String)>,
    /// What the last scan left out.
    pub skipped: Vec<Skipped>,
}

/// One transaction's worth of changes. Removals come before additions.
#[derive(Debug, Default)]
pub struct Change<'a> {
    /// The new generation.
    pub generation: u64,
    /// Segments that are no longer used.
    pub drop_segments: Vec<u64>,
    /// Segments that are new.
    pub add_segments: Vec<u64>,
    /// Paths that are forgotten altogether.
    pub remove: Vec<&'a str>,
    /// Live places, new or moved.
    pub files: Vec<FileRow>,
    /// Files that were read in vain.
    pub unusable: Vec<UnusableRow>,
    /// Files that failed, with the reason. Every other path of this change is taken off that list.
    pub failed: Vec<(&'a str, &'a str)>,
}

/// A connection to the index database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    #[cfg(unix)]
    inode: u64,
}

impl Database {
    /// Open or create the database as its writer. One of an older format is emptied, one that is damaged is moved aside; both are
    /// told in `problems`.
    pub fn open_writer(directory: &Path, problems: &mut Vec<String>) -> Result<Self> {
        let path = directory.join(DATABASE_FILE);
        match Self::try_open_writer(&path, problems) {
            Err(Error::Database { source, .. }) if is_damage(&source) => {
                let aside = directory.join(format!("{DATABASE_FILE}.damaged"));
                std::fs::rename(&path, &aside).map_err(|e| Error::io(&path, e))?;
                remove_journals(&path);
                problems.push(format!(
                    "{}: the index database is damaged ({source}); it was moved to {} and the index is built again",
                    path.display(),
                    aside.display()
                ));
                Self::try_open_writer(&path, problems)
            }
            opened => opened,
        }
    }

    fn try_open_writer(path: &Path, problems: &mut Vec<String>) -> Result<Self> {
        let fail = |source| Error::Database { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(fail)?;
        configure(&connection).map_err(fail)?;
        let mut database = Self::new(connection, path)?;
        database.check_version()?;
        let found = database.version()?;
        let tables: u32 = database.ask("SELECT count(*) FROM sqlite_master WHERE type = 'table'")?;
        if found < FORMAT_VERSION {
            if tables > 0 {
                problems.push(format!("{}: the index has the older format {found}; it is built again", path.display()));
            }
            database.create()?;
        }
        database.ask::<i64>("SELECT count(*) FROM files")?;
        Ok(database)
    }

    /// Open the database to follow its writer; `None` when there is none yet.
    pub fn open_follower(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(DATABASE_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let fail = |source| Error::Database { path: path.clone(), source };
        // Readers of a write-ahead log take part in its bookkeeping, so even they must be able to write.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
        connection.busy_timeout(BUSY).map_err(fail)?;
        let database = Self::new(connection, &path)?;
        database.check_version()?;
        // An older one is about to be built again by its writer.
        Ok((database.version()? == FORMAT_VERSION).then_some(database))
    }

    fn new(connection: Connection, path: &Path) -> Result<Self> {
        Ok(Self {
            connection,
            path: path.to_owned(),
            #[cfg(unix)]
            inode: inode(path).map_err(|e| Error::io(path, e))?,
        })
    }

    /// An error if a newer Carrel has taken the database over.
    pub fn check_version(&self) -> Result<()> {
        let found = self.version()?;
        if found > FORMAT_VERSION {
            let directory = self.path.parent().unwrap_or(&self.path).to_owned();
            return Err(Error::NewerFormat { path: directory, found, known: FORMAT_VERSION });
        }
        Ok(())
    }

    fn version(&self) -> Result<u32> {
        self.ask("PRAGMA user_version")
    }

    fn ask<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.fail(e))
    }

    fn fail(&self, source: rusqlite::Error) -> Error {
        Error::Database { path: self.path.clone(), source }
    }

    /// Empty tables of the present format, in one transaction. What an older format left is dropped.
    fn create(&mut self) -> Result<()> {
        // Ids begin at the clock, so that even after the database was lost no segment name comes again that another process may
        // still have mapped.
        let first = crate::store::now_ns() / 1_000_000;
        self.transaction(|t| {
            let old: Vec<String> = {
                let mut tables = t.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
                tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            };
            for name in old {
                t.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
            }
            t.execute_batch(SCHEMA)?;
            t.execute("INSERT INTO meta VALUES ('generation', '1'), ('next_segment', ?1)", [first.to_string()])?;
            t.pragma_update(None, "user_version", FORMAT_VERSION)
        })
    }

    fn transaction(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        let path = &self.path;
        let run = || {
            let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            work(&transaction)?;
            transaction.commit()
        };
        run().map_err(|source| Error::Database { path: path.clone(), source })
    }

    /// An error if the file was deleted or replaced: a write would go nowhere.
    pub fn check_present(&self) -> Result<()> {
        #[cfg(unix)]
        let present = inode(&self.path).is_ok_and(|found| found == self.inode);
        #[cfg(not(unix))]
        let present = self.path.exists();
        if present {
            Ok(())
        } else {
            let folder = self.path.parent().unwrap_or(&self.path);
            Err(Error::Closed(format!(
                "{}: the index folder was deleted while it was in use: open the index again",
                folder.display()
            )))
        }
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

    /// An id for a segment file that no segment had before.
    pub fn next_segment(&self) -> Result<u64> {
        let next = self.meta("next_segment")?.and_then(|v| v.parse().ok()).unwrap_or(1);
        self.set_meta("next_segment", &format!("{}", next + 1))?;
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
                Ok(Stamp { size: row.get::<_, i64>(at)? as u64, mtime_ns: row.get(at + 1)?, checked_ns: row.get(at + 2)? })
            };
            let reason = |row: &rusqlite::Row<'_>| -> rusqlite::Result<SkipReason> {
                Ok(SkipReason::from_code(row.get_ref(1)?.as_str()?).unwrap_or(SkipReason::Unreadable))
            };
            Ok(Rows {
                generation: generation.and_then(|v| v.parse().ok()).unwrap_or(0),
                segments: all(&t, "SELECT id FROM segments ORDER BY id", |row| Ok(row.get::<_, i64>(0)? as u64))?,
                files: all(&t, "SELECT path, segment, file, size, mtime_ns, checked_ns FROM files", |row| {
                    Ok(FileRow {
                        path: row.get(0)?,
                        segment: row.get::<_, i64>(1)? as u64,
                        file: row.get(2)?,
                        stamp: stamp(row, 3)?,
                    })
                })?,
                unusable: all(&t, "SELECT path, reason, size, mtime_ns, checked_ns FROM unusable", |row| {
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
        self.transaction(|t| {
            let mut forget = Vec::new();
            for table in ["files", "unusable", "failed"] {
                forget.push(t.prepare_cached(&format!("DELETE FROM {table} WHERE path = ?1"))?);
            }
            for path in &change.remove {
                forget.iter_mut().try_for_each(|delete| delete.execute([path]).map(drop))?;
            }
            let mut add = t.prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for row in &change.files {
                forget[1..].iter_mut().try_for_each(|delete| delete.execute([&row.path]).map(drop))?;
                let stamp = row.stamp;
                add.execute(params![
                    row.path,
                    row.segment as i64,
                    row.file,
                    stamp.size as i64,
                    stamp.mtime_ns,
                    stamp.checked_ns
                ])?;
            }
            let mut add = t.prepare_cached("INSERT OR REPLACE INTO unusable VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for row in &change.unusable {
                forget.iter_mut().try_for_each(|delete| delete.execute([&row.path]).map(drop))?;
                let stamp = row.stamp;
                add.execute(params![row.path, row.reason.code(), stamp.size as i64, stamp.mtime_ns, stamp.checked_ns])?;
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

    /// Forget everything but the settings of the index and the numbering, which other processes rely on.
    pub fn clear(&mut self, generation: u64) -> Result<()> {
        self.check_present()?;
        self.transaction(|t| {
            t.execute_batch(
                "DELETE FROM files; DELETE FROM segments; DELETE FROM unusable; DELETE FROM failed; DELETE FROM skipped",
            )?;
            t.execute("DELETE FROM meta WHERE key NOT IN ('next_segment', 'embedder', 'cut', 'own_vectors_from')", [])?;
            t.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?1)", [generation.to_string()]).map(drop)
        })?;
        self.connection.execute_batch("VACUUM").map_err(|e| self.fail(e))?;
        self.checkpoint()
    }

    /// Move the write-ahead log into the database, as far as readers allow.
    pub fn checkpoint(&self) -> Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(|e| self.fail(e))
    }
}

const BUSY: Duration = Duration::from_secs(5);

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20)
}

fn all<T>(
    t: &Transaction<'_>,
    sql: &str,
    map: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    t.prepare(sql)?.query_map([], map)?.collect()
}

/// Whether `SQLite` says that the file itself is broken.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        // A table or column that the format promises is missing.
        || matches!(error, rusqlite::Error::SqliteFailure(e, Some(text)) if e.extended_code == 1 && text.starts_with("no such"))
        || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::Utf8Error(..) | rusqlite::Error::FromSqlConversionFailure(..))
}

fn remove_journals(path: &Path) {
    for suffix in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        // Best effort: a stray journal of another database is ignored by its salt.
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

#[cfg(unix)]
fn inode(path: &Path) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(path)?.ino())
}
