//! The one map from the core's errors to `carrel.core.errors`.

use carrel_core::error::Error;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The Python exception of an error. The classes are imported when first needed: they must not depend on this module.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let raise = |class: &str, arguments: Vec<String>| {
        let found = py.import("carrel.core.errors").and_then(|module| module.getattr(class)?.cast_into::<PyType>().map_err(Into::into));
        let made = found.and_then(|class| class.call1(pyo3::types::PyTuple::new(py, arguments)?));
        made.map_or_else(|failure| failure, PyErr::from_value)
    };
    let text = error.to_string();
    match error {
        Error::Cancelled => raise("Cancelled", vec![text]),
        Error::Invalid { field, message } => raise("InvalidInput", vec![(*field).to_owned(), message.clone()]),
        Error::NewerFormat { .. } => raise("NewerFormat", vec![text]),
        Error::NotWriter => raise("NotWriter", vec![text]),
        Error::Io { .. } | Error::Database { .. } | Error::Damaged { .. } | Error::Closed(_) => raise("StoreError", vec![text]),
    }
}
