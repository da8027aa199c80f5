//! What the system tells of a folder, gathered until it has come to rest.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, EventHandler};

use crate::base::sync::locked;

/// A few files: those that a person saves.
const FEW: usize = 20;
/// An editor's save takes several steps; the last one is a moment after the first.
const QUIET: Duration = Duration::from_millis(15);
const LONGEST: Duration = Duration::from_millis(200);
/// A branch switch or an installation pauses between its files, and is better indexed once.
const QUIET_OF_MANY: Duration = Duration::from_millis(150);
const LONGEST_OF_MANY: Duration = Duration::from_secs(3);
/// More paths than these are not remembered: everything is compared.
pub(super) const MOST: usize = 20_000;

/// What happened to one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// It came, or went, or has another name.
    pub entry: bool,
    /// It went, if only for a moment.
    pub vanished: bool,
}

/// The events of one burst, a path once.
#[derive(Debug, Default)]
pub(super) struct Burst {
    pub paths: HashMap<PathBuf, Change>,
    /// Events were lost, or there were too many.
    pub lost: bool,
    first: Option<Instant>,
    last: Option<Instant>,
}

#[derive(Default)]
struct Inbox {
    burst: Burst,
    /// The file whose event is a signal and no change.
    signal: PathBuf,
    /// Somebody waits for the burst: it ends now.
    hurried: bool,
    /// The watching thread waits here: what came before was told.
    idle: bool,
    closed: bool,
    /// How many events of the signal's file came, and with each all that came before it.
    signals: u64,
}

/// Where the system's thread leaves events and the watching one waits for them.
#[derive(Clone)]
pub(super) struct Events(Arc<(Mutex<Inbox>, Condvar)>);

impl Events {
    /// Take the file whose event is a signal.
    pub fn new(signal: PathBuf) -> Self {
        Self(Arc::new((Mutex::new(Inbox { signal, ..Inbox::default() }), Condvar::new())))
    }

    /// Wait for the next burst to end; `None` when closed.
    pub fn next(&self) -> Option<Burst> {
        let (inbox, woken) = &*self.0;
        let mut held = locked(inbox);
        held.idle = true;
        woken.notify_all();
        loop {
            if held.closed {
                return None;
            }
            let Some(left) = held.burst.left() else {
                held.hurried = false;
                held = woken.wait(held).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if left.is_zero() || held.hurried {
                held.idle = false;
                return Some(std::mem::take(&mut held.burst));
            }
            held = woken.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// End the burst that is coming, and wait until it was told, for so long at most.
    pub fn settle(&self, longest: Duration) {
        let (inbox, woken) = &*self.0;
        let mut held = locked(inbox);
        if held.burst.first.is_some() {
            held.hurried = true;
            woken.notify_all();
        }
        let busy = |held: &mut Inbox| !(held.closed || held.idle && held.burst.first.is_none());
        drop(woken.wait_timeout_while(held, longest, busy));
    }

    /// How many signals have come.
    pub fn signals(&self) -> u64 {
        locked(&self.0.0).signals
    }

    /// Wait for more signals than so many, for so long at most.
    pub fn wait_for_signal(&self, before: u64, longest: Duration) {
        let (inbox, woken) = &*self.0;
        drop(woken.wait_timeout_while(locked(inbox), longest, |held| !(held.signals > before || held.closed)));
    }

    /// Have whoever waits leave, now and later.
    pub fn close(&self) {
        let (inbox, woken) = &*self.0;
        locked(inbox).closed = true;
        woken.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        locked(&self.0.0).closed
    }

    /// Forget what has come so far: whoever watches is about to look at everything.
    pub fn clear(&self) {
        locked(&self.0.0).burst = Burst::default();
    }

    fn add(&self, event: notify::Result<Event>) {
        let (inbox, woken) = &*self.0;
        let mut held = locked(inbox);
        if event.as_ref().is_ok_and(|event| event.paths.contains(&held.signal)) {
            held.signals += 1;
            woken.notify_all();
            return;
        }
        let began = held.burst.first.is_none();
        if held.burst.add(event) && began {
            woken.notify_all(); // later events only move the end, which is looked at when it is due
        }
    }
}

impl EventHandler for Events {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        self.add(event);
    }
}

impl Burst {
    /// Take an event; return whether it says that something changed.
    fn add(&mut self, event: notify::Result<Event>) -> bool {
        match event {
            Ok(event) if event.need_rescan() => self.lost = true,
            Ok(event) => {
                let Some(change) = change_of(event.kind) else { return false };
                for path in event.paths {
                    if self.paths.len() >= MOST {
                        self.lost = true;
                        self.paths.clear();
                    }
                    if self.lost {
                        break;
                    }
                    let known = self.paths.entry(path).or_default();
                    known.entry |= change.entry;
                    known.vanished |= change.vanished;
                }
            }
            Err(_) => self.lost = true,
        }
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
        true
    }

    /// How long until the burst counts as ended; `None` when nothing has come.
    fn left(&self) -> Option<Duration> {
        let (first, last) = (self.first?, self.last?);
        let many = self.lost || self.paths.len() > FEW;
        let (quiet, longest) = if many { (QUIET_OF_MANY, LONGEST_OF_MANY) } else { (QUIET, LONGEST) };
        let end = (last + quiet).min(first + longest);
        Some(end.saturating_duration_since(Instant::now()))
    }
}

/// What an event says of its paths; `None` for one that changes nothing, such as reading.
fn change_of(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Modify(ModifyKind::Data(_)) => {
            Some(Change::default())
        }
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
        // "Both" comes beside "From" and "To".
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => {
            Some(Change { entry: true, vanished: false })
        }
        // Systems that don't tell from where to where, or what happened.
        EventKind::Remove(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            Some(Change { entry: true, vanished: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    #[test]
    fn one_path_is_one_change_whatever_happened_to_it() {
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let mut burst = Burst::default();
        for kind in [EventKind::Remove(RemoveKind::File), EventKind::Create(CreateKind::File), written] {
            assert!(burst.add(Ok(event(kind, "/w/a.py"))));
        }
        assert!(burst.add(Ok(event(written, "/w/b.py"))));
        assert_eq!(burst.paths.len(), 2);
        assert_eq!(burst.paths[Path::new("/w/a.py")], Change { entry: true, vanished: true });
        assert_eq!(burst.paths[Path::new("/w/b.py")], Change::default());
        assert!(!burst.lost);
    }

    #[test]
    fn what_changes_no_content_wakes_nobody() {
        let mut burst = Burst::default();
        let touched = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        for kind in [touched, EventKind::Access(AccessKind::Open(AccessMode::Any)), EventKind::Access(AccessKind::Read)] {
            assert!(!burst.add(Ok(event(kind, "/w/a.py"))));
        }
        assert_eq!(burst.left(), None);
    }

    #[test]
    fn an_overflow_an_error_and_too_many_paths_mean_everything() {
        let overflow = Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan));
        for lost in [overflow, Err(notify::Error::generic("broken"))] {
            let mut burst = Burst::default();
            assert!(burst.add(lost) && burst.lost);
        }
        let mut burst = Burst::default();
        for number in 0..=MOST {
            burst.add(Ok(event(EventKind::Create(CreateKind::File), &format!("/w/{number}"))));
        }
        assert!(burst.lost && burst.paths.is_empty());
    }
}
