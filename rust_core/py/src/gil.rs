//! Calls into the core that may fail: without the GIL, their errors mapped. Calls that can't fail release the GIL themselves.

use carrel_core::base::error::Result;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

use crate::errors::to_python;

/// Run `work` without the GIL.
pub fn detached<T: Ungil + Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Ungil + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| to_python(&error))
}
