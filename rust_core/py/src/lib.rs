//! carrel._core
