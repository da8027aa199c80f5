//! How an index is stored: byte encodings, quantised vectors, posting lists, segment files, the `SQLite` database.

pub(crate) mod bytes;
pub mod database;
pub(crate) mod postings;
pub mod segment;
pub mod vectors;
