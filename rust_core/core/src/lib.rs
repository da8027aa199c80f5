//! Carrel's index core: everything between a folder of files and a ranked list of chunks, with no Python in it.
//!
//! A [`walk`] finds the files that count, [`read`] decodes them, [`cut`] parses them into chunks, [`diff`] tells which
//! chunks are new, [`embed`] turns those into vectors, [`segment`] stores a batch as one immutable file and
//! [`store`] records it in `SQLite`; a [`snapshot`] searches all live segments without ever waiting for a writer.

pub mod cancel;
pub mod cut;
pub mod db;
pub mod diff;
pub mod embed;
pub mod error;
pub mod folder;
pub mod freshness;
pub mod hash;
pub mod language;
pub mod lexical;
pub mod lines;
pub mod lock;
pub mod memory;
pub mod parse;
pub mod question;
pub mod ranking;
pub mod read;
pub mod secrets;
pub mod segment;
pub mod simd;
pub mod snapshot;
pub mod store;
pub mod tokens;
pub mod types;
pub mod vectors;
pub mod walk;
pub mod words;
