//! The difference between the workspace and the index.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::base::sync::locked;

/// How much of a file's earlier state is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Content of the same hash is left as it is.
    Check,
    /// Cut again whatever the hash; vectors of chunks that come out the same are kept.
    Recut,
    /// Everything again.
    Renew,
}

/// A file to read.
#[derive(Clone, Debug)]
pub(super) struct PlannedFile {
    pub path: String,
    pub size: u64,
    pub mode: Mode,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub work: VecDeque<PlannedFile>,
    pub removed: Vec<String>,
    pub forgotten: Vec<String>,
    /// Whether a file that was only moved to another folder keeps its vectors.
    pub keeps_moved: bool,
}

/// What a scan or a check found to do. [`super::Store::cut`] takes from it until it is empty.
#[derive(Debug, Default)]
pub struct Plan {
    /// Files that are new.
    pub added: usize,
    /// Files whose size or time differs.
    pub changed: usize,
    /// Files of the index that are gone.
    pub removed: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Paths that were left out.
    pub skipped: usize,
    pub(super) queue: Mutex<Queue>,
}

impl Plan {
    /// Files that `cut` has not taken yet.
    pub fn pending(&self) -> usize {
        locked(&self.queue).work.len()
    }

    /// Let files that were only moved to another folder keep their vectors, although these were made with the old one: a model that
    /// is paid isn't paid again.
    pub fn keep_moved(&self) {
        locked(&self.queue).keeps_moved = true;
    }

    /// The removed files of which new ones may have vectors; none unless asked for by [`Plan::keep_moved`].
    pub(super) fn moved(&self) -> Vec<String> {
        let queue = locked(&self.queue);
        if queue.keeps_moved { queue.removed.clone() } else { Vec::new() }
    }

    /// Whether there is nothing to do, or nothing any more.
    pub fn is_empty(&self) -> bool {
        let queue = locked(&self.queue);
        queue.work.is_empty() && queue.removed.is_empty()
    }

    /// The next files, up to `max_bytes` but at least one. Removals come with the last ones, so that a renamed file is never
    /// missing from the index. `None` when all is taken.
    pub(super) fn take(&self, max_bytes: u64) -> Option<Queue> {
        let mut queue = locked(&self.queue);
        if queue.work.is_empty() && queue.removed.is_empty() {
            return None;
        }
        let mut taken = Queue::default();
        let mut bytes = 0;
        while let Some(work) = queue.work.front() {
            bytes += work.size;
            if bytes > max_bytes && !taken.work.is_empty() {
                break;
            }
            taken.work.extend(queue.work.pop_front());
        }
        if queue.work.is_empty() {
            taken.removed = std::mem::take(&mut queue.removed);
            taken.forgotten = std::mem::take(&mut queue.forgotten);
        }
        Some(taken)
    }

    /// Undo a [`Plan::take`].
    pub(super) fn put_back(&self, taken: Queue) {
        let mut queue = locked(&self.queue);
        for work in taken.work.into_iter().rev() {
            queue.work.push_front(work);
        }
        queue.removed.extend(taken.removed);
        queue.forgotten.extend(taken.forgotten);
    }
}
