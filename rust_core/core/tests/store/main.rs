//! The store on a real disk: what is indexed is found, what changes is followed, what breaks is mended.

mod broken;
mod buffers;
mod cancelling;
mod crash;
mod incremental;
mod processes;
#[cfg(unix)]
mod races;
mod read_current;
mod round_trip;
mod support;
