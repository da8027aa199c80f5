//! The one place where a core error becomes a Python exception: the classes of `carrel.core.errors`.

use carrel_core::base::error::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Make `error` the exception that Python callers catch.
pub fn to_python(error: &Error) -> PyErr {
    Python::attach(|py| {
        let message = error.to_string();
        let raised = match error {
            Error::Cancelled => raise(py, "Cancelled", (message,)),
            Error::NewerFormat { .. } | Error::NewerSegment { .. } => raise(py, "NewerFormat", (message,)),
            Error::NotWriter => raise(py, "NotWriter", (message,)),
            Error::Invalid { field, message } => raise(py, "InvalidInput", (*field, message.clone())),
            _ => raise(py, "StoreError", (message,)),
        };
        raised.unwrap_or_else(|problem| problem)
    })
}

fn raise<'py, A>(py: Python<'py>, name: &'static str, arguments: A) -> PyResult<PyErr>
where
    A: pyo3::call::PyCallArgs<'py>,
{
    // Imported when the first error is raised: the module must not need the package to be loaded.
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = ERRORS.get_or_try_init(py, || py.import("carrel.core.errors").map(Bound::unbind))?;
    let class = module
        .bind(py)
        .getattr(name)?
        .cast_into::<PyType>()
        .map_err(|_| PyRuntimeError::new_err("carrel.core.errors is damaged"))?;
    Ok(PyErr::from_value(class.call1(arguments)?))
}
