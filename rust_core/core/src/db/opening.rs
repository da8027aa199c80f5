//! Opening the database: its format, its damage, and whether it is still there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::Database;
use crate::error::{Error, Result};

/// Version of the database and of everything that decides what is in it: raise it when the cutting or the segment layout changes,
/// and every index is built again.
pub const FORMAT_VERSION: u32 = 4;
/// Name of the database file.
pub const DATABASE_FILE: &str = "index.db";

const SCHEMA: &str = "
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE segments(id INTEGER PRIMARY KEY);
    CREATE TABLE files(path TEXT PRIMARY KEY, segment INTEGER NOT NULL, file INTEGER NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, file_id INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
        checked_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE unusable(path TEXT PRIMARY KEY, reason TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, file_id INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
        checked_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE failed(path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE skipped(path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
";

const BUSY: Duration = Duration::from_secs(5);

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
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20)
}

/// Whether `SQLite` says that the file itself is broken.
fn is_damage(error: &rusqlite::Error) -> bool {
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
