//! The store on a real disk: what is indexed is found, what changes is followed, what breaks is mended.

mod broken;
mod buffers;
mod cancelling;
mod crash;
mod fresh;
mod incremental;
mod processes;
#[cfg(unix)]
mod races;
mod round_trip;
mod support;
