//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock `mutex`, also after a panic elsewhere: values are changed on copies and swapped in, so a panic leaves them whole.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
