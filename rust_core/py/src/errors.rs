//! The one place where a core error becomes a Python exception: the classes of `carrel.model.errors`.

use carrel_core::base::error::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// Make `error` the exception that Python callers catch.
pub fn to_python(error: &Error) -> PyErr {
    Python::attach(|py| raise(py, error).unwrap_or_else(|problem| problem))
}

fn raise(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let (reason, remedy) = (error.reason(), error.remedy());
    if let Error::Invalid { field, value, .. } = error {
        let more = PyDict::new(py);
        more.set_item("value", value)?;
        return Ok(PyErr::from_value(class(py, "InvalidInput")?.call((*field, reason, remedy), Some(&more))?));
    }
    let name = match error {
        Error::Cancelled => "Cancelled",
        Error::NewerFormat { .. } | Error::NewerSegment { .. } => "NewerFormat",
        Error::NotWriter => "NotWriter",
        _ => "StoreError",
    };
    let more = PyDict::new(py);
    more.set_item("retryable", error.retryable())?;
    Ok(PyErr::from_value(class(py, name)?.call((reason, remedy), Some(&more))?))
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    // Imported when the first error is raised: the module must not need the package to be loaded.
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = ERRORS.get_or_try_init(py, || py.import("carrel.model.errors").map(Bound::unbind))?;
    let class = module.bind(py).getattr(name)?;
    class.cast_into::<PyType>().map_err(|_| PyRuntimeError::new_err("carrel.model.errors is damaged"))
}
