//! Opening the database: its format, its damage, and whether it is still there.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::{Database, FORMAT_FROM};
use crate::base::clock::now_ns;
use crate::base::error::{Error, Result};
use crate::base::system_fault::SystemFault;

/// Version of the database and of everything that decides what is in it: raise it when files must be cut
/// again, and every index is built again. A new optional section of segments needs no raise.
pub const FORMAT_VERSION: u32 = 7;
/// The oldest format that answers until it is built again. One that is older still starts empty.
const OLDEST_USABLE: u32 = 4;
/// Name of the database file.
pub const DATABASE_FILE: &str = "index.db";

/// Where a damaged one is moved.
const ASIDE: &str = "index.db.damaged";

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

/// What `SQLite` may put beside the database: the last two only in an index that an older Carrel made.
const JOURNALS: [&str; 3] = ["-journal", "-wal", "-shm"];
const BUSY: Duration = Duration::from_secs(5);

impl Database {
    /// Open or create the database as its writer. One of a format that can't be used is emptied, which is told in `problems`; one of
    /// the format before stays, and its segments count as made in an older format.
    pub fn open_writer(directory: &Path, problems: &mut Vec<String>) -> Result<Self> {
        let path = &directory.join(DATABASE_FILE);
        let fail = |source| Error::Database { path: path.to_owned(), source };
        clear_journals(path);
        let connection = Connection::open(path).map_err(|source| cannot_open(path, source))?;
        configure(&connection).map_err(fail)?;
        let mut database = Self::new(connection, path, true)?;
        database.check_version()?;
        let found = database.version()?;
        let tables: u32 = database.ask("SELECT count(*) FROM sqlite_master WHERE type = 'table'")?;
        if (OLDEST_USABLE..FORMAT_VERSION).contains(&found) {
            database.upgrade()?;
        } else if found < FORMAT_VERSION {
            if tables > 0 {
                problems.push(format!("{}: the index has the older format {found}; it is built again", path.display()));
            }
            let aside = directory.join(ASIDE);
            if tables == 0 && aside.exists() {
                problems.push(format!(
                    "{}: the index database was damaged; it was moved to {} and the index is built again",
                    path.display(),
                    aside.display()
                ));
            }
            database.create()?;
        }
        database.ask::<i64>("SELECT count(*) FROM files")?;
        // Commits don't wait for the disk: a power cut may have left a part of one.
        if database.ask::<String>("PRAGMA integrity_check(1)")? != "ok" {
            return Err(fail(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)));
        }
        Ok(database)
    }

    /// Open the database to follow its writer; `None` when there is none yet.
    pub fn open_follower(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(DATABASE_FILE);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Err(error) if SystemFault::of(&error).is_some() => return Err(Error::io(path, error)),
            // A writer moves a folder in its place aside.
            _ => return Ok(None),
        }
        // Whoever reads first after a crash takes back what was half written, so even readers must be able to write.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match Self::open_to_read(&path, Connection::open_with_flags(&path, flags), false) {
            // Nobody can write here, and nothing is in a journal that would have to be read with it: the file is all there is.
            Err(Error::Database { source, .. }) if is_read_only(&source) && !has_journal(&path) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
                Self::open_to_read(&path, Connection::open_with_flags(immutable_uri(&path), flags), true)
            }
            opened => opened,
        }
    }

    fn open_to_read(path: &Path, opened: rusqlite::Result<Connection>, immutable: bool) -> Result<Option<Self>> {
        let fail = |source| Error::Database { path: path.to_owned(), source };
        let connection = opened.map_err(|source| cannot_open(path, source))?;
        connection.busy_timeout(BUSY).map_err(fail)?;
        let mut database = Self::new(connection, path, false)?;
        if immutable {
            database.file = DatabaseFile::immutable(path).map_err(|e| Error::io(path, e))?;
        }
        database.check_version()?;
        // One that can't be used is about to be emptied by its writer.
        Ok((database.version()? >= OLDEST_USABLE).then_some(database))
    }

    fn new(connection: Connection, path: &Path, writes: bool) -> Result<Self> {
        let file = DatabaseFile::at(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { connection, path: path.to_owned(), file, writes, next_segment: Cell::new(0) })
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

    /// Whether the database is of the present format; an older one belongs to an older Carrel.
    pub fn is_current(&self) -> Result<bool> {
        Ok(self.version()? == FORMAT_VERSION)
    }

    fn version(&self) -> Result<u32> {
        self.ask("PRAGMA user_version")
    }

    /// Take over an index of the format before. Its segments have lower numbers than all that come, and so are known until each of
    /// their files was indexed again.
    fn upgrade(&mut self) -> Result<()> {
        let first = self.next_segment()?.to_string();
        self.transaction(|t| {
            t.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [FORMAT_FROM, &first])?;
            t.pragma_update(None, "user_version", FORMAT_VERSION)
        })
    }

    /// Empty tables of the present format, in one transaction. What an older format left is dropped.
    fn create(&mut self) -> Result<()> {
        // Ids begin at the clock, so that even after the database was lost no segment name comes again that another process may
        // still be about to read.
        let first = now_ns() / 1_000_000;
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
        if self.file.is_present() {
            Ok(())
        } else {
            let folder = self.path.parent().unwrap_or(&self.path);
            Err(Error::Closed(format!(
                "{}: the index folder was deleted while it was in use: index again to make a new one",
                folder.display()
            )))
        }
    }
}

/// Which file a database is in, to notice when another one has its name, or none.
#[derive(Clone, Debug)]
pub struct DatabaseFile {
    path: PathBuf,
    #[cfg(unix)]
    inode: u64,
    /// Size and time of a file that is read without regard for writers: who has the right may still write to it.
    content: Option<(u64, Option<SystemTime>)>,
}

impl DatabaseFile {
    fn at(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            #[cfg(unix)]
            inode: inode(&std::fs::metadata(path)?),
            content: None,
        })
    }

    fn immutable(path: &Path) -> std::io::Result<Self> {
        let content = Some(content(&std::fs::metadata(path)?));
        Ok(Self { content, ..Self::at(path)? })
    }

    /// Whether the file is still the one that was opened, as far as the machine can say.
    pub fn is_present(&self) -> bool {
        #[cfg(unix)]
        let same = |found: &std::fs::Metadata| inode(found) == self.inode;
        #[cfg(not(unix))]
        let same = |_: &std::fs::Metadata| true;
        match std::fs::metadata(&self.path) {
            Ok(found) => same(&found) && self.content.is_none_or(|known| known == content(&found)),
            Err(error) => SystemFault::of(&error).is_some(),
        }
    }
}

/// Why a database can't be opened. Of a fault of the machine `SQLite` says only that it couldn't open the file.
fn cannot_open(path: &Path, source: rusqlite::Error) -> Error {
    match std::fs::File::open(path) {
        Err(error) if SystemFault::of(&error).is_some() => Error::io(path, error),
        _ => Error::Database { path: path.to_owned(), source },
    }
}

fn content(metadata: &std::fs::Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

/// Whether `SQLite` says that it would have to write and can't.
fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}

/// Move a database that is damaged out of the way, with its journals.
pub fn set_aside(directory: &Path) -> Result<()> {
    let path = directory.join(DATABASE_FILE);
    let aside = directory.join(ASIDE);
    // Neither a folder nor a file takes the place of a folder.
    if aside.is_dir() {
        std::fs::remove_dir_all(&aside).map_err(|e| Error::io(&aside, e))?;
    } else if path.is_dir() && aside.exists() {
        std::fs::remove_file(&aside).map_err(|e| Error::io(&aside, e))?;
    }
    std::fs::rename(&path, &aside).map_err(|e| Error::io(&path, e))?;
    for suffix in JOURNALS {
        // Best effort: a stray journal of another database is ignored.
        let _ = std::fs::remove_file(with_suffix(&path, suffix));
    }
    Ok(())
}

/// Take folders out of the places of a database's journals, and tell whether there were some: they hold nothing of it, and
/// `SQLite` neither reads nor writes while they are there.
pub(super) fn clear_journals(path: &Path) -> bool {
    let mut found = false;
    for journal in JOURNALS.map(|suffix| with_suffix(path, suffix)) {
        if std::fs::symlink_metadata(&journal).is_ok_and(|metadata| metadata.is_dir()) {
            found = true;
            // Best effort: SQLite says what is wrong.
            let _ = std::fs::remove_dir_all(&journal);
        }
    }
    found
}

/// Whether changes wait in a journal.
fn has_journal(path: &Path) -> bool {
    JOURNALS[..2].iter().any(|suffix| std::fs::metadata(with_suffix(path, suffix)).is_ok_and(|journal| journal.len() > 0))
}

/// The name under which `SQLite` opens a file that nobody changes: it then needs neither lock nor log.
fn immutable_uri(path: &Path) -> String {
    let name = path.to_string_lossy();
    let name = if cfg!(windows) { name.replace('\\', "/") } else { name.into_owned() };
    let escaped = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{}{escaped}?immutable=1", if cfg!(windows) { "///" } else { "" })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    // Out of the log of an older Carrel, unless one reads it at this moment: then the next start does it.
    let left = connection.query_row("PRAGMA journal_mode = TRUNCATE", [], |_| Ok(()));
    if let Err(error) = left
        && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy)
    {
        return Err(error);
    }
    connection.busy_timeout(BUSY)?;
    // A killed process loses nothing. A power cut may damage what is only an index: it is checked when it is opened, and made anew.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Whether `SQLite` says that the file itself is broken.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        // A table or column that the format promises is missing.
        || matches!(error, rusqlite::Error::SqliteFailure(e, Some(text)) if e.extended_code == 1 && text.starts_with("no such"))
        || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::Utf8Error(..) | rusqlite::Error::FromSqlConversionFailure(..))
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}
