//! The files of a workspace and the index of them: which may be read, reading them, keeping the index current, and returning
//! texts as they are now.

mod editorconfig;
pub mod folder;
pub mod handle;
pub mod lock;
pub mod long_lines;
pub(crate) mod masking;
pub mod read;
pub mod secret_listing;
pub mod snapshot;
pub mod store;
pub mod walk;
pub mod watch;
