//! Carrel's index core: everything between a folder of files and a ranked list of chunks, with no Python in it.
//!
//! The modules form layers. A module uses modules of lower layers and of its own layer, never of a higher one, and modules don't
//! depend on each other in a cycle; `tests/layers.rs` checks both and draws the graph in `docs/architecture-graph.md`.
//!
//! - [`workspace`]: a [walk](workspace::walk) finds the files that count, [`workspace::read`] decodes them,
//!   [`workspace::store`] keeps the index of them current, and a [`workspace::snapshot`] searches it without ever waiting for a
//!   writer and returns texts as they are now.
//! - [`query`]: searches over live segments ([by words](query::lexical), [by vectors](query::dense)) and
//!   [rules](query::ranking) that order what they find.
//! - [`index`]: [finds secrets](index::secrets), [parses](index::parse) texts, [cuts](index::cut) them into chunks, tells by a
//!   [`index::diff`] which chunks are new, [embeds](index::embed) those, and keeps the [set of live segments](index::segment_set).
//! - [`formats`]: how all this is stored: immutable [segment files](formats::segment), recorded in a
//!   [`SQLite` database](formats::database).
//! - [`base`]: what all layers share.

pub mod base;
pub mod formats;
pub mod index;
pub mod query;
pub mod workspace;
