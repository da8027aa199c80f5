//! The store on a real disk: what is indexed is found, what changes is followed, what breaks is mended.

mod broken;
mod buffers;
mod cancelling;
mod crash;
mod formats;
mod incremental;
mod old_format;
mod processes;
#[cfg(unix)]
mod races;
mod read_current;
mod round_trip;
mod support;
