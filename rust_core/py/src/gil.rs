//! The one place that releases the GIL.

use carrel_core::error::Result;
use pyo3::prelude::*;

use crate::errors::to_python;

/// Run `work` without the GIL and map its error.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| to_python(py, &error))
}
